"""Real SQL: SQLite, with a connection for each delivery, and waiting in simulated time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

from simqueue import checks
from simqueue.context import Rows, UniqueViolation
from simqueue.services.base import Client, OpenService, Service
from simqueue.services.sql_storage import Storage

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.world import World

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


@dataclass(frozen=True, kw_only=True)
class SQL(Service):
    """The settings of the SQL database. Times are in seconds.

    Parameters
    ----------
    schema
        The SQL that makes the tables: "CREATE TABLE …; CREATE TABLE …". The database is made anew
        for each run.
    effects
        Tables of which every row that is committed counts as an effect, of the kind that is the
        table's name: a table, or several.
    storage
        "memory": nobody reads or writes while somebody has written in an open transaction. "file":
        a temporary file in WAL mode; readers see what was committed last, and wait for nobody.
    busy_timeout
        How long a statement waits, in simulated time, for another connection to let it in; then it
        raises sqlite3.OperationalError, "database is locked". 5, as in Python's own sqlite3.
    """

    name: ClassVar[str] = "sql"
    schema: str = ""
    effects: str | Sequence[str] = ()
    storage: str = "memory"
    busy_timeout: float = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("sql.storage", self.storage, ("memory", "file"))
        checks.non_negative("sql.busy_timeout", self.busy_timeout, "seconds")
        effects = (self.effects,) if isinstance(self.effects, str) else tuple(self.effects)
        object.__setattr__(self, "effects", effects)
        with closing(sqlite3.connect(":memory:")) as trial:
            try:
                trial.executescript(self.schema)
            except (sqlite3.Error, sqlite3.Warning, TypeError) as error:
                allowed = f"SQL that SQLite accepts ({error})"
                raise checks.fail("sql.schema", self.schema, allowed) from None
            tables = [
                name for (name,) in trial.execute("SELECT name FROM sqlite_schema ORDER BY name")
            ]
        for table in effects:
            checks.one_of("sql.effects", table, tables)

    def open(self, world: World) -> SQLServer:
        """Return the database. It is made when a handler first talks to it."""
        return SQLServer(self, world)


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


class SQLServer(OpenService):
    """The database, and the connections that deliveries have."""

    def __init__(self, settings: SQL, world: World) -> None:
        super().__init__(settings, world)
        self.settings = settings
        self.snapshot: bytes | None = None
        self._storage: Storage | None = None
        self._sessions: dict[int, Session] = {}
        self._idle: list[sqlite3.Connection] = []
        self._watched: set[int] = set()
        self._rows = dict.fromkeys(settings.effects, 0)

    def client(self, context: SimulatedContext) -> SQLClient:
        """Return the database as the handler with this `context` sees it."""
        return SQLClient(self, context)

    def session(self, delivery: Delivery) -> Session:
        """Return the connection that `delivery` has, or let it have one."""
        found = self._sessions.get(delivery.number)
        if found is None:
            self.take_back()
            connection = self._idle.pop() if self._idle else self._opened().connect()
            found = self._sessions[delivery.number] = Session(connection, delivery)
            worker = delivery.worker
            if worker.number not in self._watched:
                self._watched.add(worker.number)
                worker.on_death.append(self._died)
        return found

    def take_back(self) -> None:
        """Take the connections of deliveries that are over, and roll back what they left open."""
        for number, session in list(self._sessions.items()):
            if number not in session.delivery.worker.running:
                if session.connection.in_transaction:
                    session.connection.rollback()
                self._idle.append(session.connection)
                del self._sessions[number]

    def note_effects(self, context: SimulatedContext) -> None:
        """Note as effects the rows that were committed just now."""
        for table, before in self._rows.items():
            (rows,) = self._opened().keeper.execute(f'SELECT count(*) FROM "{table}"').fetchone()
            self._rows[table] = rows
            for _ in range(rows - before):
                context.effect(table)

    def close(self) -> None:
        """Keep what is committed as `snapshot`, and close all connections."""
        if self._storage is not None:
            for session in self._sessions.values():
                session.connection.close()
            for connection in self._idle:
                connection.close()
            self.snapshot = self._storage.snapshot()
            self._storage.close()
            self._storage = None

    def _opened(self) -> Storage:
        if self._storage is None:
            self._storage = Storage(
                in_file=self.settings.storage == "file",
                schema=self.settings.schema,
                now=lambda: float(self.world.clock.now),
                generator=lambda: self.world.streams.generator("random() of SQL"),
            )
        return self._storage

    def _died(self, deliveries: list[Delivery]) -> None:
        """Close the connections of a process that died: what they had open is rolled back."""
        for delivery in deliveries:
            session = self._sessions.pop(delivery.number, None)
            if session is not None:
                session.connection.close()


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
        pauses = _pauses(server.settings.busy_timeout)
        while True:
            try:
                result = action()
            except _Busy as busy:
                pause = next(pauses, None)
                if pause is None or self._must_not_wait(call):
                    raise sqlite3.OperationalError("database is locked") from busy.__cause__
                await context.pass_time(pause)
            else:
                break
        for hook in steps.after:
            await hook(context, name)
        return result

    def _execute(self, statement: str, parameters: Parameters) -> Rows:
        server: SQLServer = self._service
        server.take_back()
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
        return rows

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


def _pauses(timeout: float) -> Iterator[float]:
    """The pauses between the tries of SQLite's busy handler, which together last `timeout`."""
    left, number = timeout, 0
    while left > 0:
        pause = min(left, _RETRIES_AFTER[number] if number < len(_RETRIES_AFTER) else 0.1)
        left = round(left - pause, 6)
        number += 1
        yield pause
