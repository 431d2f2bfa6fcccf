"""The marks of a class as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from simqueue.grading.classroom import Mark
from simqueue.grading.results import Check, total

STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .75rem; text-align: left;
         vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f4f4f4; padding: .75rem; overflow-x: auto; font-size: .85rem; }
summary { cursor: pointer; }
.failed { font-weight: bold; }
"""


def as_html(marks: Sequence[Mark]) -> str:
    """Return the page: points by student and exercise, then every check, with its timeline."""
    students = list(dict.fromkeys(mark.student for mark in marks))
    exercises = list(dict.fromkeys(mark.graded.exercise for mark in marks))
    of = {(mark.student, mark.graded.exercise): mark for mark in marks}
    head = "".join(f"<th scope='col'>{_words(name)}</th>" for name in exercises)
    rows = []
    for number, student in enumerate(students):
        cells = "".join(
            f"<td class='number'>{mark.graded.points} of {mark.graded.of}</td>"
            if (mark := of.get((student, exercise)))
            else "<td></td>"
            for exercise in exercises
        )
        got, all_of_it = total([mark.graded for mark in marks if mark.student == student])
        link = f"<a href='#student-{number}'>{html.escape(student)}</a>"
        together = f"<td class='number'>{got} of {all_of_it}</td>"
        rows.append(f"<tr><th scope='row'>{link}</th>{cells}{together}</tr>")
    each = "".join(
        _student(number, student, [mark for mark in marks if mark.student == student])
        for number, student in enumerate(students)
    )
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='generator' content='simqueue'>"
        "<meta name='viewport' content='width=device-width'><title>Grades</title>"
        f"<style>{STYLE}</style></head><body><h1>Grades</h1>"
        f"<table><thead><tr><th scope='col'>student</th>{head}<th scope='col'>together</th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>{each}</body></html>\n"
    )


def _student(number: int, student: str, marks: Sequence[Mark]) -> str:
    parts = [f"<h2 id='student-{number}'>{html.escape(student)}</h2>"]
    for mark in marks:
        graded = mark.graded
        parts.append(
            f"<h3>{_words(graded.exercise)}: {graded.points} of {graded.of}, "
            f"{html.escape(graded.verdict)}</h3><ul>"
        )
        parts += [_check(check) for check in graded.checks]
        parts.append("</ul>")
    return "".join(parts)


def _check(check: Check) -> str:
    if check.passed:
        return f"<li>{html.escape(check.name)}: {check.points} of {check.of}</li>"
    story = (
        f"<details><summary>What happened</summary><pre>{html.escape(check.story)}</pre></details>"
        if check.story
        else ""
    )
    return (
        f"<li><span class='failed'>{html.escape(check.name)}: {check.points} of {check.of}.</span> "
        f"{html.escape(check.reason)}{story}</li>"
    )


def _words(exercise: str) -> str:
    return html.escape(exercise.replace("_", " "))
