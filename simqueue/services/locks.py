"""A lock service: locks that expire, or that last as long as a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue import checks
from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Locks(Service):
    """The settings of the lock service.

    Parameters
    ----------
    bound_to
        "ttl": a lock ends with its time to live (Redis: SET NX PX). "session": it lasts while the
        worker's session does (ZooKeeper's ephemeral nodes, Postgres' session advisory locks), and
        its time to live means nothing.
    session_timeout
        Seconds from a worker's death until the service notices: 0 for a closed connection; for
        ZooKeeper 2 to 20 ticks of 2 s.
    check_owner
        Whether a release first looks whose the lock is. If not, a late release frees the lock of
        the next holder.
    """

    name: ClassVar[str] = "locks"
    bound_to: str = "ttl"
    session_timeout: float = 0.0
    check_owner: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("locks.bound_to", self.bound_to, ("ttl", "session"))
        checks.non_negative("locks.session_timeout", self.session_timeout, "seconds")

    def open(self, world: World) -> LockService:
        """Return the service, with no lock taken."""
        return LockService(self, world)


@dataclass
class Grant:
    """A lock that somebody holds: the fencing token, and until when, in seconds."""

    token: int
    until: float


class LockService(OpenService):
    """Grants locks, each with a token that is higher than all before it for this name."""

    def __init__(self, settings: Locks, world: World) -> None:
        super().__init__(settings, world)
        self.settings = settings
        self._held: dict[str, Grant] = {}
        self._tokens: dict[str, int] = {}

    def client(self, context: SimulatedContext) -> LocksClient:
        """Return the service as the handler with this `context` sees it."""
        return LocksClient(self, context)

    def acquire(self, name: str, ttl: float, delivery: Delivery) -> int | None:
        """Grant lock `name` and return its token, or None if somebody holds it."""
        clock = self.world.clock
        held = self._held.get(name)
        if held is not None and held.until > clock.now:
            return None
        token = self._tokens[name] = self._tokens.get(name, 0) + 1
        if self.settings.bound_to == "session":
            self._held[name] = Grant(token, float("inf"))
            self._watch(delivery.worker, name, token)
        else:
            self._held[name] = Grant(token, clock.after(ttl))
        return token

    def release(self, name: str, token: int) -> bool:
        """Free lock `name`; whether it was the caller's, and unexpired."""
        held = self._held.get(name)
        ours = held is not None and held.token == token and held.until > self.world.clock.now
        if ours or not self.settings.check_owner:
            self._held.pop(name, None)
        return ours

    def _watch(self, worker: Worker, name: str, token: int) -> None:
        def session_ends(_: object) -> None:
            held = self._held.get(name)
            if held is not None and held.token == token:
                del self._held[name]

        def died(_: list[Delivery]) -> None:
            clock = self.world.clock
            clock.at(clock.after(self.settings.session_timeout), session_ends)

        worker.on_death.append(died)


class LocksClient(Client):
    """`ctx.locks` of one delivery."""

    __slots__ = ()

    async def acquire(self, name: str, *, ttl: float) -> HeldLock | None:
        """Get lock `name` for `ttl` seconds, or None if somebody holds it."""
        checks.positive("ttl", ttl, "seconds")
        delivery = self._context.delivery
        token = await self.call("acquire", lambda: self._service.acquire(name, ttl, delivery))
        return None if token is None else HeldLock(self, name, token)

    async def release(self, name: str, token: int) -> bool:
        """Give lock `name` back; whether it still was the one with this `token`."""
        return await self.call("release", lambda: self._service.release(name, token))


@dataclass(frozen=True)
class HeldLock:
    """A lock that was got. It may have expired since: `token` is what a guarded resource checks."""

    _client: LocksClient
    name: str
    token: int

    async def release(self) -> bool:
        """Give it back; whether it still was ours."""
        return await self._client.release(self.name, self.token)
