"""The moving picture of `tune`: laid out once, then only the lines are drawn anew.

Drawing a whole matplotlib figure takes about 100 ms; restoring its background and drawing a few
lines takes one or two, and a lightly compressed PNG of it ten.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from PIL import Image

from simqueue.plotting.drawing import (
    BLACK,
    BLUE,
    GREY,
    VERMILLION,
    look,
    new_drawing,
    percent,
    seconds,
    use_percent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.widgets.outcomes import Outcome, Theory

GUESS = "#8A3D6E"
WIDTH, HEIGHT = 820, 360
"""CSS pixels."""


@dataclass(frozen=True)
class View:
    """What to show: the run at the sliders' settings, the other points, theory, perhaps a guess.

    `guess` is (lease in seconds, share from 0 to 1).
    """

    now: Outcome
    points: Sequence[Outcome]
    theory: Theory
    guess: tuple[float, float] | None = None


class LeasePicture:
    """Duplicates against the lease on the left, the wait after a crash on the right.

    Parameters
    ----------
    word
        What the lease is called.
    leases
        The lowest and the highest lease (s): the range of both x axes.
    figure, words
        Which share is drawn on the left, and its name in words.
    jobs
        How many there are: below one in so many, a share is drawn as none.
    sharpness
        Pixels of the image for each CSS pixel. Two make it sharp on today's screens, and take three
        times as long.
    """

    def __init__(
        self,
        word: str,
        leases: tuple[float, float],
        figure: str,
        words: str,
        jobs: int,
        *,
        sharpness: int = 1,
    ) -> None:
        self._figure = figure
        self._least = 0.5 / jobs
        with look():
            drawing, (left, right) = new_drawing(WIDTH / 100, HEIGHT / 100, 2)
            drawing.set_dpi(100 * sharpness)
            self._prepare_left(left, words)
            self._prepare_right(right, leases[1])
            for ax in (left, right):
                ax.set_xlim(leases[0] - 0.02 * (leases[1] - leases[0]), leases[1] * 1.02)
                ax.set_xlabel(f"{word} (seconds)")
            self._left, self._right = _Lines.on(left), _Lines.on(right)
            self._waits = right.plot([], [], "_", color=GREY, markersize=9, animated=True)[0]
            self._guess = left.plot([], [], "D", label="your guess", **_GUESS)[0]
            self._guess_name = left.annotate("your guess", (0, 0), **_NAME | {"color": GUESS})
            self._legend(drawing)
        for artist in self._moving:
            artist.set_in_layout(False)
        self._canvas = FigureCanvasAgg(drawing)
        self._canvas.draw()
        drawing.set_layout_engine("none")
        self._canvas.draw()
        self._background = self._canvas.copy_from_bbox(drawing.bbox)

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

    @property
    def _moving(self) -> tuple[Any, ...]:
        """All that is drawn anew, in the order in which to draw it."""
        left, right = self._left.artists, self._right.artists
        return *right, self._waits, *left, self._guess, self._guess_name

    def share(self, outcome: Outcome) -> float:
        """The share that is drawn on the left."""
        return outcome.figures[self._figure]

    def _set(self, view: View) -> None:
        shares = [max(self.share(each), self._least) for each in view.points]
        leases = [each.lease for each in view.points]
        now, share = view.now, self.share(view.now)
        self._left.theory.set_data(
            view.theory.leases, np.maximum(view.theory.duplicates, self._least / 10)
        )
        self._left.points.set_data(leases, shares)
        text = percent(share) if share else "none"
        self._left.mark(now.lease, max(share, self._least), text, falling=True)

        waits = [each.figures["recovery_mean"] for each in view.points]
        wait = now.figures["recovery_mean"]
        self._right.theory.set_data(view.theory.leases, view.theory.waits)
        self._right.points.set_data(leases, waits)
        text = "" if np.isnan(wait) else seconds(wait)
        self._right.mark(now.lease, wait, text, falling=False)
        self._waits.set_data(np.full(len(now.waits), now.lease), now.waits)

        self._guess.set_visible(view.guess is not None)
        self._guess_name.set_visible(view.guess is not None)
        if view.guess is not None:
            lease, guess = view.guess
            place = (lease, min(max(guess, self._least), 1))
            self._guess.set_data([place[0]], [place[1]])
            _put(self._guess_name, *place, falling=True)

    def _prepare_left(self, ax: Any, words: str) -> None:
        ax.set_title("Too short: duplicates")
        ax.set_ylabel(f"{words} (%)")
        ax.set_yscale("log")
        ax.set_ylim(self._least, 1.3)
        ax.minorticks_off()
        use_percent(ax.yaxis)

    def _prepare_right(self, ax: Any, longest: float) -> None:
        ax.set_title("Too long: the wait after a crash")
        ax.set_ylabel("wait after a crash (seconds)")
        ax.set_ylim(0, longest * 1.05)

    def _legend(self, drawing: Any) -> None:
        lines = self._right
        named = {
            "simulated": lines.points,
            "at this setting": lines.now,
            "theory": lines.theory,
            "each crash at this setting": self._waits,
        }
        drawing.legend(
            [_resized(each) for each in named.values()],
            list(named),
            loc="outside lower center",
            ncols=len(named),
        )


def _resized(line: Any) -> Any:
    """The same line, for a legend: neither moving nor too large for it."""
    sample = Line2D([], [])
    sample.update_from(line)
    sample.set_markersize(min(9, line.get_markersize()))
    return sample


def _put(name: Any, x: float, y: float, *, falling: bool) -> None:
    """Write `name` beside a point, on the empty side of a curve that falls or rises there."""
    low, high = name.axes.get_xlim()
    at_end = x > high - 0.15 * (high - low)
    name.xy = (x, y)
    if falling:
        name.set_position((-9 if at_end else 9, 7))
    else:
        name.set_position((-2 if at_end else 9, -22 if at_end else -14))
    name.set_horizontalalignment("right" if at_end and falling else "center" if at_end else "left")


_NAME = {
    "xytext": (9, 7),
    "textcoords": "offset points",
    "fontweight": "bold",
    "animated": True,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8},
}
_GUESS = {
    "color": GUESS,
    "markerfacecolor": "white",
    "markeredgewidth": 2,
    "markersize": 9,
    "animated": True,
    "clip_on": False,
}


@dataclass(frozen=True)
class _Lines:
    """What moves on one of the two axes."""

    theory: Any
    points: Any
    here: Any
    now: Any
    name: Any

    @classmethod
    def on(cls, ax: Any) -> _Lines:
        """Make them, empty."""
        (theory,) = ax.plot(
            [], [], color=BLACK, linestyle=(0, (4, 2)), linewidth=1.3, animated=True
        )
        (points,) = ax.plot([], [], "o-", color=BLUE, animated=True)
        here = ax.axvline(0, color=VERMILLION, linewidth=1.2, linestyle=":", animated=True)
        (now,) = ax.plot(
            [],
            [],
            "o",
            color=VERMILLION,
            markerfacecolor="none",
            markersize=12,
            markeredgewidth=2.2,
            clip_on=False,
            animated=True,
        )
        name = ax.annotate("", (0, 0), color=VERMILLION, **_NAME)
        return cls(theory, points, here, now, name)

    @property
    def artists(self) -> tuple[Any, ...]:
        """In the order in which to draw them."""
        return self.here, self.theory, self.points, self.now, self.name

    def mark(self, lease: float, value: float, text: str, *, falling: bool) -> None:
        """Put the ring and its number at the setting."""
        self.here.set_xdata([lease, lease])
        self.now.set_data([lease], [value])
        self.name.set_text(text)
        self.name.set_visible(not np.isnan(value))
        if not np.isnan(value):
            _put(self.name, lease, value, falling=falling)
