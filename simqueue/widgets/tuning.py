"""`tune`: sliders on a scenario, and the curve that they move."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks
from simqueue.model.progress import NeverSettles
from simqueue.plotting.drawing import img_tag
from simqueue.plotting.figure_axes import axis_named
from simqueue.widgets import curve_axis, words
from simqueue.widgets.curve import Curve
from simqueue.widgets.curve_picture import HEIGHT, WIDTH, CurvePicture, Tops
from simqueue.widgets.garbage import nothing_collected
from simqueue.widgets.goals import Goals
from simqueue.widgets.meanwhile import Meanwhile
from simqueue.widgets.sliders import label, setting, slider
from simqueue.widgets.subject import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simqueue.scenario import Scenario
    from simqueue.widgets.panel import View
    from simqueue.widgets.prediction import Prediction
    from simqueue.widgets.subject import Outcome

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
        x = curve_axis.parameter(subject, parameters, x, of_lease=trade)
        self.sliders = {
            name: slider(subject, name, bounds, labels) for name, bounds in parameters.items()
        }
        lines = checked_lines(lines)
        self._names = list(lines)
        self._x_label = label(x, labels)
        self._curve = Curve(subject, x, self.sliders.get(x), figures, lines, seed)
        # Where the sliders start everything must be possible: what is wrong here is raised.
        self._curve.outcomes.at(self._curve.full(self.settings))
        self._tops = Tops()
        self._goals = Goals(subject, goals)
        self._guess = guess
        self._held = False
        self._meanwhile = Meanwhile(self._curve, lambda: self._sharp, self._show, self._fail)
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
            guess.when_made(lambda: self._show(at_rest=False))
        self._moved()

    @property
    def settings(self) -> dict[str, Any]:
        """The sliders' values, by parameter."""
        return {name: setting(each, each.value) for name, each in self.sliders.items()}

    @property
    def scenario(self) -> Any:
        """The scenario with the sliders' settings, or what the function returns for them."""
        return self._subject.replaced(self.settings)

    @property
    def figures(self) -> Mapping[str, float]:
        """The figures of the first line's run at the sliders' settings."""
        return self._now()[0].figures

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
        self._meanwhile.stop()
        if self.error is None:
            for settings in self._curve.missing(self.settings):
                self._curve.outcomes.at(settings)
            self._show(at_rest=True)
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
        return words.alternative(self._view(), self._names, self._curve.panels, x)

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
            self._curve.panels,
            self._x_label,
            self._curve.ends,
            self._names,
            self._subject.jobs,
            self._tops,
            sharpness=sharpness,
        )

    def _now(self) -> Sequence[Outcome]:
        """The runs at the sliders' settings, one for each line, made if need be."""
        return self._curve.outcomes.at(self._curve.full(self.settings))

    def _moved(self, change: Mapping[str, Any] | None = None) -> None:
        if self._held:
            return
        self._meanwhile.stop()
        self.error = None
        try:
            with nothing_collected():
                self._now()
                self._show(at_rest=False)
        except (ValueError, NeverSettles) as error:
            # These settings do not go together: say so, and wait for the next move.
            self._fail(error)
        except Exception as error:
            self._fail(error)
            raise
        else:
            self._meanwhile.begin(self.settings, self._one_further(change))

    def _one_further(self, change: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The settings after one more move like this one, if there can be one."""
        if change is None:
            return None
        moved = change["owner"]
        value = setting(moved, 2 * change["new"] - change["old"])
        if not moved.min <= value <= moved.max:
            return None
        return self.settings | {name: value for name, each in self.sliders.items() if each is moved}

    def _fail(self, error: Exception) -> None:
        """Say what went wrong."""
        self.error = error
        self._status.value = words.alert(error)

    def _show(self, *, at_rest: bool) -> None:
        """Draw what is known, as sharp as can be where the sliders are `at_rest`."""
        view = self._view()
        self._shown = self._sharp if at_rest else self._quick
        x = axis_named(self._x_label)
        self._image.value = img_tag(self._shown.png(view), self.alt_text, WIDTH, HEIGHT)
        self._status.value = words.status(words.outcome(view, self._names, self._curve.panels, x))
        self._goals.look(view.now[0].figures)
        self._tasks.value = self._goals.as_html()
        self._code.value = words.code(self._subject.code(self.settings))

    def _view(self) -> View:
        return self._curve.view(self.settings, None if self._guess is None else self._guess.value)


def checked_lines(lines: Mapping[str, Mapping[str, Any]] | None) -> Mapping[str, Any]:
    """The lines to compare; a single one without changes is just the simulation."""
    if lines is None:
        return {"simulated": {}}
    if not isinstance(lines, Mapping) or not 0 < len(lines) <= MOST_LINES:
        raise checks.fail("lines", lines, f"1 to {MOST_LINES} names, each with what is different")
    return lines
