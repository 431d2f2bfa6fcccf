"""Places that a reader of a lesson has to find with the sliders."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

from simqueue import checks, learner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simqueue.widgets.subject import Subject

    Wanted = Mapping[str, Mapping[str, float | Sequence[float]]]


class Goals:
    """A list of places, each ticked for good once it was found, also in a later run of the lesson.

    Parameters
    ----------
    subject
        Whose figures are meant.
    wanted
        For each text, the most that figures may be there, or the least and the most.
    """

    def __init__(self, subject: Subject, wanted: Wanted) -> None:
        self._ranges = {
            text: {name: _range(subject, name, value) for name, value in figures.items()}
            for text, figures in wanted.items()
        }
        self.found = set(self._ranges) & learner.goals_found()

    def look(self, figures: Mapping[str, float]) -> None:
        """Tick what these figures meet, and remember it."""
        for text, ranges in self._ranges.items():
            if text not in self.found and _met(ranges, figures):
                self.found.add(text)
                learner.goal_found(text)

    def as_html(self) -> str:
        """The list, or nothing if there are no goals."""
        items = "".join(
            f"<li>☑ {html.escape(text)} <b>Found.</b></li>"
            if text in self.found
            else f"<li>☐ {html.escape(text)}</li>"
            for text in self._ranges
        )
        return items and f'<ul style="list-style: none; padding: 0">{items}</ul>'


def _met(ranges: Mapping[str, tuple[float, float]], figures: Mapping[str, float]) -> bool:
    return all(low <= figures[name] <= high for name, (low, high) in ranges.items())


def _range(subject: Subject, name: str, value: float | Sequence[float]) -> tuple[float, float]:
    subject.axis(name)
    if not isinstance(value, (tuple, list)):
        return -math.inf, checks.number(f"goals: the most of {name}", value)
    if len(value) != 2:
        raise checks.fail(f"goals: the range of {name}", value, "the most, or (least, most)")
    low, high = (checks.number(f"goals: the range of {name}", each) for each in value)
    return low, high
