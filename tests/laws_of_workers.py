"""What must be true of the workers of every run: each law a function of a `Run`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from reenactment import (
    ACKS,
    ENDS,
    MOVES,
    NEVER,
    SETTLED,
    STATES,
    Row,
    Run,
    microseconds,
    retell,
)

import simqueue as sq
from simqueue.faults import At
from simqueue.model.ledger import Event

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
    cancelled_until: float = 0
    resubscribes_after: float = NEVER
    connects_anew: bool = False
    mended: list[float] = field(default_factory=list)
    held: dict[int, Row] = field(default_factory=dict)
    kept: dict[int, float] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)

    def see(self, row: Row) -> None:
        """Take note of `row`, which is about this worker."""
        event, number = row.event, row.delivery
        self.reconnect(row.time)
        if event == Event.RECEIVED:
            self.held[number] = row
        elif event == Event.STARTED:
            self.running.add(number)
            self.kept.pop(number, None)
        elif event == Event.HELD_UNTIL_DUE:
            self.held.pop(number, None)
            self.kept[number] = row.value
        elif event == Event.CONNECTION_CLOSED:
            self._forget_what_waits(row.time)
        elif event == Event.CONSUMER_CANCELLED:
            again = row.time + self.resubscribes_after
            self.cancelled_until = max(self.cancelled_until, again)
        elif event in ENDS or event == Event.DELIVERY_LOST:
            self.held.pop(number, None)
            self.running.discard(number)
        elif event == Event.WORKER_CRASHED:
            self.alive, self.draining, self.paused_until = False, False, 0
            self.cancelled_until = 0
            self.held.clear()
            self.kept.clear()
            self.running.clear()
        elif event == Event.WORKER_RESTARTED:
            self.alive = True
        elif event == Event.WORKER_PAUSED:
            self.paused_until = row.value
        elif event == Event.WORKER_DRAINING:
            self.draining = True
        elif event == Event.WORKER_PARTITIONED:
            self.cut_off_until = max(self.cut_off_until, row.value)
            self.mended.append(row.value)

    def reconnect(self, now: float) -> None:
        """What waited is gone where the connection was made anew by `now`."""
        if self.connects_anew and any(time <= now for time in self.mended):
            self._forget_what_waits(now)
        self.mended = [time for time in self.mended if time > now]

    def _forget_what_waits(self, now: float) -> None:
        self.held = {n: held for n, held in self.held.items() if n in self.running}
        self.kept = {n: due for n, due in self.kept.items() if due > now}

    def takes_messages(self, now: float) -> bool:
        """Whether the process is there, at work, and in touch with the broker."""
        at_work = self.alive and not self.draining and now >= self.paused_until
        return at_work and now >= max(self.cut_off_until, self.cancelled_until)


def crew(run: Run) -> dict[int, Process]:
    """All workers of the run, as they are before it begins."""
    after = run.settings.resubscribe_after
    again = NEVER if after is None else microseconds(after)
    numbers = range(1, run.scenario.workers.count + 1)
    anew = run.settings.on_disconnect == "requeue"
    return {n: Process(resubscribes_after=again, connects_anew=anew) for n in numbers}


def deliveries(run: Run) -> None:
    """Each delivery starts, ends and is acked at most once, in this order, by its own worker."""
    started: set[int] = set()
    ended: dict[int, int] = {}
    said: set[int] = set()
    acks: set[int] = set()
    settings = run.settings
    slot_lost = Event.CRASHED if run.on(sq.Crash, kills="slot") else None
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
            given_up = {Event.FAILED: settings.on_failure, Event.CRASHED: settings.on_slot_lost}
            if given_up.get(row.event) == "ack":
                acks.add(delivery)
            if row.event == Event.FINISHED and run.scenario.workers.ack_batch == "each":
                following = run.rows[number + 1]
                assert (following.event in ACKS and following.delivery == delivery) or (
                    following.event == Event.WORKER_CRASHED and run.on(At, step="ack")
                ), f"without an ack: {row}"
        elif row.event in ACKS:
            assert delivery not in said, f"for the second time: {row}"
            assert (
                ended.get(delivery) == Event.FINISHED
                or delivery in acks
                or (
                    row.event == Event.ACK_LOST and ended.get(delivery) in (Event.FAILED, slot_lost)
                )
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
        worker.reconnect(row.time)
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
        if row.event == Event.EXTENDED or (row.event in ARRIVING_ACKS and not run.acks_early):
            assert row.time >= worker.cut_off_until, f"the worker is cut off: {row}"
        worker.see(row)


def polls_at(run: Run, worker: int, time: float) -> bool:
    """Whether this worker may take messages at this time: always, or at its polls."""
    team = run.scenario.workers
    if team.poll_every is None:
        return True
    phase = microseconds(team.poll_phases[(worker - 1) % len(team.poll_phases)])
    return time >= phase and (time - phase) % microseconds(team.poll_every) == 0


def taking(run: Run) -> None:
    """Messages are taken at polls, by who does not hold them, and no more at once than may be."""
    team, settings = run.scenario.workers, run.settings
    most = NEVER if settings.most_in_flight is None else settings.most_in_flight
    workers = crew(run)
    flying: Counter[str] = Counter()
    for row in run.rows:
        moved = MOVES.get(row.event) or ("", "")
        flying["now"] += (moved[1] == "in flight") - (moved[0] == "in flight")
        flying["now"] -= row.event in SETTLED and STATES[int(row.value)] == "in flight"
        assert flying["now"] <= most, f"{flying['now']} are in flight: {row}"
        if row.event == Event.RECEIVED:
            assert polls_at(run, row.worker, row.time), f"it does not poll: {row}"
            if team.holds_once and row.job in run.single:
                process = workers[row.worker]
                there = process.running if team.throttled else process.held
                held = [run.received[number].job for number in there]
                assert row.job not in held, f"it has it already: {row}"
        if row.worker > 0:
            workers[row.worker].see(row)


def nobody_idles(run: Run) -> None:
    """At the end of each instant, no worker is free to take a message that is there to be taken."""
    team, settings, ordering = run.scenario.workers, run.settings, run.settings.ordering
    groups = {"unordered": 0, "fifo": 1}.get(ordering, run.scenario.groups)
    if team.holds_once or (settings.most_in_flight is not None and run.publishes_again):
        return  # what is there everybody may have, or what is away is not told by the rows
    workers = crew(run)
    visible: Counter[int] = Counter()
    out: Counter[int] = Counter()
    returned: dict[int, set[int]] = defaultdict(set)

    def is_free(worker: Process, time: float) -> bool:
        if team.throttled:
            return True
        if team.batch is not None:
            return not (worker.held or worker.kept or worker.running)
        due = sum(due <= time for due in worker.kept.values())
        return len(worker.held.keys() | worker.running) + due < (team.prefetch or team.concurrency)

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
        most = NEVER if settings.most_in_flight is None else settings.most_in_flight
        if out.total() + sum(map(len, returned.values())) >= most:
            continue
        free = [
            n
            for n, w in workers.items()
            if w.takes_messages(time) and is_free(w, time) and polls_at(run, n, time)
        ]
        assert not (there and free), f"at {time / 1e6} s workers {free} idle beside {dict(visible)}"


def disconnects(run: Run) -> None:
    """What a dead worker had comes back when the broker notices, and not before or after.

    Of a process, that its connection closed; of a machine, or one cut off, that it is silent.
    """
    settings, faults = run.settings, run.scenario.faults
    gives_back = any(getattr(fault, "push_back", False) for fault in faults)
    if settings.on_disconnect != "requeue" or settings.ordering == "replay" or gives_back:
        return
    if settings.on_expiry == "close" or run.scenario.workers.ack_batch == "whole":
        return
    closed, silent = microseconds(settings.disconnect_after), microseconds(settings.silence_after)
    machines = run.on(sq.Crash, kills="machine")
    processes = run.on(sq.Crash, kills="process") or run.on(sq.Deploy) or run.on(At, what="crash")
    noticed = {silent} if not processes else {closed, silent} if machines else {closed}
    due: dict[int, set[float]] = defaultdict(set)
    dead: dict[int, float] = {}
    for row, message in retell(run):
        if row.event == Event.WORKER_CRASHED:
            due[row.worker] |= {row.time + after for after in noticed}
            dead[row.worker] = row.time
        elif row.event == Event.WORKER_PARTITIONED:
            due[row.worker] |= {row.time + silent, row.value}
        elif row.event == Event.NACKED:
            own = run.ended.get(row.delivery) == row.time
            assert own or row.time in due[row.worker], f"its worker is there: {row}"
        if message is None or message.holder is None or settings.ack_on_start:
            continue
        holder = run.received[message.holder]
        died = dead.get(holder.worker, -1.0)
        late = died >= holder.time and row.time > died + max(noticed)
        assert not late, f"its holder died at {died / 1e6}: {row}"


LAWS = (
    deliveries,
    capacity,
    taking,
    standing_still,
    nobody_idles,
    disconnects,
)
