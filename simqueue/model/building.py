"""From settings to a broker at work: the small objects that stand for its knobs.

A knob that is off is not there: no object, no hook, no event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from simqueue.model.connections import WatchingQueue
from simqueue.model.lease_queue import LeaseQueue
from simqueue.model.leases import AtOnce, LeaseCheck, MarkAndSweep, Sweep
from simqueue.model.lines import Fifo, FifoFront, Grouped, Line
from simqueue.model.publishing import Deduplicating, Publish, SecondCopies
from simqueue.model.renewal import Renewal

if TYPE_CHECKING:
    from simqueue.backoff import Backoff
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.message import Delivery, Message
    from simqueue.model.randomness import Streams
    from simqueue.model.settings import LeaseSettings
    from simqueue.model.worker import Worker


class LeaseBroker:
    """A broker of the lease family: the queue, and what surrounds it.

    `publish` is what producers call; `meet` is called once for each worker.
    """

    def __init__(
        self,
        settings: LeaseSettings,
        clock: Clock,
        ledger: Ledger,
        streams: Streams,
        *,
        endless: bool,
    ) -> None:
        self._settings = settings
        self._clock = clock
        kind = LeaseQueue if settings.on_disconnect == "wait" else WatchingQueue
        self.queue = queue = kind(
            settings,
            clock,
            ledger,
            line=_line(settings),
            lease_check=_lease_check(settings),
            retry_delay=_retry_delay(settings.retry, streams),
            endless=endless,
        )
        publish: Publish = queue.publish
        if settings.delay:
            publish = partial(queue.publish, delay=settings.delay)
        if settings.retention is not None:
            publish = self._ending_retention(publish, settings.retention)
        if settings.own_duplicates:
            copies = streams.chances("own duplicates", settings.own_duplicates)
            publish = SecondCopies(publish, copies)
        if settings.dedupe_window is not None:
            publish = Deduplicating(
                publish,
                clock,
                ledger,
                window=settings.dedupe_window,
                refreshes=settings.dedupe_refreshes,
            )
        self.publish = publish

    def meet(self, worker: Worker) -> None:
        """Do for `worker` what this broker, or its client library, does for workers."""
        settings, queue = self._settings, self.queue
        if settings.lease is not None and settings.lease_from == "start":
            lease = settings.lease
            worker.on_start.append(lambda delivery: queue.begin_lease(delivery, lease))
        if settings.renew_every is not None and settings.lease is not None:
            renewal = Renewal(
                self._clock,
                queue,
                lease=settings.lease,
                every=settings.renew_every,
                until=settings.renew_for,
            )
            worker.on_start.append(renewal.start)
        if isinstance(queue, WatchingQueue):
            watching = queue

            def disconnected(_held: list[Delivery]) -> None:
                unsettled = watching.unsettled(worker)
                if settings.on_disconnect == "lose":
                    watching.lose(unsettled)
                else:
                    noticed = self._clock.after(settings.disconnect_after)
                    self._clock.at(noticed, lambda _: watching.requeue(unsettled))

            worker.on_disconnect.append(disconnected)

    def _ending_retention(self, publish: Publish, retention: float) -> Publish:
        def publish_for_a_while(message: Message) -> None:
            publish(message)
            self._clock.at(
                self._clock.after(retention), lambda _: self.queue.end_retention(message)
            )

        return publish_for_a_while


def _line(settings: LeaseSettings) -> Line:
    if settings.ordering == "group":
        return Grouped(lambda message: message.job.group)
    if settings.ordering == "fifo":
        return Grouped(lambda _: 0)
    line: Line = Fifo() if settings.returns_to == "back" else FifoFront()
    return line


def _lease_check(
    settings: LeaseSettings,
) -> Callable[[Clock, Callable[[list[Delivery]], None]], LeaseCheck]:
    if settings.sweep_period is None:
        return AtOnce
    period, phase = settings.sweep_period, settings.sweep_phase
    if settings.two_passes:
        return partial(MarkAndSweep, period=period, phase=phase)
    return partial(Sweep, period=period, phase=phase, batch=settings.sweep_batch)


def _retry_delay(backoff: Backoff | None, streams: Streams) -> Callable[[Delivery], float] | None:
    if backoff is None:
        return None

    def delay(delivery: Delivery) -> float:
        message = delivery.message
        rng: np.random.Generator = streams.generator("backoff", message.job.id, delivery.turn)
        seconds = max(0.0, float(backoff(max(message.failures, 1), message.last_delay, rng)))
        message.last_delay = seconds
        return seconds

    return delay
