"""A worker that is handed jobs before they are due, and keeps them until they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.message import Delivery
    from simqueue.model.worker_kinds import PrefetchingWorker


class HoldingUntilDue:
    """Keeps each delivery whose job is not due, in the process's memory, unacked; then starts it.

    What is kept takes no room in the worker's buffer (Celery raises its prefetch count by one for
    each). Its lease runs. It dies with the process; when the connection is closed, the worker
    either `forgets` it or runs it all the same when it is due.
    """

    def __init__(
        self, worker: PrefetchingWorker, clock: Clock, ledger: Ledger, *, forgets: bool
    ) -> None:
        self._worker = worker
        self._clock = clock
        self._ledger = ledger
        self._forgets = forgets
        self._take = worker.take
        self._kept = worker.kept
        worker.take = self.take  # type: ignore[method-assign]
        worker.on_close.append(self._close)

    def take(self, delivery: Delivery) -> None:
        """Keep `delivery` until its job is due."""
        job, now = delivery.message.job, self._clock.now
        if job.due <= now:
            self._take(delivery)
            return
        self._kept[delivery.number] = delivery
        number, worker = delivery.number, self._worker.number
        self._ledger.record(now, Event.HELD_UNTIL_DUE, job.id, number, worker, job.due)
        self._clock.at(job.due, lambda _: self._be_due(delivery))
        self._worker.missed()

    def _be_due(self, delivery: Delivery) -> None:
        if self._kept.pop(delivery.number, None) is None:
            return
        self._worker.make_room()
        self._take(delivery)

    def _close(self) -> None:
        if self._forgets:
            self._kept.clear()
