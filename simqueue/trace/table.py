"""A CSV file as columns of text: its header, its delimiter, its rows and their line numbers."""

from __future__ import annotations

import csv
import gzip
import itertools
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import IO, TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pandas as pd

    from simqueue.trace.columns import Column

DELIMITERS = (",", ";", "\t", "|")
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SNIFFED_CHARACTERS = 65_536
_SNIFFED_ROWS = 50
_DECIMAL_COMMA = r"^(-?\d+),(\d+)$"


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a log that are not blank.

    Attributes
    ----------
    frame
        One column of stripped text per position that was asked for.
    index
        The rows' places among all rows of the file, blank ones included, from 0.
    too_long
        True where a row has more fields than the header.
    delimiter
        What separates the fields.
    """

    frame: pd.DataFrame
    index: npt.NDArray[np.intp]
    too_long: npt.NDArray[np.bool_]
    delimiter: str

    def column(self, column: Column) -> pd.Series[str]:
        """The text of one column."""
        return cast("pd.Series[str]", self.frame[column.position])


def read_header(source: str, delimiter: str | None) -> tuple[list[str], str]:
    """The names of the columns, and the delimiter (sniffed where it is None).

    Raises ValueError if the file cannot be read, is empty, or begins with data or JSON.
    """
    with _opened(source) as file:
        text = file.read(_SNIFFED_CHARACTERS)
    if not text.strip():
        raise ValueError(f"{source} is empty.")
    if "\0" in text:
        raise ValueError(f"{source} is not a text file; only CSV can be read.")
    if text.lstrip()[0] in "{[":
        raise ValueError(f"{source} looks like JSON; only CSV with a header line can be read.")
    chosen = delimiter or _sniff(text)
    header = next(_filled_rows(StringIO(text, newline=""), chosen))
    names = [name.strip() for name in header]
    if any(_is_a_value(name) for name in names):
        raise ValueError(
            f"{source} must begin with a header line that names its columns, not with data: "
            f"{chosen.join(header)[:80]}"
        )
    return names, chosen


def read_rows(
    source: str, header: Sequence[str], delimiter: str, positions: Collection[int]
) -> Rows:
    """The columns at these positions, as text, without the rows in which all of them are blank."""
    import pandas as pd

    beyond = len(header)
    with _opened(source) as file:
        next(_filled_rows(file, delimiter))
        try:
            frame = pd.read_csv(
                cast("IO[str]", _WidestRowFirst(file, delimiter * beyond + "\n")),
                sep=delimiter,
                header=None,
                usecols=[*sorted(set(positions)), beyond],
                dtype=str,
                na_filter=False,
                skip_blank_lines=False,
            ).iloc[1:]
        except pd.errors.ParserError as error:
            raise ValueError(f"{source} is not well-formed CSV: {error}.") from error
    frame = frame.apply(lambda values: values.fillna("").str.strip())
    if delimiter != ",":
        frame = frame.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)
    filled = frame.ne("").any(axis=1).to_numpy(dtype=bool)
    kept = frame[filled].reset_index(drop=True)
    too_long = kept.pop(beyond).ne("").to_numpy(dtype=bool)
    return Rows(kept, np.flatnonzero(filled), too_long, delimiter)


def line_numbers(source: str, rows: Rows, wanted: Collection[int]) -> dict[int, int]:
    """For these rows, the line of the file on which each begins, from 1 for the file's first."""
    if not wanted:
        return {}
    row_at = {int(rows.index[row]): row for row in wanted}
    lines: dict[int, int] = {}
    with _opened(source) as file:
        reader = csv.reader(file, delimiter=rows.delimiter)
        next(row for row in reader if any(row))
        begins = reader.line_num + 1
        for place, _ in enumerate(itertools.islice(reader, max(row_at) + 1)):
            if place in row_at:
                lines[row_at[place]] = begins
            begins = reader.line_num + 1
    return lines


class _WidestRowFirst:
    """A file with a blank row of one field too many before it.

    From its first row pandas learns how many fields to expect, and so finds the rows that are
    longer than the header instead of failing on them.
    """

    def __init__(self, file: IO[str], row: str) -> None:
        self._file = file
        self._row = row

    def read(self, size: int = -1) -> str:
        row, self._row = self._row, ""
        return row or self._file.read(size)

    def __iter__(self) -> Iterator[str]:
        return itertools.chain([self._row], self._file)


@contextmanager
def _opened(source: str) -> Iterator[IO[str]]:
    """The file as text; a ValueError with one sentence if it cannot be read."""
    opener = gzip.open if source.endswith(".gz") else open
    try:
        with opener(source, "rb") as raw:
            marks = raw.read(2)
        encoding = "utf-16" if marks in _UTF_16_MARKS else "utf-8-sig"
        with opener(source, "rt", encoding=encoding, errors="replace", newline="") as file:
            yield cast("IO[str]", file)
    except FileNotFoundError as error:
        raise ValueError(f"{source} does not exist.") from error
    except IsADirectoryError as error:
        raise ValueError(f"{source} is a directory, not a CSV file.") from error
    except (OSError, EOFError, csv.Error) as error:
        raise ValueError(f"{source} cannot be read: {error}.") from error


def _filled_rows(lines: IO[str], delimiter: str) -> Iterator[list[str]]:
    return (row for row in csv.reader(lines, delimiter=delimiter) if any(row))


def _sniff(text: str) -> str:
    """The delimiter that gives the most columns, counting only widths that most rows share."""

    def columns(delimiter: str) -> int:
        rows = _filled_rows(StringIO(text, newline=""), delimiter)
        widths = [len(row) for row in itertools.islice(rows, _SNIFFED_ROWS)]
        agreeing = sum(width == widths[0] for width in widths)
        return widths[0] if 2 * agreeing >= len(widths) else 1

    return max(DELIMITERS, key=columns)


def _is_a_value(name: str) -> bool:
    """Whether a header's cell is a number or a date, so that the header is really data."""
    digits = name.replace(".", "", 1).removeprefix("-")
    return digits.isdigit() or (len(name) >= 10 and name[:4].isdigit() and name[4] in "-/")
