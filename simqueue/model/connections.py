"""A queue that watches its workers' connections, and knows what each has not settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.model.lease_queue import LeaseQueue

if TYPE_CHECKING:
    from simqueue.model.message import Delivery, Message
    from simqueue.model.worker import Worker

FORGET_FROM = 1_000


class WatchingQueue(LeaseQueue):
    """Remembers, for each worker, the deliveries that it was sent and has not settled.

    That is more than what the worker holds: a delivery that got lost on its way, or whose ack did,
    is still unsettled here, and comes back when the connection is gone (RabbitMQ).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sent: dict[int, dict[Message, Delivery]] = {}

    def unsettled(self, worker: Worker) -> list[Delivery]:
        """Return what `worker` was sent and has not settled, in the order of its sending."""
        sent = self._sent.get(worker.number, {})
        held = {message: d for message, d in sent.items() if message.is_held_by(d)}
        self._sent[worker.number] = held
        return list(held.values())

    def forget(self, delivery: Delivery) -> None:
        """`delivery` was acked, though its message counts as in flight: it will not come back."""
        self._sent.get(delivery.worker.number, {}).pop(delivery.message, None)

    def _deliver(self, message: Message, worker: Worker) -> Delivery:
        delivery = super()._deliver(message, worker)
        sent = self._sent.setdefault(worker.number, {})
        sent.pop(message, None)
        sent[message] = delivery
        if len(sent) % FORGET_FROM == 0:
            self.unsettled(worker)
        return delivery
