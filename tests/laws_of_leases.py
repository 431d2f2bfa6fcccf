"""What must be true of the leases of every run: each law a function of a `Run`."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict

from reenactment import ENDS, NEVER, Row, Run, Told, handler_name, microseconds, retell

import simqueue as sq
from simqueue.model.ledger import Event

BEGINS = (Event.RECEIVED, Event.EXTENDED, Event.LEASE_STARTED)


class Looks:
    """When the broker of a run notices that leases have run out: at once, or when it looks."""

    def __init__(self, run: Run) -> None:
        settings = run.settings
        self._two_passes = settings.two_passes
        self._some_wait = settings.sweep_batch != NEVER
        self._times: list[float] | None = None
        stopped = [f.window for f in run.faults if isinstance(f, sq.RescuerDown)]
        if settings.sweep_period is not None:
            period, phase = microseconds(settings.sweep_period), microseconds(settings.sweep_phase)
            count = int(max(run.end - phase, 0) // period) + 2
            self._times = [phase + place * period for place in range(count)]
        elif settings.sweep_at_boot is not None:
            self._times = self._at_boots(run, stopped)
        if self._times is not None:
            self._times = [t for t in self._times if not any(a <= t / 1e6 < b for a, b in stopped)]

    def _at_boots(self, run: Run, stopped: list[tuple[float, float]]) -> list[float]:
        looks, latest = [], 0.0
        spacing = microseconds(run.settings.sweep_at_boot)
        for row in run.rows:
            down = any(start <= row.time / 1e6 < end for start, end in stopped)
            boots = row.event == Event.WORKER_RESTARTED and not down
            if boots and row.time - latest >= spacing:
                looks.append(row.time)
                latest = row.time
        return looks

    def first(self, time: float) -> float:
        """The first look at or after `time`; infinity where there is none in this run."""
        if self._times is None or time == NEVER:
            return time
        place = bisect_left(self._times, time)
        return self._times[place] if place < len(self._times) else NEVER

    def window(self, ends: float, watched: float) -> tuple[float, float]:
        """The first and the last moment at which the end of a lease may be noticed.

        `watched` is when the lease was begun, or extended. A look at that very instant may have
        come before it.
        """
        if self._times is None or ends == NEVER:
            return ends, ends
        if self._two_passes:
            marked, at_the_latest = self.first(watched), self.first(watched + 1)
            earliest = max(self.first(ends), self.first(marked + 1))
            return earliest, max(self.first(ends), self.first(at_the_latest + 1))
        return self.first(ends), NEVER if self._some_wait else self.first(max(ends, watched + 1))


def leases(run: Run) -> None:
    """No lease ends early, or later than the broker's look at it; none that was acked ends."""
    settings, looks = run.settings, Looks(run)
    noticed: Counter[float] = Counter()
    watched: dict[int, float] = {}
    ends: dict[int, float] = {}
    gives_up = settings.on_expiry == "dead_letter" and settings.on_failure != "dead_letter"
    for row, message in retell(run):
        if row.event in BEGINS:
            ends[row.delivery], watched[row.delivery] = row.value, row.time
        elif row.event == Event.STARTED and settings.ack_on_start:
            is_held = message is None or message.holder == row.delivery
            ends[row.delivery] = NEVER if is_held else ends[row.delivery]
        noticed_now = -1
        given_up = row.event in (Event.DEAD_LETTERED, Event.LOST) and row.delivery < 0
        if row.event == Event.EXPIRED:
            noticed_now = row.delivery
        elif given_up and gives_up and message is not None and message.state == "in flight":
            noticed_now = message.holder or 0
        if noticed_now >= 0:
            noticed[row.time] += 1
            first, last = looks.window(ends[noticed_now], watched[noticed_now])
            assert first <= row.time, f"the lease ends at {ends[noticed_now] / 1e6}: {row}"
            assert row.time <= last, f"it should have been noticed at {last / 1e6}: {row}"
        if message is not None and message.state == "in flight":
            due = looks.window(message.lease_ends, watched[message.holder])[1]
            assert row.time <= due, f"the lease of {message.holder} ended at {due / 1e6}: {row}"
    assert all(count <= settings.sweep_batch for count in noticed.values())


def all_leases_end(run: Run) -> None:
    """When the run is over, nobody holds a message whose lease ran out before."""
    looks = Looks(run)
    told: dict[int, Told] = {}
    watched: dict[int, float] = {}
    for row, message in retell(run):
        if row.event in BEGINS:
            watched[row.delivery] = row.time
        if message is not None:
            told[row.job] = message
    for job, message in told.items():
        if message.state == "in flight":
            due = looks.window(message.lease_ends, watched[message.holder])[1]
            assert due >= run.end, f"job {job} was due at {due / 1e6}"


def lengths(run: Run) -> None:
    """A lease lasts as long as the broker says, from where it says, and no longer than its cap."""
    settings = run.settings
    lease = NEVER if settings.lease is None else microseconds(settings.lease)
    cap = NEVER if settings.lease_cap is None else microseconds(settings.lease_cap)
    of_process, from_start = settings.renew_what == "process", settings.lease_from == "start"
    at_start = from_start and not of_process and not settings.ack_on_start
    for place, (row, message) in enumerate(retell(run), start=1):
        if row.event == Event.RECEIVED:
            assert row.value == (NEVER if from_start else row.time + lease), f"not its end: {row}"
        elif row.event == Event.EXTENDED:
            asked_for = {lease, 10e6 if handler_name(run) == "extending" else lease}
            assert row.value - row.time in asked_for, f"not what was asked for: {row}"
            assert row.value - run.received[row.delivery].time <= cap, f"above the cap: {row}"
        elif row.event == Event.LEASE_STARTED and not of_process:
            assert row.value == row.time + lease, f"not its end: {row}"
            assert at_start, f"it had started before: {row}"
        elif row.event == Event.STARTED and at_start and lease < NEVER and message is not None:
            following = [*run.rows[place : place + 1], run.nothing][0]
            begins = following.event == Event.LEASE_STARTED and following.delivery == row.delivery
            assert begins == (message.holder == row.delivery), f"without a lease: {row}"


def heartbeats_of_processes(run: Run) -> None:
    """A process beats at its own times, and what it takes has what is left since the last beat."""
    settings = run.settings
    if settings.renew_what != "process" or settings.lease is None:
        return
    lease, every = microseconds(settings.lease), microseconds(settings.renew_every)
    first = microseconds(settings.first_heartbeat)
    booted: dict[int, float] = defaultdict(float)
    paused: dict[int, float] = defaultdict(lambda: -1.0)
    for row in run.rows:
        if row.event == Event.WORKER_RESTARTED:
            booted[row.worker] = row.time
        elif row.event == Event.WORKER_PAUSED:
            paused[row.worker] = row.value
        since = row.time - booted[row.worker] - first
        if row.event == Event.EXTENDED and handler_name(run) != "extending":
            beats = since >= 0 and since % every < 1
            assert beats or row.time == paused[row.worker], f"no heartbeat is due: {row}"
        elif row.event == Event.LEASE_STARTED:
            left = 0.0 if since < 0 else max(lease - since % every, 0)
            assert abs(row.value - row.time - left) <= 1, f"it has {left / 1e6} s left: {row}"


def renewals(run: Run) -> None:
    """A process in good health renews what it runs, or holds, at each time, for as long as it may.

    Where renewals may be late or lost, at which moments they come is not looked at.
    """
    settings = run.settings
    disturbed = (sq.Pause, sq.Partition, sq.faults.At, sq.Deploy)
    if (
        settings.renew_every is None
        or settings.lease is None
        or settings.renew_what == "process"
        or settings.lease_cap is not None
        or settings.on_expiry == "close"
        or run.scenario.workers.ack_batch == "whole"
        or any(isinstance(fault, disturbed) for fault in run.faults)
        or handler_name(run) == "extending"
    ):
        return
    every, limit = microseconds(settings.renew_every), microseconds(settings.renew_for)
    held = settings.renew_what == "held" and not run.scenario.workers.throttled
    begins = Event.RECEIVED if held else Event.STARTED
    begun: dict[int, float] = {}
    started: dict[int, float] = {}
    latest: dict[int, float] = {}
    shortest = every * (1 - settings.renew_jitter) - 1
    for row, message in retell(run):
        if message is None:
            continue
        if row.event == begins:
            begun[row.delivery] = row.time
        if row.event == Event.STARTED:
            started[row.delivery] = row.time
        if row.event in (*ENDS, Event.WORKER_CRASHED, Event.DELIVERY_LOST):
            begun.pop(row.delivery, None)
        if row.event == Event.EXTENDED:
            since = row.time - latest.get(row.delivery, begun[row.delivery])
            latest[row.delivery] = row.time
            assert shortest <= since <= every, f"it comes after {since / 1e6} s: {row}"
            since = row.time - started.get(row.delivery, NEVER)
            assert since <= limit, f"it is renewed for too long: {row}"
        elif row.event == Event.EXPIRED and row.delivery in begun:
            due = latest.get(row.delivery, begun[row.delivery]) + every
            ends = run.lease_ends[row.delivery]
            over = due - started.get(row.delivery, due) > limit
            assert due >= ends or over, f"it should have been renewed at {due / 1e6}: {row}"


def closings(run: Run) -> None:
    """What happens to a worker of whose leases one ran out: its connection, or its consumer."""
    settings = run.settings
    word = {"close": Event.CONNECTION_CLOSED, "cancel": Event.CONSUMER_CANCELLED}
    follows = word.get(settings.on_expiry)
    if follows is None:
        return
    alive: dict[int, bool] = defaultdict(lambda: True)
    holders: dict[int, int] = {}
    for _time, rows in run.instants:
        expired: set[int] = set()
        for row in rows:
            if row.event == Event.WORKER_CRASHED:
                alive[row.worker] = False
            elif row.event == Event.WORKER_RESTARTED:
                alive[row.worker] = True
            elif row.event == Event.EXPIRED:
                expired.add(row.worker)
            elif row.event == follows:
                assert row.worker in expired, f"no lease of it has run out: {row}"
                expired.discard(row.worker)
                held = [job for job, worker in holders.items() if worker == row.worker]
                closed = follows == Event.CONNECTION_CLOSED
                assert not (closed and held), f"it still holds jobs {held}: {row}"
            _hold(run, row, holders)
        if follows == Event.CONSUMER_CANCELLED:
            expired = {worker for worker in expired if alive[worker]}
        assert not expired, f"nothing happened to workers {expired} at {rows[0].time / 1e6}"


def _hold(run: Run, row: Row, holders: dict[int, int]) -> None:
    """Note in `holders` which worker holds each job, of those with one message."""
    if row.job not in run.single or run.settings.ack_on_start:
        return
    if row.event == Event.RECEIVED:
        holders[row.job] = row.worker
    elif row.event in (Event.EXPIRED, Event.NACKED) or row.event in run.settling:
        holders.pop(row.job, None)


LAWS = (
    leases,
    all_leases_end,
    lengths,
    heartbeats_of_processes,
    renewals,
    closings,
)
