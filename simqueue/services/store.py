"""A dedupe store: one row for each idempotency key, claimed atomically."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue import checks
from simqueue.context import Claim
from simqueue.model.leases import next_look
from simqueue.model.ledger import Event
from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Store(Service):
    """The settings of the dedupe store. Times are in seconds.

    Parameters
    ----------
    ttl
        After this time a row is gone, as with a key in Redis; None: rows stay.
    sweep_after, sweep_every
        A sweeper looks every `sweep_every` for rows that have been in work for `sweep_after` or
        more, and sets them to failed; None: there is no sweeper.
    """

    name: ClassVar[str] = "store"
    ttl: float | None = None
    sweep_after: float | None = None
    sweep_every: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("ttl", "sweep_after", "sweep_every"):
            if getattr(self, name) is not None:
                checks.positive(f"store.{name}", getattr(self, name), "seconds")

    def open(self, world: World) -> DedupeStore:
        """Return an empty store."""
        return DedupeStore(self, world)


class Status(enum.Enum):
    """What a row says of its job."""

    IN_WORK = "processing"
    DONE = "completed"
    FAILED = "failed"


@dataclass
class Row:
    """One row: its status, since when, until when it exists (seconds), and for which job."""

    status: Status
    since: float
    until: float
    job: int


class DedupeStore(OpenService):
    """A table with a unique key and a status, as `INSERT … ON CONFLICT` would use it."""

    def __init__(self, settings: Store, world: World) -> None:
        super().__init__(settings, world)
        self.rows: dict[str, Row] = {}
        self._settings = settings

    def client(self, context: SimulatedContext) -> StoreClient:
        """Return the store as the handler with this `context` sees it."""
        return StoreClient(self, context)

    def find(self, key: str) -> Row | None:
        """Return the row of `key`, if it has not gone with time."""
        row = self.rows.get(key)
        return row if row is not None and row.until > self.world.clock.now else None

    def claim(self, key: str, job: int, stale_after: float | None) -> Claim:
        """Insert the row, or take over one that was given up or is stale."""
        row, now = self.find(key), self.world.clock.now
        if row is not None and row.status is Status.DONE:
            return Claim.DONE
        age = now - row.since if row is not None and row.status is Status.IN_WORK else math.inf
        if age < (math.inf if stale_after is None else stale_after):
            return Claim.BUSY
        self._write(key, job, Status.IN_WORK)
        return Claim.WON

    def insert(self, key: str, job: int) -> Claim:
        """Insert the row if there is none at all, whatever its status."""
        row = self.find(key)
        if row is None:
            self._write(key, job, Status.IN_WORK)
            return Claim.WON
        return Claim.DONE if row.status is Status.DONE else Claim.BUSY

    def complete(self, key: str, job: int) -> Status:
        """Mark the row of `key` as done."""
        return self._write(key, job, Status.DONE)

    def fail(self, key: str, job: int) -> Status:
        """Mark the row of `key` as given up."""
        return self._write(key, job, Status.FAILED)

    def is_done(self, key: str) -> bool:
        """Whether the row of `key` is there and done."""
        row = self.find(key)
        return row is not None and row.status is Status.DONE

    def _write(self, key: str, job: int, status: Status) -> Status:
        clock, settings = self.world.clock, self._settings
        until = math.inf if settings.ttl is None else clock.after(settings.ttl)
        self.rows[key] = row = Row(status, clock.now, until, job)
        if status is Status.IN_WORK and settings.sweep_after is not None:
            look = next_look(clock.after(settings.sweep_after), settings.sweep_every, 0.0)
            clock.at(look, lambda _: self._sweep(key, row))
        return status

    def _sweep(self, key: str, row: Row) -> None:
        if self.rows.get(key) is row and row.status is Status.IN_WORK:
            row.status = Status.FAILED
            ledger = self.world.ledger
            value = ledger.word(row.status.value)
            ledger.record(self.world.clock.now, Event.RECORDED, row.job, value=value)


class StoreClient(Client):
    """`ctx.store` of one delivery."""

    __slots__ = ()

    async def is_done(self, key: str) -> bool:
        """Whether the row of `key` is there and completed: a look, which holds nobody off."""
        return await self.call("is_done", lambda: self._service.is_done(key))

    async def claim(self, key: str, *, stale_after: float | None = None) -> Claim:
        """Insert the row if there is none, in one atomic step, and say what was found.

        A row that was given up, or that has been in work for `stale_after` seconds or more, is
        taken over.
        """
        job = self._context.delivery.message.job.id
        return await self.call(
            "claim", lambda: self._noting(self._service.claim(key, job, stale_after))
        )

    async def insert(self, key: str) -> Claim:
        """Insert the row if there is none: what is there is never taken over."""
        job = self._context.delivery.message.job.id
        return await self.call("insert", lambda: self._noting(self._service.insert(key, job)))

    async def complete(self, key: str) -> None:
        """Mark the row of `key` as done, whether there was one or not."""
        job = self._context.delivery.message.job.id
        await self.call("complete", lambda: self._recording(self._service.complete(key, job)))

    async def fail(self, key: str) -> None:
        """Mark the row of `key` as given up, for the next claim to take over."""
        job = self._context.delivery.message.job.id
        await self.call("fail", lambda: self._recording(self._service.fail(key, job)))

    def _noting(self, answer: Claim) -> Claim:
        self._context.note(Event.CLAIMED, self._context.word(answer.value))
        return answer

    def _recording(self, status: Status) -> None:
        self._context.note(Event.RECORDED, self._context.word(status.value))
