"""`ctx.sql` as handlers see it: statements and transactions, waiting in simulated time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from simqueue import checks
from simqueue.context import Rows, UniqueViolation
from simqueue.services.base import Client

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.services.sql import SQLServer

T = TypeVar("T")
Parameters = Sequence[Any] | Mapping[str, Any]

MODES: Final = ("deferred", "immediate", "exclusive")
_BUSY: Final = (5, 6)
_UNIQUE: Final = ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY")
_RETRIES_AFTER: Final = (
    0.001,
    0.002,
    0.005,
    0.010,
    0.015,
    0.020,
    0.025,
    0.025,
    0.025,
    0.050,
    0.050,
)
"""How long SQLite's own busy handler waits between its tries, in seconds; afterwards 0.1."""


class SQLUniqueViolation(UniqueViolation, sqlite3.IntegrityError):
    """A row with this key is there already. It is SQLite's IntegrityError too."""


class _Busy(Exception):  # noqa: N818 - it never leaves this module
    """SQLite would have to wait for another connection."""


@dataclass
class Session:
    """A connection, and whose delivery has it. `has_read`: within its open transaction."""

    connection: sqlite3.Connection
    delivery: Delivery
    has_read: bool = False


class SQLClient(Client):
    """`ctx.sql` of one delivery."""

    __slots__ = ()

    async def execute(self, statement: str, parameters: Parameters = ()) -> Rows:
        """Run one SQL statement, and return its rows, with `rowcount`.

        Outside of a transaction it commits by itself. Raises `UniqueViolation` (which is a
        `sqlite3.IntegrityError` too) for a key that is there already, and SQLite's own errors for
        everything else.
        """
        verb = statement.split(maxsplit=1)[0].lower() if statement.strip() else "nothing"
        return await self._patiently(verb, lambda: self._execute(statement, parameters))

    def transaction(self, mode: str = "immediate") -> SQLTransaction:
        """Begin a transaction: ``async with ctx.sql.transaction():``.

        It commits at the end of the block, and rolls back on an error. `mode` is how SQLite begins
        it: "immediate" waits until nobody else writes; "deferred" takes locks as it goes, and fails
        at once where it has read and now cannot write; "exclusive".
        """
        return SQLTransaction(self, checks.one_of("mode", mode, MODES))

    async def begin(self, mode: str) -> None:
        """Begin a transaction in this `mode`, as ``BEGIN IMMEDIATE`` does."""
        await self._patiently("begin", lambda: self._execute(f"BEGIN {mode.upper()}", ()))

    async def commit(self) -> None:
        """Commit the open transaction; on an error it is rolled back."""
        try:
            await self._patiently("commit", lambda: self._execute("COMMIT", ()))
        finally:  # after a lost answer there is nothing left to roll back
            self.roll_back()

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        session = self._service.session(self._context.delivery)
        session.has_read = False
        if session.connection.in_transaction:
            session.connection.rollback()
            self._service.changed()

    async def _patiently(self, call: str, action: Callable[[], T]) -> T:
        """Do `action` as the call "sql.call", waiting where SQLite says that it is busy."""
        context, server = self._context, self._service
        name, steps = f"{server.name}.{call}", context.steps
        for hook in steps.before:
            await hook(context, name)
        waiting = server.seconds(context, call)
        if waiting:
            await context.pass_time(waiting)
        for wrap in steps.around:
            action = wrap(context, name, action)
        end = round(context.clock_now + server.settings.busy_timeout, 6)
        tries = _tries(context.clock_now, end)
        while True:
            try:
                result = action()
            except _Busy as busy:
                following = None if self._must_not_wait(call) else next(tries, None)
                if following is None:
                    raise sqlite3.OperationalError("database is locked") from busy.__cause__
                await self._wait(following, tries, end)
            else:
                break
        for hook in steps.after:
            await hook(context, name)
        return result

    def _execute(self, statement: str, parameters: Parameters) -> Rows:
        server: SQLServer = self._service
        session = server.session(self._context.delivery)
        connection = session.connection
        before = connection.total_changes
        was_open = connection.in_transaction
        try:
            cursor = connection.execute(statement, parameters)
            rows = Rows(cursor.fetchall())
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
                raise _Busy from error
            raise
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorname in _UNIQUE:
                raise SQLUniqueViolation(str(error)) from error
            raise
        rows.rowcount = cursor.rowcount
        session.has_read = connection.in_transaction and was_open
        if not connection.in_transaction and (was_open or connection.total_changes > before):
            server.note_effects(self._context)
        server.changed()
        return rows

    async def _wait(self, following: float, tries: Iterator[float], end: float) -> None:
        """Wait for the first try that can turn out otherwise: those before a change cannot.

        `following` is the time of the next try, `tries` give those of the ones after it, `end` is
        that of the last one, in seconds.
        """
        context, server = self._context, self._service
        await server.change(end)
        for later in tries if following < context.clock_now else ():
            following = later
            if following >= context.clock_now:
                break
        await context.pass_time(max(following - context.clock_now, 0.0))

    def _must_not_wait(self, call: str) -> bool:
        """Whether SQLite itself fails at once: who has read and now wants to write holds others up.

        Both would wait for each other for ever.
        """
        session = self._service.session(self._context.delivery)
        return bool(call != "commit" and session.has_read)


class SQLTransaction:
    """All of it happens at the end of the block or, on an error or a crash, nothing."""

    def __init__(self, client: SQLClient, mode: str) -> None:
        self._client = client
        self._mode = mode

    async def __aenter__(self) -> Self:
        await self._client.begin(self._mode)
        return self

    async def __aexit__(self, kind: object, _error: object, _traceback: object) -> None:
        if kind is None:
            await self._client.commit()
        else:
            self._client.roll_back()

    async def execute(self, statement: str, parameters: Parameters = ()) -> Rows:
        """As `ctx.sql.execute`, which inside the block is the same."""
        return await self._client.execute(statement, parameters)


def _tries(now: float, end: float) -> Iterator[float]:
    """The times after `now` at which SQLite's busy handler tries again, the last one at `end`."""
    time, number = now, 0
    while time < end:
        pause = _RETRIES_AFTER[number] if number < len(_RETRIES_AFTER) else 0.1
        time = min(end, round(time + pause, 6))
        number += 1
        yield time
