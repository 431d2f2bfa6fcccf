"""What must be true of the messages of every run: each law a function of a `Run`."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from reenactment import (
    MOVES,
    NEVER,
    SETTLED,
    STATES,
    Row,
    Run,
    Told,
    handler_name,
    microseconds,
    retell,
)

from simqueue.model.ledger import Event


def conservation(run: Run) -> None:
    """Every published message is in one state, at every row, for all jobs and for each of them."""
    everywhere: dict[int, Counter[str]] = defaultdict(Counter)
    published: Counter[int] = Counter()
    for row in run.rows:
        here = everywhere[row.job]
        if row.event == Event.PUBLISHED:
            published[row.job] += 1
            here[STATES[int(row.value)]] += 1
        elif row.event in SETTLED or row.event in MOVES:
            before, after = MOVES.get(row.event) or (STATES[int(row.value)], SETTLED[row.event])
            here[before] -= 1
            here[after] += 1
            assert here[before] >= 0, f"no message of the job was {before}: {row}"
        assert sum(here.values()) == published[row.job], row


def one_state_after_another(run: Run) -> None:
    """Each message goes only from the state in which it is, by its holder, to one it may reach."""
    for row, message in retell(run):
        if message is None or row.event in (Event.PUBLISHED, Event.DEDUPLICATED):
            continue
        if row.event in MOVES:
            assert message.state == MOVES[row.event][0], f"it was {message.state}: {row}"
        if row.event in (Event.EXPIRED, Event.NACKED, Event.EXTENDED):
            assert message.holder == row.delivery, f"{message.holder} had it: {row}"
        if row.event in SETTLED:
            assert message.state == STATES[int(row.value)], f"it was {message.state}: {row}"
            assert message.state in STATES[:3], f"settled twice: {row}"


def visible_on_time(run: Run) -> None:
    """What is delayed or was given back is visible at its very time, and what expired at once."""
    due: dict[int, float] = {}
    for row, message in retell(run):
        if message is None:
            continue
        overdue = [job for job, time in due.items() if time < row.time]
        assert not overdue, f"jobs {overdue} should have been visible before {row}"
        if row.event == Event.VISIBLE:
            assert row.time == message.visible_at, f"due at {message.visible_at}: {row}"
        if row.event in (Event.VISIBLE, *SETTLED):
            due.pop(row.job, None)
        elif row.event == Event.NACKED:
            due[row.job] = row.value
        elif row.event == Event.EXPIRED:
            due[row.job] = row.time
        elif row.event == Event.PUBLISHED and STATES[int(row.value)] == "delayed":
            due[row.job] = row.time + microseconds(run.settings.delay)
    overdue = [job for job, time in due.items() if time < run.end]
    assert not overdue, f"jobs {overdue} were never visible"


def late_acks(run: Run) -> None:
    """What an ack does follows from who holds the message, and from the broker's rule."""
    rule = type(run.settings.late_ack).__name__
    for row, message in retell(run):
        if row.event not in (Event.ACKED, Event.ACK_IGNORED, Event.ACK_REFUSED) or message is None:
            continue
        accepted = message.state in STATES[:3] and (
            message.holder == row.delivery
            or rule == "Deletes"
            or (rule == "InFlightOnly" and message.state == "in flight")
            or (rule == "LatestReceipt" and message.latest == row.delivery)
        )
        refusal = Event.ACK_REFUSED if rule == "Unexpired" else Event.ACK_IGNORED
        assert row.event == (Event.ACKED if accepted else refusal), f"{message}: {row}"


def attempts(run: Run) -> None:
    """Deliveries of a message are its attempts 1, 2, 3, …; never more than its limit allows."""
    settings, counted = run.settings, run.settings.counts
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    used: Counter[int] = Counter()
    redriven: Counter[int] = Counter()
    limit = NEVER if settings.max_attempts is None else settings.max_attempts
    for row in run.rows:
        single = row.job in run.single
        if row.event == Event.RECEIVED:
            attempt, numbers = run.attempts[row.delivery], seen[row.job]
            assert attempt == 1 or numbers[attempt - 1] > numbers[attempt], f"{attempt}: {row}"
            numbers[attempt] += 1
            assert not single or used[row.job] < limit, f"after {used[row.job]} attempts: {row}"
            most = limit * (1 + redriven[row.job])
            assert "receive" not in counted or attempt <= most, f"attempt {attempt}: {row}"
            used[row.job] += "receive" in counted
            assert not single or numbers[attempt] == 1, f"attempt {attempt} twice: {row}"
        elif row.event == Event.EXPIRED:
            used[row.job] += "expiry" in counted
        elif row.event == Event.REDRIVEN:
            used[row.job] = 0
            redriven[row.job] += 1
        elif row.event == Event.DEAD_LETTERED and counted == {"receive"} and single:
            assert used[row.job] == limit, f"after {used[row.job]} attempts: {row}"


def ties(run: Run) -> None:
    """At one instant, an ack comes before an expiry, and an expiry before a receive.

    Only what a receive of that very instant has started may ack after it: the receive itself, or
    the last one of a batch, all of which is acked then, or a transaction that another waited for.
    """
    waits_for_others = handler_name(run) in ("one_transaction", "outbox")
    for _time, rows in run.instants:
        expired: set[int] = set()
        received: set[int] = set()
        begun: set[int] = set()
        for row in rows:
            if row.event == Event.EXPIRED:
                assert not received, f"a receive came before: {row}"
                expired.add(row.delivery)
            elif row.event == Event.RECEIVED:
                received.add(row.delivery)
            elif row.event == Event.STARTED:
                begun.add(row.worker)
            elif row.event in (Event.ACKED, Event.ACK_IGNORED, Event.ACK_REFUSED):
                assert row.delivery not in expired, f"its expiry came before: {row}"
                causal = waits_for_others or row.worker in begun
                assert causal or not received, f"a receive came before: {row}"


def leases(run: Run) -> None:
    """No lease ends early, or later than the broker's look at it; none that was acked ends."""
    settings = run.settings
    noticed: dict[float, int] = Counter()
    watched: dict[int, float] = {}
    ends: dict[int, float] = {}
    for row, message in retell(run):
        if row.event == Event.RECEIVED:
            ends[row.delivery] = row.value
        elif row.event == Event.STARTED and settings.lease_from == "start" and settings.lease:
            ends[row.delivery] = row.time + microseconds(settings.lease)
        elif row.event == Event.EXTENDED:
            asked_for = {settings.lease, 10 if handler_name(run) == "extending" else None}
            assert (row.value - row.time) / 1e6 in asked_for, f"not what was asked for: {row}"
            ends[row.delivery] = row.value
        if _begins_a_lease(run, row):
            watched[row.delivery] = row.time
        if row.event == Event.EXPIRED:
            noticed[row.time] += 1
            first, last = _look_at(run, ends[row.delivery], watched[row.delivery])
            assert first <= row.time, f"the lease ends at {ends[row.delivery] / 1e6}: {row}"
            assert row.time <= last, f"it should have been noticed at {last / 1e6}: {row}"
        if message is not None and message.state == "in flight":
            due = _look_at(run, message.lease_ends, watched[message.holder])[1]
            assert row.time <= due, f"the lease of {message.holder} ended at {due / 1e6}: {row}"
    assert all(count <= settings.sweep_batch for count in noticed.values())


def dedupe(run: Run) -> None:
    """A publish is swallowed if one of its job came less than a window before, and only then."""
    settings = run.settings
    window = microseconds(settings.dedupe_window or 0)
    until: dict[int, float] = {}
    stored: dict[int, float] = {}
    for row, following in pairwise([*run.rows, Row(NEVER, 0, -1, -1, -1, 0)]):
        if row.event == Event.PUBLISHED:
            known = row.time < until.get(row.job, 0)
            swallowed = following.event == Event.DEDUPLICATED and following.job == row.job
            own_copy = settings.own_duplicates and not swallowed and stored.get(row.job) == row.time
            assert swallowed == known or own_copy, f"its window ends at {until.get(row.job)}: {row}"
            if not known or settings.dedupe_refreshes:
                until[row.job] = row.time + window
            if not swallowed:
                stored[row.job] = row.time


def _begins_a_lease(run: Run, row: Row) -> bool:
    from_start = run.settings.lease_from == "start"
    return row.event in (Event.RECEIVED, Event.EXTENDED) or (
        row.event == Event.STARTED and from_start
    )


def _look_at(run: Run, ends: float, watched: float) -> tuple[float, float]:
    """The first and the last moment at which the end of a lease may be noticed."""
    settings = run.settings
    if settings.sweep_period is None or ends == NEVER:
        return ends, ends
    period, phase = microseconds(settings.sweep_period), microseconds(settings.sweep_phase)

    def look(time: float) -> float:
        return max(phase, phase + -(-(time - phase) // period) * period)

    if settings.two_passes:
        marked_at, at_the_latest = look(watched), look(watched + 1)
        return max(look(ends), marked_at + period), max(look(ends), at_the_latest + period)
    first = look(ends)
    return first, first if settings.sweep_batch == NEVER else NEVER


def all_leases_end(run: Run) -> None:
    """When the run is over, nobody holds a message whose lease ran out before."""
    told: dict[int, Told] = {}
    watched: dict[int, float] = {}
    for row, message in retell(run):
        if _begins_a_lease(run, row):
            watched[row.delivery] = row.time
        if message is not None:
            told[row.job] = message
    for job, message in told.items():
        if message.state == "in flight":
            due = _look_at(run, message.lease_ends, watched[message.holder])[1]
            assert due >= run.end or due == NEVER, f"job {job} was due at {due / 1e6}"


def order(run: Run) -> None:
    """First deliveries go by age; in a group, no job while another of it is out."""
    ordering = run.settings.ordering
    groups = run.scenario.groups if ordering == "group" else 1
    youngest: dict[int, int] = {}
    flying: Counter[int] = Counter()
    away: dict[int, int] = {}
    for row, message in retell(run):
        group = row.job % groups
        if row.event == Event.RECEIVED:
            if ordering != "unordered":
                assert not flying[group], f"another of the group is in flight: {row}"
                assert group not in away.values(), f"one of the group is to come back: {row}"
            if message is not None and run.attempts[row.delivery] == 1:
                assert row.job > youngest.get(group, -1), f"{youngest[group]} was before: {row}"
                youngest[group] = row.job
            flying[group] += 1
        elif row.event in (Event.EXPIRED, Event.NACKED):
            flying[group] -= 1
            if message is not None:
                away[row.job] = group
        elif row.event == Event.VISIBLE or row.event in SETTLED:
            flying[group] -= row.event in SETTLED and STATES[int(row.value)] == "in flight"
            away.pop(row.job, None)


LAWS = (
    conservation,
    one_state_after_another,
    visible_on_time,
    late_acks,
    attempts,
    ties,
    leases,
    all_leases_end,
    order,
    dedupe,
)
