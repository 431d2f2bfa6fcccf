"""What `tune` says: in words, as code, and as a list of places to find."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import numpy as np

from simqueue.plotting.figure_axes import FIGURE_AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.plotting.figure_axes import FigureAxis
    from simqueue.widgets.panel import View
    from simqueue.widgets.panels import PanelSettings
    from simqueue.widgets.subject import Outcome


def outcome(
    view: View, names: Sequence[str], panels: Sequence[PanelSettings], x: FigureAxis
) -> str:
    """What the runs at the sliders' settings came to; `x` names what stands on the x axis."""
    begin = f"With the {x.words} at {x.text(view.x)}: "
    if len(names) == 1:
        return begin + _one(view, panels)
    told = (
        f"{panel.axis.words}: "
        + ", ".join(
            f"{name} {_text(panel, each)}" for name, each in zip(names, view.now, strict=True)
        )
        for panel in panels
    )
    return begin + "; ".join(told) + "."


def _one(view: View, panels: Sequence[PanelSettings]) -> str:
    (now,) = view.now
    parts = []
    for panel in panels:
        value = now.figures[panel.figure]
        if math.isnan(value):
            continue
        said = panel.axis.sentence(value)
        if panel.figure in view.theory:
            expected = float(np.interp(view.x, view.fine, view.theory[panel.figure]))
            notes = [] if math.isnan(expected) else [f"theory: {panel.axis.text(expected)}"]
            if panel.waits:
                count = len(now.waits)
                notes.insert(0, "1 crash" if count == 1 else f"{count:,} crashes")
            said += f" ({'; '.join(notes)})" if notes else ""
        parts.append(said)
    dead = now.figures.get("dead_letter_rate", 0)
    if dead and "dead_letter_rate" not in {panel.figure for panel in panels}:
        parts.append(FIGURE_AXES["dead_letter_rate"].sentence(dead))
    return "; ".join(parts) + "."


def _text(panel: PanelSettings, outcome: Outcome) -> str:
    value = outcome.figures[panel.figure]
    return "none" if math.isnan(value) else panel.axis.text(value)


def alternative(
    view: View, names: Sequence[str], panels: Sequence[PanelSettings], x: FigureAxis
) -> str:
    """The picture for those who do not see it."""
    drawn = " and ".join(panel.axis.words for panel in panels)
    curves = "Curves" if len(panels) > 1 or len(names) > 1 else "A curve"
    ends = [view.points[0], view.points[-1]] if len(view.points) > 1 else []
    told = [
        f"At {x.text(place)}: "
        + "; ".join(
            ", ".join(filter(None, [name if len(names) > 1 else "", *_texts(panels, each)]))
            for name, each in zip(names, outcomes, strict=True)
        )
        + "."
        for place, outcomes in ends
    ]
    begin = f"{curves} against the {x.words}: {drawn}."
    return " ".join([begin, outcome(view, names, panels, x), *told])


def _texts(panels: Sequence[PanelSettings], outcome: Outcome) -> list[str]:
    return [_text(panel, outcome) for panel in panels]


def status(text: str) -> str:
    """A line that screen readers read out when it changes."""
    # A number and its % stay on one line.
    said = html.escape(text).replace(" %", "&nbsp;%")
    return f'<p role="status" aria-live="polite">{said}</p>'


def alert(error: Exception) -> str:
    """Why these settings are not possible, or what went wrong."""
    said = str(error) if isinstance(error, (ValueError, RuntimeError)) else repr(error)
    return f'<p role="alert"><b>Not possible:</b> {html.escape(said)}</p>'


def code(text: str) -> str:
    """The settings as a line of Python to copy."""
    return f"<p>As code: <code>{html.escape(text)}</code></p>"
