"""What must be true of the workers of every run: each law a function of a `Run`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from faults_at_random import Redrive
from reenactment import ACKS, ENDS, MOVES, SETTLED, STATES, Row, Run, handler_name

import simqueue as sq
from simqueue.faults import At
from simqueue.model.ledger import EVENT_NAMES, Event

ARRIVING_ACKS = (Event.ACKED, Event.ACK_IGNORED, Event.ACK_REFUSED)
PROGRESS = (Event.FINISHED, Event.FAILED, Event.EXTENDED, Event.CLAIMED, *ACKS)
"""What only a process that is alive and not paused can bring about."""


@dataclass
class Process:
    """A worker as the rows so far tell it. Times are in microseconds."""

    alive: bool = True
    draining: bool = False
    paused_until: float = 0
    cut_off_until: float = 0
    held: dict[int, Row] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)

    def see(self, row: Row) -> None:
        """Take note of `row`, which is about this worker."""
        event, number = row.event, row.delivery
        if event == Event.RECEIVED:
            self.held[number] = row
        elif event == Event.STARTED:
            self.running.add(number)
        elif event in ENDS or event == Event.DELIVERY_LOST:
            self.held.pop(number, None)
            self.running.discard(number)
        elif event == Event.WORKER_CRASHED:
            self.alive, self.draining, self.paused_until = False, False, 0
            self.held.clear()
        elif event == Event.WORKER_RESTARTED:
            self.alive = True
        elif event == Event.WORKER_PAUSED:
            self.paused_until = row.value
        elif event == Event.WORKER_DRAINING:
            self.draining = True
        elif event == Event.WORKER_PARTITIONED:
            self.cut_off_until = max(self.cut_off_until, row.value)

    def takes_messages(self, now: float) -> bool:
        """Whether the process is there, at work, and in touch with the broker."""
        at_work = self.alive and not self.draining and now >= self.paused_until
        return at_work and now >= self.cut_off_until


def crew(run: Run) -> dict[int, Process]:
    """All workers of the run, as they are before it begins."""
    return {number: Process() for number in range(1, run.scenario.workers.count + 1)}


def deliveries(run: Run) -> None:
    """Each delivery starts, ends and is acked at most once, in this order, by its own worker."""
    started: set[int] = set()
    ended: dict[int, int] = {}
    said: set[int] = set()
    effects: set[tuple[int, float]] = set()
    for number, row in enumerate(run.rows):
        delivery = row.delivery
        if delivery < 0:
            continue
        assert row.worker == run.received[delivery].worker, f"not its worker: {row}"
        if row.event == Event.STARTED:
            assert delivery not in started, f"for the second time: {row}"
            started.add(delivery)
        elif row.event in ENDS:
            assert delivery in started, f"not started: {row}"
            assert delivery not in ended, f"for the second time: {row}"
            ended[delivery] = row.event
            if row.event == Event.FINISHED and run.scenario.workers.ack_batch == "each":
                following = run.rows[number + 1]
                assert (following.event in ACKS and following.delivery == delivery) or (
                    following.event == Event.WORKER_CRASHED and run.on(At, step="ack")
                ), f"without an ack: {row}"
        elif row.event in ACKS:
            assert delivery not in said, f"for the second time: {row}"
            assert ended.get(delivery) == Event.FINISHED or (
                row.event == Event.ACK_LOST and ended.get(delivery) == Event.FAILED
            ), f"not finished: {row}"
            said.add(delivery)
        elif row.event == Event.EFFECT:
            assert delivery in started, f"not started: {row}"
            assert (delivery, row.value) not in effects, f"for the second time: {row}"
            effects.add((delivery, row.value))


def capacity(run: Run) -> None:
    """No worker runs more than its slots, nor holds more than its prefetch or its batch."""
    team = run.scenario.workers
    most = team.prefetch or team.batch or (float("inf") if team.throttled else team.concurrency)
    workers = crew(run)
    for row in run.rows:
        if row.worker < 0:
            continue
        worker = workers[row.worker]
        if row.event == Event.RECEIVED and team.batch is not None:
            others = [other for other in worker.held.values() if other.time != row.time]
            assert not others, f"a batch is not done: {row}"
        worker.see(row)
        assert len(worker.running) <= team.concurrency, f"{worker.running} run: {row}"
        if not team.throttled:
            lost_on_its_way = row.event == Event.RECEIVED and run.on(sq.Network, delivery_lost=True)
            assert len(worker.held) <= most + lost_on_its_way, f"{list(worker.held)} held: {row}"


def standing_still(run: Run) -> None:
    """The dead and the paused do nothing; the cut off and the draining get nothing new."""
    workers = crew(run)
    active = {*PROGRESS, Event.STARTED}
    if run.scenario.payments.capacity is None:
        active.add(Event.EFFECT)  # else what was sent before may be served now
    for row in run.rows:
        if row.worker < 0:
            continue
        worker = workers[row.worker]
        if row.event in active or row.event == Event.RECEIVED:
            assert worker.alive, f"the worker is dead: {row}"
        if row.event in active and row.event != Event.STARTED:
            assert row.time >= worker.paused_until, f"the worker is paused: {row}"
        if row.event == Event.RECEIVED:
            assert worker.takes_messages(row.time), f"the worker takes none, {worker}: {row}"
        if row.event in ARRIVING_ACKS or row.event == Event.EXTENDED:
            assert row.time >= worker.cut_off_until, f"the worker is cut off: {row}"
        worker.see(row)


def nobody_idles(run: Run) -> None:
    """At the end of each instant, no worker is free to take a message that is there to be taken."""
    team, ordering = run.scenario.workers, run.settings.ordering
    groups = {"unordered": 0, "fifo": 1, "group": run.scenario.groups}[ordering]
    workers = crew(run)
    visible: Counter[int] = Counter()
    out: Counter[int] = Counter()
    returned: dict[int, set[int]] = defaultdict(set)

    def is_free(worker: Process) -> bool:
        if team.throttled:
            return True
        if team.batch is not None:
            return not worker.held
        return len(worker.held) < (team.prefetch or team.concurrency)

    for time, rows in run.instants:
        for row in rows:
            group = row.job % groups if groups else 0
            moved = MOVES.get(row.event)
            if row.event == Event.PUBLISHED:
                moved = ("", STATES[int(row.value)])
            elif row.event in SETTLED:
                moved = (STATES[int(row.value)], "")
            before, after = moved or ("", "")
            visible[group] += (after == "visible") - (before == "visible")
            out[group] += (after == "in flight") - (before == "in flight")
            if row.event in (Event.EXPIRED, Event.NACKED):
                returned[group].add(row.job)
            elif row.event == Event.VISIBLE or row.event in SETTLED:
                returned[group].discard(row.job)
            if row.worker > 0:
                workers[row.worker].see(row)
        there = [
            group
            for group, count in visible.items()
            if count and not (groups and (out[group] or returned[group]))
        ]
        free = [n for n, w in workers.items() if w.takes_messages(time) and is_free(w)]
        assert not (there and free), f"at {time / 1e6} s workers {free} idle beside {dict(visible)}"


def nothing_of_what_is_off(run: Run) -> None:
    """A fault that is off never occurs, and a knob that is off leaves no trace."""
    broker, team, settings = run.scenario.broker, run.scenario.workers, run.settings
    name = handler_name(run)
    limited = settings.max_attempts is not None
    kills = run.on(sq.Crash) or run.on(sq.Deploy) or run.on(At, what="crash")
    pauses = run.on(sq.Pause) or run.on(At, what="pause")
    hangs_up = settings.on_disconnect != "wait" and (kills or run.on(sq.Partition))
    may = {
        Event.CRASHED: kills,
        Event.WORKER_CRASHED: kills,
        Event.WORKER_RESTARTED: kills,
        Event.WORKER_PAUSED: pauses,
        Event.WORKER_RESUMED: pauses,
        Event.WORKER_DRAINING: run.on(sq.Deploy),
        Event.WORKER_PARTITIONED: run.on(sq.Partition),
        Event.ACK_LOST: run.on(sq.Network, ack_lost=True)
        or run.on(sq.Partition)
        or run.on(At, what="ack lost")
        or run.on(At, step="ack"),
        Event.DELIVERY_LOST: run.on(sq.Network, delivery_lost=True),
        Event.RESPONSE_LOST: run.on(sq.Network, response_lost=True)
        or run.on(At, what="response lost")
        or run.scenario.payments.timeout is not None,
        Event.PUBLISH_RESPONSE_LOST: run.on(sq.Network, publish_response_lost=True),
        Event.UNAVAILABLE: run.on(sq.Outage),
        Event.EXPIRED: settings.lease is not None,
        Event.EXTENDED: settings.lease is not None
        and (settings.renew_every is not None or name == "extending"),
        Event.ACK_REFUSED: broker.late_ack == "unexpired",
        Event.ACK_IGNORED: broker.late_ack != "unexpired",
        Event.NACKED: settings.retry is not None
        or name == "failing"
        or hangs_up
        or run.on(sq.Deploy, push_back=True),
        Event.DEAD_LETTERED: limited and settings.exhausted == "dead_letter",
        Event.LOST: (limited and settings.exhausted == "drop")
        or (settings.on_disconnect == "lose" and hangs_up),
        Event.MESSAGE_EXPIRED: settings.retention is not None,
        Event.DEDUPLICATED: settings.dedupe_window is not None,
        Event.REDRIVEN: run.on(Redrive),
        Event.CLAIMED: name in ("claim", "reclaim", "reclaim_with_key", "insert_only")
        or name == "email_after_done",
    }
    waits = team.prefetch or team.batch
    published: Counter[int] = Counter()
    for row in run.rows:
        assert may.get(row.event, True), f"{EVENT_NAMES[row.event]} is off: {row}"
        if row.event == Event.PUBLISHED:
            published[row.job] += 1
            delayed = STATES[int(row.value)] == "delayed"
            assert not delayed or settings.delay, f"delays are off: {row}"
        elif row.event == Event.STARTED and not waits:
            assert row.time == run.received[row.delivery].time, f"buffers are off: {row}"
    if not settings.own_duplicates and not run.on(sq.Network, publish_response_lost=True):
        assert max(published.values(), default=1) == 1, "a job was published twice"


def promises(run: Run) -> None:
    """What a strategy promises in any weather: one effect at most."""
    store, payments = run.scenario.store, run.scenario.payments
    rows_stay = store.ttl is None
    keys_stay = payments.key_retention is None or payments.key_retention > run.result.duration
    once = {
        "claim": rows_stay and store.sweep_after is None,
        "insert_only": rows_stay,
        "one_transaction": True,
        "outbox": run.scenario.database.relay_uses_key,
        "reclaim_with_key": keys_stay,
        "email_after_done": keys_stay,
    }
    if once.get(handler_name(run)):
        effects = Counter(
            row.job for row in run.rows if row.event == Event.EFFECT and run.word(row) == "charge"
        )
        twice = {job: count for job, count in effects.items() if count > 1}
        assert not twice, f"charged twice: {twice}"


LAWS = (
    deliveries,
    capacity,
    standing_still,
    nobody_idles,
    nothing_of_what_is_off,
    promises,
)
