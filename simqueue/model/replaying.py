"""Groups in order, in which what comes back brings all its successors back (Pub/Sub's keys)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.model.connections import WatchingQueue
from simqueue.model.lease_queue import LeaseQueue
from simqueue.model.ledger import Event
from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.model.message import Delivery, Message
    from simqueue.model.worker import Worker


class ReplayingQueue(WatchingQueue):
    """Hands the next of a group over as soon as the worker is done with the one before.

    Whether or not the ack of that one arrives: the worker believes so. If it comes back, so does
    all of its group that was handed over after it, acked or not: the order is kept by repeating.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._handed_over: dict[int, list[Message]] = {}

    def done_with(self, delivery: Delivery) -> None:
        """Let the group of `delivery` go on, unless somebody else has the message by now."""
        if delivery.message.is_held_by(delivery) and self._visible.go_on(delivery.message):
            self.hand_over()

    def _deliver(self, message: Message, worker: Worker) -> Delivery:
        group = self._handed_over.setdefault(message.job.group, [])
        if message in group:
            group.remove(message)
        group.append(message)
        return super()._deliver(message, worker)

    def _come_back(self, message: Message, visible_at: float) -> None:
        group = self._handed_over[message.job.group]
        later = group[group.index(message) + 1 :]
        del group[group.index(message) :]
        if visible_at > self._clock.now:
            self._visible.hold(message)
        super()._come_back(message, visible_at)
        for follower in later:
            self._replay(follower)

    def _replay(self, message: Message) -> None:
        if message.state == State.IN_FLIGHT and message.latest is not None:
            self._note(Event.NACKED, message.latest, self._clock.now)
            LeaseQueue._come_back(self, message, self._clock.now)
        elif message.state == State.ACKED:
            self._record(self._clock.now, Event.REPLAYED, message.job.id, value=State.ACKED)
            message.open_again()
            self._visible.put_back(message)
