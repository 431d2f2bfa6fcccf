"""A submission, as the graders of exercises use it: run its handler, call its functions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from simqueue import checks
from simqueue.grading.failure import CheckFailed, SubmissionFailed
from simqueue.grading.process import Child, Limits
from simqueue.grading.remote import RemoteHandler
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.exploration import Report, Trial
    from simqueue.result import Result
    from simqueue.scenario import Scenario

T = TypeVar("T")

MEMORY_OF_FUNCTIONS: Final = 0


class Submission:
    """The code of a learner, in a process of its own.

    Parameters
    ----------
    file
        The Python file. It is copied: the code never sees the folder that it comes from. None:
        nothing was handed in.
    limits
        What it may use.
    """

    def __init__(self, file: Path | None, limits: Limits | None = None) -> None:
        self.file = file
        self._limits = limits or Limits()
        self._folder: Path | None = None
        self._child: Child | None = None
        self._failure: SubmissionFailed | None = None
        self._explored: dict[str, Exploration] = {}
        self._once: dict[Any, Any] = {}

    @property
    def child(self) -> Child:
        """The process. Raises SubmissionFailed if it cannot be started, or has ended."""
        if self._failure is not None:
            raise self._failure
        if self._child is None:
            try:
                self._child = self._started()
            except SubmissionFailed as failure:
                self._failure = failure
                raise
        return self._child

    def handler(self, name: str = "handler", **options: Any) -> RemoteHandler:
        """Return the submission's handler, to be simulated or explored like any other."""
        return RemoteHandler(self.child, name, **options)

    def call(self, name: str, *args: Any) -> Any:
        """Return what the function `name` returns for `args`: plain data both.

        Raises CheckFailed if it raises.
        """
        return self.call_each(name, [args])[0]

    def call_each(self, name: str, calls: Iterable[Sequence[Any]]) -> list[Any]:
        """Return what the function `name` returns for each list of arguments.

        One question for all calls: much quicker than as many. Raises CheckFailed at the first call
        that raises.
        """
        given = [list(args) for args in calls]
        answer = self.child.ask(
            {"do": "call", "memory": MEMORY_OF_FUNCTIONS, "function": name, "calls": given}
        )
        values = answer.get("values")
        if not isinstance(values, list) or len(values) != len(given):
            raise self.child.spoke_garbage()
        found = []
        for args, value in zip(given, values, strict=True):
            if not isinstance(value, dict):
                raise self.child.spoke_garbage()
            if "value" not in value:
                raise CheckFailed(f"{name}({_listed(args)}) raised {_said(value)}.")
            found.append(value["value"])
        return found

    def explore(self, name: str = "handler", **options: Any) -> Exploration:
        """Explore the handler `name`; `options` are those of `simqueue.explore`.

        What was explored once with the same options is not explored again.
        """
        key = f"{name} {sorted(options.items(), key=lambda item: item[0])!r}"
        if key not in self._explored:
            from simqueue.exploration import explore

            self._explored[key] = Exploration(explore(self.handler(name), **options))
        return self._explored[key]

    def simulate(self, scenario: Scenario, name: str = "handler", seed: int = 0) -> Result:
        """Run `scenario` with the submission's handler."""
        from simqueue.simulation import simulate

        return simulate(scenario.replace({"handler": self.handler(name)}), seed)

    def once(self, experiment: Callable[[Submission], T]) -> T:
        """Return what `experiment` makes of this submission: made once, for several checks."""
        if experiment not in self._once:
            self._once[experiment] = experiment(self)
        found: T = self._once[experiment]
        return found

    def printed(self) -> str:
        """Return what the code has printed so far, cut."""
        return "" if self._child is None else self._child.printed()

    def close(self) -> None:
        """End the process, and remove the copy."""
        if self._child is not None:
            self._child.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> Child:
        if self.file is None or not self.file.is_file():
            raise SubmissionFailed("nothing handed in", "There is no file for this exercise.")
        if self.file.stat().st_size > 1_000_000:
            raise SubmissionFailed("too large", "The file is larger than a megabyte.")
        self._folder = Path(tempfile.mkdtemp(prefix="submission-"))
        copy = self._folder / "submission.py"
        shutil.copyfile(self.file, copy)
        return Child(copy, self._limits, shown_as=self.file.name)


class Exploration:
    """Every fault plan, run on a submission."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def keeps(self, *promises: str, under: str | None = None) -> None:
        """Check that every plan keeps each of `promises`, and that all is well without any fault.

        `under` looks only at the plans of one kind of fault, such as "crash" or "ack lost". Raises
        CheckFailed with the breaking plan of the fewest faults and events, and its story.
        """
        without = self.report.trials[0]
        if without.broken:
            run = self.report.replay(without)
            why = "; ".join([*without.broken.values(), *_last_failure(run.result)])
            raise CheckFailed(f"Without any fault: {why}.", run.timeline())
        for promise in promises:
            checks.one_of("promise", promise, self.report.promises)
            broken = [
                trial
                for trial in self.report.trials
                if promise in trial.broken and under in (None, trial.plan.kind)
            ]
            if broken:
                first = min(broken, key=lambda trial: (len(trial.plan.faults), trial.events))
                plan = str(first.plan)
                raise CheckFailed(
                    f"{plan[0].upper()}{plan[1:]}: {first.broken[promise]}.", self._story(first)
                )

    def _story(self, trial: Trial) -> str:
        return self.report.replay(trial).timeline()


def _last_failure(result: Result) -> list[str]:
    """What the last failed attempt raised, if one failed."""
    records = result.records
    failed = records.table[records.table[:, 1] == Event.FAILED]
    return [f"the last attempt raised {records.words[int(failed[-1, 5])]}"] if len(failed) else []


def acked(result: Result, job: int = 0) -> bool:
    """Whether `job` ended by an ack, for promises about what must be there by then."""
    from simqueue.exploration.promises import Outcome

    return Outcome.of(result).ends[job] == "acked"


def random_source(seed: int) -> dict[str, Any]:
    """Return an argument for `Submission.call` that arrives as a ``random.Random(seed)``."""
    return {"$": "random", "seed": seed}


def check(condition: object, reason: str, story: str | Callable[[], str] = "") -> None:
    """Raise CheckFailed with `reason`, one sentence, unless `condition` is true."""
    if not condition:
        raise CheckFailed(reason, story() if callable(story) else story)


def _listed(args: list[Any]) -> str:
    shown = ["rng" if isinstance(arg, dict) and "$" in arg else f"{arg!r:.60}" for arg in args]
    return ", ".join(shown)


def _said(value: dict[str, Any]) -> str:
    from simqueue.grading.wire import Garbage, unpack_error

    try:
        error = unpack_error(value.get("error"))
    except Garbage:
        return "something"
    line = value.get("line")
    where = f" in line {line}" if isinstance(line, int) else ""
    return f"{type(error).__name__}: {error}{where}"
