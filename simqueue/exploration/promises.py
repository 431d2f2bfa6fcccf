"""What a handler promises: plain functions over a result, and the three that everybody wants.

A promise is a function that gets a `Result` and returns True where it was kept; False, or a
sentence that says what went wrong, where it was broken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from simqueue import checks
from simqueue.model.ledger import Event
from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.result import Result

Promise = Callable[["Result"], bool | str]

_MOVES: Final = {
    float(Event.ACKED): ("unfinished", "acked"),
    float(Event.DEDUPLICATED): ("unfinished", "acked"),
    float(Event.DEAD_LETTERED): ("unfinished", "dead-lettered"),
    float(Event.LOST): ("unfinished", "lost"),
    float(Event.MESSAGE_EXPIRED): ("unfinished", "expired"),
    float(Event.REDRIVEN): ("dead-lettered", "unfinished"),
    float(Event.REWOUND): ("acked", "unfinished"),
}
"""What an event makes of a message. That dead letters are thrown away one day changes nothing."""

_WORST: Final = ("unfinished", "dead-lettered", "lost", "expired", "acked")
"""What a job with several messages came to is the first of these that fits one of them."""


@dataclass(frozen=True)
class Outcome:
    """What came of each job: its effects by kind, and how its messages ended."""

    effects: dict[int, Counter[str]]
    ends: dict[int, str]

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """Read it from the ledger: much quicker than by tables, for runs of one job."""
        records = result.records
        effects: dict[int, Counter[str]] = {}
        messages: dict[int, Counter[str]] = {}
        for _time, event, place, _delivery, _worker, value in records.table.tolist():
            job = int(place)
            if event == Event.EFFECT:
                effects.setdefault(job, Counter())[records.words[int(value)]] += 1
            elif event == Event.PUBLISHED:
                messages.setdefault(job, Counter())["unfinished"] += 1
            elif event in _MOVES:
                before, after = _MOVES[event]
                if event == Event.ACKED and value == State.DEAD_LETTERED:
                    before = "dead-lettered"
                messages[job][before] -= 1
                messages[job][after] += 1
        ends = {
            job: next(word for word in _WORST if counts[word] > 0)
            for job, counts in messages.items()
        }
        return cls({job: effects.get(job, Counter()) for job in ends}, ends)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """All kinds of effect that any job had."""
        return frozenset(kind for effects in self.effects.values() for kind in effects)

    def first_bad_job(self, kinds: frozenset[str]) -> int:
        """The first job that has not each of these `kinds` of effect once, or was not acked.

        Job 0 if there is none.
        """
        wanted = Counter(kinds)
        bad = (
            job
            for job, effects in self.effects.items()
            if effects != wanted or self.ends[job] != "acked"
        )
        return next(bad, 0)


Judge = Callable[["Result", Outcome, Outcome], str | None]
"""Gets a run, its outcome and that of the run without faults; says what was broken, or None."""


def no_duplicate_effect(_result: Result, outcome: Outcome, _without: Outcome) -> str | None:
    """No effect is applied to a job more than once."""
    for job, effects in outcome.effects.items():
        for kind, times in effects.items():
            if times > 1:
                return f"{kind} applied {times} times{_of(job, outcome)}"
    return None


def nothing_lost(_result: Result, outcome: Outcome, without: Outcome) -> str | None:
    """Each job has every effect that jobs have without faults, or is still held by some queue."""
    if not without.kinds:
        return "no effect at all, even without a fault"
    for job, effects in outcome.effects.items():
        if outcome.ends[job] not in ("unfinished", "dead-lettered"):
            for kind in sorted(without.kinds - effects.keys()):
                return f"{kind} never applied, and no queue holds the job{_of(job, outcome)}"
    return None


def settles(_result: Result, outcome: Outcome, _without: Outcome) -> str | None:
    """Each job ends by an ack: it is neither dead-lettered nor stuck."""
    for job, end in outcome.ends.items():
        if end != "acked":
            said = "not settled when the run ended" if end == "unfinished" else end
            return f"{said}{_of(job, outcome)}"
    return None


def _of(job: int, outcome: Outcome) -> str:
    return "" if len(outcome.ends) == 1 else f" (job {job})"


EXACTLY_ONCE: Final[dict[str, Judge]] = {
    "no duplicate effect": no_duplicate_effect,
    "nothing lost": nothing_lost,
    "settles": settles,
}
"""The promises that everybody wants, by name."""


def judges(promises: Iterable[str | Promise]) -> dict[str, Judge]:
    """Return what judges each of `promises`, by its name.

    Each is the name of one of `EXACTLY_ONCE`, or a function of one's own. ValueError for anything
    else, for none at all, and for two of one name.
    """
    found: dict[str, Judge] = {}
    allowed = "names among " + ", ".join(map(repr, EXACTLY_ONCE)) + ", or functions of a result"
    if isinstance(promises, str) or not isinstance(promises, Iterable):
        raise checks.fail("promises", promises, allowed)
    for promise in promises:
        if isinstance(promise, str):
            checks.one_of("promises", promise, EXACTLY_ONCE)
            name, judge = promise, EXACTLY_ONCE[promise]
        elif callable(promise):
            name = getattr(promise, "__name__", type(promise).__name__).replace("_", " ")
            judge = _judge_of(promise, name)
        else:
            raise checks.fail("promises", promise, allowed)
        if name in found:
            raise checks.fail("promises", name, "of different names")
        found[name] = judge
    if not found:
        raise checks.fail("promises", (), "one or more")
    return found


def _judge_of(promise: Promise, name: str) -> Judge:
    def judge(result: Result, _outcome: Outcome, _without: Outcome) -> str | None:
        kept = promise(result)
        if isinstance(kept, str):
            return kept
        if kept is None or (isinstance(kept, float) and math.isnan(kept)):
            raise ValueError(
                f"promise {name!r} must return True, False or a sentence that says what was "
                f"broken, not {kept!r}."
            )
        return None if kept else "broken"

    return judge
