"""Where the SQL service keeps its data: SQLite in memory or in a file, on simulated time.

SQLite reads the computer's clock for `CURRENT_TIMESTAMP`, `datetime('now')` and their like, and its
`random()` differs from run to run. Here they are replaced: time 0 of a run is the start of 1970, so
`unixepoch()` is `ctx.now` in whole seconds; and `random()` follows from the seed.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_number = itertools.count()

_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_CURRENT = {"current_timestamp": "datetime", "current_date": "date", "current_time": "time"}


class Storage:
    """A database that any number of connections of this process share, until it is closed.

    Parameters
    ----------
    in_file
        Whether it is a temporary file in WAL mode, where readers don't wait for a writer; else it
        is in memory, where they do.
    schema
        The SQL that makes its tables.
    now
        Returns the simulated time in seconds.
    generator
        Returns where `random()` comes from; called when it is first used.
    """

    def __init__(
        self,
        *,
        in_file: bool,
        schema: str,
        now: Callable[[], float],
        generator: Callable[[], np.random.Generator],
    ) -> None:
        self._now = now
        self._generator = generator
        self._random: np.random.Generator | None = None
        self._plain: sqlite3.Connection | None = None
        # The process, too: with this, two processes that were forked have different names.
        name = f"simqueue-{os.getpid()}-{next(_number)}"
        self._file = Path(_folder()) / name if in_file else None
        if self._file is None:
            self._place = f"file:/{name}?vfs=memdb"
            self.keeper = self.connect()
            self.keeper.executescript(schema)
        else:
            self._file.write_bytes(_empty_file(schema))
            self._place = self._file.as_uri()
            self.keeper = self.connect()

    def connect(self) -> sqlite3.Connection:
        """Return a connection that fails at once where SQLite would wait, and commits by itself."""
        connection = sqlite3.connect(
            self._place, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        if self._file is not None:
            connection.execute("PRAGMA synchronous = OFF")
        for name in _TIME_FUNCTIONS:
            connection.create_function(name, -1, self._on_simulated_time(name))
        for name, function in _CURRENT.items():
            connection.create_function(name, 0, self._on_simulated_time(function))
        connection.create_function("random", 0, self._draw)
        return connection

    def snapshot(self) -> bytes:
        """Return what is committed, as the bytes of a database file. No other may be connected."""
        if self._file is not None:  # a database in memory cannot be in WAL mode
            self.keeper.execute("PRAGMA journal_mode = DELETE")
        return self.keeper.serialize()

    def close(self) -> None:
        """Forget everything. All other connections must be closed before."""
        self.keeper.close()
        if self._plain is not None:
            self._plain.close()
        if self._file is not None:
            self._file.unlink()

    def _on_simulated_time(self, name: str) -> Callable[..., Any]:
        place = 1 if name == "strftime" else 0

        def function(*given: Any) -> Any:
            arguments = list(given)
            if len(arguments) == place:
                arguments.append("now")
            if len(arguments) > place and str(arguments[place]).lower() == "now":
                arguments[place] = _as_text(self._now())
            if self._plain is None:
                self._plain = sqlite3.connect(":memory:", check_same_thread=False)
            marks = ", ".join("?" * len(arguments))
            return self._plain.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]

        return function

    def _draw(self) -> int:
        if self._random is None:
            self._random = self._generator()
        return int(self._random.integers(-(2**63), 2**63 - 1, endpoint=True))


@cache
def _folder() -> str:
    """The folder of this process' database files, which goes with the process."""
    import tempfile  # it pulls in a lot, and most never need it

    folder = tempfile.TemporaryDirectory(prefix="simqueue-")
    atexit.register(folder.cleanup)
    return folder.name


@lru_cache(maxsize=16)
def _empty_file(schema: str) -> bytes:
    """The bytes of a database file in WAL mode with these tables, ready to be written."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema)
        made = bytearray(connection.serialize())
    made[18:20] = b"\x02\x02"  # the file format's read and write version: 2 is WAL
    return bytes(made)


def opened(snapshot: bytes | None) -> sqlite3.Connection:
    """Return a connection to a private copy of what `Storage.snapshot` returned; None: empty."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if snapshot is not None:
        connection.deserialize(snapshot)
    return connection


def _as_text(seconds: float) -> str:
    moment = _SINCE + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
