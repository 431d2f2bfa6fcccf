"""What `tune` says: in words, as code, and as a list of places to find."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from simqueue.plotting.drawing import percent, seconds
from simqueue.plotting.rates import RATES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from simqueue.widgets.lease_picture import View

Goals = dict[str, "Mapping[str, float]"]


def outcome(view: View, word: str, figure: str) -> str:
    """What the run at the sliders' settings came to; `word` is what the lease is called."""
    now = view.now
    duplicates, wait = view.theory.at(now.lease)
    share = f"{percent(now.figures[figure])} of {RATES[figure]}"
    if figure.startswith("duplicate"):
        share += f" (theory: {percent(duplicates)})"
    parts = [f"With a {word} of {seconds(now.lease)}: {share}."]
    dead = now.figures["dead_letter_rate"]
    if dead and figure != "dead_letter_rate":
        parts.append(f"{percent(dead)} of the jobs ended in the dead-letter queue.")
    if len(now.waits):
        crashes = "1 crash" if len(now.waits) == 1 else f"{len(now.waits):,} crashes"
        theory = "" if math.isnan(wait) else f"; theory: {seconds(wait)}"
        parts.append(
            f"After a crash its job waited {seconds(now.figures['recovery_mean'])} on average "
            f"({crashes}{theory})."
        )
    return " ".join(parts)


def alternative(view: View, word: str, figure: str) -> str:
    """The picture for those who do not see it."""
    ends = [view.points[0], view.points[-1]] if len(view.points) > 1 else []
    curve = " ".join(
        f"At {seconds(each.lease)}: {percent(each.figures[figure])}"
        + ("." if math.isnan(wait) else f", {seconds(wait)}.")
        for each in ends
        for wait in [each.figures["recovery_mean"]]
    )
    return (
        f"Two curves against the {word}: {RATES[figure]}, and the mean wait after a crash. "
        f"{outcome(view, word, figure)} {curve}"
    ).strip()


def status(text: str) -> str:
    """A line that screen readers read out when it changes."""
    return f'<p role="status" aria-live="polite">{html.escape(text)}</p>'


def alert(error: Exception) -> str:
    """Why these settings are not possible, or what went wrong."""
    said = str(error) if isinstance(error, (ValueError, RuntimeError)) else repr(error)
    return f'<p role="alert"><b>Not possible:</b> {html.escape(said)}</p>'


def code(settings: Mapping[str, Any]) -> str:
    """The settings as a line of Python to copy."""
    changed = ", ".join(f'"{name}": {value!r}' for name, value in settings.items())
    return f"<p>As code: <code>{html.escape(f'scenario.replace({{{changed}}})')}</code></p>"


def found(goals: Goals, figures: Mapping[str, float]) -> set[str]:
    """The goals that these figures meet."""
    return {
        text
        for text, most in goals.items()
        if all(figures[name] <= value for name, value in most.items())
    }


def goals(goals: Goals, ticked: Collection[str]) -> str:
    """The list of places to find, those in `ticked` ticked."""
    items = "".join(
        f"<li>☑ {html.escape(text)} <b>Found.</b></li>"
        if text in ticked
        else f"<li>☐ {html.escape(text)}</li>"
        for text in goals
    )
    return items and f'<ul style="list-style: none; padding: 0">{items}</ul>'
