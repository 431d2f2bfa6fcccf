"""From settings to a broker at work: the small objects that stand for its knobs.

A knob that is off is not there: no object, no hook, no event.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from simqueue.model.attempts import Stalls
from simqueue.model.clients import meet, on_expiry
from simqueue.model.connections import WatchingQueue
from simqueue.model.lease_queue import LeaseQueue
from simqueue.model.leases import AtBoot, AtOnce, LeaseCheck, MarkAndSweep, Sweep
from simqueue.model.lines import (
    Fifo,
    FifoFront,
    FifoFrontUnlessFailed,
    Grouped,
    Limited,
    Line,
)
from simqueue.model.polls import Polls
from simqueue.model.publishing import (
    Deduplicating,
    DeduplicatingUnsettled,
    Publish,
    SecondCopies,
    Waiting,
)
from simqueue.model.replaying import ReplayingQueue
from simqueue.model.retention import Retention

if TYPE_CHECKING:
    from simqueue.backoff import Backoff
    from simqueue.model.choosing import Chooser
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.message import Delivery
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
        chooser: Chooser | None = None,
        endless: bool = False,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ledger = ledger
        self._streams = streams
        kind = LeaseQueue if settings.on_disconnect == "wait" else WatchingQueue
        if settings.ordering == "replay":
            kind = ReplayingQueue
        self.queue = queue = kind(
            settings,
            clock,
            ledger,
            line=_line(settings),
            lease_check=_lease_check(settings),
            retry_delay=retry_delay(settings.retry, streams),
            stalls=_stalls(settings, clock),
            polls=_polls(settings, streams),
            chooser=chooser,
            endless=endless,
        )
        on_expiry(settings, queue, clock, ledger)
        publish: Publish = queue.publish
        if settings.delay:
            publish = partial(queue.publish, delay=settings.delay)
        if settings.due_held_by == "broker":
            publish = Waiting(publish, queue.publish, clock)
        if settings.retention is not None:
            publish = Retention(
                publish,
                queue.end_retention,
                clock,
                seconds=settings.retention,
                of_dead=settings.retention_of_dead and endless,
                replays=settings.ordering == "replay",
            )
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
        if settings.dedupe_after is not None:
            publish = DeduplicatingUnsettled(
                publish, clock, ledger, seconds_after=settings.dedupe_after
            )
        self.publish = publish

    def meet(self, worker: Worker) -> None:
        """Do for `worker` what this broker, or its client library, does for workers."""
        meet(worker, self._settings, self.queue, self._clock, self._ledger, self._streams)


def _stalls(settings: LeaseSettings, clock: Clock) -> Stalls | None:
    if settings.max_stalls is None:
        return None
    return Stalls(
        clock,
        causes=settings.stalls,
        most=settings.max_stalls,
        within=settings.stalls_within,
        lazily=settings.stalls_noticed == "receive",
    )


def _polls(settings: LeaseSettings, streams: Streams) -> Polls | None:
    if settings.poll_delayed is None:
        return None
    return Polls(streams, every=settings.poll_delayed, jitter=settings.poll_jitter)


def _line(settings: LeaseSettings) -> Line:
    line = _order(settings)
    return line if settings.most_in_flight is None else Limited(line, settings.most_in_flight)


def _order(settings: LeaseSettings) -> Line:
    if settings.ordering in ("group", "replay"):
        return Grouped(lambda message: message.job.group)
    if settings.ordering == "fifo":
        return Grouped(lambda _: 0)
    lines: dict[str, Callable[[], Line]] = {
        "back": Fifo,
        "front": FifoFront,
        "front_unless_failed": FifoFrontUnlessFailed,
    }
    return lines[settings.returns_to]()


def _lease_check(
    settings: LeaseSettings,
) -> Callable[[Clock, Callable[[list[Delivery]], None]], LeaseCheck]:
    if settings.sweep_at_boot is not None:
        return partial(AtBoot, spacing=settings.sweep_at_boot)
    if settings.sweep_period is None:
        return AtOnce
    period, phase = settings.sweep_period, settings.sweep_phase
    if settings.two_passes:
        return partial(MarkAndSweep, period=period, phase=phase)
    return partial(Sweep, period=period, phase=phase, batch=settings.sweep_batch)


def retry_delay(backoff: Backoff | None, streams: Streams) -> Callable[[Delivery], float] | None:
    """Return what draws the delay of a retry, in seconds, by the rule `backoff`; None without."""
    if backoff is None:
        return None

    def delay(delivery: Delivery) -> float:
        message = delivery.message
        rng: np.random.Generator = streams.generator_if_used(
            "backoff", message.job.id, delivery.turn
        )
        seconds = max(0.0, float(backoff(max(message.failures, 1), message.last_delay, rng)))
        message.last_delay = seconds
        return seconds

    return delay
