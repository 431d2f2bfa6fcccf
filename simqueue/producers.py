"""Who publishes jobs, and how often: replicas of a scheduler, and senders that send again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simqueue import checks

DEDUPE_KEYS = ("job", "customer", "group", "all", "send")


@dataclass(frozen=True, kw_only=True)
class Resend:
    """A sender that publishes a job again until it hears that somebody has done it.

    That is not a broker's receipt, whose loss `Network.publish_response_lost` is about, but an
    answer from the other end: one of the job's messages was acked.

    Parameters
    ----------
    every
        Seconds from one publish to the next.
    most
        How often it publishes at most; then it waits once more, for `patience` seconds, and gives
        up.
    patience
        Seconds from the last publish until it gives up; None: `every`.
    """

    every: float
    most: int
    patience: float | None = None

    def __post_init__(self) -> None:
        checks.positive("resend.every", self.every, "seconds")
        checks.whole("resend.most", self.most, 1)
        if self.patience is not None:
            checks.non_negative("resend.patience", self.patience, "seconds")


@dataclass(frozen=True, kw_only=True)
class Producers:
    """Who publishes the jobs that arrive.

    Parameters
    ----------
    replicas
        How many publish each job: a schedule that fires in every replica has as many messages.
    offsets
        Seconds after a job's arrival at which each of them does; they are taken in turn.
    dedupe_key
        What a broker that dedupes goes by: the "job"'s own key; its "customer" or its "group"; one
        key for "all" (a schedule's name); or a new one for each "send".
    due_after
        Seconds from a job's arrival until it is due: it must not start before. Who keeps it until
        then is the broker's `due_held_by`.
    resend
        A sender that sends again; None: it sends once.
    """

    replicas: int = 1
    offsets: Sequence[float] = (0.0,)
    dedupe_key: str = "job"
    due_after: float = 0.0
    resend: Resend | None = None

    def __post_init__(self) -> None:
        checks.whole("producers.replicas", self.replicas, 1)
        if not isinstance(self.offsets, Sequence) or not self.offsets:
            raise checks.fail("producers.offsets", self.offsets, "a sequence of seconds")
        offsets = [checks.non_negative("producers.offsets", o, "seconds") for o in self.offsets]
        object.__setattr__(self, "offsets", tuple(offsets))
        checks.one_of("producers.dedupe_key", self.dedupe_key, DEDUPE_KEYS)
        checks.non_negative("producers.due_after", self.due_after, "seconds")
        if self.resend is not None and not isinstance(self.resend, Resend):
            raise checks.fail("producers.resend", self.resend, "a Resend or None")
