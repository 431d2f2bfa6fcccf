"""A dedupe store: one row for each idempotency key, claimed atomically."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simqueue.context import Claim

if TYPE_CHECKING:
    from simqueue.model.world import SimulatedContext


class DedupeStore:
    """A table with a unique key and a status, as `INSERT … ON CONFLICT DO NOTHING` would use it.

    `rows` maps each key to whether its job was completed.
    """

    def __init__(self) -> None:
        self.rows: dict[str, bool] = {}

    def client(self, context: SimulatedContext) -> StoreClient:  # noqa: ARG002
        """Return the store as the handler with this `context` sees it."""
        return StoreClient(self)


class StoreClient:
    """`ctx.store` of one delivery."""

    __slots__ = ("_store",)

    def __init__(self, store: DedupeStore) -> None:
        self._store = store

    async def claim(self, key: str) -> Claim:
        """Insert the row if there is none, and say what was found, in one atomic step."""
        completed = self._store.rows.get(key)
        if completed is None:
            self._store.rows[key] = False
            return Claim.WON
        return Claim.DONE if completed else Claim.BUSY

    async def complete(self, key: str) -> None:
        """Mark the row of `key` as done."""
        self._store.rows[key] = True
