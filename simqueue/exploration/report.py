"""What an exploration found: how many plans, which promises broke, and the shortest story."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.exploration.plans import Moment, Plan
from simqueue.exploration.striking import Strikes
from simqueue.simulation import simulate
from simqueue.story import story

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from simqueue.exploration.promises import Outcome
    from simqueue.result import Result
    from simqueue.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Trial:
    """One plan that was run: what came of it, and which promises it broke, with a sentence each."""

    plan: Plan
    outcome: Outcome
    broken: dict[str, str]
    events: int


@dataclass(frozen=True)
class Breaking:
    """A plan that breaks a promise, with everything that happened."""

    plan: Plan
    broken: dict[str, str]
    result: Result = field(repr=False)
    job: int = 0
    """The job that went wrong: the one that was struck, unless only another one did."""

    def timeline(self) -> str:
        """Return the plan, what it breaks, and the job's story, a line for each event."""
        said = [f"{name}: {why}" for name, why in self.broken.items()]
        return "\n".join([f"Fault: {self.plan}.", *(f"Broken: {w}." for w in said), "", self.story])

    @property
    def story(self) -> str:
        """What happened to the job, a line for each event."""
        return story(self.result, self.job)

    def plot(self) -> Figure:
        """Draw the job's timeline: deliveries, leases, effects, the crash."""
        from simqueue import plotting

        return plotting.timeline(self.result, job=self.job)

    def __str__(self) -> str:
        return self.timeline()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The plans that were run, and what they broke.

    Parameters
    ----------
    scenario, seed, promises, faults_at_once, longest_pause
        As they were explored.
    trials
        One for each plan, in the order in which they were run.
    moments
        The moments of the run without fault.
    complete
        Whether all plans up to the bound were run; False if it stopped at the first broken one.
    """

    scenario: Scenario
    seed: int
    promises: tuple[str, ...]
    faults_at_once: int
    longest_pause: float
    trials: tuple[Trial, ...] = field(repr=False)
    moments: tuple[Moment, ...] = field(repr=False)
    complete: bool = True

    @property
    def plans(self) -> int:
        """How many plans were run."""
        return len(self.trials)

    @property
    def passed(self) -> bool:
        """Whether no plan broke any promise."""
        return not any(trial.broken for trial in self.trials)

    @cached_property
    def broken(self) -> pd.DataFrame:
        """By kind of fault (rows): the number of plans, and how many broke each promise."""
        import pandas as pd

        kinds = list(dict.fromkeys(trial.plan.kind for trial in self.trials))
        counts = Counter(
            (trial.plan.kind, name) for trial in self.trials for name in ("plans", *trial.broken)
        )
        columns = ["plans", *self.promises]
        rows = [[counts[kind, column] for column in columns] for kind in kinds]
        return pd.DataFrame(rows, index=pd.Index(kinds, name="fault"), columns=columns)

    @cached_property
    def shortest(self) -> Breaking | None:
        """The plan with the fewest faults, and of these the fewest events, that breaks a promise.

        None if there is none.
        """
        return self._shortest([trial for trial in self.trials if trial.broken])

    def breaking(self, promise: str) -> Breaking | None:
        """The shortest plan that breaks this `promise`, by its name; None if there is none."""
        checks.one_of("promise", promise, self.promises)
        return self._shortest([trial for trial in self.trials if promise in trial.broken])

    def _shortest(self, broken: list[Trial]) -> Breaking | None:
        if not broken:
            return None
        return self.replay(min(broken, key=lambda t: (len(t.plan.faults), t.events)))

    def replay(self, trial: Trial) -> Breaking:
        """Run the plan of `trial` once more, and keep everything that happens, each call too."""
        from simqueue.exploration.runner import with_fault

        strikes = Strikes(plan=trial.plan, longest_pause=self.longest_pause, notes_calls=True)
        result = simulate(with_fault(self.scenario, strikes), self.seed)
        kinds = self.trials[0].outcome.kinds
        return Breaking(trial.plan, trial.broken, result, trial.outcome.first_bad_job(kinds))

    def raise_if_broken(self) -> None:
        """Raise AssertionError with the shortest breaking timeline, if a promise was broken."""
        if not self.passed:
            raise AssertionError(str(self))

    @property
    def name(self) -> str:
        """What the handler is called."""
        handler: Any = self.scenario.handler
        while hasattr(handler, "func"):
            handler = handler.func
        return str(getattr(handler, "__name__", type(handler).__name__))

    def headline(self) -> str:
        """One sentence: how many plans, and how many of them break a promise."""
        bad = sum(bool(trial.broken) for trial in self.trials)
        most = "one fault" if self.faults_at_once == 1 else f"up to {self.faults_at_once} faults"
        if not bad:
            return f"{self.name} keeps all its promises: {self.plans:,} plans of {most}."
        first = "" if self.complete else ", and stopped there"
        return f"{self.name} breaks: {bad:,} of {self.plans:,} plans of {most}{first}."

    def __str__(self) -> str:
        if self.shortest is None:
            return f"{self.headline()}\n\n{self.broken.to_string()}"
        return (
            f"{self.headline()}\n\n{self.broken.to_string()}\n\n"
            f"The shortest:\n{self.shortest.timeline()}"
        )

    def _repr_html_(self) -> str:
        said = f"<p>{html.escape(self.headline())}</p>{self.broken.to_html()}"
        if self.shortest is None:
            return said
        return f"{said}<pre>{html.escape(self.shortest.timeline())}</pre>"
