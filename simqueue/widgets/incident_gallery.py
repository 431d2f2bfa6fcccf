"""`gallery`: public incidents to pick from, each replayed before and after its fix."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue.incidents.groups import by_mechanism, by_system
from simqueue.incidents.registry import INCIDENTS, find
from simqueue.incidents.replay import Replay, table_html
from simqueue.plotting.drawing import alt_text, describe, image_html
from simqueue.plotting.job_timeline import timeline
from simqueue.widgets import words

if TYPE_CHECKING:
    from simqueue.incidents.incident import Incident
    from simqueue.incidents.replay import Check

ALL = f"all {len(INCIDENTS)} incidents"
ALIKE = "This job fares alike in both: what the fix changes stands in the table."
WIDTH = 960
"""Pixels: as wide as a timeline, so that the controls end where the pictures do."""


def gallery(incident: str = "INC-01") -> Gallery:
    """Return the public incidents to pick from: what was reported, the figures, two timelines.

    One list narrows the incidents down to a system, or to what went wrong; the other picks one. It
    is simulated when it is picked, as reported and with its fix. Where no kernel runs, the first
    one stands there as it was.

    Parameters
    ----------
    incident
        The id of the one to begin with.

    Raises
    ------
    ValueError
        If there is no such incident.
    """
    return Gallery(incident)


class Gallery(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """Two lists, and the incident that is picked from them.

    Attributes
    ----------
    groups
        The list of groups: all, those of one system, those of one mechanism.
    incidents
        The list of the incidents in the group; its value is the id that is shown.
    """

    def __init__(self, incident: str) -> None:
        self._seen: dict[str, tuple[str, str]] = {}
        self.groups = _list("Only", _groups())
        self.incidents = _list("Incident", _labelled(INCIDENTS))
        self.incidents.value = self._first = find(incident).id
        self._status, self._page = ipywidgets.HTML(), ipywidgets.HTML()
        self._show(self._first)
        self.groups.observe(self._narrow, "value")
        self.incidents.observe(self._picked, "value")
        super().__init__([self.groups, self.incidents, self._status, self._page])

    def _narrow(self, change: dict[str, Any]) -> None:
        """Offer the incidents of a group: the one that is shown stays if it is among them."""
        numbers, shown = change["new"], self.incidents.value
        there = shown if shown in numbers else numbers[0]
        # New options would pick the first of them.
        self.incidents.unobserve(self._picked, "value")
        self.incidents.options = _labelled(numbers)
        self.incidents.value = there
        self.incidents.observe(self._picked, "value")
        if there != shown:
            self._pick(there)

    def _picked(self, change: dict[str, Any]) -> None:
        self._pick(change["new"])

    def _pick(self, number: str) -> None:
        self._status.value = words.status(f"{number}: running…")
        try:
            self._show(number)
        except Exception as error:
            # Nobody sees a traceback of a widget: the page must not go on showing the one before.
            self._page.value = ""
            self._status.value = words.status(f"{number} could not be replayed: {error}")
            raise

    def _show(self, number: str) -> None:
        if number not in self._seen:
            self._seen[number] = _replayed(INCIDENTS[number])
        self._page.value, said = self._seen[number]
        self._status.value = words.status(said)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """As for every widget, and the first incident for where no widget can be shown."""
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(**options) or {})
        bundle["text/html"], bundle["text/plain"] = self._seen[self._first]
        return bundle


def _replayed(incident: Incident) -> tuple[str, str]:
    """Simulate it before and after its fix: what there is to see, and one line that sums it up."""
    replay = Replay(incident)
    checks: list[Check] = []
    pictures, stories, sums = [], [], []
    for when, case in (("Before", incident.before), ("After", incident.after)):
        figure = timeline(replay.result(case), case.job)
        heading = f"{when}: {case.name}"
        stories.append(alt_text(figure))
        describe(figure, f"{heading}. {stories[-1]}")
        pictures.append(f"<h4>{escape(heading)}</h4>{image_html(figure)}")
        of_case = replay.checks_of(case)
        _, name, _, simulated, _ = of_case[0].words
        sums.append(f"{when} the fix, {name}: {simulated}")
        checks += of_case
    if len(set(stories)) == 1:
        pictures.append(f"<p>{ALIKE}</p>")
    agree = sum(check.agrees for check in checks)
    said = f"{incident.id}. {'. '.join(sums)}. {agree} of {len(checks)} figures agree."
    return f"{replay.report_html()}{''.join(pictures)}{table_html(checks)}{_more(incident)}", said


def _more(incident: Incident) -> str:
    """Where to find the cases that are not shown."""
    left_out = len(incident.cases) - 2
    if not left_out:
        return ""
    cases = "One more case" if left_out == 1 else f"{left_out} more cases"
    return f"<p>{cases}: <code>sq.incidents[{incident.id!r}].replay()</code></p>"


def _groups() -> list[tuple[str, list[str]]]:
    """Each group's label and its incidents."""
    return [
        (ALL, list(INCIDENTS)),
        *(
            (f"{kind}: {name} ({len(numbers)})", numbers)
            for kind, groups in (("system", by_system()), ("what went wrong", by_mechanism()))
            for name, numbers in groups.items()
        ),
    ]


def _labelled(numbers: Any) -> list[tuple[str, str]]:
    """Each incident's label and its id."""
    return [
        (f"{number} · {INCIDENTS[number].system}: {INCIDENTS[number].title}", number)
        for number in numbers
    ]


def _list(description: str, options: list[tuple[str, Any]]) -> Any:
    return ipywidgets.Dropdown(
        options=options,
        description=description,
        layout=ipywidgets.Layout(width="auto", max_width=f"{WIDTH}px"),
    )
