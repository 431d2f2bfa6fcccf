"""What the sliders of `tune` move: a scenario, or a function of one's own that makes one."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from simqueue import checks
from simqueue.model.late_ack import Deletes
from simqueue.model.settings import LeaseSettings
from simqueue.plotting.figure_axes import FIGURE_AXES, FigureAxis, axis_named
from simqueue.scenario import Scenario
from simqueue.simulation import in_slices

if TYPE_CHECKING:
    from collections.abc import Callable

    from simqueue.distributions import Distribution, Floats

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """One run: its figures by name, and the wait (s) after each crash in it."""

    figures: Mapping[str, float]
    waits: Floats = field(default_factory=lambda: np.empty(0))


Run = Generator[None, None, Outcome]
"""A run that stops now and then, for a move that comes in, and returns its outcome."""

EVENTS_AT_ONCE = 1_000
"""So many take about 10 ms."""


class Subject(Protocol):
    """What has parameters with values to start from, and comes to figures."""

    jobs: int
    """How many jobs there are: below one in so many, a share is as good as none."""

    def value(self, name: str) -> Any:
        """Where the slider of that parameter starts."""

    def check(self, settings: Settings) -> None:
        """Raise ValueError, with one sentence, if these settings are not possible."""

    def run(self, settings: Settings, changes: Settings, seed: int) -> Run:
        """Come to what the settings give, and then the changes of one line, in small steps."""

    def work(self, settings: Settings) -> Distribution | None:
        """How long jobs take at these settings, if there is such a thing."""

    def axis(self, figure: str) -> FigureAxis:
        """How a figure of it is named, raising ValueError if it has none of that name."""

    def replaced(self, settings: Settings) -> Any:
        """The subject with these settings: a scenario, or what the function returns."""

    def code(self, settings: Settings) -> str:
        """Return the settings as Python."""


def subject_of(given: Scenario | Callable[..., Any]) -> Subject:
    """Return `given` as a subject, raising ValueError if it is neither of the two."""
    if isinstance(given, Scenario):
        return ScenarioSubject(given)
    if callable(given):
        return FunctionSubject(given)
    raise checks.fail("scenario", given, "a Scenario, or a function that returns one")


class ScenarioSubject:
    """A scenario: parameters are its dotted names, the changes of a line replace parts of it."""

    def __init__(self, scenario: Scenario) -> None:
        must_end(scenario)
        self._scenario = scenario
        self.jobs = scenario.jobs or 1

    def value(self, name: str) -> Any:
        """The scenario's own value of the dotted name."""
        found: Any = self._scenario
        for part in name.split("."):
            if not hasattr(found, part):
                raise checks.fail("the slider's parameter", name, "one that the scenario has")
            found = getattr(found, part)
        return found

    def check(self, settings: Settings) -> None:
        """Try the replacement."""
        self._scenario.replace(settings)

    def run(self, settings: Settings, changes: Settings, seed: int) -> Run:
        """Simulate it, with the line's changes where both change the same."""
        return simulated(self._scenario.replace({**settings, **changes}), seed)

    def work(self, settings: Settings) -> Distribution | None:
        """The distribution of the work."""
        return self._scenario.replace(settings).work

    def axis(self, figure: str) -> FigureAxis:
        """One of `simqueue.figures`."""
        return FIGURE_AXES[checks.one_of("figures", figure, FIGURE_AXES)]

    def replaced(self, settings: Settings) -> Scenario:
        """The scenario with these settings."""
        return self._scenario.replace(settings)

    def code(self, settings: Settings) -> str:
        """A call of `replace`."""
        changed = ", ".join(f'"{name}": {value!r}' for name, value in settings.items())
        return f"scenario.replace({{{changed}}})"


class FunctionSubject:
    """A function: parameters are those of the function, and so are the changes of a line.

    It returns a scenario, or figures of its own by name, for models that are none.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._parameters = inspect.signature(function).parameters
        missing = [each for each in self._parameters.values() if each.default is each.empty]
        if missing:
            raise ValueError(
                f"each parameter of {self._name} must have a default, where its slider starts; "
                f"{missing[0].name!r} has none."
            )
        start = function()
        self._gives_scenarios = isinstance(start, Scenario)
        self._figures: Mapping[str, Any] = FIGURE_AXES
        self.jobs = 1
        if isinstance(start, Scenario):
            self.jobs = start.jobs or 1
        else:
            self._figures = self._figures_of(start).figures

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", "the function")

    def value(self, name: str) -> Any:
        """The default of the function's parameter."""
        if name not in self._parameters:
            raise checks.fail("the slider's parameter", name, f"a parameter of {self._name}")
        return self._parameters[name].default

    def check(self, settings: Settings) -> None:
        """Make the scenario; figures of one's own are not computed only to see."""
        if self._gives_scenarios:
            self._function(**settings)

    def run(self, settings: Settings, changes: Settings, seed: int) -> Run:
        """Call the function, and simulate what it returns."""
        for name in changes:
            checks.one_of(f"lines: the parameter of {self._name}", name, self._parameters)
        made = self._function(**{**settings, **changes})
        if isinstance(made, Scenario):
            return (yield from simulated(made, seed))
        return self._figures_of(made)

    def _figures_of(self, made: Any) -> Outcome:
        if not isinstance(made, Mapping):
            raise checks.fail(
                f"what {self._name} returns", made, "a Scenario, or a dict of figures by name"
            )
        return Outcome({name: float(value) for name, value in made.items()})

    def work(self, settings: Settings) -> Distribution | None:
        """The distribution of the work, if the function makes scenarios."""
        if not self._gives_scenarios:
            return None
        work: Distribution = self._function(**settings).work
        return work

    def axis(self, figure: str) -> FigureAxis:
        """One of `simqueue.figures`, or of the function's own, with its unit in brackets."""
        checks.one_of("figures", figure, self._figures)
        return FIGURE_AXES[figure] if self._gives_scenarios else axis_named(figure)

    def replaced(self, settings: Settings) -> Any:
        """What the function returns."""
        return self._function(**settings)

    def code(self, settings: Settings) -> str:
        """A call of the function."""
        return f"{self._name}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def simulated(scenario: Scenario, seed: int) -> Run:
    """Come to what one run gives."""
    must_end(scenario)
    result = yield from in_slices(scenario, seed, EVENTS_AT_ONCE)
    return Outcome(result.figures, result.tally.recovery)


def must_end(scenario: Scenario) -> None:
    """Refuse a scenario whose slow jobs may be delivered for ever: no slider would wait for it."""
    settings = scenario.broker.settings()
    if (
        isinstance(settings, LeaseSettings)
        and settings.lease is not None
        and scenario.horizon is None
        and settings.max_attempts is None
        and not isinstance(settings.late_ack, Deletes)
    ):
        raise ValueError(
            "the scenario must end although jobs outlast their lease: give its broker a limit of "
            "receives (max_receives or max_receive_count), or the scenario a horizon."
        )
