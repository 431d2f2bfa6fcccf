"""What a handler sees: the job, and `ctx`, its only door to the world.

A handler is an ordinary coroutine, ``async def handler(job, ctx)``. It returns when the job is done
and raises when it is not. Nothing here knows of SimPy: the same handler can be simulated, explored
crash by crash, graded, or run against real servers by whoever implements `Context`.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(slots=True)
class Job:
    """One unit of work that somebody wants done once.

    `id` counts from 0 in order of arrival. `group` is what a broker with groups keeps in order.
    `turns` counts its deliveries so far: it is the simulation's, not the handler's.
    """

    id: int
    group: int = 0
    turns: int = field(default=0, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The idempotency key: made once, when the job is made, and the same on every attempt."""
        return f"job-{self.id}"

    @property
    def customer(self) -> str:
        """Whom the job is for."""
        return f"customer-{self.id}"

    @property
    def amount(self) -> int:
        """What the job charges, in cents: 500."""
        return 500


class Claim(enum.Enum):
    """What a dedupe store answers to a claim."""

    WON = "won"
    """Nobody had the key: it is ours now."""
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


class HandlerError(RuntimeError):
    """A handler did what no handler may do, such as awaiting something that is not of `ctx`.

    It ends the whole run: it is a mistake in the code, not a failed attempt.
    """


class Payments(Protocol):
    """A payment provider."""

    def charge(self, customer: str, amount: int) -> Awaitable[None]:
        """Take `amount` cents from `customer`. Each call that arrives takes it again."""


class Store(Protocol):
    """A dedupe store: one row for each idempotency key."""

    def claim(self, key: str) -> Awaitable[Claim]:
        """Insert the row if there is none, atomically, and say what was found."""

    def complete(self, key: str) -> Awaitable[None]:
        """Mark the row as done."""


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
    def store(self) -> Store:
        """The dedupe store."""

    def work(self, share: float = 1.0) -> Awaitable[None]:
        """Be busy for `share` of the job's work (its duration in seconds times `share`)."""

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait for `seconds`."""

    def extend(self, seconds: float) -> Awaitable[None]:
        """Let the lease end `seconds` from now. Raises `LeaseLost` where it has run out."""


Handler = Callable[[Job, Any], Coroutine[Any, Any, Any]]
