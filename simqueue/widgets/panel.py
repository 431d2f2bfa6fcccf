"""One panel of the picture of `tune`: the artists that move on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue.plotting.drawing import BLACK, BLUE, GREY, LINES, VERMILLION, use_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simqueue.distributions import Floats
    from simqueue.widgets.panels import PanelSettings
    from simqueue.widgets.subject import Outcome

GUESS = "#8A3D6E"
NONE = "none"
FEW = 14
"""Points between the values of two lines, so that they can be read."""


@dataclass(frozen=True)
class View:
    """What to show.

    Attributes
    ----------
    x, now
        Where the sliders stand, and the runs there, one for each line.
    points
        Other places on the x axis, with their runs.
    theory
        By figure, theory along `fine`.
    guess
        (x, value in the unit of the first figure), or None.
    """

    x: float
    now: Sequence[Outcome]
    points: Sequence[tuple[float, Sequence[Outcome]]]
    fine: Floats
    theory: Mapping[str, Floats]
    guess: tuple[float, float] | None = None


class Panel:
    """The axes of one figure, with a line and a ring for each of the compared `names`."""

    def __init__(self, ax: Any, settings: PanelSettings, names: Sequence[str], jobs: int) -> None:
        self._ax = ax
        self.settings = settings
        self._least = 0.5 / jobs
        ax.set_title(settings.title)
        ax.set_ylabel(settings.label)
        if settings.log:
            ax.set_yscale("log")
            ax.set_ylim(self._least, 1.3)
            ax.minorticks_off()
        else:
            ax.set_ylim(0, settings.top or 1.0)
        if settings.axis.is_share:
            use_percent(ax.yaxis)
        (self.theory,) = ax.plot(
            [], [], color=BLACK, linestyle=(0, (4, 2)), linewidth=1.3, animated=True
        )
        self._here = ax.axvline(0, color=GREY, linewidth=1.2, linestyle=":", animated=True)
        styles = _styles(len(names))
        self.lines = [
            ax.plot([], [], f"{marker}-", color=colour, animated=True)[0]
            for colour, marker, _ in styles
        ]
        self.rings = [ax.plot([], [], "o", **_RING | {"color": ring})[0] for *_, ring in styles]
        self._colours = [ring for *_, ring in styles]
        self._values = [ax.annotate("", (0, 0), color=ring, **VALUE) for *_, ring in styles]
        self.waits = ax.plot([], [], "_", color=GREY, markersize=9, animated=True)[0]
        for artist in self.artists:
            artist.set_in_layout(False)

    @property
    def artists(self) -> tuple[Any, ...]:
        """All that is drawn anew, in the order in which to draw it."""
        return (self._here, self.theory, *self.lines, self.waits, *self.rings, *self._values)

    @property
    def scale(self) -> tuple[Any, ...]:
        """The axis that follows what is drawn, and the frame on which it stands, in that order."""
        return (self._ax.yaxis, *self._ax.spines.values())

    def place(self, value: float) -> float:
        """Where a value stands on the axis: on a logarithmic one, nothing stands at the bottom."""
        return max(value, self._least) if self.settings.log else value

    def text(self, value: float) -> str:
        """The value in words."""
        return NONE if self.settings.axis.is_share and not value else self.settings.axis.text(value)

    def highest(self, view: View, *, guess: bool) -> float:
        """The highest value in view, perhaps with the guess."""
        shown = [view.now, *(outcomes for _, outcomes in view.points)]
        values = [each.figures[self.settings.figure] for outcomes in shown for each in outcomes]
        if guess and view.guess is not None:
            values.append(view.guess[1])
        return max((value for value in values if math.isfinite(value)), default=0.0)

    def set_top(self, top: float) -> None:
        """Let the axis reach from 0 to `top`."""
        self._ax.set_ylim(0, top)

    def show(self, view: View) -> None:
        """Move everything to where it is in `view`."""
        figure = self.settings.figure
        # With the place where the sliders stand, so that its ring is on the line.
        places = sorted({**dict(view.points), view.x: view.now}.items())
        for index, line in enumerate(self.lines):
            values = [self.place(outcomes[index].figures[figure]) for _, outcomes in places]
            line.set_data([x for x, _ in places], values)
        theory = view.theory.get(figure, np.full(len(view.fine), np.nan))
        if self.settings.log:
            theory = np.maximum(theory, self._least / 10)
        self.theory.set_data(view.fine, theory)
        self._here.set_xdata([view.x, view.x])
        if self.settings.waits:
            crashes = np.concatenate([each.waits for each in view.now])
            self.waits.set_data(np.full(len(crashes), view.x), crashes)
        self._mark(view)

    def _mark(self, view: View) -> None:
        """Put a ring and its value where the sliders stand; values keep clear of each other."""
        values = [each.figures[self.settings.figure] for each in view.now]
        places = [self.place(value) for value in values]
        for ring, place in zip(self.rings, places, strict=True):
            ring.set_data([view.x], [place])
        low, high = self._ax.get_xlim()
        at_end = view.x > high - 0.15 * (high - low)
        for text in self._values:
            text.set_visible(False)
        shown = self._texts(values, places)
        ups = self._offsets([places[index] for index in shown], at_end=at_end)
        for (index, colour), up in zip(shown.items(), ups, strict=True):
            text = self._values[index]
            text.set_visible(True)
            text.set_text(self.text(values[index]))
            text.set_color(colour)
            text.xy = (view.x, places[index])
            text.set_position((-10 if at_end else 10, up))
            text.set_horizontalalignment("right" if at_end else "left")

    def _texts(self, values: Sequence[float], places: Sequence[float]) -> dict[int, str]:
        """Which values are written, with their colours: what is the same is written once."""
        shown: dict[int, str] = {}
        for index, value in enumerate(values):
            if not math.isfinite(value):
                continue
            twin = next((at for at in shown if self._same(values, places, at, index)), None)
            if twin is None:
                shown[index] = self._colours[index]
            else:
                shown[twin] = BLACK
        return shown

    def _same(self, values: Sequence[float], places: Sequence[float], one: int, two: int) -> bool:
        return places[one] == places[two] and self.text(values[one]) == self.text(values[two])

    def _offsets(self, places: Sequence[float], *, at_end: bool) -> list[float]:
        """How far above its ring each value is written, in points.

        A curve of waits rises to the right: its value is written below it, or left of its end above
        it, and never below the axis.
        """
        first = -14.0 if self.settings.waits and not at_end else 7.0
        points = 72 / self._ax.figure.dpi
        heights = [self._ax.transData.transform((0, place))[1] * points for place in places]
        up = [first] * len(places)
        lowest = self._ax.bbox.y0 * points + 2
        for index in sorted(range(len(places)), key=lambda each: heights[each]):
            height = max(heights[index] + first, lowest)
            up[index] = height - heights[index]
            lowest = height + FEW
        # Above the axes is the title.
        highest = self._ax.bbox.y1 * points - 8
        for index in sorted(range(len(places)), key=lambda each: -heights[each] - up[each]):
            height = min(heights[index] + up[index], highest)
            up[index] = height - heights[index]
            highest = height - FEW
        return up


def _styles(count: int) -> list[tuple[str, str, str]]:
    """Colour, marker and colour of the ring of each line; a single one has its ring apart."""
    if count == 1:
        return [(BLUE, "o", VERMILLION)]
    chosen = [LINES[index % len(LINES)] for index in range(count)]
    return [(colour, marker, colour) for colour, marker in chosen]


VALUE = {
    "annotation_clip": False,
    "xytext": (9, 7),
    "textcoords": "offset points",
    "fontweight": "bold",
    "animated": True,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.65},
}
_RING = {
    "markerfacecolor": "none",
    "markersize": 12,
    "markeredgewidth": 2.2,
    "clip_on": False,
    "animated": True,
}
