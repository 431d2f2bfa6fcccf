"""Ways to break the model: each takes pytest's monkeypatch, and breaks one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from simpy.events import NORMAL, URGENT, EventPriority

from simqueue.model import (
    circulation,
    late_ack,
    lease_queue,
    leases,
    publishing,
    worker,
    worker_kinds,
)
from simqueue.model.context import SimulatedContext
from simqueue.model.execution import Execution, Pausable
from simqueue.model.ledger import Event
from simqueue.model.lines import Fifo, Grouped
from simqueue.model.message import Delivery, Message, State
from simqueue.services.database import Transaction

LeaseQueue = lease_queue.LeaseQueue
Patch = pytest.MonkeyPatch


def forget_to_restore(patch: Patch) -> None:
    """Note the expiry and do no more."""
    patch.setattr(LeaseQueue, "_return", lambda *_: None)


def accept_old_receipts(patch: Patch) -> None:
    """Any receipt will do."""
    patch.setattr(late_ack.LatestReceipt, "accepts", lambda *_: True)


def count_from_zero(patch: Patch) -> None:
    """The attempt is one too low."""
    after(patch, Delivery, "__init__", lambda self, *_: setattr(self, "attempt", self.attempt - 1))


def allow_one_more(patch: Patch) -> None:
    """The limit is one too high."""

    def raise_limit(self: Any, *_: Any, **__: Any) -> None:
        self._limit_on_return += 1

    after(patch, LeaseQueue, "__init__", raise_limit)


def start_the_lease_late(patch: Patch) -> None:
    """The lease starts with the handler, not at hand-over."""
    start = worker.Worker._start

    def start_and_lease(self: Any, delivery: Delivery) -> None:
        self._queue.start_lease(delivery, 25)
        start(self, delivery)

    patch.setattr(worker.Worker, "_start", start_and_lease)


def end_leases_early(patch: Patch) -> None:
    """By a second."""
    watch = leases.AtOnce.watch

    def watch_early(self: Any, delivery: Delivery) -> None:
        delivery.lease_ends -= 1
        watch(self, delivery)

    patch.setattr(leases.AtOnce, "watch", watch_early)


def end_no_lease(patch: Patch) -> None:
    """The alarm is not heard."""
    patch.setattr(leases.AtOnce, "_ring", lambda *_: None)


def expire_before_acks(patch: Patch) -> None:
    """Alarms go before all else."""
    patch.setattr(leases, "EXPIRY", URGENT)


def receive_before_expiries(patch: Patch) -> None:
    """Hand-overs come as they are scheduled, and alarms last."""
    patch.setattr(circulation, "RECEIVE", NORMAL)
    patch.setattr(leases, "EXPIRY", EventPriority(NORMAL + 2))
    patch.setattr(leases.Clock, "is_quiet", lambda _: False)


def hear_late_nacks(patch: Patch) -> None:
    """The newest receipt may speak for ever."""

    def holds(self: Message, delivery: Delivery) -> bool:
        return self.latest is delivery and self.state < State.ACKED

    patch.setattr(Message, "is_held_by", holds)


def retry_at_once(patch: Patch) -> None:
    """The delay is noted and forgotten."""
    patch.setattr(LeaseQueue, "_hide", lambda self, message, _: self._reveal(message))


def add_extensions(patch: Patch) -> None:
    """To what is left of the lease."""

    def extend(self: Any, delivery: Delivery, seconds: float) -> bool:
        delivery.lease_ends += seconds
        self.leases.watch(delivery)
        self._note(Event.EXTENDED, delivery, delivery.lease_ends)
        return True

    patch.setattr(LeaseQueue, "extend", extend)


def never_forget_keys(patch: Patch) -> None:
    """Every window is endless."""
    after(
        patch, publishing.Deduplicating, "__init__",
        lambda self, *_, **__: setattr(self, "_window", 1e9),
    )  # fmt: skip


def take_the_last(patch: Patch) -> None:
    """A stack, not a line."""
    patch.setattr(Fifo, "take", Fifo.pop)


def let_groups_go_on(patch: Patch) -> None:
    """Nothing is ever out."""

    def take(self: Any) -> Message:
        group = self._ready.popleft()
        message: Message = self._waiting[group].popleft()
        self._announce(group)
        return message

    patch.setattr(Grouped, "take", take)


def tell_nobody(patch: Patch) -> None:
    """What is visible again waits until somebody asks."""

    @contextmanager
    def quietly(_: Any) -> Iterator[None]:
        outer, LeaseQueue.hand_over = LeaseQueue.hand_over, lambda _: None  # type: ignore[method-assign]
        yield
        LeaseQueue.hand_over = outer  # type: ignore[method-assign]

    patch.setattr(LeaseQueue, "at_once", quietly)


def restore_twice(patch: Patch) -> None:
    """One message becomes two."""
    reveal = LeaseQueue._reveal

    def reveal_twice(self: Any, message: Message) -> None:
        reveal(self, message)
        message.state = State.DELAYED
        reveal(self, message)

    patch.setattr(LeaseQueue, "_reveal", reveal_twice)


def let_the_dead_work(patch: Patch) -> None:
    """A crash is noted; what runs goes on."""

    def crash(self: Any, **_: Any) -> None:
        self.alive = False
        self._record(self.clock.now, Event.WORKER_CRASHED, worker=self.number)

    patch.setattr(worker.Worker, "crash", crash)


def let_the_paused_work(patch: Patch) -> None:
    """A pause is noted; what runs goes on."""
    patch.setattr(Pausable, "resume", Execution.resume)


def let_acks_through(patch: Patch) -> None:
    """Nothing stands between worker and broker."""

    def settle(self: Any, delivery: Delivery, _: Exception | None) -> None:
        self._queue.ack(delivery)

    patch.setattr(worker.Worker, "_settle", settle)


def let_lost_acks_arrive(patch: Patch) -> None:
    """The loss is noted, and the ack arrives."""

    def settle(self: Any, delivery: Delivery, _: Exception | None) -> None:
        for passes in self.ways_to_broker:
            passes(delivery)
        self._queue.ack(delivery)

    patch.setattr(worker.Worker, "_settle", settle)


def record_effects_twice(patch: Patch) -> None:
    """One charge, two rows."""
    effect = SimulatedContext.effect
    after(patch, SimulatedContext, "effect", effect)


def prefetch_one_more(patch: Patch) -> None:
    """One more than it may."""

    def reserve(self: Any) -> bool:
        self._reserved += 1
        self._asks = self._reserved <= self._prefetch
        return bool(self._asks)

    patch.setattr(worker_kinds.PrefetchingWorker, "reserve", reserve)


def keep_batches_open(patch: Patch) -> None:
    """A batch goes on to ask until it is full."""
    patch.setattr(worker_kinds.BatchingWorker, "_close", lambda *_: None)


def die_of_nothing(patch: Patch) -> None:
    """A restarted worker nobody killed."""
    after(
        patch, worker.Worker, "ended",
        lambda self, *_: self._record(self.clock.now, Event.WORKER_RESTARTED, worker=self.number),
    )  # fmt: skip


def insert_without_locks(patch: Patch) -> None:
    """An insert looks only at what is committed."""

    def insert(self: Any, place: tuple[str, str], columns: dict[str, Any]) -> None:
        self._rows[place] = columns

    patch.setattr(Transaction, "_insert", insert)


def count_the_first_too(patch: Patch) -> None:
    """Redeliveries are deliveries."""
    patch.setattr("simqueue.figures._beyond_first", lambda counts: int(counts.sum()))


def keep_the_swallowed(patch: Patch) -> None:
    """The table forgets what was swallowed."""
    patch.setattr("simqueue.result.Event.DEDUPLICATED", -7)


def after(patch: Patch, owner: Any, name: str, then: Callable[..., Any]) -> None:
    """Let `then` be called after each call of the method."""
    method = getattr(owner, name)

    def both(self: Any, *args: Any, **options: Any) -> Any:
        result = method(self, *args, **options)
        then(self, *args, **options)
        return result

    patch.setattr(owner, name, both)
