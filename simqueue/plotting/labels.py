"""Names written beside lines, where they cover neither lines nor each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GAP = 0.02
"""Between a line and its name, as a share of the axes' height and width."""


@dataclass(frozen=True)
class NamedLine:
    """A line in data coordinates, and what to write beside it, if anything."""

    x: Floats
    y: Floats
    name: str
    colour: str


@dataclass(frozen=True)
class Box:
    """A rectangle, as shares of the axes' width and height."""

    left: float
    bottom: float
    width: float
    height: float

    def holds(self, points: Floats) -> int:
        """Count the `points`, shape (n, 2), inside."""
        inside = (points >= (self.left, self.bottom)) & (
            points <= (self.left + self.width, self.bottom + self.height)
        )
        return int(np.count_nonzero(inside.all(axis=1)))

    def meets(self, other: Box) -> bool:
        """Tell whether the two overlap."""
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.bottom < other.bottom + other.height
            and other.bottom < self.bottom + self.height
        )

    @property
    def outside(self) -> bool:
        """Whether it reaches out of the axes."""
        return (
            min(self.left, self.bottom) < 0
            or self.left + self.width > 1.02
            or self.bottom + self.height > 1
        )


def name_lines(ax: Any, lines: list[NamedLine]) -> None:
    """Write each line's name beside it. Call it once the axes have their limits."""
    points = np.concatenate([_dense(ax, line) for line in lines])
    placed: list[Box] = []
    for line in lines:
        if not line.name:
            continue
        box = min(
            _candidates(ax, line),
            key=lambda box: _badness(box, points, placed),
        )
        placed.append(box)
        ax.text(
            box.left,
            box.bottom,
            line.name,
            transform=ax.transAxes,
            color=line.colour,
            ha="left",
            va="bottom",
            linespacing=1.1,
        )


def _candidates(ax: Any, line: NamedLine) -> list[Box]:
    """Boxes above and below, to the right and left of points along the line."""
    width, height = _size(ax, line.name)
    found = []
    path = _dense(ax, line)
    for u, v in path[:: max(1, len(path) // 40)].tolist():
        for left in (u + GAP, u - GAP - width):
            for bottom in (v + GAP, v - GAP - height):
                found.append(Box(left, bottom, width, height))  # noqa: PERF401 - reads better
    return found


def _badness(box: Box, points: Floats, placed: list[Box]) -> tuple[float, float]:
    covered = box.holds(points) + 1000 * box.outside
    covered += 1000 * sum(box.meets(other) for other in placed)
    return covered, abs(box.left - 0.3)


def _size(ax: Any, text: str) -> tuple[float, float]:
    """Width and height of `text` as shares of the axes."""
    artist = ax.text(0, 0, text, transform=ax.transAxes, linespacing=1.1)
    extent = artist.get_window_extent()
    artist.remove()
    around = ax.get_window_extent()
    return extent.width / around.width, extent.height / around.height


def _dense(ax: Any, line: NamedLine) -> Floats:
    """Points along the line, close together, as shares of the axes; shape (n, 2)."""
    ends = ax.transData.transform(np.column_stack([line.x, line.y]))
    shares = ax.transAxes.inverted().transform(ends)
    shares = shares[np.isfinite(shares).all(axis=1)]
    if len(shares) < 2:
        return np.asarray(shares, dtype=np.float64)
    steps = np.linspace(0, len(shares) - 1, 400)
    places = np.arange(len(shares))
    dense: Floats = np.column_stack(
        [np.interp(steps, places, shares[:, 0]), np.interp(steps, places, shares[:, 1])]
    )
    return dense
