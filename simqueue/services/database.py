"""A database: transactions that happen as a whole or not at all, and an outbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from simqueue import checks
from simqueue.context import Fenced, UniqueViolation
from simqueue.model.clock import Signal
from simqueue.services.base import Client, OpenService, Service
from simqueue.services.outbox import Letter, Relay

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Database(Service):
    """The settings of the database and of the relay that empties its outbox.

    Parameters
    ----------
    relay_every
        Seconds between two looks of the relay into the outbox.
    relay_uses_key
        Whether the relay gives the provider the idempotency key of what it sends.
    relays
        How many relays look, at the same moments and without claiming rows: each sends all.
    """

    name: ClassVar[str] = "database"
    relay_every: float = 1.0
    relay_uses_key: bool = False
    relays: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("database.relay_every", self.relay_every, "seconds")
        checks.whole("database.relays", self.relays, 1)

    def open(self, world: World) -> DatabaseServer:
        """Return the database, with empty tables."""
        return DatabaseServer(self, world)


class DatabaseServer(OpenService):
    """Tables with unique keys. Whoever inserts a key that an open transaction has, waits for it."""

    def __init__(self, settings: Database, world: World) -> None:
        super().__init__(settings, world)
        self.tables: dict[str, dict[str, dict[str, Any]]] = {}
        self.relay = Relay(
            world,
            every=settings.relay_every,
            uses_key=settings.relay_uses_key,
            relays=settings.relays,
        )
        self.locked: dict[tuple[str, str], Transaction] = {}
        self._open: dict[int, Transaction] = {}
        self._watched: set[int] = set()
        self._fences: dict[tuple[str, int], int] = {}

    def client(self, context: SimulatedContext) -> DatabaseClient:
        """Return the database as the handler with this `context` sees it."""
        return DatabaseClient(self, context)

    def begin(self, transaction: Transaction, delivery: Delivery) -> None:
        """A transaction begins; it is rolled back if its worker dies."""
        self._open[delivery.number] = transaction
        worker = delivery.worker
        if worker.number not in self._watched:
            self._watched.add(worker.number)
            worker.on_death.append(self._roll_back_all)

    def end(self, transaction: Transaction, delivery: Delivery) -> None:
        """A transaction is over: its locks are free."""
        self._open.pop(delivery.number, None)
        for place in [place for place, owner in self.locked.items() if owner is transaction]:
            del self.locked[place]
        transaction.over.happen()

    def guarded_write(self, context: SimulatedContext, effect: str, token: int) -> None:
        """Apply `effect` unless a higher `token` has written for this job."""
        place = (effect, context.delivery.message.job.id)
        if token < self._fences.get(place, token):
            raise Fenced(f"token {token} is older than {self._fences[place]}")
        self._fences[place] = token
        context.effect(effect)

    def _roll_back_all(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            transaction = self._open.get(delivery.number)
            if transaction is not None:
                self.end(transaction, delivery)


class DatabaseClient(Client):
    """`ctx.database` of one delivery."""

    __slots__ = ()

    def transaction(self) -> Transaction:
        """Begin a transaction: ``async with ctx.database.transaction() as tx``."""
        return Transaction(self, self._service, self._context)

    async def guarded_write(self, effect: str, token: int) -> None:
        """Apply `effect` unless a higher fencing `token` has written; then raise `Fenced`."""
        await self.call(
            "guarded_write", lambda: self._service.guarded_write(self._context, effect, token)
        )


@dataclass
class Transaction:
    """All of it happens at the end of the block, or, on an error or a crash, nothing."""

    _client: DatabaseClient
    _server: DatabaseServer
    _context: SimulatedContext
    _rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _effects: list[str] = field(default_factory=list)
    _letters: list[Letter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.over = Signal(self._server.world.clock)

    async def __aenter__(self) -> Self:
        self._server.begin(self, self._context.delivery)
        return self

    async def __aexit__(self, kind: object, _error: object, _traceback: object) -> None:
        try:
            if kind is None:
                await self._client.call("commit", self._commit)
        finally:  # it is over too when the answer got lost; a crash does not come by here
            self._server.end(self, self._context.delivery)

    async def insert(self, table: str, key: str, **columns: Any) -> None:
        """Insert a row. Waits for an open transaction that has the same key.

        Raises `UniqueViolation` if `key` is in `table`.
        """
        place = (table, key)
        other = await self._client.call("insert", lambda: self._insert(place, columns))
        while other is not None:
            await other.over.wait()
            other = self._insert(place, columns)

    async def try_lock(self, name: str) -> bool:
        """Take advisory lock `name` until this transaction ends; whether nobody else has it."""
        return await self._client.call("try_lock", lambda: self._try_lock(("advisory", name)))

    async def get(self, table: str, key: str) -> dict[str, Any] | None:
        """Return the row of `key`, as committed or as written here, or None."""
        return await self._client.call("get", lambda: self._get(table, key))

    async def apply(self, effect: str) -> None:
        """Change the database's own data: an effect that happens at commit."""
        await self._client.call("apply", lambda: self._effects.append(effect))

    async def enqueue(self, effect: str, key: str) -> None:
        """Put a message into the outbox, for the relay to send after commit."""
        letter = Letter(effect, key, self._context.delivery.message.job)
        await self._client.call("enqueue", lambda: self._letters.append(letter))

    def _insert(self, place: tuple[str, str], columns: dict[str, Any]) -> Transaction | None:
        """Insert the row, or return the open transaction that has to end first."""
        table, key = place
        other = self._server.locked.get(place, self)
        if other is not self:
            return other
        if key in self._server.tables.get(table, {}) or place in self._rows:
            raise UniqueViolation(f"{table} has a row {key!r} already")
        self._server.locked[place] = self
        self._rows[place] = columns
        return None

    def _try_lock(self, place: tuple[str, str]) -> bool:
        return self._server.locked.setdefault(place, self) is self

    def _get(self, table: str, key: str) -> dict[str, Any] | None:
        own = self._rows.get((table, key))
        return own if own is not None else self._server.tables.get(table, {}).get(key)

    def _commit(self) -> None:
        for (table, key), columns in self._rows.items():
            self._server.tables.setdefault(table, {})[key] = columns
        for effect in self._effects:
            self._context.effect(effect)
        for letter in self._letters:
            self._server.relay.receive(letter)
