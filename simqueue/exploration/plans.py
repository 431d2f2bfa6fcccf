"""Fault plans: what goes wrong at which moment of a run, and which plans grow out of a run.

A moment is a place in a run at which a worker can be struck: before the first step of a delivery,
after each step, at its ack, and between the relay's send and its mark. A plan is a tuple of strikes
in the order of time. A run is the same up to the first moment at which its plan differs, so the
number of a moment, counted from the start of the run, is enough to find it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

CRASH: Final = "crash"
PAUSE: Final = "pause"
RESPONSE_LOST: Final = "response lost"
ACK_LOST: Final = "ack lost"
RELAY_CRASH: Final = "relay crash"
RESUME: Final = "resume"

KINDS: Final = (CRASH, PAUSE, RESPONSE_LOST, ACK_LOST, RELAY_CRASH)
"""The kinds of fault. A `RESUME` is none: it ends a pause."""

ON_WORKER: Final = (CRASH, PAUSE)
ON_CALL: Final = (CRASH, PAUSE, RESPONSE_LOST)
LOCAL_STEPS: Final = frozenset({"work", "sleep"})
"""Steps that ask nobody anything: no answer of theirs can get lost."""


class Moment(NamedTuple):
    """A place in a run: its number from 0, when (seconds), in which delivery of the job (from 1).

    `call` is the step through ctx, "ack" or "relay.send"; `when`: "before", "after" or "at" it.
    `kinds` are the faults that can strike there. `rows` and `letters` say how many rows the ledger
    and the outbox had got by then.
    """

    number: int
    time: float
    turn: int
    call: str
    when: str
    kinds: tuple[str, ...]
    rows: int = 0
    letters: int = 0

    def __str__(self) -> str:
        return f"{self.when} {self.call} of delivery {self.turn}"


@dataclass(frozen=True, slots=True)
class Strike:
    """One thing that goes wrong at a moment; or the end of the pause that began at `ends`."""

    kind: str
    moment: Moment
    ends: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes wrong in a run, in the order of time. A plan without strikes: nothing."""

    strikes: tuple[Strike, ...] = ()

    @property
    def faults(self) -> tuple[Strike, ...]:
        """The strikes that are faults: the end of a pause is none."""
        return tuple(strike for strike in self.strikes if strike.kind != RESUME)

    @property
    def kind(self) -> str:
        """The kinds of its faults, such as "crash" or "ack lost + pause"; "no fault"."""
        return " + ".join(sorted(strike.kind for strike in self.faults)) or "no fault"

    def resumed_at(self, pause: Strike) -> Moment | None:
        """The moment at which this `pause` ends; None: it lasts as long as pauses can."""
        for strike in self.strikes:
            if strike.kind == RESUME and strike.ends == pause.moment.number:
                return strike.moment
        return None

    def open_pauses(self) -> list[Strike]:
        """The pauses of which the plan does not say when they end."""
        return [s for s in self.strikes if s.kind == PAUSE and self.resumed_at(s) is None]

    def __str__(self) -> str:
        return "; then ".join(self._say(fault) for fault in self.faults) or "no fault"

    def _say(self, fault: Strike) -> str:
        moment = fault.moment
        if fault.kind == RELAY_CRASH:
            return "the relay dies between its send and its mark"
        if fault.kind == ACK_LOST:
            return f"the ack of delivery {moment.turn} is lost"
        if fault.kind == RESPONSE_LOST:
            return f"the answer of {moment.call} in delivery {moment.turn} is lost"
        if fault.kind == CRASH:
            return f"the worker crashes {moment}"
        until = self.resumed_at(fault)
        return f"the worker stands still {moment}, " + (
            "for very long" if until is None else f"until {until}"
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far plans grow: how many deliveries are struck, and how long a pause is (seconds)."""

    deliveries: int
    longest_pause: float


def grown(
    plan: Plan, moments: Sequence[Moment], bounds: Bounds, *, more_faults: bool
) -> Iterator[Plan]:
    """Yield the plans that go on where `plan` ends: with one strike more, at a later moment.

    Parameters
    ----------
    plan, moments
        A plan, and the moments that the run under it had.
    bounds
        How far plans grow.
    more_faults
        Whether another fault may come. Without, pauses that are open may still end.
    """
    strikes = plan.strikes
    last = strikes[-1].moment.number if strikes else -1
    pauses = plan.open_pauses()
    for moment in moments[last + 1 :]:
        if moment.turn > bounds.deliveries:
            continue
        for pause in pauses:
            other = moment.turn not in (pause.moment.turn, 0)
            if other and moment.time < pause.moment.time + bounds.longest_pause:
                yield Plan((*strikes, Strike(RESUME, moment, pause.moment.number)))
        if more_faults:
            for kind in moment.kinds:
                yield Plan((*strikes, Strike(kind, moment)))
