"""Duplicates against the backoff of retries: the storm that feeds itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.plotting.drawing import (
    LINES,
    describe,
    look,
    new_drawing,
    seconds,
    use_log_seconds,
)
from simqueue.plotting.labels import NamedLine, name_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DELAY = "broker.retry_delay"
LABELS = {
    "extra_effects": "duplicate effects per job",
    "duplicate_effect_rate": "share of jobs with a duplicate effect",
    "time_to_effect_p99": "99th percentile of time to effect (seconds)",
    "deliveries_per_job": "deliveries per job",
}


def backoff(table: pd.DataFrame, *, figure: str = "extra_effects") -> Figure:
    """Draw a figure against the first delay of retries, one line for each rule of backoff.

    Points whose runs fall into two groups (some recover, some never do) are hollow: their mean
    describes neither group.

    Parameters
    ----------
    table
        A table of `simqueue.sweep` over broker.retry_delay, whose values are rules of
        `simqueue.backoff` with a `base`, `seconds` or `step`, or numbers.
    figure
        What to draw, any of `simqueue.figures.DESCRIPTIONS`.

    Raises
    ------
    ValueError
        If the table is not such a sweep, or the figure is unknown.
    """
    checks.one_of("figure", figure, DESCRIPTIONS)
    if DELAY not in table.columns:
        raise checks.fail("table", list(table.columns), f"a sweep over {DELAY}")
    found = table[table.figure == figure]
    rules: dict[str, list[tuple[float, Any]]] = {}
    for _, row in found.iterrows():
        name, base = _rule(row[DELAY])
        rules.setdefault(name, []).append((base, row))
    with look():
        drawing, (ax,) = new_drawing(7.2, 4.2)
        named = [
            _draw(ax, name, points, LINES[n % len(LINES)])
            for n, (name, points) in enumerate(rules.items())
        ]
        use_log_seconds(ax)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("first delay of a retry (seconds)")
        ax.set_ylabel(LABELS.get(figure, DESCRIPTIONS[figure]))
        ax.set_title("Retries that feed the storm")
        name_lines(ax, named)
        if (found.groups == 2).any():
            ax.plot([], [], "o", color="black", markerfacecolor="white", label="runs in two groups")
            ax.legend(loc="upper right")
    return describe(drawing, _in_words(figure, rules))


def _rule(value: Any) -> tuple[str, float]:
    """What the rule is called, and its first delay in seconds."""
    for field in ("base", "seconds", "step"):
        if hasattr(value, field):
            words = "".join(f" {c.lower()}" if c.isupper() else c for c in type(value).__name__)
            return words.strip(), float(getattr(value, field))
    if isinstance(value, int | float):
        return "constant", float(value)
    raise checks.fail("table", value, "a sweep over rules that have a base")


def _draw(ax: Any, name: str, points: list[tuple[float, Any]], style: tuple[str, str]) -> NamedLine:
    colour, marker = style
    points = sorted(points, key=lambda point: point[0])
    x = np.array([base for base, _ in points])
    mean, low, high = (
        np.array([row[which] for _, row in points], dtype=float)
        for which in ("mean", "low", "high")
    )
    two = np.array([row.groups == 2 for _, row in points])
    ax.fill_between(x, np.maximum(low, 0), high, color=colour, alpha=0.15, linewidth=0)
    ax.plot(x, mean, color=colour, marker=marker, markevery=np.flatnonzero(~two).tolist())
    ax.plot(x[two], mean[two], marker, color=colour, markerfacecolor="white")
    return NamedLine(x, mean, name, colour)


def _in_words(figure: str, rules: dict[str, list[tuple[float, Any]]]) -> str:
    said = []
    for name, points in rules.items():
        values = [
            f"{row['mean']:.3g} at {seconds(base)}"
            for base, row in sorted(points, key=lambda p: p[0])
        ]
        said.append(f"{name}: {', '.join(values)}")
    return (
        f"{LABELS.get(figure, DESCRIPTIONS[figure])} against the first delay. "
        + "; ".join(said)
        + "."
    )
