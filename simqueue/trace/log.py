"""A log of real jobs: when each arrived and how long its work took."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from simqueue import checks
from simqueue.trace.times import later

if TYPE_CHECKING:
    from collections.abc import Mapping

Seconds = npt.NDArray[np.float64]

# What the usual systems call a job that is not over yet.
UNFINISHED_WORDS = frozenset(
    {
        *("PENDING", "QUEUED", "ENQUEUED", "WAITING", "DELAYED", "SCHEDULED", "AVAILABLE"),
        *("PROCESSING", "RUNNING", "ACTIVE", "EXECUTING", "STARTED", "IN_PROGRESS", "IN PROGRESS"),
    }
)
STATUSES_SHOWN = 8


class SkippedRow(NamedTuple):
    """A row that was left out: its line in the file (the header is line 1) and the odd value."""

    line: int
    value: str


@dataclass(frozen=True, eq=False)
class JobLog:
    """The arrivals and durations of real jobs, in order of arrival.

    Attributes
    ----------
    arrivals
        Seconds from the first arrival, sorted, shape (jobs,).
    durations
        Seconds of work of the same jobs, 0 or more, shape (jobs,).
    name
        Where the jobs came from, for titles and messages.
    started_at
        The first arrival as ISO 8601 text; None where the log has offsets instead of times.
    rows
        Rows in the file, header and blank lines not counted.
    skipped
        For each reason, how many rows were left out.
    examples
        For each reason, up to three of those rows.
    statuses
        For each status word, how many of the jobs kept have it. Empty where the log has none.
    succeeded
        How many of the jobs kept have a status that means success; None where the log has none.
    notes
        What had to be decided while reading, one sentence each.
    """

    arrivals: Seconds
    durations: Seconds
    name: str = "log"
    started_at: str | None = None
    rows: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[SkippedRow, ...]] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    succeeded: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arrivals = _frozen("arrivals", self.arrivals)
        durations = _frozen("durations", self.durations)
        if arrivals.size == 0:
            raise ValueError("a job log must hold at least one job.")
        if arrivals.size != durations.size:
            raise ValueError(
                f"arrivals and durations must be equally many, not {arrivals.size} and "
                f"{durations.size}."
            )
        if arrivals[0] != 0 or np.any(np.diff(arrivals) < 0):
            raise ValueError("arrivals must be sorted and begin at 0.")
        object.__setattr__(self, "arrivals", arrivals)
        object.__setattr__(self, "durations", durations)

    def __len__(self) -> int:
        return int(self.durations.size)

    @property
    def span(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.arrivals[-1])

    def share_over(self, seconds: float) -> float:
        """The exact share of jobs, 0 to 1, whose work takes longer than `seconds`."""
        limit = checks.non_negative("seconds", seconds)
        return int(np.count_nonzero(self.durations > limit)) / len(self)

    def quantile(self, q: float) -> float:
        """The shortest duration (s) that a share `q` (0 to 1) of the jobs or more do not exceed."""
        place = np.searchsorted(self._shares, checks.probability("q", q), side="left")
        return float(self._sorted[place])

    @cached_property
    def _sorted(self) -> Seconds:
        return np.sort(self.durations)

    @cached_property
    def _shares(self) -> Seconds:
        """The share of durations at or below each of the sorted ones."""
        return np.arange(1, len(self) + 1) / len(self)

    def head(self, n: int) -> JobLog:
        """The first `n` jobs as a log of their own."""
        return self._cut(slice(0, checks.whole("n", n, low=1)), f"first {n} jobs")

    def sample_between(self, start: float, end: float) -> JobLog:
        """The jobs that arrived in start <= t < end (s after the first), as a log of their own.

        Raises ValueError if nothing arrived then.
        """
        checks.non_negative("start", start, "seconds")
        if checks.positive("end", end, "seconds") <= start:
            raise checks.fail("end", end, f"a number of seconds above start ({start:g})")
        first, last = (int(i) for i in np.searchsorted(self.arrivals, [start, end]))
        if first == last:
            raise ValueError(
                f"no job arrived between start={start:g} and end={end:g}: "
                f"the log covers 0 to {self.span:g} s."
            )
        return self._cut(slice(first, last), f"{start:g} to {end:g} s")

    def _cut(self, rows: slice, label: str) -> JobLog:
        arrivals = self.arrivals[rows]
        offset = float(arrivals[0])
        return replace(
            self,
            arrivals=arrivals - offset,
            durations=self.durations[rows],
            name=f"{self.name} ({label})",
            started_at=self.started_at and later(self.started_at, offset),
            rows=int(arrivals.size),
            skipped={},
            examples={},
            statuses={},
            succeeded=None,
        )

    def report(self) -> str:
        """What was read, what was left out and why, and how long the jobs took, as short text."""
        return "\n".join([*self._what_was_read(), *self._what_was_skipped(), *self.notes])

    def _what_was_read(self) -> list[str]:
        p50, p99 = self.quantile(0.5), self.quantile(0.99)
        since = f" from {self.started_at}" if self.started_at else ""
        lines = [
            f"{self.name}: {count(len(self), 'job')}{since} over {duration_text(self.span)}.",
            f"Work: median {p50:g} s, 99th percentile {p99:g} s, longest "
            f"{float(self.durations.max()):g} s.",
        ]
        if self.statuses:
            lines.append(f"Status: {self._status_words()}.")
        unfinished = sum(n for word, n in self.statuses.items() if word.upper() in UNFINISHED_WORDS)
        if unfinished:
            lines.append(
                f"{count(unfinished, 'job')} had not finished when the log was written: "
                "the duration in the log was kept, though the work may have gone on."
            )
        return lines

    def _status_words(self) -> str:
        named = [f"{word} {number:,}" for word, number in self.statuses.items()]
        if len(named) > STATUSES_SHOWN:
            named[STATUSES_SHOWN:] = [f"and {len(named) - STATUSES_SHOWN} others"]
        if not self.succeeded:
            return f"{', '.join(named)}; none of them is known to mean success (succeeded=)"
        return f"{', '.join(named)}; {self.succeeded / len(self):.1%} of the jobs succeeded"

    def _what_was_skipped(self) -> list[str]:
        total = sum(self.skipped.values())
        if not total:
            return [f"All {count(self.rows, 'row')} could be used."] if self.rows else []
        lines = [f"Left out {total:,} of {count(self.rows, 'row')}:"]
        for reason, number in self.skipped.items():
            shown = "; ".join(
                f"line {row.line}: {row.value}" if row.value else f"line {row.line}"
                for row in self.examples.get(reason, ())
            )
            lines.append(f"  {number:,} {reason} ({shown})" if shown else f"  {number:,} {reason}")
        return lines


def _frozen(name: str, values: Seconds) -> Seconds:
    """A read-only copy of `values`; ValueError unless they are finite and not negative."""
    copy = np.array(values, dtype=np.float64)
    if copy.ndim != 1 or not np.all(np.isfinite(copy)) or np.any(copy < 0):
        raise ValueError(f"{name} must be a row of finite numbers of 0 or more.")
    copy.flags.writeable = False
    return copy


def count(number: int, noun: str) -> str:
    """`number` with thousands separators, and the noun in the right form."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration_text(seconds: float) -> str:
    """Seconds as a person would say them: `45 s`, `12.5 min`, `3.2 h`, `23 days`."""
    for limit, size, unit in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86_400:.3g} days"
