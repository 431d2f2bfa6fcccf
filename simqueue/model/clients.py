"""What a broker and its client library do for each worker: leases, heartbeats, connections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simqueue.model.connections import WatchingQueue
from simqueue.model.due import HoldingUntilDue
from simqueue.model.leases import AtBoot
from simqueue.model.ledger import Event
from simqueue.model.renewal import Heartbeat, Renewal
from simqueue.model.worker_kinds import PrefetchingWorker

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.ledger import Ledger
    from simqueue.model.message import Delivery
    from simqueue.model.randomness import Streams
    from simqueue.model.settings import LeaseSettings
    from simqueue.model.worker import Worker


def meet(
    worker: Worker,
    settings: LeaseSettings,
    queue: LeaseQueue,
    clock: Clock,
    ledger: Ledger,
    streams: Streams,
) -> None:
    """Hook into `worker` whatever of `settings` is on."""
    worker.has_acked_early = settings.ack_on_start or settings.on_disconnect == "lose"
    begins_early = settings.ack_on_start or settings.renew_what == "process"
    if settings.lease is not None and settings.lease_from == "start" and not begins_early:
        lease = settings.lease
        worker.on_start.append(lambda delivery: queue.begin_lease(delivery, lease))
    if settings.lease is not None and settings.renew_every is not None:
        _renew(worker, settings, queue, clock, streams)
    if settings.ack_on_start:
        _ack_on_start(worker, queue)
    if settings.on_disconnect != "wait":
        assert isinstance(queue, WatchingQueue)
        _watch(worker, settings, queue, clock)
    if isinstance(queue.leases, AtBoot):
        check = queue.leases
        worker.on_restart.append(lambda _: check.look())
    if settings.due_held_by == "worker":
        assert isinstance(worker, PrefetchingWorker)
        HoldingUntilDue(worker, clock, ledger, forgets=settings.forgets_due)


def on_expiry(settings: LeaseSettings, queue: LeaseQueue, clock: Clock, ledger: Ledger) -> None:
    """Let the end of a lease mean what `settings` say, where it is not just a return."""

    def close(delivery: Delivery) -> None:
        assert isinstance(queue, WatchingQueue)
        worker = delivery.worker
        queue.end_lease(delivery)
        queue.requeue(queue.unsettled(worker))
        ledger.record(clock.now, Event.CONNECTION_CLOSED, worker=worker.number)
        if worker.alive:
            worker.connect_anew()

    def cancel(delivery: Delivery) -> None:
        worker, reason = delivery.worker, object()
        queue.end_lease(delivery)
        if worker.alive:
            worker.stop_asking(reason)
            ledger.record(clock.now, Event.CONSUMER_CANCELLED, worker=worker.number)
            if settings.resubscribe_after is not None:
                again = clock.after(settings.resubscribe_after)
                clock.at(again, lambda _: worker.go_on(reason))

    others = {"dead_letter": queue.give_up, "close": close, "cancel": cancel}
    if settings.on_expiry in others:
        queue.on_expiry = others[settings.on_expiry]


def _renew(
    worker: Worker, settings: LeaseSettings, queue: LeaseQueue, clock: Clock, streams: Streams
) -> None:
    assert settings.lease is not None
    assert settings.renew_every is not None
    if settings.renew_what == "process":
        Heartbeat(
            worker,
            clock,
            queue,
            lease=settings.lease,
            every=settings.renew_every,
            first=settings.first_heartbeat,
        )
        return
    renewal = Renewal(
        clock,
        queue,
        lease=settings.lease,
        every=settings.renew_every,
        until=settings.renew_for,
        held=settings.renew_what == "held",
        jitter=_jitter(settings.renew_jitter, streams),
    )
    worker.on_start.append(renewal.start)
    if settings.renew_what == "held":
        worker.take = _first(renewal.hold, worker.take)  # type: ignore[method-assign]


def _jitter(share: float, streams: Streams) -> Callable[[Delivery, int], float] | None:
    if not share:
        return None

    def shorter(delivery: Delivery, beat: int) -> float:
        place = delivery.message.job.id, delivery.turn, beat
        return share * float(streams.generator("renewal", *place).random())

    return shorter


def _first(notice: Callable[[Delivery], None], take: Callable[[Delivery], None]) -> Any:
    def notice_and_take(delivery: Delivery) -> None:
        notice(delivery)
        take(delivery)

    return notice_and_take


def _ack_on_start(worker: Worker, queue: LeaseQueue) -> None:
    started: dict[int, Delivery] = {}

    def start(delivery: Delivery) -> None:
        if delivery.message.is_held_by(delivery):
            started[delivery.number] = delivery
            delivery.lease_ends = math.inf
            if isinstance(queue, WatchingQueue):
                queue.forget(delivery)

    def lose(held: list[Delivery]) -> None:
        queue.lose([delivery for delivery in held if delivery.number in started])
        started.clear()

    worker.on_start.append(start)
    worker.on_death.append(lose)


def _watch(worker: Worker, settings: LeaseSettings, queue: WatchingQueue, clock: Clock) -> None:
    def disconnected(_held: list[Delivery]) -> None:
        unsettled = queue.unsettled(worker)
        if settings.on_disconnect == "lose":
            queue.lose(unsettled)
        else:
            silent = worker.alive or worker.died_silently
            after = settings.silence_after if silent else settings.disconnect_after
            clock.at(clock.after(after), lambda _: queue.requeue(unsettled))

    def reconnected() -> None:
        """Its old connection is dead on both sides, noticed or not."""
        if settings.on_disconnect == "requeue" and worker.alive:
            queue.requeue(queue.unsettled(worker))
            worker.connect_anew()

    worker.on_disconnect.append(disconnected)
    worker.on_reconnect.append(reconnected)
