"""What grading gives: checks with their points, by exercise; as text, and as plain data."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

FULL: Final = "full points"
WIDTH: Final = 88


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check: its name in words, its points, and, where it failed, why.

    `verdict` is "" for a check that simply passed or failed; otherwise why nothing could be
    checked, in a word or two.
    """

    name: str
    of: int
    passed: bool
    reason: str = ""
    story: str = ""
    verdict: str = ""

    @property
    def points(self) -> int:
        """The points that were got."""
        return self.of if self.passed else 0


@dataclass(frozen=True, kw_only=True)
class Graded:
    """One exercise of one submission: all its checks, and what the code printed."""

    exercise: str
    checks: tuple[Check, ...]
    printed: str = field(default="", compare=False)

    @property
    def points(self) -> int:
        """The points that were got."""
        return sum(check.points for check in self.checks)

    @property
    def of(self) -> int:
        """The points that there are."""
        return sum(check.of for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether every check passed; never without checks."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def verdict(self) -> str:
        """In a few words: "full points", "some points", "no points", or why there are no checks."""
        for check in self.failed:
            if check.verdict:
                return check.verdict
        if self.passed:
            return FULL
        return "some points" if self.points else "no points"

    @property
    def reason(self) -> str:
        """Why points are missing: the first check that failed, in one sentence; "" if none did."""
        failed = self.failed
        return failed[0].reason if failed else ""

    def as_text(self) -> str:
        """Return the checks as a short text: one line for each, with the reason if it failed."""
        title = self.exercise.replace("_", " ")
        lines = [f"{title}: {self.points} of {self.of} points"]
        said = ""
        for check in self.checks:
            mark = "ok  " if check.passed else "FAIL"
            lines.append(f"  {mark} {check.points}/{check.of}  {check.name}")
            if check.reason:
                indent = " " * 12
                why = "The same as above." if check.reason == said else check.reason
                lines += textwrap.wrap(why, WIDTH, initial_indent=indent, subsequent_indent=indent)
                said = check.reason
        return "\n".join(lines)

    def __str__(self) -> str:
        stories = [check.story for check in self.failed if check.story][:1]
        return "\n\n".join([self.as_text(), *stories])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'✓' if check.passed else '✗'}</td>"
            f"<td style='text-align:right'>{check.points} of {check.of}</td>"
            f"<td style='text-align:left'>{html.escape(check.name)}</td>"
            f"<td style='text-align:left'>{html.escape(check.reason)}</td></tr>"
            for check in self.checks
        )
        stories = [check.story for check in self.failed if check.story][:1]
        told = "".join(
            f"<details><summary>What happened</summary><pre>{html.escape(story)}</pre></details>"
            for story in stories
        )
        title = html.escape(self.exercise.replace("_", " "))
        left = "<th style='text-align:left'>"
        return (
            f"<p><b>{title}</b>: {self.points} of {self.of} points</p>"
            f"<table><thead><tr><th>passed</th><th>points</th>{left}check</th>{left}why not</th>"
            f"</tr></thead><tbody>{rows}</tbody></table>{told}"
        )

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        return {**asdict(self), "checks": [asdict(check) for check in self.checks]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Graded:
        """Return what `as_data` has made plain."""
        return cls(
            exercise=data["exercise"],
            checks=tuple(Check(**check) for check in data["checks"]),
            printed=data.get("printed", ""),
        )


def total(graded: Sequence[Graded]) -> tuple[int, int]:
    """Return the points got, and those that there are, over all exercises."""
    return sum(each.points for each in graded), sum(each.of for each in graded)
