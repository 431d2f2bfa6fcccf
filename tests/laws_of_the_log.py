"""What must be true of every run on a partitioned log: each law a function of a `Run`.

Who has which partition is told again from assignments and reads; what a record's place is, from the
order in which records were published. Records that a retry or a redrive has appended anew are left
out where places matter, and so are jobs with several records.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from reenactment import ENDS, SETTLED, STATES, Run, handler_name, microseconds, retell

import simqueue as sq
from simqueue.faults import At
from simqueue.model.ledger import EVENT_NAMES, Event


def partition_of(run: Run, job: int) -> int:
    """The partition into which this job's records go."""
    by_group = run.settings.partition_by == "group"
    return (job % run.scenario.groups if by_group else job) % run.settings.partitions


def steady(run: Run) -> frozenset[int]:
    """The jobs with one record, which stays at its place."""
    moved = {row.job for row in run.rows if row.event == Event.REDRIVEN}
    if run.settings.on_failure == "retry_topic":
        moved |= {row.job for row in run.rows if row.event in (Event.FAILED, Event.CRASHED)}
    return run.single - moved


def one_owner(run: Run) -> None:
    """A member reads no more partitions than it was assigned, and each partition has one reader."""
    generation = 0
    assigned: dict[int, int] = {}
    dealt_out = 0
    readers: dict[int, int] = {}
    read: dict[int, set[int]] = defaultdict(set)
    for row in run.rows:
        if row.event == Event.REBALANCED:
            generation += 1
            assert row.value == generation, f"after generation {generation - 1}: {row}"
            whole = dealt_out in (0, run.settings.partitions)
            assert whole or run.settings.static_members, (
                f"{dealt_out} partitions were dealt out: {row}"
            )
            dealt_out = 0
            assigned.clear()
            readers.clear()
            read.clear()
        elif row.event == Event.ASSIGNED:
            dealt_out += int(row.value)
            before = 0 if run.settings.static_members else assigned.get(row.worker, 0)
            assigned[row.worker] = before + int(row.value)
            assert sum(assigned.values()) <= run.settings.partitions, f"{assigned}: {row}"
        elif row.event == Event.LEFT_GROUP:
            assigned[row.worker] = 0
            readers = {part: who for part, who in readers.items() if who != row.worker}
        elif row.event == Event.RECEIVED:
            partition = partition_of(run, row.job)
            reader = readers.setdefault(partition, row.worker)
            assert reader == row.worker, f"partition {partition} is read by {reader}: {row}"
            read[row.worker].add(partition)
            most = assigned.get(row.worker, 0)
            assert len(read[row.worker]) <= most, f"it has {most} partitions: {row}"


def in_order(run: Run) -> None:
    """Within a partition records are read in their order, and none is passed over."""
    kept = steady(run)
    if not run.settings.fenced:
        return  # a commit of a former owner's may set the group ahead, or back
    places: dict[int, list[int]] = defaultdict(list)
    states: dict[int, str] = {}
    for row, message in retell(run):
        if message is None or row.job not in kept:
            continue
        partition = partition_of(run, row.job)
        if row.event == Event.PUBLISHED and not message.state:
            places[partition].append(row.job)
        elif row.event == Event.RECEIVED:
            before = places[partition][: places[partition].index(row.job)]
            waiting = [job for job in before if states.get(job) in ("visible", "delayed")]
            assert not waiting, f"jobs {waiting} of the partition come before: {row}"
        moved = _state_after(row, message.state)
        states[row.job] = moved


def _state_after(row: object, state: str) -> str:
    event, value = row.event, row.value  # type: ignore[attr-defined]
    if event in SETTLED:
        return SETTLED[event]
    after = {
        Event.RECEIVED: "in flight",
        Event.NACKED: "delayed",
        Event.VISIBLE: "visible",
        Event.REVOKED: "visible",
        Event.REWOUND: "visible",
        Event.REDRIVEN: "visible",
    }
    if event == Event.PUBLISHED and not state:
        return STATES[int(value)]
    return after.get(event, state)


def commits(run: Run) -> None:
    """What is committed is the beginning of its partition, and it only grows.

    Unless somebody commits who is not the owner, or a record is taken up again that a commit had
    passed before it failed.
    """
    failed = {partition_of(run, row.job) for row in run.rows if row.event == Event.FAILED}
    failed |= {partition_of(run, row.job) for row in run.rows if row.event == Event.CRASHED
               and run.on(sq.Crash, kills="slot")}  # fmt: skip
    if not run.settings.fenced:
        return
    kept = steady(run)
    places: dict[int, list[int]] = defaultdict(list)
    states: dict[int, str] = {}
    for _time, rows in run.instants:
        touched: set[int] = set()
        for row in rows:
            if row.job < 0:
                continue
            partition = partition_of(run, row.job)
            assert row.event != Event.REWOUND or partition in failed, f"nothing has failed: {row}"
            if row.job in kept:
                if row.event == Event.PUBLISHED and row.job not in states:
                    places[partition].append(row.job)
                states[row.job] = _state_after(row, states.get(row.job, ""))
                if row.event == Event.ACKED:
                    touched.add(partition)
        for partition in touched - failed:
            settled = [states[job] not in STATES[:3] for job in places[partition]]
            acked = [states[job] == "acked" for job in places[partition]]
            last = max((place for place, is_acked in enumerate(acked) if is_acked), default=-1)
            open_ones = [places[partition][n] for n in range(last) if not settled[n]]
            assert not open_ones, f"jobs {open_ones} lie below the commit at {rows[0].time / 1e6}"


def leaving(run: Run) -> None:
    """A member leaves only for a reason: silence for a session, a late poll, a deploy."""
    session = microseconds(run.settings.session_timeout)
    interval = microseconds(run.settings.heartbeat_interval)
    silent = (Event.WORKER_CRASHED, Event.WORKER_PAUSED, Event.WORKER_PARTITIONED)
    silences: dict[int, list[float]] = defaultdict(list)
    received: dict[int, float] = {}
    longest = microseconds(run.settings.max_poll_interval)
    for row in run.rows:
        if row.event in silent or row.event == Event.LEFT_GROUP:
            silences[row.worker].append(row.time)
        if row.event == Event.RECEIVED:
            received[row.worker] = row.time
        if row.event != Event.LEFT_GROUP:
            continue
        why = run.word(row)
        if why == "session timed out":
            times = silences[row.worker][:-1]
            if run.settings.static_members:  # one that polls too late says nothing of it
                times.append(received.get(row.worker, -1.0) + longest)
            heard = [time for time in times if session - interval <= row.time - time <= session]
            assert heard, f"silent since {times}: {row}"
        elif why == "did not poll in time":
            assert row.time - received[row.worker] >= longest, f"it polled: {row}"
        elif why == "did not join in time":
            assert row.time >= longest, f"nobody has waited for so long: {row}"
        else:
            assert why == "closed", row
            assert run.on(sq.Deploy), f"nobody closed it: {row}"


def reads(run: Run) -> None:
    """Each delivery starts and ends at most once, by its own worker, after it was received."""
    started: set[int] = set()
    ended: set[int] = set()
    for row in run.rows:
        if row.delivery < 0:
            continue
        assert row.worker == run.received[row.delivery].worker, f"not its worker: {row}"
        if row.event == Event.STARTED:
            assert row.delivery not in started, f"for the second time: {row}"
            started.add(row.delivery)
        elif row.event in ENDS:
            assert row.delivery in started - ended, f"not running: {row}"
            ended.add(row.delivery)
        elif row.event == Event.EFFECT:
            assert row.delivery in started, f"not started: {row}"


def slots(run: Run) -> None:
    """No consumer runs more than it has threads, and the dead run and read nothing."""
    alive: dict[int, bool] = defaultdict(lambda: True)
    running: Counter[int] = Counter()
    for row in run.rows:
        if row.event == Event.WORKER_CRASHED:
            alive[row.worker] = False
        elif row.event == Event.WORKER_RESTARTED:
            alive[row.worker] = True
        elif row.event in (Event.RECEIVED, Event.STARTED, Event.FINISHED, Event.FAILED):
            assert alive[row.worker], f"the worker is dead: {row}"
        running[row.worker] += (row.event == Event.STARTED) - (row.event in ENDS)
        assert running[row.worker] <= run.scenario.workers.concurrency, f"too many run: {row}"


def nothing_of_a_lease_queue(run: Run) -> None:
    """No leases, no acks that come late to a queue, no knob that is off."""
    settings, fails = run.settings, (Event.FAILED, Event.CRASHED)
    failed = any(row.event in fails for row in run.rows)
    gives_up = failed and settings.dead_letter
    may = {
        Event.EXPIRED: False,
        Event.EXTENDED: handler_name(run) == "extending",
        Event.LEASE_STARTED: False,
        Event.ACK_IGNORED: False,
        Event.ACK_REFUSED: settings.fenced,
        Event.DEAD_LETTERED: gives_up,
        Event.SKIPPED: failed and not settings.dead_letter,
        Event.NACKED: failed and settings.on_failure != "skip",
        Event.MESSAGE_EXPIRED: settings.retention is not None,
        Event.DELIVERY_LOST: False,
        Event.HELD_UNTIL_DUE: False,
        Event.CONNECTION_CLOSED: False,
        Event.CONSUMER_CANCELLED: False,
        Event.REPLAYED: False,
        Event.DEAD_LETTER_EXPIRED: False,
        Event.DEDUPLICATED: settings.idempotent_producer
        and run.on(sq.Network, publish_response_lost=True),
        Event.ACK_LOST: run.on(sq.Network, ack_lost=True)
        or run.on(sq.Partition)
        or run.on(At, what="ack lost")
        or run.on(At, step="ack"),
    }
    for row in run.rows:
        assert may.get(row.event, True), f"{EVENT_NAMES[row.event]} is off: {row}"


def retention(run: Run) -> None:
    """A record is deleted at its very age, unless it is done or dead by then."""
    kept = run.settings.retention
    ends: dict[int, float] = {}
    states: dict[int, str] = {}
    for row, message in retell(run):
        if message is None:
            continue
        if row.event == Event.PUBLISHED and not message.state and kept is not None:
            ends[row.job] = row.time + microseconds(kept)
        assert row.event != Event.MESSAGE_EXPIRED or row.time == ends[row.job], (
            f"not its age: {row}"
        )
        states[row.job] = _state_after(row, message.state)
    redriven = {row.job for row in run.rows if row.event == Event.REDRIVEN}
    rewound = {row.job for row in run.rows if row.event == Event.REWOUND}
    late = [job for job, end in ends.items() if end < run.end and states[job] in STATES[:3]]
    assert set(late) <= redriven | rewound, f"jobs {late} should have been deleted"


LAWS = (
    one_owner,
    in_order,
    commits,
    leaving,
    reads,
    slots,
    nothing_of_a_lease_queue,
    retention,
)
