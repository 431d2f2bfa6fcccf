"""The story of one job, in words: a line for each thing that happened to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simqueue import checks
from simqueue.model.ledger import EVENT_NAMES, Event
from simqueue.model.log.settings import LogSettings
from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.result import Result

ABOUT_WORKERS = (
    Event.WORKER_CRASHED,
    Event.WORKER_PAUSED,
    Event.WORKER_RESUMED,
    Event.WORKER_DRAINING,
    Event.WORKER_PARTITIONED,
    Event.LEFT_GROUP,
)
"""Events that name a worker and no job; they are told where that worker holds the job."""


def story(result: Result, job: int) -> str:
    """Return what happened to `job` in a run, as text: one line per event, then how it ended.

    Each line has the time in seconds, the worker if it is about one, and plain words. Raises
    ValueError for a job that the run did not have.
    """
    checks.whole("job", job, 0, result.tally.job_count - 1)
    lines = _Story(result, job).lines()
    return "\n".join([f"Job {job}", *lines, _ending(result, job)])


def sentences(result: Result, job: int) -> dict[int, str]:
    """Return what happened to `job`, in words, by the place of each event in the ledger."""
    return {place: f"{who} {words}".strip() for place, _, who, words in _Story(result, job).told()}


class _Story:
    """Goes through the events of a job and remembers what the reader knows by then."""

    def __init__(self, result: Result, job: int) -> None:
        self._rows = result.tally.rows
        self._job = job
        self._deliveries: dict[int, int] = {}
        self._published_before = False
        self._running: dict[int, int] = {}
        self._waiting: dict[int, int] = {}
        self._effects: Counter[str] = Counter()
        self._say = {
            Event.PUBLISHED: self._published,
            Event.RECEIVED: self._received,
            Event.STARTED: self._started,
            Event.FINISHED: self._finished,
            Event.FAILED: self._failed,
            Event.CRASHED: self._crashed,
            Event.EFFECT: self._effect,
            Event.EXTENDED: self._extended,
            Event.ACKED: self._acked,
            Event.ACK_LOST: self._ack_lost,
            Event.ACK_IGNORED: self._ack_ignored,
            Event.ACK_REFUSED: self._ack_refused,
            Event.NACKED: self._nacked,
            Event.EXPIRED: self._expired,
            Event.VISIBLE: self._visible,
            Event.DEAD_LETTERED: self._dead_lettered,
            Event.LOST: self._lost,
            Event.MESSAGE_EXPIRED: lambda *_: "too old: its retention ends, the message is removed",
            Event.DEDUPLICATED: lambda *_: "swallowed: the broker knows this key already",
            Event.REDRIVEN: lambda *_: "moved back from the dead-letter queue",
            Event.PUBLISH_RESPONSE_LOST: lambda *_: "the producer hears no reply: it sends again",
            Event.RESPONSE_LOST: self._response_lost,
            Event.UNAVAILABLE: self._unavailable,
            Event.CLAIMED: self._claimed,
            Event.RECORDED: self._recorded,
            Event.CALLED: lambda position, _: f"calls {self._word(position)}",
            Event.RELAY_CRASHED: lambda *_: "the outbox's relay dies before it marks what it sent",
            Event.WORKER_CRASHED: self._buffer_lost,
            Event.WORKER_PAUSED: self._paused,
            Event.WORKER_RESUMED: lambda *_: "goes on as if nothing had happened",
            Event.WORKER_DRAINING: self._draining,
            Event.WORKER_PARTITIONED: self._partitioned,
            Event.REVOKED: self._revoked,
            Event.REWOUND: lambda *_: "open again, though it was committed",
            Event.LEFT_GROUP: self._left_group,
            Event.SKIPPED: lambda *_: "skipped: its partition goes on behind it",
        }
        if isinstance(result.scenario.broker.settings(), LogSettings):
            self._say |= self._words_of_a_log()

    def _words_of_a_log(self) -> dict[int, Callable[[int, int], str]]:
        """What is said differently where nothing is acked by itself, nor hidden."""
        return {
            Event.PUBLISHED: self._appended,
            Event.RECEIVED: self._polled,
            Event.FINISHED: self._done,
            Event.ACKED: lambda *_: "committed: the group's offset is past it",
            Event.ACK_LOST: lambda *_: "commit lost on its way",
            Event.ACK_REFUSED: lambda *_: "commit refused: the partition has another owner by now",
            Event.VISIBLE: lambda *_: "may be read again",
        }

    def lines(self) -> list[str]:
        """Return one line for each event, in order."""
        found = [line for _, *line in self.told()]
        widest = [max((len(line[column]) for line in found), default=0) for column in (0, 1)]
        return [
            f"  {time:>{widest[0]}} s  {who:<{widest[1]}}  {words}" for time, who, words in found
        ]

    def told(self) -> Iterator[tuple[int, str, str, str]]:
        """Yield, for each event: its row in the ledger, the time, who it is about, and what."""
        rows = self._rows
        about = (rows.job == self._job) | np.isin(rows.event, ABOUT_WORKERS)
        for position in np.flatnonzero(about).tolist():
            event, worker = int(rows.event[position]), int(rows.worker[position])
            if event in ABOUT_WORKERS and not self._concerns_us(event, worker):
                continue
            number = int(rows.delivery[position])
            if number >= 0:
                self._deliveries.setdefault(number, len(self._deliveries) + 1)
            say = self._say.get(event)
            words = say(position, number) if say else EVENT_NAMES[event]
            nobody = event in (Event.EXPIRED, Event.REVOKED)
            who = f"worker {worker}" if worker > 0 and not nobody else ""
            yield position, seconds(float(rows.time[position])), who, words

    def _concerns_us(self, event: int, worker: int) -> bool:
        """Whether the worker to whom this happens holds the job."""
        waits = worker in self._waiting.values()
        # Of a crash, what runs has an event of its own.
        return waits or (event != Event.WORKER_CRASHED and worker in self._running.values())

    def _published(self, position: int, _number: int) -> str:
        again, self._published_before = self._published_before, True
        if again:
            return "published again: a second message for the same job"
        if self._rows.value[position] == State.DELAYED:
            return "published, to become visible later"
        return "published: the job is in the queue"

    def _received(self, position: int, number: int) -> str:
        self._waiting[number] = int(self._rows.worker[position])
        attempt = self._deliveries[number]
        until = self._until(position)
        end = "" if math.isinf(until) else f" until {seconds(until)} s"
        return f"gets delivery {attempt}, hidden from others{end}"

    def _started(self, _position: int, number: int) -> str:
        worker = self._waiting.pop(number)
        others = [str(self._deliveries[other]) for other in sorted(self._running)]
        verb = "is" if len(others) == 1 else "are"
        beside = f"; {' and '.join(others)} {verb} still running" if others else ""
        self._running[number] = worker
        return f"starts delivery {self._deliveries[number]}{beside}"

    def _finished(self, _position: int, number: int) -> str:
        self._running.pop(number, None)
        return f"is done with delivery {self._deliveries[number]}, and acks it"

    def _failed(self, position: int, number: int) -> str:
        self._running.pop(number, None)
        return f"delivery {self._deliveries[number]} failed: {self._word(position)}"

    def _crashed(self, _position: int, number: int) -> str:
        self._running.pop(number, None)
        return f"crashes in the middle of delivery {self._deliveries[number]}"

    def _appended(self, _position: int, _number: int) -> str:
        again, self._published_before = self._published_before, True
        return "appended once more: a second record" if again else "appended to its partition"

    def _polled(self, position: int, number: int) -> str:
        self._waiting[number] = int(self._rows.worker[position])
        until = self._until(position)
        end = "" if math.isinf(until) else f", and has to poll again by {seconds(until)} s"
        return f"polls it: delivery {self._deliveries[number]}{end}"

    def _done(self, _position: int, number: int) -> str:
        self._running.pop(number, None)
        return f"is done with delivery {self._deliveries[number]}"

    def _revoked(self, position: int, number: int) -> str:
        worker, attempt = int(self._rows.worker[position]), self._deliveries[number]
        aware = f"; worker {worker} works on" if number in self._running else ""
        return f"its partition is taken away, delivery {attempt} is not committed{aware}"

    def _left_group(self, position: int, _number: int) -> str:
        return f"leaves the group: {self._word(position)}"

    def _effect(self, position: int, _number: int) -> str:
        effect = self._word(position)
        self._effects[effect] += 1
        times = self._effects[effect]
        return f"EFFECT: {effect}" + (f", for the {_ordinal(times)} time!" if times > 1 else "")

    def _extended(self, position: int, number: int) -> str:
        attempt, until = self._deliveries[number], self._until(position)
        return f"extends the lease of delivery {attempt} until {seconds(until)} s"

    def _acked(self, position: int, _number: int) -> str:
        state = self._rows.value[position]
        late = "" if state == State.IN_FLIGHT else ", though back in the queue"
        return f"ack accepted: the message is deleted{late}"

    def _ack_lost(self, _position: int, _number: int) -> str:
        return "ack lost on its way; the worker thinks it arrived"

    def _ack_ignored(self, _position: int, _number: int) -> str:
        return "ack ignored: too late, and the worker is not told"

    def _ack_refused(self, _position: int, _number: int) -> str:
        return "ack refused: too late, and the worker is told"

    def _nacked(self, position: int, number: int) -> str:
        attempt, until = self._deliveries[number], self._until(position)
        return f"gives delivery {attempt} back, to be visible at {seconds(until)} s"

    def _expired(self, position: int, number: int) -> str:
        worker, attempt = int(self._rows.worker[position]), self._deliveries[number]
        unaware = f"; worker {worker} isn't told" if number in self._running else ""
        return f"lease of delivery {attempt} runs out{unaware}"

    def _visible(self, _position: int, _number: int) -> str:
        again = "again" if self._deliveries else "now"
        return f"visible {again}: anyone may take it"

    def _dead_lettered(self, _position: int, _number: int) -> str:
        return "out of attempts: moved to the dead-letter queue"

    def _lost(self, _position: int, number: int) -> str:
        if number < 0:
            return "out of attempts: dropped, nobody will ever do it"
        return "lost with its worker: the broker keeps no copy"

    def _response_lost(self, position: int, _number: int) -> str:
        return f"no answer from {self._word(position)}: perhaps it was done"

    def _unavailable(self, position: int, _number: int) -> str:
        return f"{self._word(position)} fails: the service is down"

    def _claimed(self, position: int, _number: int) -> str:
        return f"claims the key; the store says: {self._word(position)}"

    def _recorded(self, position: int, number: int) -> str:
        status = self._word(position)
        if number < 0:
            return f"the sweeper finds the claim stale, and sets it to {status}"
        return f"records the key as {status}"

    def _paused(self, position: int, _number: int) -> str:
        return f"stands still until {seconds(self._until(position))} s, and doesn't know"

    def _draining(self, position: int, _number: int) -> str:
        return f"is to be replaced, and has until {seconds(self._until(position))} s to finish"

    def _partitioned(self, position: int, _number: int) -> str:
        return f"is cut off from the broker until {seconds(self._until(position))} s"

    def _buffer_lost(self, position: int, _number: int) -> str:
        worker = int(self._rows.worker[position])
        lost = [number for number, holder in self._waiting.items() if holder == worker]
        for number in lost:
            del self._waiting[number]
        attempts = " and ".join(str(self._deliveries[number]) for number in lost)
        return f"crashes with delivery {attempts} unstarted in its buffer"

    def _until(self, position: int) -> float:
        return float(self._rows.value[position])

    def _word(self, position: int) -> str:
        return self._rows.words[int(self._rows.value[position])]


def _ending(result: Result, job: int) -> str:
    tally = result.tally
    deliveries, effects = int(tally.deliveries[job]), int(tally.effects[job])
    again = int(tally.extra_effects[job])
    counts = f"{_count(deliveries, 'delivery', 'deliveries')}, {_count(effects, 'effect')}"
    counts += f" ({again} too many)" if again else ""
    if math.isnan(tally.published[job]):
        return "Not published by the time the run ended."
    if tally.unsettled[job] > 0:
        end = result.duration if result.scenario.horizon is None else result.scenario.horizon
        return f"Not settled when the run ended, at {seconds(end)} s: {counts}."
    how = "Expired"
    for messages, word in (
        (tally.dead, "Dead-lettered"),
        (tally.acked, "Settled by an ack"),
        (tally.lost, "Lost"),
    ):
        if messages[job] > 0:
            how = word
            break
    return f"{how} at {seconds(float(tally.settled[job]))} s: {counts}."


def seconds(time: float) -> str:
    """Return a time in the run to the millisecond, without needless zeros: `30`, `41.275`."""
    return f"{time:,.3f}".rstrip("0").rstrip(".")


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
