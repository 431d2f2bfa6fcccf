"""A public report of a queue gone wrong: what was reported, and the cases that reproduce it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.incidents.observed import check_name

if TYPE_CHECKING:
    from simqueue.incidents.replay import Replay
    from simqueue.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Case:
    """One configuration of an incident, and what it must show.

    Parameters
    ----------
    name
        What is special about it, in a few words.
    scenario
        A function that builds the scenario; `simqueue.incidents.building.queue` makes one.
    expect
        Names of observables (`simqueue.incidents.observed`) to the values they must have: a number,
        a list of times in seconds, a word, None for never; or `Within`, `Mean`, `SameAs`.
    fixed
        Whether the fix is in place.
    job
        Whose story to tell, from 0.
    seed
        All chance follows from it.
    """

    name: str
    scenario: Callable[[], Scenario]
    expect: Mapping[str, Any]
    fixed: bool = False
    job: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.expect:
            raise checks.fail(f"expect of case {self.name!r}", self.expect, "at least one value")
        for name in self.expect:
            check_name(name)


@dataclass(frozen=True, kw_only=True)
class Incident:
    """A public report, as scenarios before and after the fix.

    Parameters
    ----------
    id
        Such as "INC-01".
    title, system
        What happened, in a line, and to which queue.
    links
        Where it was reported.
    report
        What people saw.
    cause, fix
        Why it happened, and what was done about it.
    cases
        The first is as reported; at least one is `fixed`.
    note
        Where the scenario is simpler than what happened, or a figure holds only with a condition.
    """

    id: str
    title: str
    system: str
    links: tuple[str, ...]
    report: str
    cause: str
    fix: str
    cases: tuple[Case, ...]
    note: str = ""

    def __post_init__(self) -> None:
        if not self.cases or self.cases[0].fixed:
            raise checks.fail(f"the first case of {self.id}", self.cases[:1], "not fixed yet")
        if not any(case.fixed for case in self.cases):
            raise checks.fail(f"the cases of {self.id}", len(self.cases), "at least one fixed")

    @property
    def before(self) -> Case:
        """The case as it was reported."""
        return self.cases[0]

    @property
    def after(self) -> Case:
        """The first case in which the fix is in place."""
        return next(case for case in self.cases if case.fixed)

    def replay(self) -> Replay:
        """Simulate all cases; the result shows the stories, and what was expected beside it."""
        from simqueue.incidents.replay import Replay

        return Replay(self)
