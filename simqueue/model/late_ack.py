"""What an ack does that comes after the lease ran out: four brokers, four answers.

An ack by the delivery that holds the message, before its lease ends, always settles it. The classes
here answer only for the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.model.message import Delivery, Message


class LateAck(Protocol):
    """One meaning of a late ack."""

    told: bool
    """Whether the worker hears that its ack was refused, or believes that all is well."""

    def accepts(self, message: Message, delivery: Delivery) -> bool:
        """Whether the late ack of `delivery` settles `message`, which is not settled yet."""


class Deletes:
    """The ack names the message: it is removed wherever it is (pgmq; NATS JetStream)."""

    told = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return True


class InFlightOnly:
    """The ack clears the in-flight record, whoever holds it; a copy back in the queue still runs.

    Celery on Redis: the delivery tag is made at publish time and shared by all copies.
    """

    told = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return message.state == State.IN_FLIGHT


class LatestReceipt:
    """The ack works while nobody has received the message since; later it silently does nothing.

    Amazon SQS standard queues; Azure Storage queues.
    """

    told = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: D102
        return message.latest is delivery


class Unexpired:
    """The ack is refused once the lease has run out, and the worker is told.

    BullMQ, SQS FIFO, Azure Service Bus, Pub/Sub with exactly-once delivery.
    """

    told = True

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return False


LATE_ACKS: dict[str, type[LateAck]] = {
    "deletes": Deletes,
    "in_flight_only": InFlightOnly,
    "latest_receipt": LatestReceipt,
    "unexpired": Unexpired,
}
