"""Which column of a log says what: by the name that was given, or else by the usual names."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The first name in a list wins where a log has several of them.
USUAL_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "created": (
            *("created_at", "created", "created_on", "create_time", "created_time"),
            *("creation_time", "creation_timestamp", "gmt_create", "gmt_created"),
            *("enqueued_at", "enqueued", "enqueue_time", "queued_at", "queued"),
            *("submitted_at", "submitted", "submit_time", "submission_time"),
            *("published_at", "publish_time", "inserted_at", "requested_at", "received_at"),
            *("arrived_at", "arrival_time", "arrival", "scheduled_at"),
            *("timestamp", "time", "ts", "datetime", "date"),
        ),
        "started": (
            *("started_at", "started", "started_on", "start_time", "start", "gmt_start"),
            *("start_timestamp", "began_at", "begin_time", "begin", "attempted_at"),
            *("performed_at", "processed_on", "dequeued_at", "picked_up_at", "locked_at"),
        ),
        "duration": (
            *("duration", "job_duration", "exec_time", "execution_time", "exec_duration"),
            *("execution_duration", "run_time", "runtime", "run_duration", "processing_time"),
            *("process_time", "service_time", "work_time", "elapsed", "elapsed_time", "took"),
        ),
        "ended": (
            *("ended_at", "ended", "end_time", "end", "end_timestamp", "gmt_end"),
            *("finished_at", "finished", "finished_on", "finish_time", "gmt_finish"),
            *("completed_at", "completed_on", "completion_time", "complete_time"),
            *("done_at", "stopped_at", "processed_at"),
        ),
        "status": (
            *("status", "state", "job_status", "job_state", "task_status", "task_state"),
            *("predict_status", "result_status", "outcome", "result"),
        ),
    }
)

UNIT_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "s": "seconds",
        "ms": "milliseconds",
        "us": "microseconds",
        "ns": "nanoseconds",
        "min": "minutes",
    }
)
# How a column's name may end, and the unit it then tells.
_SUFFIXES = MappingProxyType(
    {
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
        **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
        **dict.fromkeys(("us", "usec", "micros", "microsecond", "microseconds"), "us"),
        **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds"), "ns"),
        **dict.fromkeys(("min", "mins", "minutes"), "min"),
    }
)
_UNIT_IN_BRACKETS = re.compile(r"[\[(]([^\])]*)[\])]$")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Column:
    """One column of a log: its position from 0, its name, and the unit that its name ends with."""

    position: int
    name: str
    unit: str | None


@dataclass(frozen=True)
class Columns:
    """The columns that were found for each purpose, and what had to be decided on the way."""

    found: Mapping[str, Column]
    notes: tuple[str, ...]

    def __getitem__(self, role: str) -> Column:
        return self.found[role]

    def __contains__(self, role: str) -> bool:
        return role in self.found


def find(source: str, header: Sequence[str], given: Mapping[str, str | None]) -> Columns:
    """Match the columns of a log to created, started, duration, ended and status.

    Parameters
    ----------
    source
        The log's name, for messages.
    header
        The names of all columns, in order.
    given
        For each purpose the column that the caller chose, or None to guess it.

    Raises
    ------
    ValueError
        If a chosen column does not exist, or if the columns tell no arrival or no duration.
    """
    if given["duration"] is not None and given["ended"] is not None:
        raise ValueError(
            f"{source}: choose duration={given['duration']!r} or ended={given['ended']!r}, "
            "not both."
        )
    found: dict[str, Column] = {}
    notes: list[str] = []
    for role, name in given.items():
        column, note = _chosen(source, header, role, name) if name else _guessed(header, role)
        if column is not None:
            found[role] = column
        notes += [note] if note else []
    _prefer_what_was_given(found, given, notes)
    _refuse_what_is_missing(source, header, found)
    return Columns(MappingProxyType(found), tuple(notes))


def split_unit(name: str) -> tuple[str, str | None]:
    """A column's name as lower-case words joined by `_`, and the unit it ends with, if any.

    >>> split_unit("durationMs")
    ('duration', 'ms')
    >>> split_unit("Exec Time (seconds)")
    ('exec_time', 's')
    """
    unwrapped = _UNIT_IN_BRACKETS.sub(r" \1", name.strip())
    plain = _OTHER.sub("_", _CAMEL_CASE.sub("_", unwrapped).lower()).strip("_")
    stem, _, suffix = plain.rpartition("_")
    return (stem, _SUFFIXES[suffix]) if stem and suffix in _SUFFIXES else (plain, None)


def _chosen(source: str, header: Sequence[str], role: str, name: str) -> tuple[Column, str | None]:
    same = [i for i, column in enumerate(header) if column == name]
    alike = same or [i for i, column in enumerate(header) if column.lower() == name.lower()]
    if not alike:
        raise ValueError(f"{source} has no column {name!r} ({role}=){_suggestion(name, header)}")
    several = f"{len(alike)} columns are named {name!r}: the first was taken."
    return _column(header, alike[0]), several if len(alike) > 1 else None


def _suggestion(name: str, header: Sequence[str]) -> str:
    by_lower_case = {column.lower(): column for column in reversed(header)}
    close = difflib.get_close_matches(name.lower(), by_lower_case, n=1)
    question = f"; did you mean {by_lower_case[close[0]]!r}?" if close else "."
    return f"{question} {_columns_there(header)}"


def _columns_there(header: Sequence[str]) -> str:
    return f"Its columns are {', '.join(header)}."


def _guessed(header: Sequence[str], role: str) -> tuple[Column | None, str | None]:
    ranks = {name: rank for rank, name in enumerate(USUAL_NAMES[role])}
    fitting = sorted(
        (ranks[stem], i) for i, name in enumerate(header) if (stem := split_unit(name)[0]) in ranks
    )
    if not fitting:
        return None, None
    first, *others = (_column(header, i) for _, i in fitting)
    if not others:
        return first, None
    rest = ", ".join(column.name for column in others)
    return first, f"{first.name} was taken as {role}=, though {rest} would fit as well."


def _column(header: Sequence[str], position: int) -> Column:
    return Column(position, header[position], split_unit(header[position])[1])


def _prefer_what_was_given(
    found: dict[str, Column], given: Mapping[str, str | None], notes: list[str]
) -> None:
    """Keep one way to the duration: what the caller chose, or else a duration before an end."""
    if given["ended"] is not None:
        found.pop("duration", None)
    elif "duration" in found and "ended" in found:
        del found["ended"]
        notes[:] = [note for note in notes if " ended=" not in note]


def _refuse_what_is_missing(
    source: str, header: Sequence[str], found: Mapping[str, Column]
) -> None:
    if "created" not in found and "started" not in found:
        raise ValueError(
            f"{source} has no column that says when a job was created or started: "
            f"name one with created= or started=. {_columns_there(header)}"
        )
    if "duration" in found or ("started" in found and "ended" in found):
        return
    if "ended" in found:
        raise ValueError(
            f"{source} tells when a job was created ({found['created'].name}) and when it ended "
            f"({found['ended'].name}), but that is waiting and work together: "
            f"name a column with duration= or started=. {_columns_there(header)}"
        )
    raise ValueError(
        f"{source} has no column that says how long a job took: name one with duration=, "
        f"or two with started= and ended=. {_columns_there(header)}"
    )
