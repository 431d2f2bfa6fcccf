"""The curve of `tune`: its runs along the x axis, and the theory, at the settings of sliders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.widgets import curve_axis
from simqueue.widgets.outcomes import Outcomes
from simqueue.widgets.panel import View
from simqueue.widgets.panels import panels_of, theory_along

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simqueue.distributions import Distribution, Floats
    from simqueue.widgets.subject import Settings, Subject


class Curve:
    """What is known of the figures over one parameter.

    Parameters
    ----------
    subject
        What is simulated.
    x
        The parameter on the x axis.
    slider
        Its slider, or None if it has none.
    figures
        What is drawn, as for `tune`.
    lines
        What differs between the compared lines.
    seed
        Of all runs.

    Attributes
    ----------
    x
        The parameter on the x axis.
    ends
        The lowest and highest value there.
    panels
        What is drawn.
    """

    def __init__(
        self,
        subject: Subject,
        x: str,
        slider: Any,
        figures: Sequence[str] | None,
        lines: Mapping[str, Settings],
        seed: int,
    ) -> None:
        self._subject = subject
        self.x = x
        start = subject.value(x) if slider is None else slider.value
        axis = curve_axis.of(slider, float(start), len(lines))
        self._places, self._fine = axis.places, axis.fine
        self.ends = self._places[0], self._places[-1]
        self.panels = panels_of(subject, x, figures, self._places[-1])
        self.outcomes = Outcomes(subject, lines, seed)
        self._theories: dict[Distribution | None, Mapping[str, Floats]] = {}

    def here(self, settings: Settings) -> float:
        """Where the settings stand on the x axis."""
        return float(settings.get(self.x, self._subject.value(self.x)))

    def full(self, settings: Settings) -> dict[str, Any]:
        """The settings with their place on the x axis, also where it has no slider."""
        return self._at(self.here(settings), settings)

    def missing(self, settings: Settings) -> list[dict[str, Any]]:
        """Return the settings along the curve that were not simulated, in the order to do it."""
        places = curve_axis.coarse_first(self._places)
        along = [self._at(place, settings) for place in places]
        return [each for each in along if not self.outcomes.knows(each)]

    def view(self, settings: Settings, guess: float | None) -> View:
        """What is known at the settings and along the curve, with a guess of the first figure.

        The run at the settings is made if need be. A guess is made where the subject starts; a
        share is guessed in percent.
        """
        along = {place: self._at(place, settings) for place in self._places}
        return View(
            x=self.here(settings),
            now=self.outcomes.at(self.full(settings)),
            points=[
                (place, self.outcomes.at(each))
                for place, each in along.items()
                if self.outcomes.knows(each)
            ],
            fine=self._fine,
            theory=self._theory(self.full(settings)),
            guess=None if guess is None else self._guess_point(guess),
        )

    def _at(self, place: float, settings: Settings) -> dict[str, Any]:
        whole = float(place).is_integer()
        return {**settings, self.x: int(place) if whole else float(place)}

    def _theory(self, settings: Settings) -> Mapping[str, Floats]:
        """Of the work at the settings; worked out once for each."""
        work = self._subject.work(settings)
        if work not in self._theories:
            self._theories[work] = theory_along(self.panels, work, self._fine)
        return self._theories[work]

    def _guess_point(self, guess: float) -> tuple[float, float]:
        value = guess / (100 if self.panels[0].axis.is_share else 1)
        return float(self._subject.value(self.x)), value
