"""`ctx` as the simulation gives it to handlers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from simpy.events import Event as SimPyEvent

from simqueue.context import HandlerError, LeaseLost
from simqueue.model.clock import Moment
from simqueue.model.ledger import Event, row

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from simqueue.context import SQL, Database, Locks, Mailer, Payments, Redis, Store
    from simqueue.model.message import Delivery
    from simqueue.model.world import Steps, World

T = TypeVar("T")


class SimulatedContext:
    """`simqueue.context.Context` on simulated time, for one delivery."""

    __slots__ = ("_world", "delivery")

    def __init__(self, world: World, delivery: Delivery) -> None:
        self._world = world
        self.delivery = delivery

    # What handlers use.

    @property
    def attempt(self) -> int:
        """Which delivery of its message this is, from 1."""
        return self.delivery.attempt

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        world = self._world
        if world.on_clock_read is not None:
            world.on_clock_read(self.delivery)
        return world.clock.now

    @property
    def payments(self) -> Payments:
        """The payment provider."""
        client: Payments = self._world.services["payments"].client(self)
        return client

    @property
    def mailer(self) -> Mailer:
        """The e-mail service."""
        client: Mailer = self._world.services["mailer"].client(self)
        return client

    @property
    def store(self) -> Store:
        """The dedupe store."""
        client: Store = self._world.services["store"].client(self)
        return client

    @property
    def locks(self) -> Locks:
        """The lock service."""
        client: Locks = self._world.services["locks"].client(self)
        return client

    @property
    def database(self) -> Database:
        """The database."""
        client: Database = self._world.services["database"].client(self)
        return client

    @property
    def sql(self) -> SQL:
        """The SQL database."""
        client: SQL = self._world.services["sql"].client(self)
        return client

    @property
    def redis(self) -> Redis:
        """The Redis server."""
        client: Redis = self._world.services["redis"].client(self)
        return client

    def work(self, share: float = 1.0) -> Awaitable[None]:
        """Be busy for `share` of the job's work."""
        world, delivery = self._world, self.delivery
        turn = delivery.turn if world.work_anew else 0
        seconds = share * world.work.draw(delivery.message.job.id, turn)
        return self._wait("work", share, seconds)

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait for `seconds`."""
        return self._wait("sleep", seconds, seconds)

    async def extend(self, seconds: float) -> None:
        """Let the lease end `seconds` from now. Raises `LeaseLost` where it has run out."""
        if not 0 < seconds < math.inf:
            raise HandlerError(f"ctx.extend takes a number of seconds above 0, not {seconds!r}.")
        await self.step("extend", lambda: self._extend(seconds))

    def _extend(self, seconds: float) -> None:
        worker, queue = self.delivery.worker, self._world.queue
        if worker.reaches_broker(self.delivery) and not queue.extend(self.delivery, seconds):
            raise LeaseLost(f"the lease of attempt {self.attempt} had run out")

    # What services and faults use.

    @property
    def clock_now(self) -> float:
        """Seconds since the run began; unlike `now`, not something that a handler has looked at."""
        return self._world.clock.now

    async def step(self, call: str, action: Callable[[], T], waiting: float = 0.0) -> T:
        """Do one thing that a handler asked for: wait, act, return what came of it.

        `call` is its name. Faults may come before it, after it, or instead of it.
        """
        steps = self._world.steps
        for hook in steps.before:
            await hook(self, call)
        if waiting:
            await self.pass_time(waiting)
        for wrap in steps.around:
            action = wrap(self, call, action)
        result = action()
        for hook in steps.after:
            await hook(self, call)
        return result

    @property
    def steps(self) -> Steps:
        """What can come before, around and after a step; false if nothing can."""
        return self._world.steps

    def _wait(self, call: str, given: float, seconds: float) -> Awaitable[None]:
        if not 0 <= seconds < math.inf:
            raise HandlerError(f"ctx.{call} takes a finite number of 0 or more, not {given!r}.")
        if self._world.steps or not seconds:
            return self.step(call, _nothing, seconds)
        clock = self._world.clock
        return Moment(clock, clock.after(seconds))

    def pass_time(self, seconds: float) -> Moment:
        """Let `seconds` pass."""
        clock = self._world.clock
        return Moment(clock, clock.after(seconds))

    def nothing_more(self) -> Awaitable[None]:
        """Never return: the process is dead."""
        return _Never(self._world.clock)

    def note(self, event: int, value: float = math.nan) -> None:
        """Write a row about this delivery into the ledger."""
        delivery = self.delivery
        job, worker = delivery.message.job.id, delivery.worker.number
        self._world.ledger.record(self.clock_now, event, job, delivery.number, worker, value)

    def effect(self, kind: str) -> None:
        """Note that the job's effect `kind` was applied to the world now."""
        ledger, delivery = self._world.ledger, self.delivery
        job, worker = delivery.message.job.id, delivery.worker.number
        now = self._world.clock._now
        what = row(now, Event.EFFECT, job, delivery.number, worker, ledger.word(kind))
        ledger.write(what)

    def word(self, text: str) -> int:
        """Return `text` as the value of a row."""
        return self._world.ledger.word(text)


class _Never(SimPyEvent):
    """An event that does not happen."""

    def __await__(self) -> Generator[SimPyEvent, Any, None]:
        yield self


def _nothing() -> None:
    """Do nothing: the time that passes is all."""
