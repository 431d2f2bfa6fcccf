"""What a handler sees: the job, and `ctx`, its only door to the world.

A handler is an ordinary coroutine, ``async def handler(job, ctx)``. It returns when the job is done
and raises when it is not. Nothing here knows of SimPy: the same handler can be simulated, explored
crash by crash, graded, or run against real servers by whoever implements `Context`.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(slots=True)
class Job:
    """One unit of work that somebody wants done once.

    `id` counts from 0 in order of arrival. `group` is what a broker with groups keeps in order.
    It is to be done when it is `due`, in seconds, and not before. `customer_number` and `turns`,
    its deliveries so far, are the simulation's, not the handler's.
    """

    id: int
    customer_number: int = 0
    group: int = 0
    due: float = 0.0
    turns: int = field(default=0, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The idempotency key: made once, when the job is made, and the same on every attempt."""
        return f"job-{self.id}"

    @property
    def customer(self) -> str:
        """Whom the job is for."""
        return f"customer-{self.customer_number}"

    @property
    def amount(self) -> int:
        """What the job charges, in cents: 500."""
        return 500


class Claim(enum.Enum):
    """What a dedupe store answers to a claim."""

    WON = "won"
    """Nobody had the key, or whoever had it has given it up: it is ours now."""
    BUSY = "busy"
    """Another delivery holds the claim and has not completed it."""
    DONE = "done"
    """The job was completed before."""


class Retry(Exception):  # noqa: N818 - it asks for something, it reports no error
    """Raised by a handler: this attempt did not do the job; deliver it again later.

    `after` is the delay in seconds that the handler asks for; None leaves it to the broker.
    """

    def __init__(self, reason: str = "", after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class ResponseLost(Exception):  # noqa: N818 - it reports what is known: nothing
    """Raised by a call through `ctx` whose answer never came: it may have had its effect."""


class Unavailable(Exception):  # noqa: N818 - as above
    """Raised by a call through `ctx` to a service that is down: it had no effect."""


class LeaseLost(Exception):  # noqa: N818 - as above
    """Raised by `Context.extend`: the lease had run out, the message may be with another worker."""


class LeaseLimit(Exception):  # noqa: N818 - as above
    """Raised by `Context.extend`: the lease would be longer than the broker lets it be."""


class TimeLimit(Exception):  # noqa: N818 - as above
    """Raised inside a handler that has run for longer than its worker lets it."""


class Conflict(Exception):  # noqa: N818 - as above
    """Raised by a provider: another request with the same idempotency key is at work."""


class Mismatch(Exception):  # noqa: N818 - as above
    """Raised by a provider: the idempotency key was used before, for something else."""


class UniqueViolation(Exception):  # noqa: N818 - as above
    """Raised by a database: a row with this key is there already."""


class Fenced(Exception):  # noqa: N818 - as above
    """Raised by a guarded write: a newer fencing token has written before."""


class RedisError(Exception):
    """Raised by a Redis server: what it answers to a command that it cannot do."""


class HandlerError(RuntimeError):
    """A handler did what no handler may do, such as awaiting something that is not of `ctx`.

    It ends the whole run: it is a mistake in the code, not a failed attempt.
    """


class Payments(Protocol):
    """A payment provider."""

    def charge(self, customer: str, amount: int, *, key: str | None = None) -> Awaitable[None]:
        """Take `amount` cents from `customer`.

        Without a `key`, each call that arrives takes it again. With one, the provider remembers the
        answer and gives it again; it raises `Mismatch` if the parameters differ, `Conflict` while
        the first call is still at work.
        """


class Mailer(Protocol):
    """Sends e-mails. It has no keys: each call that arrives sends one."""

    def send(self, recipient: str, subject: str) -> Awaitable[None]:
        """Send an e-mail."""


class Store(Protocol):
    """A dedupe store: one row for each idempotency key."""

    def is_done(self, key: str) -> Awaitable[bool]:
        """Whether the row of `key` is there and completed: a look, which holds nobody off."""

    def claim(self, key: str, *, stale_after: float | None = None) -> Awaitable[Claim]:
        """Insert the row if there is none, atomically, and say what was found.

        A row that was given up (`fail`), or that is older than `stale_after` seconds and not
        completed, is taken over.
        """

    def insert(self, key: str) -> Awaitable[Claim]:
        """Insert the row if there is none and nothing else: what is there is never taken over."""

    def complete(self, key: str) -> Awaitable[None]:
        """Mark the row as done, whether there was one or not."""

    def fail(self, key: str) -> Awaitable[None]:
        """Mark the row as given up, for the next claim to take over."""


class Lock(Protocol):
    """A lock that was got: `token` grows with each grant of it."""

    token: int

    def release(self) -> Awaitable[bool]:
        """Give it back, if it is still ours; whether it was."""


class Locks(Protocol):
    """A lock service."""

    def acquire(self, name: str, *, ttl: float) -> Awaitable[Lock | None]:
        """Get the lock for `ttl` seconds, or None if somebody holds it."""


class Transaction(Protocol):
    """A database transaction: all of it happens at commit, or nothing."""

    def insert(self, table: str, key: str, **columns: Any) -> Awaitable[None]:
        """Insert a row. Raises `UniqueViolation` if `key` is in `table`."""

    def try_lock(self, name: str) -> Awaitable[bool]:
        """Take an advisory lock until the transaction ends; whether nobody else has it."""

    def get(self, table: str, key: str) -> Awaitable[dict[str, Any] | None]:
        """Return the row of `key`, or None."""

    def apply(self, effect: str) -> Awaitable[None]:
        """Change the database's own data: an effect that happens at commit."""

    def enqueue(self, effect: str, key: str) -> Awaitable[None]:
        """Put a message into the outbox table, for the relay to send after commit."""


class Database(Protocol):
    """A database with transactions."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin a transaction; it commits at the end of the block, and rolls back on an error."""

    def guarded_write(self, effect: str, token: int) -> Awaitable[None]:
        """Apply `effect` unless a higher fencing `token` has written; then raise `Fenced`."""


class SQL(Protocol):
    """A SQL database: SQLite's dialect."""

    def execute(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> Awaitable[Rows]:
        """Run one statement. Outside of a transaction it commits by itself.

        Raises `UniqueViolation` (which is a `sqlite3.IntegrityError` too) for a key that is there
        already, and SQLite's own errors for everything else.
        """

    def transaction(self, mode: str = "immediate") -> AbstractAsyncContextManager[Any]:
        """Begin a transaction ("immediate", "deferred" or "exclusive").

        ``async with ctx.sql.transaction():`` it commits at the end of the block, and rolls back on
        an error.
        """


class Redis(Protocol):
    """A Redis server: methods as redis-py names them; values are text."""

    def get(self, key: str) -> Awaitable[str | None]:
        """GET."""

    def set(
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
    ) -> Awaitable[bool | str | None]:
        """SET: True if it was set, None if `nx` or `xx` forbade it; with `get`, the value before.

        `ex`, `px`: the time to live, in whole seconds or milliseconds.
        """

    def delete(self, *keys: str) -> Awaitable[int]:
        """DEL: how many of the keys were there."""

    def delete_if_equals(self, key: str, value: object) -> Awaitable[bool]:
        """GET, compare and DEL in one atomic step; whether it was deleted."""

    def expire(self, key: str, seconds: int) -> Awaitable[bool]:
        """EXPIRE: whether the key was there."""

    def expire_if_equals(self, key: str, value: object, seconds: int) -> Awaitable[bool]:
        """GET, compare and EXPIRE in one atomic step; whether it was extended."""

    def persist(self, key: str) -> Awaitable[bool]:
        """PERSIST: whether there was a time to live."""

    def ttl(self, key: str) -> Awaitable[int]:
        """TTL: whole seconds; -2: no such key, -1: no time to live."""

    def pttl(self, key: str) -> Awaitable[int]:
        """PTTL: milliseconds; -2: no such key, -1: no time to live."""

    def exists(self, *keys: str) -> Awaitable[int]:
        """EXISTS: how many of the keys are there."""

    def incr(self, key: str, amount: int = 1) -> Awaitable[int]:
        """INCRBY: the number after it."""

    def decr(self, key: str, amount: int = 1) -> Awaitable[int]:
        """DECRBY: the number after it."""


class Rows(list[tuple[Any, ...]]):
    """The rows that a statement returned. `rowcount`: how many rows it changed; -1 for a SELECT."""

    rowcount: int = -1


class Context(Protocol):
    """Everything a handler may touch. All of its methods are awaited."""

    @property
    def attempt(self) -> int:
        """Which delivery of its message this is, from 1."""

    @property
    def now(self) -> float:
        """Seconds since the run began."""

    @property
    def payments(self) -> Payments:
        """The payment provider."""

    @property
    def mailer(self) -> Mailer:
        """The e-mail service."""

    @property
    def store(self) -> Store:
        """The dedupe store."""

    @property
    def locks(self) -> Locks:
        """The lock service."""

    @property
    def database(self) -> Database:
        """The database."""

    @property
    def sql(self) -> SQL:
        """The SQL database."""

    @property
    def redis(self) -> Redis:
        """The Redis server."""

    def work(self, share: float = 1.0) -> Awaitable[None]:
        """Be busy for `share` of the job's work (its duration in seconds times `share`)."""

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait for `seconds`."""

    def extend(self, seconds: float) -> Awaitable[None]:
        """Let the lease end `seconds` from now. Raises `LeaseLost` where it has run out."""


Handler = Callable[[Job, Any], Coroutine[Any, Any, Any]]
