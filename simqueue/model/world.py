"""All that a run consists of, for those who need more than one part of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.model.context import SimulatedContext

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.face import Queue
    from simqueue.model.ledger import Ledger
    from simqueue.model.message import Delivery
    from simqueue.model.publishing import Publish
    from simqueue.model.randomness import Stream, Streams
    from simqueue.model.worker import Worker

Step = Callable[[SimulatedContext, str], Awaitable[None]]
Action = Callable[[], Any]
Around = Callable[[SimulatedContext, str, Action], Action]


@dataclass
class Steps:
    """What happens before, around and after each call that a handler makes through ctx.

    Those before and after are awaited with the ctx and the name of the call, such as
    "payments.charge". One before the call can raise, wait, or end the process, and the call has no
    effect; one after it comes when the call has had its effect, and the handler does not know yet.
    One around it gets the ctx, the name and the action itself, and returns what is done instead.
    """

    before: list[Step] = field(default_factory=list)
    around: list[Around] = field(default_factory=list)
    after: list[Step] = field(default_factory=list)

    def __bool__(self) -> bool:
        return len(self.before) + len(self.around) + len(self.after) > 0


@dataclass
class World:
    """The parts of a run. `publish` is what the producer calls; `services` what handlers call.

    `on_clock_read` hears of each look of a handler at the clock, with its delivery.
    """

    clock: Clock
    ledger: Ledger
    streams: Streams
    queue: Queue
    publish: Publish
    work: Stream
    work_anew: bool
    steps: Steps = field(default_factory=Steps)
    workers: list[Worker] = field(default_factory=list)
    services: dict[str, Any] = field(default_factory=dict)
    on_clock_read: Callable[[Delivery], None] | None = None

    def let_go(self) -> None:
        """Forget everything: the run is over, and crashed handlers that are kept still know us."""
        self.clock.forget()
        for part in (*self.workers, self.queue, *self.services.values(), self):
            vars(part).clear()

    def worker(self, number: int, name: str) -> Worker:
        """Return worker `number`, from 1; ValueError about parameter `name` if there is none."""
        checks.whole(f"{name}: the worker", number, 1, len(self.workers))
        return self.workers[number - 1]

    def require_service(self, service: str, name: str) -> None:
        """Raise ValueError about parameter `name` if there is no such `service`."""
        checks.one_of(name, service, self.services)
