"""Workers that do not take just any message at any time: the queue has to choose among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simqueue.model.leases import next_look
from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.message import Message
    from simqueue.model.worker import Worker


class Chooser:
    """Hands messages over to those who may have them: the first of them who asks.

    Parameters
    ----------
    holds_once
        A worker is not given a message that it still holds from an earlier delivery.
    poll_every, poll_phases
        Workers take messages only at their polls, every so many seconds; the first of worker n is
        at the n-th phase. None: at any time.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        holds_once: bool,
        poll_every: float | None,
        poll_phases: Sequence[float],
    ) -> None:
        self._clock = clock
        self._holds_once = holds_once
        self._poll_every = poll_every
        self._poll_phases = poll_phases
        self._alarm = math.inf

    def hand_over(self, queue: LeaseQueue, _: object) -> None:
        """Do what `LeaseQueue` does by itself when everybody takes everything."""
        queue._hand_over_due = False
        queue._handing_over = True
        visible, asking, aside = queue._visible, queue._asking, []
        while asking and visible:
            message = visible.take()
            if message.state != State.VISIBLE:
                visible.freed(message)
                continue
            worker = self._choose(queue, message)
            if worker is None:
                aside.append(message)
                continue
            if queue.is_exhausted(message):
                continue
            if not worker.reserve():
                asking.remove(worker)
            worker.take(queue._deliver(message, worker))
            asking = queue._asking
        for message in reversed(aside):
            visible.give_back(message)
        visible.recall()
        queue._handing_over = False

    def _choose(self, queue: LeaseQueue, message: Message) -> Worker | None:
        once = self._holds_once
        able = [worker for worker in queue._asking if not (once and _holds(worker, message))]
        if self._poll_every is None or not able:
            return able[0] if able else None
        now = self._clock.now
        polls = {worker: self._next_poll(worker, self._poll_every) for worker in able}
        ready = [worker for worker in able if polls[worker] == now]
        if not ready:
            self._wait_until(min(polls.values()), queue)
        return ready[0] if ready else None

    def _next_poll(self, worker: Worker, every: float) -> float:
        phases = self._poll_phases
        return next_look(self._clock.now, every, phases[(worker.number - 1) % len(phases)])

    def _wait_until(self, time: float, queue: LeaseQueue) -> None:
        if time < self._alarm:
            self._alarm = time
            self._clock.at(time, lambda _: self._ring(queue))

    def _ring(self, queue: LeaseQueue) -> None:
        self._alarm = math.inf
        queue.hand_over()


def _holds(worker: Worker, message: Message) -> bool:
    return any(delivery.message is message for delivery in worker.held)
