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

    by_clock: bool
    """Whether an ack is late as soon as the lease has run out, though no sweep has noticed."""

    overrides: bool
    """Whether an ack also settles a message that was dead-lettered meanwhile."""

    def accepts(self, message: Message, delivery: Delivery) -> bool:
        """Whether the late ack of `delivery` settles `message`, which is not settled yet."""


class Deletes:
    """The ack names the message: it is removed wherever it is (pgmq; NATS JetStream)."""

    told = False
    by_clock = False
    overrides = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return True


class InFlightOnly:
    """The ack clears the in-flight record, whoever holds it; a copy back in the queue still runs.

    Celery on Redis: the delivery tag is made at publish time and shared by all copies. pg-boss and
    River: whoever completes a job that is active completes it.
    """

    told = False
    by_clock = False
    overrides = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return message.state == State.IN_FLIGHT


class LatestReceipt:
    """The ack works while nobody has received the message since; later it silently does nothing.

    Amazon SQS standard queues; Azure Storage queues.
    """

    told = False
    by_clock = False
    overrides = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: D102
        return message.latest is delivery


class Ignored:
    """The ack silently does nothing once the lease has run out, whoever has the message.

    RabbitMQ's quorum queues from 4.3 on; an ack to a private list from which the job is gone.
    """

    told = False
    by_clock = False
    overrides = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return False


class Unexpired:
    """The ack is refused once the lease has run out, and the worker is told.

    It is the clock that counts, not whether a sweep has noticed. BullMQ, SQS FIFO, Azure Service
    Bus.
    """

    told = True
    by_clock = True
    overrides = False

    def accepts(self, message: Message, delivery: Delivery) -> bool:  # noqa: ARG002, D102
        return False


class Refused(Ignored):
    """The ack is refused once the broker has taken the message back, and not before that.

    RabbitMQ up to 4.2, where the channel is closed then, and the row lock of a connection that is
    gone: a lease that has run out means nothing until somebody has looked.
    """

    told = True


class LatestOrRefused(LatestReceipt):
    """The ack works while nobody has received the message since; later it is refused.

    Google Pub/Sub with exactly-once delivery: only the newest ack id is valid.
    """

    told = True


class Overrides(Deletes):
    """The ack wins over everything, even over the record that the job has failed for good.

    Oban: a job is completed by its id, whatever state it is in.
    """

    overrides = True


LATE_ACKS: dict[str, type[LateAck]] = {
    "deletes": Deletes,
    "in_flight_only": InFlightOnly,
    "latest_receipt": LatestReceipt,
    "latest_or_refused": LatestOrRefused,
    "ignored": Ignored,
    "refused": Refused,
    "unexpired": Unexpired,
    "overrides": Overrides,
}
