"""Read a CSV log of jobs: arrivals and durations out of whatever columns it has."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simqueue import checks
from simqueue.trace import columns, table
from simqueue.trace.columns import UNIT_WORDS, Columns
from simqueue.trace.log import JobLog, SkippedRow
from simqueue.trace.times import Times, iso_time, read_durations, read_times

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

# Compared without regard to case.
SUCCESS_WORDS = (
    *("SUCCEED", "SUCCEEDED", "SUCCESS", "SUCCESSFUL", "OK"),
    *("COMPLETE", "COMPLETED", "DONE", "FINISHED", "PASSED"),
)
EXAMPLES_SHOWN = 3


def read(
    path: str | PathLike[str],
    *,
    created: str | None = None,
    started: str | None = None,
    duration: str | None = None,
    ended: str | None = None,
    status: str | None = None,
    succeeded: Collection[str] | str = SUCCESS_WORDS,
    only: Collection[str] | str | None = None,
    delimiter: str | None = None,
    duration_unit: str | None = None,
    time_unit: str | None = None,
    time_format: str | None = None,
) -> JobLog:
    """Read a log of jobs from a CSV file.

    The log must tell when each job was created (or, in its place, when it started), and how long
    its work took: as a duration, or as a start and an end. A row without them is left out, counted
    by reason, and shown by `JobLog.report`. Jobs are kept whatever their status, because failed
    work keeps a worker busy too; so are jobs that had not finished when the log was written, with
    the duration that they have there.

    Parameters
    ----------
    path
        A CSV file with a header line, in UTF-8 (or UTF-16 with a byte order mark); `.gz` is fine.
    created, started, duration, ended, status
        Names of columns; guessed from the usual names where not given.
        With both a duration and an end, the duration is used.
    succeeded
        The status words that mean success, in any case.
    only
        Status words: all other rows are left out.
    delimiter
        What separates the columns; by default whichever of comma, semicolon, tab and bar fits.
    duration_unit
        "s", "ms", "us", "ns" or "min"; by default what the column's name ends with
        (`duration_ms`), or else seconds.
    time_unit
        The same for times that are plain numbers; by default told by their size: seconds,
        milliseconds, microseconds or nanoseconds since 1970, or offsets in seconds if small.
    time_format
        How times are written, in the codes of `strptime`; by default ISO 8601.

    Raises
    ------
    ValueError
        With one sentence, if the file is missing, empty or unreadable, if a column is missing,
        or if no row can be used.
    """
    _check_options(delimiter, duration_unit, time_unit)
    source = fspath(path)
    header, delimiter = table.read_header(source, delimiter)
    given = {
        "created": created,
        "started": started,
        "duration": duration,
        "ended": ended,
        "status": status,
    }
    found = columns.find(source, header, given)
    rows = table.read_rows(source, header, delimiter, [c.position for c in found.found.values()])
    verdicts = _Verdicts.for_rows(rows)
    log = _Reading(source, found, rows, verdicts, time_unit, time_format)
    if only is not None:
        log.leave_out_other_statuses(only)
    arrivals, arrival_notes = log.arrivals()
    durations, duration_notes = log.durations(duration_unit)
    kept = np.flatnonzero(verdicts.usable)
    if kept.size == 0:
        raise ValueError(_nothing_usable(source, rows, verdicts))
    kept = kept[np.argsort(arrivals.microseconds[kept], kind="stable")]
    first = int(arrivals.microseconds[kept[0]])
    statuses, successes = log.statuses(kept, succeeded)
    return JobLog(
        arrivals=(arrivals.microseconds[kept] - first) / 1e6,
        durations=durations[kept],
        name=Path(source).name,
        started_at=iso_time(first, utc=arrivals.utc) if arrivals.dated else None,
        rows=len(rows.frame),
        skipped=verdicts.counts,
        examples=_examples(source, rows, verdicts),
        statuses=statuses,
        succeeded=successes,
        notes=tuple(dict.fromkeys((*found.notes, *arrival_notes, *duration_notes))),
    )


@dataclass
class _Verdicts:
    """Which rows can be used so far, and for each reason those that cannot, with their values."""

    usable: npt.NDArray[np.bool_]
    counts: dict[str, int]
    first_rows: dict[str, list[tuple[int, str]]]

    @classmethod
    def for_rows(cls, rows: table.Rows) -> _Verdicts:
        verdicts = cls(np.ones(len(rows.frame), dtype=np.bool_), {}, {})
        verdicts.leave_out(rows.too_long, "more fields than the header")
        return verdicts

    def leave_out(
        self, odd: npt.NDArray[np.bool_], reason: str, values: pd.Series[str] | None = None
    ) -> None:
        """Mark the rows that are `odd` and were still usable, and remember the first few."""
        rows = np.flatnonzero(odd & self.usable)
        if rows.size == 0:
            return
        self.usable[rows] = False
        self.counts[reason] = self.counts.get(reason, 0) + int(rows.size)
        shown = self.first_rows.setdefault(reason, [])
        for row in rows[: EXAMPLES_SHOWN - len(shown)]:
            shown.append((int(row), "" if values is None else values.iloc[int(row)]))


def _check_options(delimiter: str | None, duration_unit: str | None, time_unit: str | None) -> None:
    if delimiter is not None and len(delimiter) != 1:
        raise checks.fail("delimiter", delimiter, "one character")
    for name, unit in (("duration_unit", duration_unit), ("time_unit", time_unit)):
        if unit is not None:
            checks.one_of(name, unit, UNIT_WORDS.keys())


@dataclass(frozen=True)
class _Reading:
    """One log being read: each step marks the rows that it cannot use."""

    source: str
    found: Columns
    rows: table.Rows
    verdicts: _Verdicts
    time_unit: str | None
    time_format: str | None

    def arrivals(self) -> tuple[Times, tuple[str, ...]]:
        """When each job was created, or started where the log does not tell, and notes."""
        if "created" in self.found:
            times = self._times("created", "creation")
            return times, times.notes
        times = self._times("started", "start")
        name = self.found["started"].name
        return times, (f"The log has no creation time: {name} stands in its place.", *times.notes)

    def durations(self, unit: str | None) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
        """Seconds of work, and notes."""
        if "duration" not in self.found:
            return self._durations_from_start_to_end()
        values = self._text("duration")
        durations = read_durations(self.found["duration"], values, unit)
        self.verdicts.leave_out(durations.missing, "no duration: never finished")
        self.verdicts.leave_out(np.isnan(durations.seconds), "duration cannot be read", values)
        self.verdicts.leave_out(durations.seconds < 0, "negative duration", values)
        return durations.seconds, durations.notes

    def _durations_from_start_to_end(self) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
        starts, ends = self._times("started", "start"), self._times("ended", "end")
        names = self.found["started"].name, self.found["ended"].name
        if starts.dated != ends.dated:
            raise ValueError(
                f"{self.source}: {names[0]} and {names[1]} cannot be subtracted, "
                "as one has times of day and the other has offsets."
            )
        seconds = (ends.microseconds - starts.microseconds) / 1e6
        both = self._text("started") + " to " + self._text("ended")
        self.verdicts.leave_out(seconds < 0, "ended before it started", both)
        note = f"Work is the time from {names[0]} to {names[1]}."
        return seconds, (note, *starts.notes, *ends.notes)

    def leave_out_other_statuses(self, only: Collection[str] | str) -> None:
        """Mark the rows whose status is not among `only`; ValueError for a word that is nowhere."""
        if "status" not in self.found:
            raise ValueError(f"{self.source} has no status column, so only= cannot be applied.")
        statuses = self._text("status")
        upper = statuses.str.upper()
        words = {word.upper() for word in _words(only)}
        unknown = sorted(words - set(upper.unique()))
        if unknown:
            there = ", ".join(statuses.value_counts().index[:10])
            raise ValueError(
                f"{self.source} has no row with status {unknown[0]} (only=); "
                f"its statuses are {there}."
            )
        others = ~upper.isin(words).to_numpy(dtype=bool)
        self.verdicts.leave_out(others, "status not chosen", statuses)

    def statuses(
        self, kept: npt.NDArray[np.intp], succeeded: Collection[str] | str
    ) -> tuple[dict[str, int], int | None]:
        """How many kept jobs have each status, commonest first, and how many succeeded."""
        if "status" not in self.found:
            return {}, None
        counts = self._text("status").iloc[kept].replace("", "(none)").value_counts()
        statuses = {str(word): int(number) for word, number in counts.items()}
        words = {word.upper() for word in _words(succeeded)}
        return statuses, sum(n for word, n in statuses.items() if word.upper() in words)

    def _times(self, role: str, noun: str) -> Times:
        values = self._text(role)
        column = self.found[role]
        times = read_times(self.source, column, values, self.time_unit, self.time_format)
        self.verdicts.leave_out(times.missing, f"no {noun} time", values)
        self.verdicts.leave_out(~times.usable, f"{noun} time cannot be read", values)
        return times

    def _text(self, role: str) -> pd.Series[str]:
        return self.rows.column(self.found[role])


def _words(words: Collection[str] | str) -> Collection[str]:
    return (words,) if isinstance(words, str) else words


def _examples(
    source: str, rows: table.Rows, verdicts: _Verdicts
) -> Mapping[str, tuple[SkippedRow, ...]]:
    wanted = [row for shown in verdicts.first_rows.values() for row, _ in shown]
    lines = table.line_numbers(source, rows, wanted)
    return {
        reason: tuple(SkippedRow(lines[row], value[:60]) for row, value in shown)
        for reason, shown in verdicts.first_rows.items()
    }


def _nothing_usable(source: str, rows: table.Rows, verdicts: _Verdicts) -> str:
    if len(rows.frame) == 0:
        return f"{source} has a header but no jobs."
    shown = _examples(source, rows, verdicts)
    reasons = ", ".join(
        f"{number:,} {reason}"
        + (f" ({shown[reason][0].value!r})" if shown[reason][0].value else "")
        for reason, number in verdicts.counts.items()
    )
    return f"{source} has no row that can be used: {reasons}."
