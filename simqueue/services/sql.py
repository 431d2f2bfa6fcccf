"""Real SQL: SQLite, with a connection for each delivery, and waiting in simulated time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue import checks
from simqueue.model.clock import Signal
from simqueue.services.base import OpenService, Service
from simqueue.services.sql_client import Session, SQLClient
from simqueue.services.sql_storage import Storage

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


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
        self._waiting: list[Signal] = []
        self._rows = dict.fromkeys(settings.effects, 0)

    def client(self, context: SimulatedContext) -> SQLClient:
        """Return the database as the handler with this `context` sees it."""
        return SQLClient(self, context)

    def session(self, delivery: Delivery) -> Session:
        """Return the connection that `delivery` has, or let it have one."""
        found = self._sessions.get(delivery.number)
        if found is None:
            self._watch(delivery.worker)
            connection = self._idle.pop() if self._idle else self._opened().connect()
            found = self._sessions[delivery.number] = Session(connection, delivery)
        return found

    def changed(self) -> None:
        """Wake all who wait: some connection did something, and perhaps lets them in."""
        waiting, self._waiting = self._waiting, []
        for signal in waiting:
            signal.happen()

    async def change(self, until: float) -> None:
        """Wait until some connection has done something, at most `until` this time (seconds)."""
        clock = self.world.clock
        signal = Signal(clock)
        self._waiting.append(signal)
        clock.at(until, lambda _: signal.happen())
        await signal.wait()

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

    def _watch(self, worker: Worker) -> None:
        """Take a connection back when its delivery is over, and close it when its process dies."""
        if worker.number in self._watched:
            return
        self._watched.add(worker.number)
        worker.on_death.append(self._died)
        ended = worker.ended

        def end(delivery: Delivery, error: Exception | None) -> None:
            session = self._sessions.pop(delivery.number, None)
            if session is not None:
                self._idle.append(session.connection)
                if session.connection.in_transaction:
                    session.connection.rollback()
                    self.changed()
            ended(delivery, error)

        worker.ended = end  # type: ignore[method-assign]

    def _died(self, deliveries: list[Delivery]) -> None:
        """Close the connections of a process that died: what they had open is rolled back."""
        for delivery in deliveries:
            session = self._sessions.pop(delivery.number, None)
            if session is not None:
                session.connection.close()
                self.changed()
