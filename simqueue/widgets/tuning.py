"""`tune`: sliders on a scenario, and the curve that they move."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks
from simqueue.model.progress import NeverSettles
from simqueue.plotting.drawing import img_tag
from simqueue.plotting.figure_axes import axis_named
from simqueue.widgets import curve_axis, words
from simqueue.widgets.curve_picture import HEIGHT, WIDTH, CurvePicture, Tops
from simqueue.widgets.garbage import nothing_collected
from simqueue.widgets.goals import Goals
from simqueue.widgets.outcomes import Outcomes
from simqueue.widgets.panel import View
from simqueue.widgets.panels import panels_of, theory_along
from simqueue.widgets.sliders import label, slider
from simqueue.widgets.subject import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simqueue.distributions import Distribution, Floats
    from simqueue.scenario import Scenario
    from simqueue.widgets.prediction import Prediction

PAUSE = 0.5
"""Seconds without a move until the rest of the curve is simulated.

Longer than between two keys of somebody who tries one setting after the other: a run that has just
begun would hold the next move up.
"""
BREATH = 0.002
"""Seconds between two steps of a run of it, in which a move can come in."""
AT_ONCE = 4
"""Points that are drawn together, because a new picture costs more than a new point."""
MOST_LINES = 4
"""So many can be told apart, and simulated while somebody drags a slider."""


def tune(
    scenario: Scenario | Callable[..., Any],
    parameters: Mapping[str, Sequence[float]],
    *,
    x: str | None = None,
    figures: str | Sequence[str] | None = None,
    lines: Mapping[str, Mapping[str, Any]] | None = None,
    labels: Mapping[str, str] | None = None,
    goals: Mapping[str, Mapping[str, float | Sequence[float]]] | None = None,
    guess: Prediction | None = None,
    seed: int = 1,
) -> Tune:
    """Return a slider for each of the `parameters`, and the picture that they move.

    The picture has one parameter on its x axis, and one or two figures against it. A move draws the
    run at the new settings at once; when the sliders rest, the curve follows, a few points at a
    time. Every run has the same seed, so what changes is due to the move.

    Over a lease (a visibility timeout) it shows, unless you ask for other figures, the share of
    jobs delivered more than once and the wait after a crash, with the theory of both.

    Parameters
    ----------
    scenario
        Where the sliders start, and where Reset returns to. Or a function that returns one, for
        parameters that no scenario has; its parameters start at their defaults. The function may
        also return figures of its own, as a dict of numbers by name ("calls per job (calls)").
    parameters
        Dotted names, as for `Scenario.replace`, or the function's parameters, and for each
        (low, high) or (low, high, step).
    x
        The parameter on the x axis; by default the first of `parameters` that is a lease, or the
        broker's own if neither `figures` nor `lines` are given, or the first.
    figures
        One or two names of `simqueue.figures.DESCRIPTIONS`, or of the function's own.
    lines
        What to compare: for each line its name and what is different, as for `Scenario.replace`, or
        as arguments of the function.
    labels
        Names of parameters in words, with the unit in brackets, where there is none yet.
    goals
        Places to find: for each, its text and the most that figures of the first line may be there,
        or the least and the most. A place once found stays ticked.
    guess
        A guess of the first figure where the sliders start, from `predict` (a share in percent); it
        is drawn once it is made.
    seed
        Of all runs.

    Raises
    ------
    ValueError
        For a parameter, range or figure that is not possible; or if a scenario might never end.
    """
    return Tune(
        scenario,
        parameters,
        x=x,
        figures=[figures] if isinstance(figures, str) else figures,
        lines=lines,
        labels=labels or {},
        goals=goals or {},
        guess=guess,
        seed=seed,
    )


class Tune(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """Sliders, a picture, what it says in words, and the settings as code.

    Attributes
    ----------
    sliders
        By parameter.
    scenario
        The scenario with the sliders' settings (or what the function returns for them).
    error
        What went wrong at the last move or after it; None if nothing did.
    """

    def __init__(
        self,
        scenario: Scenario | Callable[..., Any],
        parameters: Mapping[str, Sequence[float]],
        *,
        x: str | None,
        figures: Sequence[str] | None,
        lines: Mapping[str, Mapping[str, Any]] | None,
        labels: Mapping[str, str],
        goals: Mapping[str, Mapping[str, float | Sequence[float]]],
        guess: Prediction | None,
        seed: int,
    ) -> None:
        if not parameters:
            raise checks.fail("parameters", dict(parameters), "dotted names with their ranges")
        self._subject = subject = subject_of(scenario)
        trade = figures is None and lines is None
        self._x = curve_axis.parameter(subject, parameters, x, of_lease=trade)
        self.sliders = {
            name: slider(subject, name, bounds, labels) for name, bounds in parameters.items()
        }
        self._lines = checked_lines(lines)
        axis = curve_axis.of(self.sliders.get(self._x), self._here, len(self._lines))
        self._places, self._fine = axis.places, axis.fine
        self._panels = panels_of(subject, self._x, figures, self._places[-1])
        self._x_label = label(self._x, labels)
        self._outcomes = Outcomes(subject, self._lines, seed)
        # Where the sliders start everything must be possible: what is wrong here is raised.
        self._outcomes.at(self._at(self._here))
        self._theories: dict[Distribution | None, Mapping[str, Floats]] = {}
        self._tops = Tops()
        self._goals = Goals(subject, goals)
        self._guess = guess
        self._held = False
        self._task: asyncio.Task[None] | None = None
        self.error: Exception | None = None

        self._reset = ipywidgets.Button(
            description="Reset", icon="undo", tooltip="Back to the start"
        )
        self._image, self._status, self._tasks, self._code = (ipywidgets.HTML() for _ in range(4))
        super().__init__(
            [
                *self.sliders.values(),
                self._reset,
                self._image,
                self._status,
                self._tasks,
                self._code,
            ]
        )
        for each in self.sliders.values():
            each.observe(self._moved, "value")
        self._reset.on_click(self.reset)
        if guess is not None:
            guess.when_made(self._show)
        self._moved()

    @property
    def settings(self) -> dict[str, Any]:
        """The sliders' values, by parameter."""
        return {name: each.value for name, each in self.sliders.items()}

    @property
    def scenario(self) -> Any:
        """The scenario with the sliders' settings, or what the function returns for them."""
        return self._subject.replaced(self.settings)

    @property
    def figures(self) -> Mapping[str, float]:
        """The figures of the first line's run at the sliders' settings."""
        return self._outcomes.at(self._at(self._here))[0].figures

    def reset(self, _: Any = None) -> None:
        """Put all sliders back to the scenario's own values, and draw once."""
        self._held = True
        for name, each in self.sliders.items():
            each.value = self._subject.value(name)
        self._held = False
        self._tops.clear()
        self._moved()

    def settle(self) -> None:
        """Simulate the rest of the curve now, and draw it.

        Where an event loop runs, as in a notebook, that happens by itself. Raises what went wrong.
        """
        self._stop()
        if self.error is None:
            for place in self._missing():
                self._outcomes.at(self._at(place))
            self._show(self._sharp)
        if self.error is not None:
            raise self.error

    @property
    def picture_at_rest(self) -> str:
        """The picture as it is now, as an SVG: for pages on which nothing runs."""
        return self._quick.svg(self._view(), self.alt_text)

    @property
    def alt_text(self) -> str:
        """The picture as it is now, in words."""
        x = axis_named(self._x_label)
        return words.alternative(self._view(), self._names, self._panels, x)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """As for every widget, and picture and words for where no widget can be shown."""
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(**options) or {})
        bundle["text/html"] = self._image.value + self._status.value
        return bundle

    @cached_property
    def _quick(self) -> CurvePicture:
        """For the time in which sliders move."""
        return self._new_picture(1)

    @cached_property
    def _sharp(self) -> CurvePicture:
        """For the time in which they rest."""
        return self._new_picture(2)

    def _new_picture(self, sharpness: int) -> CurvePicture:
        return CurvePicture(
            self._panels,
            self._x_label,
            (self._places[0], self._places[-1]),
            self._names,
            self._subject.jobs,
            self._tops,
            sharpness=sharpness,
        )

    @property
    def _names(self) -> list[str]:
        return list(self._lines)

    @property
    def _here(self) -> float:
        """Where the sliders stand on the x axis."""
        if self._x in self.sliders:
            return float(self.sliders[self._x].value)
        return float(self._subject.value(self._x))

    def _at(self, place: float) -> dict[str, Any]:
        """The sliders' settings at another place on the x axis."""
        whole = float(place).is_integer()
        return self.settings | {self._x: int(place) if whole else float(place)}

    def _missing(self) -> list[float]:
        """The places of the curve that were not simulated yet, so that its shape shows early."""
        places = curve_axis.coarse_first(self._places)
        return [each for each in places if not self._outcomes.knows(self._at(each))]

    def _moved(self, _: Any = None) -> None:
        if self._held:
            return
        self._stop()
        self.error = None
        try:
            with nothing_collected():
                self._outcomes.at(self._at(self._here))
                self._show()
        except (ValueError, NeverSettles) as error:
            # These settings do not go together: say so, and wait for the next move.
            self._fail(error)
        except Exception as error:
            self._fail(error)
            raise
        else:
            self._refine_soon()

    def _refine_soon(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # plain Python: `settle` does it
            return
        self._task = loop.create_task(self._refine())

    async def _refine(self) -> None:
        await asyncio.sleep(PAUSE)
        try:
            for count, place in enumerate(self._missing(), start=1):
                with closing(self._outcomes.coming(self._at(place))) as steps:
                    for _ in steps:
                        await asyncio.sleep(BREATH)
                if count % AT_ONCE == 0:
                    self._show()
            self._show(self._sharp)
        except Exception as error:
            self._fail(error)
            raise

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _fail(self, error: Exception) -> None:
        self.error = error
        self._status.value = words.alert(error)

    def _show(self, picture: CurvePicture | None = None) -> None:
        view = self._view()
        self._shown = picture or self._quick
        x = axis_named(self._x_label)
        self._image.value = img_tag(self._shown.png(view), self.alt_text, WIDTH, HEIGHT)
        self._status.value = words.status(words.outcome(view, self._names, self._panels, x))
        self._goals.look(view.now[0].figures)
        self._tasks.value = self._goals.as_html()
        self._code.value = words.code(self._subject.code(self.settings))

    def _view(self) -> View:
        settings = self._at(self._here)
        known = [place for place in self._places if self._outcomes.knows(self._at(place))]
        return View(
            x=self._here,
            now=self._outcomes.at(settings),
            points=[(place, self._outcomes.at(self._at(place))) for place in known],
            fine=self._fine,
            theory=self._theory(settings),
            guess=self._guess_point(),
        )

    def _theory(self, settings: Mapping[str, Any]) -> Mapping[str, Floats]:
        """Of the work at the settings; worked out once for each."""
        work = self._subject.work(settings)
        if work not in self._theories:
            self._theories[work] = theory_along(self._panels, work, self._fine)
        return self._theories[work]

    def _guess_point(self) -> tuple[float, float] | None:
        if self._guess is None or self._guess.value is None:
            return None
        value = self._guess.value / (100 if self._panels[0].axis.is_share else 1)
        return float(self._subject.value(self._x)), value


def checked_lines(lines: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """The lines to compare; a single one without changes is just the simulation."""
    if lines is None:
        return {"simulated": {}}
    if not isinstance(lines, Mapping) or not 0 < len(lines) <= MOST_LINES:
        raise checks.fail("lines", lines, f"1 to {MOST_LINES} names, each with what is different")
    return lines
