"""From settings to a log at work, with the consumers that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simqueue.model.building import retry_delay
from simqueue.model.ledger import Event
from simqueue.model.log.consumer import Consumer
from simqueue.model.log.failures import on_failure
from simqueue.model.log.log import Log
from simqueue.model.message import State
from simqueue.model.publishing import Resent

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.log.settings import LogSettings
    from simqueue.model.message import Message
    from simqueue.model.randomness import Streams
    from simqueue.model.worker import Worker


class LogBroker:
    """A broker of the log family: the log, and what surrounds it.

    `publish` is what producers call; `meet` is called once for each worker.
    """

    def __init__(
        self,
        settings: LogSettings,
        clock: Clock,
        ledger: Ledger,
        streams: Streams,
        *,
        endless: bool,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ledger = ledger
        delay = retry_delay(settings.retry, streams)
        assert delay is not None
        self.queue = Log(
            settings, clock, ledger, on_failure=on_failure(settings, delay), endless=endless
        )

    def publish(self, message: Message) -> None:
        """Append `message`, unless its producer sent it before and the broker knows."""
        if self._settings.idempotent_producer and isinstance(message, Resent):
            now, job = self._clock.now, message.job.id
            self._ledger.record(now, Event.PUBLISHED, job, value=State.VISIBLE)
            self._ledger.record(now, Event.DEDUPLICATED, job)
            return
        record = self.queue.publish(message)
        if self._settings.retention is not None:
            ends = self._clock.after(self._settings.retention)
            self._clock.at(ends, lambda _: self.queue.end_retention(record))

    def meet(self, worker: Worker) -> None:
        """Let the coordinator lose sight of `worker` when the network does."""
        assert isinstance(worker, Consumer)
        worker.on_disconnect.append(worker.cut_off)
