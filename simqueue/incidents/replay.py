"""An incident, simulated: its stories before and after the fix, and expected beside simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from simqueue.incidents.expected import SameAs, agrees, label, text
from simqueue.incidents.observed import observe
from simqueue.simulation import simulate
from simqueue.story import story

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.incidents.incident import Case, Incident
    from simqueue.result import Result

MOST_LINES = 32
"""A story is cut in the middle where it would be longer."""


@dataclass(frozen=True)
class Check:
    """One observable of one case: what was expected, what the run gave, and whether they agree."""

    case: Case
    name: str
    expected: Any
    simulated: Any
    agrees: bool

    @property
    def words(self) -> tuple[str, str, str, str, str]:
        """The check as a row of a table: case, observable, expected, simulated, verdict."""
        when = "after" if self.case.fixed else "before"
        return (
            f"{when}: {self.case.name}",
            label(self.name),
            text(self.expected),
            text(self.simulated),
            "yes" if self.agrees else "NO",
        )


HEADINGS = ("case", "observed", "expected", "simulated", "agrees")

LEFT = ' style="text-align: left"'
"""Notebooks put what is in a table to the right, which is for numbers, not for words."""


UNDERLINED = ' style="text-decoration: underline"'
"""Widgets show links like any other words."""


class Replay:
    """All cases of an incident, each simulated once, when it is first looked at."""

    def __init__(self, incident: Incident) -> None:
        self.incident = incident
        self._results: dict[str, Result] = {}

    def result(self, case: Case) -> Result:
        """Return the run of `case`."""
        if case.name not in self._results:
            self._results[case.name] = simulate(case.scenario(), case.seed)
        return self._results[case.name]

    @property
    def before(self) -> Result:
        """The run as reported."""
        return self.result(self.incident.before)

    @property
    def after(self) -> Result:
        """The run with the fix."""
        return self.result(self.incident.after)

    @cached_property
    def checks(self) -> list[Check]:
        """Every expected value of every case beside the simulated one."""
        return [check for case in self.incident.cases for check in self.checks_of(case)]

    @property
    def agrees(self) -> bool:
        """Whether all is as expected."""
        return all(check.agrees for check in self.checks)

    def checks_of(self, case: Case) -> list[Check]:
        """Every expected value of one case beside the simulated one."""
        return list(self._check(case))

    def _check(self, case: Case) -> Iterator[Check]:
        result = self.result(case)
        compared = [each.name for each in case.expect.values() if isinstance(each, SameAs)]
        values = {name: observe(result, name) for name in (*case.expect, *compared)}
        for name, expected in case.expect.items():
            fits = agrees(expected, values[name], values)
            yield Check(case, name, expected, values[name], fits)

    # How it looks.

    @property
    def stories(self) -> list[tuple[str, str]]:
        """The story before, and the one after the fix: pairs of a heading and text."""
        incident = self.incident
        return [
            (f"{when}: {case.name}", shortened(story(self.result(case), case.job)))
            for when, case in (("Before", incident.before), ("After", incident.after))
        ]

    def __str__(self) -> str:
        incident = self.incident
        parts = [f"{incident.id}: {incident.title}", incident.report]
        parts += [f"Note: {incident.note}"] if incident.note else []
        parts += [f"{heading}\n{tale}" for heading, tale in self.stories]
        rows = [HEADINGS, *(check.words for check in self.checks)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        parts.append(
            "\n".join(
                "  ".join(
                    cell.ljust(width) for cell, width in zip(row, widths, strict=True)
                ).rstrip()
                for row in rows
            )
        )
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        stories = "".join(
            f"<h4>{escape(heading)}</h4><pre>{escape(tale)}</pre>" for heading, tale in self.stories
        )
        return f"{self.report_html()}{stories}{table_html(self.checks)}"

    def report_html(self) -> str:
        """Return what was reported, and where, as HTML."""
        incident = self.incident
        links = ", ".join(
            f'<a href="{escape(link)}"{UNDERLINED}>{escape(link.partition("://")[2])}</a>'
            for link in incident.links
        )
        return (
            f"<h3>{escape(incident.id)}: {escape(incident.title)}</h3>"
            f"<p>{escape(incident.report)}</p><p>Reported at {links}.</p>"
            f"{f'<p>Note: {escape(incident.note)}</p>' if incident.note else ''}"
        )

    def plot(self) -> Figure:
        """Draw the timelines before and after the fix, one above the other.

        The figure's `alt_text` tells both in words. Needs matplotlib.
        """
        from simqueue.incidents.picture import before_and_after

        incident = self.incident
        return before_and_after(
            [
                (f"{when}: {case.name}", self.result(case), case.job)
                for when, case in (("Before", incident.before), ("After", incident.after))
            ]
        )


def table_html(checks: Iterable[Check]) -> str:
    """Return `checks` as a table of HTML, a row for each."""
    head = "".join(f'<th scope="col"{LEFT}>{word}</th>' for word in HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td{LEFT}>{escape(cell)}</td>" for cell in check.words) + "</tr>"
        for check in checks
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def shortened(tale: str, most: int = MOST_LINES) -> str:
    """Return `tale`, of which lines in the middle are left out where it has more than `most`."""
    lines = tale.splitlines()
    left_out = len(lines) - most
    if left_out <= 1:
        return tale
    last = 4
    cut = [*lines[: most - last], f"  … {left_out:,} more lines", *lines[-last:]]
    return "\n".join(cut)
