"""The moving picture of `tune`: laid out once, then only the lines are drawn anew.

Drawing a whole matplotlib figure takes about 100 ms; restoring its background and drawing a few
lines takes one or two, and a lightly compressed PNG of it ten.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from PIL import Image

from simqueue.plotting.drawing import BLACK, look, new_drawing
from simqueue.widgets.panel import GUESS, VALUE, Panel, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.widgets.panels import PanelSettings

WIDTH, HEIGHT = 820, 360
"""CSS pixels."""
LONG_SHARE, LONG_NUMBER = 0.2, 14_000
"""Tops with long numbers beside them: 17.5 %, 12000."""
ROOM = 1.15
"""The top of an axis that follows what is drawn, over the highest point, before rounding."""
TOP_OF_ALL = 1.12
"""The highest top of shares: with room for 100 % to be written above its line."""


class Tops:
    """How high the axes reach that follow what is drawn.

    They only grow, and by round steps, so that a move is seen as a move of the curve.
    """

    def __init__(self) -> None:
        self._tops: dict[str, float] = {}

    def clear(self) -> None:
        """Start again."""
        self._tops.clear()

    def of(self, panel: Panel, view: View, *, guess: bool) -> float | None:
        """The top that `panel` has to have for `view`, or None if it always has the same.

        `guess` says that the guess stands on this panel.
        """
        settings = panel.settings
        if not settings.grows:
            return None
        needed = _round_up(panel.highest(view, guess=guess) * ROOM)
        if settings.axis.is_share:
            needed = min(needed, TOP_OF_ALL)
        self._tops[settings.figure] = max(needed, self._tops.get(settings.figure, 0.0))
        return self._tops[settings.figure]


class CurvePicture:
    """A figure over a parameter in each of one or two panels.

    Parameters
    ----------
    panels
        What is drawn.
    x
        The label of the x axis.
    ends
        Its lowest and highest value.
    names
        Of the lines.
    jobs
        How many there are: below one in so many, a share is drawn as none.
    tops
        Shared by all pictures of one widget, so that they have the same axes.
    sharpness
        Pixels of the image for each CSS pixel. Two make it sharp on today's screens, and take three
        times as long.
    """

    def __init__(
        self,
        panels: Sequence[PanelSettings],
        x: str,
        ends: tuple[float, float],
        names: Sequence[str],
        jobs: int,
        tops: Tops,
        *,
        sharpness: int = 1,
    ) -> None:
        self._tops = tops
        self._shown_tops: list[float | None] = [None] * len(panels)
        with look():
            self._drawing, axes = new_drawing(WIDTH / 100, HEIGHT / 100, len(panels))
            self._drawing.set_dpi(100 * sharpness)
            self.panels = [
                Panel(ax, settings, names, jobs) for ax, settings in zip(axes, panels, strict=True)
            ]
            room = 0.02 * (ends[1] - ends[0])
            for ax in axes:
                ax.set_xlim(ends[0] - room, ends[1] + room)
                ax.set_xlabel(x)
            first = axes[0]
            self.guess = first.plot([], [], "D", label="your guess", **_GUESS)[0]
            self._guess_name = first.annotate("your guess", (0, 0), **VALUE | {"color": GUESS})
            self._legend(names)
        for artist in (self.guess, self._guess_name):
            artist.set_in_layout(False)
        self._canvas = FigureCanvasAgg(self._drawing)
        # Laid out once, with room for the longest numbers that an axis may come to.
        grows = [panel for panel in self.panels if panel.settings.grows]
        for panel in grows:
            panel.set_top(LONG_SHARE if panel.settings.axis.is_share else LONG_NUMBER)
        self._canvas.draw()
        self._drawing.set_layout_engine("none")
        for panel in grows:
            panel.set_top(1.0)
            for artist in panel.scale:
                artist.set_animated(True)
        self._grows = grows
        self._still = self._drawn()
        self._draw_scales()

    def png(self, view: View) -> bytes:
        """Draw `view` and return it as a PNG."""
        self._set(view)
        self._canvas.restore_region(self._background)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        pixels = np.asarray(self._canvas.buffer_rgba())
        buffer = io.BytesIO()
        Image.fromarray(pixels).convert("RGB").save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()

    def svg(self, view: View, alt: str) -> str:
        """Draw `view` and return it as an SVG with `alt`: the same view gives the same file."""
        import matplotlib as mpl

        self._set(view)
        moving = self._moving
        for artist in moving:
            artist.set_animated(False)
        buffer = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "simqueue"}):
            self._drawing.savefig(
                buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": alt}
            )
        for artist in moving:
            artist.set_animated(True)
        return buffer.getvalue()

    @property
    def _moving(self) -> tuple[Any, ...]:
        """All that is drawn anew, in the order in which to draw it."""
        panels = [artist for panel in self.panels for artist in panel.artists]
        return *panels, self.guess, self._guess_name

    def _drawn(self) -> Any:
        """The whole picture without what moves, drawn: it takes some 100 ms."""
        self._canvas.draw()
        return self._copy()

    def _copy(self) -> Any:
        # The figure's own box is a hair narrower than its image, whose last column would stay.
        return self._canvas.copy_from_bbox(Bbox.from_bounds(0, 0, *self._canvas.get_width_height()))

    def _draw_scales(self) -> None:
        """Draw the background anew: what never changes, and the axes that follow what is drawn."""
        self._canvas.restore_region(self._still)
        for panel in self._grows:
            for artist in panel.scale:
                artist.axes.draw_artist(artist)
        self._background = self._copy()

    def _set(self, view: View) -> None:
        tops = [self._tops.of(panel, view, guess=panel is self.panels[0]) for panel in self.panels]
        if tops != self._shown_tops:
            for panel, top in zip(self.panels, tops, strict=True):
                if top is not None:
                    panel.set_top(top)
            self._shown_tops = tops
            self._draw_scales()
        for panel in self.panels:
            panel.show(view)
        for artist in (self.guess, self._guess_name):
            artist.set_visible(view.guess is not None)
        if view.guess is not None:
            x, value = view.guess
            low, high = self.guess.axes.get_ylim()
            place = min(max(value, low), high)
            self.guess.set_data([x], [place])
            self._guess_name.xy = (x, place)

    def _legend(self, names: Sequence[str]) -> None:
        first = self.panels[0]
        named: dict[str, Any] = dict(zip(names, first.lines, strict=True))
        named["at this setting"] = first.rings[0]
        if any(panel.settings.theory for panel in self.panels):
            named["theory"] = first.theory
        for panel in self.panels:
            if panel.settings.waits:
                named["each crash at this setting"] = panel.waits
        self._drawing.legend(
            [
                _resized(each, BLACK if each in first.rings[:1] and len(names) > 1 else None)
                for each in named.values()
            ],
            list(named),
            loc="outside lower center",
            ncols=min(len(named), MOST_BESIDE),
        )


MOST_BESIDE = 5
"""Names of the legend in one row."""


def _round_up(value: float) -> float:
    """The next of …, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1, … from `value` up."""
    if value <= 0:
        return 0.01
    power = 10.0 ** math.floor(math.log10(value))
    steps = (1, 1.5, 2, 3, 4, 5, 7, 10)
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))


def _resized(line: Any, colour: str | None = None) -> Any:
    """The same line, for a legend: neither moving nor too large for it, perhaps in no colour."""
    sample = Line2D([], [])
    sample.update_from(line)
    if colour is not None:
        sample.set_color(colour)
        sample.set_markeredgecolor(colour)
    sample.set_markersize(min(9, line.get_markersize()))
    return sample


_GUESS = {
    "color": GUESS,
    "markerfacecolor": "white",
    "markeredgewidth": 2,
    "markersize": 9,
    "animated": True,
    "clip_on": False,
}
