"""A Redis: a few commands with Redis' meaning, and times to live in simulated time.

These are our own few commands, and not one of the in-process imitations of Redis: those read the
computer's clock at each command, which only a patch of the whole process can change (see
https://github.com/jamesls/fakeredis/issues/127), and their client brings an event loop of its own.
Redis counts in whole milliseconds, and a key is still there in the very millisecond in which its
time to live ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from simqueue.context import RedisError
from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World

T = TypeVar("T")

NO_KEY: Final = -2
NO_EXPIRY: Final = -1
"""What TTL answers where there is no such key, or where it has no time to live."""


@dataclass(frozen=True, kw_only=True)
class Redis(Service):
    """The settings of the Redis server."""

    name: ClassVar[str] = "redis"

    def open(self, world: World) -> RedisServer:
        """Return an empty server."""
        return RedisServer(self, world)


@dataclass
class _Entry:
    """A value, and the last millisecond in which it is there."""

    value: str
    until: float = math.inf


class RedisServer(OpenService):
    """Keys with values, each a text, and perhaps with a time to live. A command is atomic."""

    def __init__(self, settings: Redis, world: World) -> None:
        super().__init__(settings, world)
        self._entries: dict[str, _Entry] = {}

    def client(self, context: SimulatedContext) -> RedisClient:
        """Return the server as the handler with this `context` sees it."""
        return RedisClient(self, context)

    @property
    def now(self) -> int:
        """Whole milliseconds since the run began."""
        return math.floor(round(self.world.clock.now * 1_000, 3))

    def find(self, key: str) -> _Entry | None:
        """Return what is there under `key`, if its time is not over."""
        entry = self._entries.get(key)
        if entry is not None and self.now > entry.until:
            del self._entries[key]
            return None
        return entry

    def set(self, key: str, value: str, options: SetOptions) -> bool | str | None:
        """SET: whether it was set; with GET, the value before."""
        before = self.find(key)
        allowed = before is None if options.nx else before is not None if options.xx else True
        if allowed:
            until = math.inf
            if options.ttl is not None:
                until = self.now + options.ttl
            elif options.keepttl and before is not None:
                until = before.until
            self._entries[key] = _Entry(value, until)
        if options.get:
            return None if before is None else before.value
        return allowed

    def delete(self, keys: tuple[str, ...]) -> int:
        """DEL: how many of the keys were there."""
        there = [key for key in dict.fromkeys(keys) if self.find(key) is not None]
        for key in there:
            del self._entries[key]
        return len(there)

    def delete_if_equals(self, key: str, value: str) -> bool:
        """Delete `key` if its value is this one; whether it was."""
        entry = self.find(key)
        if entry is None or entry.value != value:
            return False
        del self._entries[key]
        return True

    def expire(self, key: str, milliseconds: int) -> bool:
        """PEXPIRE: let `key` end so long from now, at once if that is 0 or less."""
        entry = self.find(key)
        if entry is None:
            return False
        if milliseconds <= 0:
            del self._entries[key]
        else:
            entry.until = self.now + milliseconds
        return True

    def expire_if_equals(self, key: str, value: str, milliseconds: int) -> bool:
        """Let `key` end so long from now if its value is this one; whether it was."""
        entry = self.find(key)
        return entry is not None and entry.value == value and self.expire(key, milliseconds)

    def persist(self, key: str) -> bool:
        """PERSIST: take the time to live away; whether there was one."""
        entry = self.find(key)
        if entry is None or entry.until == math.inf:
            return False
        entry.until = math.inf
        return True

    def ttl(self, key: str) -> int:
        """PTTL: milliseconds left; NO_KEY or NO_EXPIRY where there are none."""
        entry = self.find(key)
        if entry is None:
            return NO_KEY
        return NO_EXPIRY if entry.until == math.inf else int(entry.until) - self.now

    def increase(self, key: str, by: int) -> int:
        """INCRBY: the number after it; a key that is not there counts as 0. Its expiry stays."""
        entry = self.find(key)
        if entry is None:
            entry = self._entries[key] = _Entry("0")
        try:
            number = int(entry.value) + by
        except ValueError:
            raise RedisError("ERR value is not an integer or out of range") from None
        entry.value = str(number)
        return number


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Options of SET; `ttl` in milliseconds, None for none."""

    nx: bool
    xx: bool
    get: bool
    keepttl: bool
    ttl: int | None


class RedisClient(Client):
    """`ctx.redis` of one delivery: methods as redis-py names them; answers are text."""

    __slots__ = ()

    async def get(self, key: str) -> str | None:
        """GET: the value, or None."""

        def action() -> str | None:
            entry = self._server.find(key)
            return None if entry is None else entry.value

        return await self._do("get", action)

    async def set(
        self,
        key: str,
        value: object,
        *,
        ex: int | None = None,
        px: int | None = None,
        nx: bool = False,
        xx: bool = False,
        get: bool = False,
        keepttl: bool = False,
    ) -> bool | str | None:
        """SET: True if it was set, None if `nx` or `xx` forbade it.

        `nx`: only if the key is not there; `xx`: only if it is. `ex`, `px`: its time to live in
        whole seconds or milliseconds, `keepttl`: that of before; without these it has none, even if
        it had one before. `get`: return the value before instead.

        Raises `RedisError` for options that exclude each other, and for a time to live that is not
        above 0.
        """
        if (nx and xx) or sum((ex is not None, px is not None, keepttl)) > 1:
            raise RedisError("ERR syntax error")
        ttl = _milliseconds(ex, 1_000) if px is None else _milliseconds(px, 1)
        if ttl is not None and ttl <= 0:
            raise RedisError("ERR invalid expire time in 'set' command")
        options = SetOptions(nx, xx, get, keepttl, ttl)
        answer = await self._do("set", lambda: self._server.set(key, str(value), options))
        return None if answer is False else answer

    async def delete(self, *keys: str) -> int:
        """DEL: how many of the keys were there."""
        return await self._do("delete", lambda: self._server.delete(keys))

    async def delete_if_equals(self, key: str, value: object) -> bool:
        """Delete `key` if its value is `value`, in one atomic step; whether it was.

        What the well-known script for giving a lock back does: GET, compare, DEL.
        """
        return await self._do(
            "delete_if_equals", lambda: self._server.delete_if_equals(key, str(value))
        )

    async def expire(self, key: str, seconds: int) -> bool:
        """EXPIRE: let `key` end `seconds` from now; whether it was there. 0 or less: at once."""
        left = _milliseconds(seconds, 1_000) or 0
        return await self._do("expire", lambda: self._server.expire(key, left))

    async def expire_if_equals(self, key: str, value: object, seconds: int) -> bool:
        """Let `key` end `seconds` from now if its value is `value`; whether it was: a heartbeat."""
        left = _milliseconds(seconds, 1_000) or 0
        return await self._do(
            "expire_if_equals", lambda: self._server.expire_if_equals(key, str(value), left)
        )

    async def persist(self, key: str) -> bool:
        """PERSIST: take the time to live away; whether there was one."""
        return await self._do("persist", lambda: self._server.persist(key))

    async def ttl(self, key: str) -> int:
        """TTL: whole seconds left, rounded as Redis does; -2: no such key, -1: no time to live."""

        def action() -> int:
            left = self._server.ttl(key)
            return left if left < 0 else (left + 500) // 1_000

        return await self._do("ttl", action)

    async def pttl(self, key: str) -> int:
        """PTTL: milliseconds left; -2: no such key, -1: no time to live."""
        return await self._do("pttl", lambda: self._server.ttl(key))

    async def exists(self, *keys: str) -> int:
        """EXISTS: how many of the keys are there; one that is named twice counts twice."""

        def action() -> int:
            return sum(self._server.find(key) is not None for key in keys)

        return await self._do("exists", action)

    async def incr(self, key: str, amount: int = 1) -> int:
        """INCRBY: the number after it. Raises `RedisError` if the value is no whole number."""
        return await self._do("incr", lambda: self._server.increase(key, amount))

    async def decr(self, key: str, amount: int = 1) -> int:
        """DECRBY: the number after it. Raises `RedisError` if the value is no whole number."""
        return await self._do("decr", lambda: self._server.increase(key, -amount))

    @property
    def _server(self) -> RedisServer:
        server: RedisServer = self._service
        return server

    async def _do(self, call: str, action: Callable[[], T]) -> T:
        return await self.call(call, action)


def _milliseconds(number: int | None, each: int) -> int | None:
    """Return `number` times `each`; RedisError if it is no whole number."""
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int):
        raise RedisError("ERR value is not an integer or out of range")
    return number * each
