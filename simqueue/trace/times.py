"""Times and durations as logs write them.

Times become whole microseconds, so that a difference of two is exact: 30 s stays 30 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simqueue.trace.columns import UNIT_WORDS, Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

MISSING_WORDS = frozenset(
    {"", "-", "null", "none", "nil", "nan", "nat", "na", "n/a", "<na>", "\\n", "undefined"}
)

# The sizes that numbers of seconds since 1970 have between the years 2001 and 2286. Smaller
# numbers of seconds are offsets, or times so early that it makes no difference.
_EPOCH_SIZES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"s": (1e9, 1e10), "ms": (1e12, 1e13), "us": (1e15, 1e16), "ns": (1e18, 1e19)}
)
# The zeros of Unix, Go and MySQL stand for "not set".
_FIRST_BELIEVABLE_YEAR = "1971-01-01"
_ZEROS = ("0000-", "0001-")
_OFFSET = r":.*(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)$"
# Hours, minutes and seconds, or a number and a unit. pandas would take a bare 3,5 for nanoseconds.
_WITH_UNIT = r"^-?(?:P|\d.*[:a-zA-Z])"
_LARGEST = 2.0**62
_SAMPLE = 1_000


_PER_SECOND: Mapping[str, float] = MappingProxyType({"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9})


@dataclass(frozen=True, eq=False)
class Times:
    """The values of one column of times.

    Attributes
    ----------
    microseconds
        Since 1970 for a time of day, since the log's own zero for an offset; 0 where unusable.
    usable
        True where there is a value that could be read.
    missing
        True where there is no value at all.
    dated
        Whether these are times of day rather than offsets.
    utc
        Whether the times are known to be in UTC.
    notes
        What had to be decided.
    """

    microseconds: npt.NDArray[np.int64]
    usable: npt.NDArray[np.bool_]
    missing: npt.NDArray[np.bool_]
    dated: bool
    utc: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Durations:
    """The values of one column of durations, in seconds; NaN where there is none to be used."""

    seconds: npt.NDArray[np.float64]
    missing: npt.NDArray[np.bool_]
    notes: tuple[str, ...] = ()


def read_times(
    source: str,
    column: Column,
    values: pd.Series[str],
    unit: str | None = None,
    time_format: str | None = None,
) -> Times:
    """Read ISO 8601 times, epochs in s, ms, us or ns (told by their size), or offsets in seconds.

    Times with an offset are turned to UTC; times without one are taken as they are.

    Raises
    ------
    ValueError
        If the column holds numbers of which the unit cannot be told.
    """
    missing = _missing(values)
    if time_format is None and (unit is not None or _mostly_numbers(values[~missing])):
        return _numeric_times(source, column, values, missing, unit)
    return _written_times(column, values, missing, time_format)


def read_durations(column: Column, values: pd.Series[str], unit: str | None = None) -> Durations:
    """Read durations: numbers in `unit` (else the unit in the column's name, else seconds).

    Values such as `00:01:30`, `90s`, `1500ms` or `PT1M30S` carry their own unit.
    """
    import pandas as pd

    missing = _missing(values)
    seconds = _in_seconds(_numbers(values), chosen := unit or column.unit or "s")
    notes: tuple[str, ...] = ()
    if np.isfinite(seconds).any() and chosen != "s":
        notes = (f"{column.name} was read as {UNIT_WORDS[chosen]}.",)
    elif np.isfinite(seconds).any() and not (unit or column.unit):
        notes = (f"{column.name} names no unit: seconds were assumed (duration_unit=).",)
    seconds[missing | ~np.isfinite(seconds)] = np.nan
    with_unit = values.str.contains(_WITH_UNIT, regex=True).to_numpy(dtype=bool)
    written = np.isnan(seconds) & ~missing & with_unit
    if written.any():
        spans = pd.to_timedelta(values[written], errors="coerce")
        seconds[written] = spans.dt.total_seconds().to_numpy()
    return Durations(seconds, missing, notes)


def iso_time(microseconds: int, *, utc: bool) -> str:
    """Microseconds since 1970 as ISO 8601 text, with a `Z` if it is known to be UTC."""
    moment = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)  # noqa: DTZ001
    return moment.isoformat() + ("Z" if utc else "")


def later(iso: str, seconds: float) -> str:
    """The time `seconds` after one that `iso_time` wrote, in the same form."""
    moment = datetime.fromisoformat(iso.removesuffix("Z")) + timedelta(seconds=seconds)
    return moment.isoformat() + ("Z" if iso.endswith("Z") else "")


def _missing(values: pd.Series[str]) -> npt.NDArray[np.bool_]:
    return values.str.lower().isin(MISSING_WORDS).to_numpy(dtype=bool)


def _mostly_numbers(values: pd.Series[str]) -> bool:
    sample = values.iloc[:: max(1, len(values) // _SAMPLE)]
    return len(sample) > 0 and bool(np.isfinite(_numbers(sample)).mean() > 0.5)


def _numbers(values: pd.Series[str]) -> npt.NDArray[np.float64]:
    import pandas as pd

    return np.array(pd.to_numeric(values, errors="coerce"), dtype=np.float64)


def _numeric_times(
    source: str,
    column: Column,
    values: pd.Series[str],
    missing: npt.NDArray[np.bool_],
    unit: str | None,
) -> Times:
    numbers = _numbers(values)
    finite = np.abs(numbers[np.isfinite(numbers) & ~missing])
    typical = float(np.median(finite)) if finite.size else 0.0
    chosen = unit or _believable_unit(column, typical) or _unit_of_size(source, column, typical)
    dated = chosen in _EPOCH_SIZES and typical >= _EPOCH_SIZES[chosen][0]
    if dated:
        low, high = _EPOCH_SIZES[chosen]
        numbers[(numbers < low) | (numbers >= high)] = np.nan
    since = "since 1970 (UTC)" if dated else "since the log began"
    microseconds = _in_seconds(numbers, chosen) * 1e6
    usable = np.isfinite(microseconds) & (np.abs(microseconds) < _LARGEST) & ~missing
    return Times(
        np.rint(np.where(usable, microseconds, 0.0)).astype(np.int64),
        usable,
        missing,
        dated=dated,
        utc=dated,
        notes=(f"{column.name} was read as {UNIT_WORDS[chosen]} {since}.",),
    )


def _in_seconds(numbers: npt.NDArray[np.float64], unit: str) -> npt.NDArray[np.float64]:
    # A division gives the nearest number of seconds; a product with 0.001 need not.
    return numbers * 60.0 if unit == "min" else numbers / _PER_SECOND[unit]


def _believable_unit(column: Column, typical: float) -> str | None:
    """The unit that the column's name tells, unless its numbers are too large for it."""
    _, limit = _EPOCH_SIZES.get(column.unit or "", (0.0, np.inf))
    return column.unit if typical < limit else None


def _unit_of_size(source: str, column: Column, typical: float) -> str:
    for unit, (low, high) in _EPOCH_SIZES.items():
        if (0.0 if unit == "s" else low) <= typical < high:
            return unit
    raise ValueError(
        f"{source}: the numbers in column {column.name} (about {typical:.4g}) are no time in "
        's, ms, us or ns since 1970: say time_unit="ms" or the like, or '
        'time_format="%Y%m%d%H%M%S" or the like.'
    )


def _written_times(
    column: Column,
    values: pd.Series[str],
    missing: npt.NDArray[np.bool_],
    time_format: str | None,
) -> Times:
    with_offset = values.str.contains(_OFFSET, regex=True).to_numpy(dtype=bool)
    moments = _parsed(values, with_offset, time_format)
    odd = np.isnat(moments) & ~missing
    if odd.any() and time_format is None:
        moments[odd] = _parsed(_as_iso(values[odd]), with_offset[odd], None)
    unset = moments < np.datetime64(_FIRST_BELIEVABLE_YEAR, "us")
    odd = np.isnat(moments) & ~missing
    unset[odd] = values[odd].str.startswith(_ZEROS).to_numpy(dtype=bool)
    usable = ~np.isnat(moments) & ~unset & ~missing
    aware = with_offset[usable]
    note = f"{column.name} has times with and without a UTC offset: those without count as UTC."
    return Times(
        np.where(usable, moments.astype(np.int64), 0),
        usable,
        missing | unset,
        dated=True,
        utc=bool(aware.any()),
        notes=(note,) if aware.any() and not aware.all() else (),
    )


def _parsed(
    values: pd.Series[str], with_offset: npt.NDArray[np.bool_], time_format: str | None
) -> npt.NDArray[np.datetime64]:
    """The times in UTC, or as they are where they have no offset; NaT where they make no sense."""
    import pandas as pd

    moments = np.full(len(values), np.datetime64("NaT", "us"), dtype="datetime64[us]")
    # One kind at a time: pandas before 3 gives a time without offset that of the time before it.
    for rows in (with_offset, ~with_offset):
        if rows.any():
            parsed = pd.to_datetime(
                values[rows], format=time_format or "ISO8601", utc=True, errors="coerce"
            )
            moments[rows] = parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    return moments


def _as_iso(values: pd.Series[str]) -> pd.Series[str]:
    """Near misses of ISO 8601, mended: `2024/11/15 16:57:50,123 UTC`."""
    dashed = values.str.replace(r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3", regex=True)
    pointed = dashed.str.replace(r",(\d+)", r".\1", regex=True)
    return pointed.str.replace(r"\s*(?:UTC|GMT)$", "Z", regex=True)
