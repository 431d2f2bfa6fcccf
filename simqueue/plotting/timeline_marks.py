"""The signs of a timeline: each kind has its own shape or hatch, and a line in the legend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.transforms import ScaledTranslation

from simqueue.plotting.drawing import BLACK, BLUE, GREEN, GREY, VERMILLION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.plotting.attempts import Effect

WORK = {
    "finished": "handler at work",
    "failed": "handler at work, fails",
    "crashed": "handler at work, dies",
    "running": "handler still at work",
}
"""The kind of bar for each outcome of a delivery."""

BARS: dict[str, dict[str, Any]] = {
    "waits in the queue": {"facecolor": "#F2F2F2", "edgecolor": GREY, "linestyle": ":"},
    "waits in the worker's buffer": {
        "facecolor": "white",
        "edgecolor": GREY,
        "hatch": "...",
        "linestyle": ":",
    },
    "handler at work": {"facecolor": "#CFE5F4", "edgecolor": BLUE},
    "handler at work, fails": {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "////"},
    "handler at work, dies": {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "xxx"},
    "handler still at work": {"facecolor": "#CFE5F4", "edgecolor": BLUE, "hatch": "--"},
}

POINTS: dict[str, dict[str, Any]] = {
    "published": {"marker": "v", "color": BLACK, "markersize": 8},
    "settled: acked": {"marker": "^", "color": BLACK, "markersize": 8},
    "settled: dead-lettered": {"marker": "s", "color": BLACK, "markersize": 8},
    "lease runs out": {"marker": "d", "color": BLACK, "markersize": 7, "markerfacecolor": "white"},
    "worker crashes": {
        "marker": "X",
        "color": VERMILLION,
        "markersize": 13,
        "markeredgecolor": "white",
    },
    "ack accepted": {"marker": "^", "color": BLACK, "markersize": 7},
    "ack ignored": {"marker": "^", "color": BLACK, "markersize": 7, "markerfacecolor": "white"},
    "ack refused": {"marker": "x", "color": BLACK, "markersize": 7, "markeredgewidth": 2},
    "ack lost": {
        "marker": "$?$",
        "color": BLACK,
        "markersize": 10,
        # White around it: the line of the lease would strike it through.
        "path_effects": [withStroke(linewidth=4, foreground="white")],
    },
    "first effect": {"marker": "o", "color": GREEN, "markersize": 13, "markeredgecolor": "white"},
    "duplicate effect": {
        "marker": "D",
        "color": VERMILLION,
        "markersize": 12,
        "markeredgecolor": "white",
    },
}
BESIDE = 14
"""Points from the middle of a sign to the middle of the one beside it."""
LEASE = "lease"
ORDER = (*BARS, LEASE, *POINTS)


def bar(
    ax: Any, kind: str, since: float, until: float, y: float, height: float, kinds: set[str]
) -> None:
    """Draw a bar of this kind from `since` to `until` (s), `height` high, around `y`."""
    ax.add_patch(
        Rectangle(
            (since, y - height / 2), until - since, height, label=kind, zorder=2, **BARS[kind]
        )
    )
    kinds.add(kind)


def lease(ax: Any, since: float, until: float, y: float, kinds: set[str], *, goes_on: bool) -> None:
    """Draw a lease as a line with ends; without the right end if it goes on beyond the picture."""
    ax.plot([since, until], [y, y], color=BLACK, linewidth=1.2, label=LEASE, zorder=2)
    ends = [since] if goes_on else [since, until]
    ax.plot(ends, [y] * len(ends), "|", color=BLACK, markersize=7, zorder=2)
    if goes_on:
        ax.plot([until], [y], marker=">", color=BLACK, markersize=5, clip_on=False, zorder=2)
    kinds.add(LEASE)


def point(ax: Any, kind: str, time: float, y: float, kinds: set[str]) -> None:
    """Draw the sign of this kind at `time` (s)."""
    ax.plot([time], [y], linestyle="", label=kind, zorder=4, clip_on=False, **POINTS[kind])
    kinds.add(kind)


def crash(ax: Any, time: float, y: float, effects: Sequence[Effect], kinds: set[str]) -> None:
    """Draw a crash at `time` (s), or to the right of an effect whose number it would cover."""
    now = _points_from_the_left(ax, time)
    last = max((_points_from_the_left(ax, each.time) for each in effects), default=-math.inf)
    aside = max(0.0, last + BESIDE - now)
    point(ax, "worker crashes", time, y, kinds)
    if aside:
        figure = ax.figure
        ax.lines[-1].set_transform(
            ax.transData + ScaledTranslation(aside / 72, 0, figure.dpi_scale_trans)
        )


def _points_from_the_left(ax: Any, time: float) -> float:
    return float(ax.transData.transform((time, 0))[0]) * 72 / float(ax.figure.dpi)


def effect(ax: Any, one: Effect, y: float, kinds: set[str]) -> None:
    """Draw an effect with its number: 1 is the one that was wanted."""
    point(ax, "duplicate effect" if one.repeat else "first effect", one.time, y, kinds)
    ax.annotate(
        str(one.repeat + 1),
        (one.time, y),
        ha="center",
        va="center_baseline",
        color="white",
        fontsize=8,
        fontweight="bold",
        zorder=5,
    )


def legend(ax: Any, kinds: set[str]) -> None:
    """Explain the kinds that were drawn, below the axes."""
    shown = [kind for kind in ORDER if kind in kinds and not kind.startswith("settled")]
    ax.figure.legend(
        handles=[_sample(kind) for kind in shown],
        loc="outside lower left",
        ncols=min(len(shown), 5),
        fontsize=8.5,
        handlelength=1.8,
        columnspacing=1.6,
    )


def _sample(kind: str) -> Any:
    if kind in BARS:
        return Patch(label=kind, **BARS[kind])
    if kind == LEASE:
        return Line2D([], [], color=BLACK, linewidth=1.2, marker="|", markersize=7, label=kind)
    style = POINTS[kind] | {"markersize": min(9, POINTS[kind]["markersize"])}
    return Line2D([], [], linestyle="", label=kind, **style)
