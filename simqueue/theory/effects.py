"""How often a job's effect happens, by where a crash falls and what is recorded when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from simqueue.checks import one_of, probability
from simqueue.theory.leases import p_work_exceeds

if TYPE_CHECKING:
    from simqueue.distributions import Distribution

Strategy: TypeAlias = Literal[
    "no_store", "effect_then_record", "record_then_effect", "one_transaction"
]
STRATEGIES = ("no_store", "effect_then_record", "record_then_effect", "one_transaction")


@dataclass(frozen=True)
class CrashChances:
    """Where an attempt may crash: three chances, each 0 to 1, with a sum below 1.

    Attributes
    ----------
    before_effect
        a: before anything is done to the outside or recorded.
    after_effect
        b: after the first of the two, effect and record, and before the second.
    before_ack
        d: after both, before the ack.
    """

    before_effect: float = 0.0
    after_effect: float = 0.0
    before_ack: float = 0.0

    def __post_init__(self) -> None:
        for name in ("before_effect", "after_effect", "before_ack"):
            object.__setattr__(self, name, probability(name, getattr(self, name)))
        if self.before_effect + self.after_effect + self.before_ack >= 1:
            raise ValueError(
                "before_effect, after_effect and before_ack must have a sum below 1, not "
                f"{self.before_effect} + {self.after_effect} + {self.before_ack}."
            )


@dataclass(frozen=True)
class EffectFigures:
    """What became of the effects: the mean number per job, and shares of jobs (0 to 1)."""

    effects_per_job: float
    lost_rate: float
    duplicate_effect_rate: float


def effect_figures(strategy: Strategy, crashes: CrashChances) -> EffectFigures:
    """Effects per job, share of jobs lost, and share with more than one effect.

    Each attempt crashes with the chances a, b, d of `crashes`, independently, and is retried
    without limit. The strategies:

    - "no_store": nothing remembers the effect. Attempts go on until one is acked, 1 / (1-a-b-d)
      of them on average, and each has an effect with chance 1 - a. The first attempt with an
      effect is also the last with chance (1-a-b-d) / (1-a).
    - "effect_then_record": a retry that finds the record only acks, so crashes before the ack are
      harmless and the effect repeats until recorded: (1-a) / (1-a-b) effects.
    - "record_then_effect": a crash between the two leaves a record without an effect, and every
      retry believes it: the job is lost with chance b / (1-a).
    - "one_transaction": both or neither, always exactly one effect.

    Derived.
    """
    a, b, d = crashes.before_effect, crashes.after_effect, crashes.before_ack
    begun = 1 - a
    match one_of("strategy", strategy, STRATEGIES):
        case "no_store":
            return EffectFigures(begun / (begun - b - d), 0.0, (b + d) / begun)
        case "effect_then_record":
            return EffectFigures(begun / (begun - b), 0.0, b / begun)
        case "record_then_effect":
            return EffectFigures(1 - b / begun, b / begun, 0.0)
        case _:
            return EffectFigures(1.0, 0.0, 0.0)


def effects_per_job(strategy: Strategy, crashes: CrashChances) -> float:
    """Mean effects per job; see `effect_figures`."""
    return effect_figures(strategy, crashes).effects_per_job


def record_leak_rate(redelivery_delay: Distribution | float, time_to_live: float) -> float:
    """The chance that a redelivery no longer finds the record of the effect.

    A record that lives `time_to_live` seconds is gone when the redelivery comes later than that:
    P(redelivery_delay > time_to_live). The delay is a distribution or a number of seconds.
    """
    return p_work_exceeds(redelivery_delay, time_to_live)
