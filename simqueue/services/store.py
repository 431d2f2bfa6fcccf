"""A dedupe store: one row for each idempotency key, claimed atomically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue.context import Claim
from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Store(Service):
    """The settings of the dedupe store."""

    name: ClassVar[str] = "store"

    def open(self, world: World) -> DedupeStore:
        """Return an empty store."""
        return DedupeStore(self, world)


class DedupeStore(OpenService):
    """A table with a unique key and a status, as `INSERT … ON CONFLICT DO NOTHING` would use it.

    `rows` maps each key to whether its job was completed.
    """

    def __init__(self, settings: Store, world: World) -> None:
        super().__init__(settings, world)
        self.rows: dict[str, bool] = {}

    def client(self, context: SimulatedContext) -> StoreClient:
        """Return the store as the handler with this `context` sees it."""
        return StoreClient(self, context)

    def claim(self, key: str) -> Claim:
        """Insert the row if there is none, and say what was found."""
        completed = self.rows.get(key)
        if completed is None:
            self.rows[key] = False
            return Claim.WON
        return Claim.DONE if completed else Claim.BUSY

    def complete(self, key: str) -> None:
        """Mark the row of `key` as done."""
        self.rows[key] = True


class StoreClient(Client):
    """`ctx.store` of one delivery."""

    __slots__ = ()

    async def claim(self, key: str) -> Claim:
        """Insert the row if there is none, and say what was found, in one atomic step."""
        return await self.call("claim", lambda: self._service.claim(key))

    async def complete(self, key: str) -> None:
        """Mark the row of `key` as done."""
        await self.call("complete", lambda: self._service.complete(key))
