"""`tune`: sliders on a scenario, and the curve that they move."""

from __future__ import annotations

import asyncio
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.model.progress import NeverSettles
from simqueue.plotting.drawing import img_tag
from simqueue.plotting.lease_sweep import LEASES
from simqueue.plotting.rates import RATES
from simqueue.widgets import lease_axis, words
from simqueue.widgets.lease_picture import HEIGHT, WIDTH, LeasePicture, View
from simqueue.widgets.outcomes import Outcomes
from simqueue.widgets.sliders import current, slider

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simqueue.scenario import Scenario
    from simqueue.widgets.prediction import Prediction

PAUSE = 0.25
"""Seconds without a move until the rest of the curve is simulated."""
BREATH = 0.005
"""Seconds between two points of it, in which a move can come in."""
AT_ONCE = 4
"""Points that are drawn together, because a new picture costs more than a new point."""


def tune(
    scenario: Scenario,
    parameters: Mapping[str, Sequence[float]],
    *,
    x: str | None = None,
    figure: str = "duplicate_delivery_rate",
    goals: Mapping[str, Mapping[str, float]] | None = None,
    guess: Prediction | None = None,
    seed: int = 1,
) -> Tune:
    """Return a slider for each of the `parameters`, and the picture that they move.

    The picture has the lease (the visibility timeout) on its x axis: the share of jobs delivered
    more than once on the left, the wait after a crash on the right, simulated and in theory. A move
    draws the run at the new settings and the theory at once; when the sliders rest, the simulated
    curve follows, a few points at a time. Every run has the same seed, so what changes is due to
    the move.

    Parameters
    ----------
    scenario
        Where the sliders start, and where Reset returns to.
    parameters
        Dotted names, as for `Scenario.replace`, and for each (low, high) or (low, high, step).
    x
        The parameter on the x axis; by default the first of `parameters` that is a lease, or the
        broker's own.
    figure
        The share on the left: "duplicate_delivery_rate", "duplicate_effect_rate",
        "dead_letter_rate", "lost_rate" or "wasted_work".
    goals
        Places to find: for each, its text and the most that figures of the run at the sliders may
        be there, by their names (`simqueue.figures.DESCRIPTIONS`). A place once found stays ticked.
    guess
        A guess of that share in percent, from `predict`; it is drawn once it is made.
    seed
        Of all runs.

    Raises
    ------
    ValueError
        For a parameter, range or figure that is not possible; or if the scenario might never end.
    """
    return Tune(scenario, parameters, x=x, figure=figure, goals=goals or {}, guess=guess, seed=seed)


class Tune(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """Sliders, a picture, what it says in words, and the settings as code.

    Attributes
    ----------
    sliders
        By parameter.
    scenario
        The scenario with the sliders' settings.
    error
        What went wrong at the last move or after it; None if nothing did.
    """

    def __init__(
        self,
        scenario: Scenario,
        parameters: Mapping[str, Sequence[float]],
        *,
        x: str | None,
        figure: str,
        goals: Mapping[str, Mapping[str, float]],
        guess: Prediction | None,
        seed: int,
    ) -> None:
        if not parameters:
            raise checks.fail("parameters", dict(parameters), "dotted names with their ranges")
        self._figure = checks.one_of("figure", figure, RATES)
        self._start = scenario
        self._lease = lease_axis.parameter(scenario, parameters, x)
        self._word = LEASES.get(self._lease, self._lease)
        self.sliders = {name: slider(scenario, name, bounds) for name, bounds in parameters.items()}
        axis = lease_axis.of(self.sliders.get(self._lease), self._here)
        self._leases, self._fine = axis.leases, axis.fine
        self._outcomes = Outcomes(scenario, self._lease, seed)
        self._quick, self._sharp = (self._new_picture(sharpness) for sharpness in (1, 2))
        self._picture = self._quick
        for most in goals.values():
            for name, value in most.items():
                checks.one_of("goals: the figure", name, DESCRIPTIONS)
                checks.number(f"goals: the most of {name}", value)
        self._goals = dict(goals)
        self._found: set[str] = set()
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
    def scenario(self) -> Scenario:
        """The scenario with the sliders' settings."""
        return self._start.replace(self.settings)

    @property
    def figures(self) -> Mapping[str, float]:
        """The figures of the run at the sliders' settings."""
        return self._outcomes.at(self._at(self._here)).figures

    def reset(self, _: Any = None) -> None:
        """Put all sliders back to the scenario's own values, and draw once."""
        self._held = True
        for name, each in self.sliders.items():
            each.value = current(self._start, name)
        self._held = False
        self._moved()

    def settle(self) -> None:
        """Simulate the rest of the curve now, and draw it.

        Where an event loop runs, as in a notebook, that happens by itself. Raises what went wrong.
        """
        self._stop()
        if self.error is None:
            for lease in self._missing():
                self._outcomes.at(self._at(lease))
            self._show(self._sharp)
        if self.error is not None:
            raise self.error

    @property
    def _here(self) -> float:
        """The lease at the sliders' settings."""
        if self._lease in self.sliders:
            return float(self.sliders[self._lease].value)
        return float(current(self._start, self._lease))

    def _at(self, lease: float) -> dict[str, Any]:
        """The sliders' settings with another lease."""
        whole = float(lease).is_integer()
        return self.settings | {self._lease: int(lease) if whole else float(lease)}

    def _missing(self) -> list[float]:
        """The leases of the curve that were not simulated yet, so that its shape shows early."""
        leases = lease_axis.coarse_first(self._leases)
        return [each for each in leases if not self._outcomes.knows(self._at(each))]

    def _new_picture(self, sharpness: int) -> LeasePicture:
        return LeasePicture(
            self._word,
            (self._leases[0], self._leases[-1]),
            self._figure,
            RATES[self._figure],
            self._start.jobs or 1,
            sharpness=sharpness,
        )

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
            for count, lease in enumerate(self._missing(), start=1):
                self._outcomes.at(self._at(lease))
                if count % AT_ONCE == 0:
                    self._show()
                await asyncio.sleep(BREATH)
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

    def _show(self, picture: LeasePicture | None = None) -> None:
        self._picture = picture or self._quick
        settings = self._at(self._here)
        now = self._outcomes.at(settings)
        known = [each for each in self._leases if self._outcomes.knows(self._at(each))]
        view = View(
            now=now,
            points=[self._outcomes.at(self._at(each)) for each in known],
            theory=self._outcomes.theory(settings, self._fine),
            guess=self._guess_point(),
        )
        said = words.outcome(view, self._word, self._figure)
        alt = words.alternative(view, self._word, self._figure)
        self._image.value = img_tag(self._picture.png(view), alt, WIDTH, HEIGHT)
        self._status.value = words.status(said)
        self._found |= words.found(self._goals, now.figures)
        self._tasks.value = words.goals(self._goals, self._found)
        self._code.value = words.code(self.settings)

    def _guess_point(self) -> tuple[float, float] | None:
        if self._guess is None or self._guess.value is None:
            return None
        return float(current(self._start, self._lease)), self._guess.value / 100


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Put garbage collection off: going through all of a notebook's objects takes 100 ms or more.

    It comes later, while the rest of the curve is simulated and nobody waits.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
