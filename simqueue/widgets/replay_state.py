"""The whole system at one moment, told from the ledger alone: a row at a time.

Nothing here draws or listens: it says where each message is, what each worker holds and how long
its lease still runs, what the dedupe store says, and what was done to the world.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from simqueue.context import Claim
from simqueue.model.ledger import Event
from simqueue.model.message import STATE_NAMES
from simqueue.services.store import Status
from simqueue.widgets.replay_parts import (
    DEAD,
    DRAINING,
    GIVEN_BACK,
    HOLDS,
    PAUSED,
    RAN_OUT,
    SETTLED,
    STOPPED,
    UP,
    Effect,
    Held,
    Row,
    StoreRow,
    WorkerNow,
)


class State:
    """Everything at one moment. `apply` takes the next row of the ledger.

    Attributes
    ----------
    visible
        How many messages of each job can be taken, in the order in which they became visible.
    delayed
        How many messages of each job are hidden until later, not counting those in flight.
    counts
        How many messages are in each state: "visible", "in_flight", "acked", and so on.
    dead
        How many messages of each job are in the dead-letter queue.
    workers
        By number.
    orphans
        Deliveries that nobody works on any more while their lease still runs, by number: the worker
        died, failed without giving the message back, or its ack is lost.
    rows
        The dedupe store, by job, those included that have gone with time.
    effects
        All so far, in order.
    """

    def __init__(
        self, words: list[str], workers: int, *, throttled: bool = False, ttl: float = math.inf
    ) -> None:
        self.visible: dict[int, int] = {}
        self.delayed: dict[int, int] = {}
        self.dead: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        self.workers = {number: WorkerNow() for number in range(1, workers + 1)}
        self.orphans: dict[int, Held] = {}
        self.rows: dict[int, StoreRow] = {}
        self.effects: list[Effect] = []
        self._deliveries: Counter[int] = Counter()
        self._repeats: Counter[tuple[int, str]] = Counter()
        self._words = words
        self._drops_unstarted = throttled
        self._ttl = ttl

    def copy(self) -> State:
        """Return the same moment, to go on from independently."""
        twin = State(self._words, 0, throttled=self._drops_unstarted, ttl=self._ttl)
        twin.visible, twin.delayed = dict(self.visible), dict(self.delayed)
        twin.dead, twin.counts = dict(self.dead), Counter(self.counts)
        twin.orphans = {number: Held(**vars(held)) for number, held in self.orphans.items()}
        twin.rows, twin.effects = dict(self.rows), list(self.effects)
        twin._deliveries, twin._repeats = Counter(self._deliveries), Counter(self._repeats)
        twin.workers = {
            number: WorkerNow(
                each.status,
                each.until,
                each.cut_off_until,
                {delivery: Held(**vars(held)) for delivery, held in each.held.items()},
            )
            for number, each in self.workers.items()
        }
        return twin

    def running(self, job: int) -> list[Held]:
        """Return the deliveries of `job` whose handlers are at work."""
        return [
            held
            for worker in self.workers.values()
            for held in worker.held.values()
            if held.job == job and held.is_at_work
        ]

    def store(self, now: float) -> dict[int, StoreRow]:
        """Return the rows of the dedupe store that exist at `now` (seconds), the newest last."""
        return {job: row for job, row in self.rows.items() if row.until > now}

    def apply(self, row: Row) -> None:
        """Take the next row into account. Rows that change none of this are passed over."""
        change = CHANGES.get(row.event)
        if change is not None:
            change(self, row)

    # Messages.

    def _published(self, row: Row) -> None:
        self._enter(row.job, STATE_NAMES[int(row.value)])

    def _received(self, row: Row) -> None:
        self._move(row.job, "visible", "in_flight")
        self._deliveries[row.job] += 1
        attempt = self._deliveries[row.job]
        held = Held(row.delivery, row.job, attempt, row.worker, row.time, row.time, row.value)
        self.workers[row.worker].held[row.delivery] = held

    def _expired(self, row: Row) -> None:
        self._move(row.job, "in_flight", "delayed")
        self._unlink(row, RAN_OUT)
        if self._drops_unstarted:
            self._forget_unstarted(row)

    def _nacked(self, row: Row) -> None:
        self._move(row.job, "in_flight", "delayed")
        self._unlink(row, GIVEN_BACK)
        self._forget_unstarted(row)

    def _revoked(self, row: Row) -> None:
        self._move(row.job, "in_flight", "visible")
        self._unlink(row, RAN_OUT)
        self._forget_unstarted(row)

    def _became_visible(self, row: Row) -> None:
        self._move(row.job, "delayed", "visible")

    def _redriven(self, row: Row) -> None:
        self._move(row.job, "dead_lettered", "visible")

    def _rewound(self, row: Row) -> None:
        self._move(row.job, "acked", "visible")

    def _deduplicated(self, row: Row) -> None:
        self._move(row.job, "visible", "deduplicated")

    def _dead_letter_expired(self, row: Row) -> None:
        self._move(row.job, "dead_lettered", "expired")

    def _settled(self, row: Row) -> None:
        self._move(row.job, STATE_NAMES[int(row.value)], SETTLING[row.event])
        for worker in self.workers.values():
            for held in worker.held.values():
                if held.job == row.job and (held.link == HOLDS or held.number == row.delivery):
                    held.link, held.link_since = SETTLED, row.time
        for number in [n for n, held in self.orphans.items() if held.job == row.job]:
            del self.orphans[number]
        self._forget_unstarted(row)

    def _move(self, job: int, before: str, after: str) -> None:
        self.counts[before] -= 1
        places = self._places(before)
        if places is not None:
            places[job] = places.get(job, 0) - 1
            if not places[job]:
                del places[job]
        self._enter(job, after)

    def _enter(self, job: int, state: str) -> None:
        self.counts[state] += 1
        places = self._places(state)
        if places is not None:
            places[job] = places.get(job, 0) + 1

    def _places(self, state: str) -> dict[int, int] | None:
        return {"visible": self.visible, "delayed": self.delayed, "dead_lettered": self.dead}.get(
            state
        )

    # Deliveries.

    def _find(self, row: Row) -> Held | None:
        worker = self.workers.get(row.worker)
        return None if worker is None else worker.held.get(row.delivery)

    def _unlink(self, row: Row, link: str) -> None:
        self.orphans.pop(row.delivery, None)
        held = self._find(row)
        if held is not None:
            held.link, held.link_since = link, row.time

    def _forget_unstarted(self, row: Row) -> None:
        held = self._find(row)
        if held is not None and not held.is_at_work:
            self._leave(held)

    def _started(self, row: Row) -> None:
        held = self._find(row)
        if held is not None:
            held.started = row.time

    def _ended(self, row: Row) -> None:
        held = self._find(row)
        if held is not None:
            self._leave(held)

    def _leave(self, held: Held) -> None:
        del self.workers[held.worker].held[held.number]
        if held.link == HOLDS:
            self.orphans[held.number] = held

    def _extended(self, row: Row) -> None:
        held = self._find(row) or self.orphans.get(row.delivery)
        if held is not None:
            held.lease_since, held.lease_ends = row.time, row.value

    # Workers.

    def _worker_crashed(self, row: Row) -> None:
        worker = self.workers[row.worker]
        worker.status, worker.until = DEAD, math.nan
        self._empty_buffer(row)

    def _empty_buffer(self, row: Row) -> None:
        for held in list(self.workers[row.worker].held.values()):
            if not held.is_at_work:
                self._leave(held)

    def _is_up(self, row: Row) -> None:
        self._set(row, UP)

    def _is_paused(self, row: Row) -> None:
        self._set(row, PAUSED)

    def _is_draining(self, row: Row) -> None:
        self._set(row, DRAINING)

    def _has_stopped(self, row: Row) -> None:
        if self.workers[row.worker].status != DEAD:  # a group notices a death late
            self._set(row, STOPPED)

    def _assigned(self, row: Row) -> None:
        if self.workers[row.worker].status == STOPPED:
            self._set(row, UP)

    def _set(self, row: Row, status: str) -> None:
        worker = self.workers[row.worker]
        worker.status = status
        worker.until = row.value if status in (PAUSED, DRAINING) else math.nan

    def _resumed(self, row: Row) -> None:
        if self.workers[row.worker].status == PAUSED:
            self._set(row, UP)

    def _partitioned(self, row: Row) -> None:
        self.workers[row.worker].cut_off_until = row.value

    # The store, and the world.

    def _claimed(self, row: Row) -> None:
        if self._words[int(row.value)] == Claim.WON.value:
            self._write(row, Status.IN_WORK.value)

    def _recorded(self, row: Row) -> None:
        self._write(row, self._words[int(row.value)])

    def _write(self, row: Row, status: str) -> None:
        before, until = self.rows.pop(row.job, None), row.time + self._ttl
        if row.delivery < 0 and before is not None:
            until = before.until  # the sweeper, whom no delivery sent, lets it live no longer
        self.rows[row.job] = StoreRow(status, row.time, until)

    def _effect(self, row: Row) -> None:
        kind = self._words[int(row.value)]
        repeat = self._repeats[row.job, kind]
        self._repeats[row.job, kind] += 1
        self.effects.append(Effect(row.time, row.job, kind, repeat, row.worker))


SETTLING = {
    Event.ACKED: "acked",
    Event.DEAD_LETTERED: "dead_lettered",
    Event.LOST: "lost",
    Event.MESSAGE_EXPIRED: "expired",
}
CHANGES: dict[int, Callable[[State, Row], None]] = {
    **dict.fromkeys(SETTLING, State._settled),
    Event.PUBLISHED: State._published,
    Event.RECEIVED: State._received,
    Event.EXPIRED: State._expired,
    Event.NACKED: State._nacked,
    Event.REVOKED: State._revoked,
    Event.VISIBLE: State._became_visible,
    Event.REDRIVEN: State._redriven,
    Event.REWOUND: State._rewound,
    Event.REPLAYED: State._rewound,
    Event.DEDUPLICATED: State._deduplicated,
    Event.DEAD_LETTER_EXPIRED: State._dead_letter_expired,
    Event.STARTED: State._started,
    Event.FINISHED: State._ended,
    Event.FAILED: State._ended,
    Event.CRASHED: State._ended,
    Event.DELIVERY_LOST: State._ended,
    Event.EXTENDED: State._extended,
    Event.LEASE_STARTED: State._extended,
    Event.WORKER_CRASHED: State._worker_crashed,
    Event.WORKER_RESTARTED: State._is_up,
    Event.WORKER_PAUSED: State._is_paused,
    Event.WORKER_RESUMED: State._resumed,
    Event.WORKER_DRAINING: State._is_draining,
    Event.WORKER_PARTITIONED: State._partitioned,
    Event.CONNECTION_CLOSED: State._empty_buffer,
    Event.CONSUMER_CANCELLED: State._has_stopped,
    Event.LEFT_GROUP: State._has_stopped,
    Event.ASSIGNED: State._assigned,
    Event.CLAIMED: State._claimed,
    Event.RECORDED: State._recorded,
    Event.EFFECT: State._effect,
}
