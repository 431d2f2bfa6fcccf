"""The incidents as a page of Markdown: `docs/incidents.md` is what this module writes."""

from __future__ import annotations

from simqueue.incidents.expected import label, text
from simqueue.incidents.incident import Case, Incident
from simqueue.incidents.registry import INCIDENTS

MOST_FIGURES = 3
"""Figures of a case that are shown in the table; the others are in its replay."""

HEAD = """\
# Public incidents, replayed

Engineers have described in public how jobs of theirs ran twice, got lost or stuck. Each of these
reports is a scenario here, before and after its fix, and a test on the exact figures.
`sq.incidents["INC-01"].replay()` shows both stories and all figures in a notebook, and
`simqueue incident INC-01` on the command line. Times are in seconds from the start of the run. What
was reported, its cause and its fix stand below in our own words.

This page is written by `python -m simqueue.incidents.page`, and a test keeps it in step.

| incident | system | as reported | after the fix |
|---|---|---|---|
"""


def page() -> str:
    """Return the page: a table with a line for each incident, then each one's report."""
    incidents = list(INCIDENTS.values())
    return HEAD + "".join(map(_row, incidents)) + "".join(map(_section, incidents))


def _row(incident: Incident) -> str:
    cells = (
        f"[{incident.id}](#{incident.id.lower()}): {incident.title}",
        incident.system,
        _figures(incident.before),
        f"*{incident.after.name}.* {_figures(incident.after)}",
    )
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |\n"


def _figures(case: Case) -> str:
    shown = list(case.expect.items())[:MOST_FIGURES]
    return "; ".join(f"{label(name)}: {text(value)}" for name, value in shown)


def _section(incident: Incident) -> str:
    links = ", ".join(f"<{link}>" for link in incident.links)
    cases = "".join(
        f"- {'*fixed*, ' if case.fixed else ''}{case.name}\n" for case in incident.cases
    )
    return (
        f"\n## {incident.id}\n\n**{incident.title}.** {incident.report}\n\n"
        f"*Cause.* {incident.cause} *Fix.* {incident.fix}\n\n"
        + (f"*Note.* {incident.note}\n\n" if incident.note else "")
        + f"Cases:\n\n{cases}\n{links}\n"
    )


if __name__ == "__main__":
    import pathlib
    import sys

    there = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/incidents.md")
    there.write_text(page(), encoding="utf-8")
