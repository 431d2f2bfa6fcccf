"""The producer: publishes each job at its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from simqueue.context import Job
from simqueue.model.ledger import Event
from simqueue.model.message import Message, State

if TYPE_CHECKING:
    from simqueue.model.world import World
    from simqueue.producers import Producers, Resend

KeyOf = Callable[[Job], str | None]


class Producer:
    """Publishes jobs 0, 1, 2, … at `times`, in seconds and in order.

    Jobs of one instant are all published before the first of them is handed over. They belong to
    `groups` groups and `customers` customers in turn. `jobs`: those that other replicas of this
    producer have made already; it publishes the same. `key_of` gives the dedupe key of a send.
    """

    def __init__(
        self,
        world: World,
        times: Sequence[float],
        *,
        groups: int,
        customers: int,
        settings: Producers,
        key_of: KeyOf,
        jobs: dict[int, Job] | None = None,
    ) -> None:
        self._world = world
        self._clock = world.clock
        self._queue = world.queue
        self._publish = world.publish
        self._times = times
        self._groups = groups
        self._customers = customers
        self._due_after = settings.due_after
        self._key_of = key_of
        self._resend = settings.resend
        self._jobs = jobs
        self._next = 0

    def start(self) -> None:
        """Wait for the time of the first job."""
        self._clock.at(self._times[0], self._go_on)

    def _go_on(self, _: object) -> None:
        times, number, now = self._times, self._next, self._clock._now
        while number < len(times) and times[number] <= now:
            job = self._job(number)
            if self._resend is not None:
                self._send_until_done(job, self._resend)
            else:
                self._publish(Message(job, self._key_of(job)))
            number += 1
        self._next = number
        if number < len(times):
            self._clock.at(times[number], self._go_on)
        self._queue.hand_over()

    def _job(self, number: int) -> Job:
        if self._jobs is not None and number in self._jobs:
            return self._jobs[number]
        due = self._clock.after(self._due_after) if self._due_after else 0.0
        job = Job(number, number % self._customers, number % self._groups, due)
        if self._jobs is not None:
            self._jobs[number] = job
        return job

    def _send_until_done(self, job: Job, resend: Resend) -> None:
        done: list[Message] = []

        def hear(message: Message) -> None:
            if message.state == State.ACKED:
                done.append(message)

        def send(sends: int) -> None:
            if done:
                return
            message = Message(job, self._key_of(job))
            message.tell_when_settled(hear)
            self._publish(message)
            if sends < resend.most:
                self._clock.at(self._clock.after(resend.every), lambda _: send_again(sends + 1))
            else:
                patience = resend.every if resend.patience is None else resend.patience
                self._clock.at(self._clock.after(patience), lambda _: give_up())

        def send_again(sends: int) -> None:
            send(sends)
            self._queue.hand_over()

        def give_up() -> None:
            if not done:
                self._world.ledger.record(self._clock.now, Event.PRODUCER_GAVE_UP, job.id)

        send(1)


def dedupe_key(what: str) -> KeyOf:
    """Return the function that gives the dedupe key of a send, None for the job's own."""
    sends = count(1)
    ways: dict[str, KeyOf] = {
        "job": lambda job: None,  # noqa: ARG005
        "customer": lambda job: job.customer,
        "group": lambda job: f"group-{job.group}",
        "all": lambda job: "all",  # noqa: ARG005
        "send": lambda job: f"{job.key}, send {next(sends)}",
    }
    return ways[what]
