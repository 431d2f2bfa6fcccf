"""What a worker, a producer and a fault see of a broker, of whatever family it is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker


class Queue(Protocol):
    """The lease queue (`simqueue.model.lease_queue`) or the log (`simqueue.model.log.log`)."""

    def hand_over(self) -> None:
        """Give what there is to workers who ask, once all else of this instant has happened."""

    def at_once(self) -> AbstractContextManager[None]:
        """Let all that happens inside come before the next message is handed over."""

    def ask(self, worker: Worker) -> None:
        """`worker` wants a message."""

    def receive_more(self, delivery: Delivery) -> None:
        """The receive that brought `delivery` goes on."""

    def withdraw(self, worker: Worker) -> None:
        """`worker` wants nothing more."""

    def ack(self, delivery: Delivery) -> None:
        """The handler has returned."""

    def fail(self, delivery: Delivery, after: float | None = None, *, asked: bool = False) -> None:
        """The handler has raised."""

    def done_with(self, delivery: Delivery) -> None:
        """The worker is done with it, and what it has to say about it never arrives."""

    def lose_slot(self, delivery: Delivery) -> None:
        """What ran the handler died, and its process lives."""

    def extend(self, delivery: Delivery, seconds: float) -> bool:
        """The handler wants more time; False where it is too late for that."""

    def requeue(self, deliveries: Iterable[Delivery]) -> None:
        """A worker gives these back."""
