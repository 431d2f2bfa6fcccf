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

import simqueue as sq
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
    settings = run.settings
    for row, message in retell(run):
        if message is None or row.event in (Event.PUBLISHED, Event.DEDUPLICATED):
            continue
        if row.event in MOVES:
            assert message.state == MOVES[row.event][0], f"it was {message.state}: {row}"
        anybody = row.event == Event.NACKED and settings.late_nack == "releases"
        if row.event in (Event.EXPIRED, Event.EXTENDED, Event.NACKED, Event.LEASE_STARTED):
            assert anybody or message.holder == row.delivery, f"{message.holder} had it: {row}"
        if row.event in SETTLED:
            assert message.state == STATES[int(row.value)], f"it was {message.state}: {row}"
            overruled = row.event == Event.ACKED and settings.late_ack.overrides
            may = (*STATES[:3], "dead-lettered") if overruled else STATES[:3]
            assert message.state in may, f"settled twice: {row}"


def visible_on_time(run: Run) -> None:
    """What is delayed or was given back is visible at its very time, and what expired at once.

    Where somebody has to look, it is visible at the first look; where what expired waits as well,
    after its delay.
    """
    due: dict[int, tuple[float, float]] = {}
    for row, message in retell(run):
        if message is None:
            continue
        overdue = [job for job, (_, last) in due.items() if last < row.time]
        assert not overdue, f"jobs {overdue} should have been visible before {row}"
        if row.event == Event.VISIBLE:
            first, last = due[row.job]
            assert first <= row.time <= last, f"due at {first / 1e6} to {last / 1e6}: {row}"
        if row.event in (Event.VISIBLE, *SETTLED):
            due.pop(row.job, None)
        elif row.event == Event.NACKED:
            due[row.job] = row.value, row.value
        elif row.event == Event.EXPIRED:
            due[row.job] = _after_expiry(run, row)
        elif row.event == Event.PUBLISHED and STATES[int(row.value)] == "delayed":
            due[row.job] = _looked_for(run, run.visible_at(row), run.visible_at(row))
    overdue = [job for job, (_, last) in due.items() if last < run.end]
    assert not overdue, f"jobs {overdue} were never visible"


def _after_expiry(run: Run, row: Row) -> tuple[float, float]:
    retry = run.settings.retry
    if retry is None or "expiry" not in run.settings.retry_on:
        return row.time, row.time
    if isinstance(retry, sq.backoff.Constant):
        at = row.time + microseconds(retry.seconds)
        return (at, at) if at == row.time else _looked_for(run, at, at)
    longest = microseconds(getattr(retry, "cap", NEVER))
    return _looked_for(run, row.time, row.time + longest)


def _looked_for(run: Run, first: float, last: float) -> tuple[float, float]:
    """When what is hidden until some time from `first` to `last` is seen by a poller."""
    every = run.settings.poll_delayed
    if every is None or last == NEVER:
        return first, last
    period = microseconds(every)
    if not run.settings.poll_jitter:
        return -(-first // period) * period, -(-last // period) * period
    return first, last + period * (1 + run.settings.poll_jitter) + 1


def polls(run: Run) -> None:
    """Pollers look at their intervals: what they find at two looks is so far apart, or more."""
    settings = run.settings
    if settings.poll_delayed is None:
        return
    shortest = microseconds(settings.poll_delayed) * (1 - settings.poll_jitter) - 1
    looks = set()
    told = {}
    for row, message in retell(run):
        if message is None:
            continue
        if row.event == Event.VISIBLE and row.time > told.get(row.job, row.time):
            looks.add(row.time)
        if row.event in (Event.EXPIRED, Event.NACKED, Event.PUBLISHED):
            told[row.job] = row.time
    for one, other in pairwise(sorted(looks)):
        assert other - one >= shortest, f"looks at {one / 1e6} and {other / 1e6}"


def late_acks(run: Run) -> None:
    """What an ack does follows from who holds the message, and from the broker's rule."""
    settings = run.settings
    rule = type(settings.late_ack).__name__
    refusal = Event.ACK_REFUSED if rule in TELLING else Event.ACK_IGNORED
    for row, message in retell(run):
        if row.event not in (Event.ACKED, Event.ACK_IGNORED, Event.ACK_REFUSED) or message is None:
            continue
        in_time = message.holder == row.delivery and (
            rule != "Unexpired" or message.lease_ends >= row.time
        )
        accepted = in_time or (message.state == "dead-lettered" and rule == "Overrides")
        if message.state in STATES[:3]:
            accepted |= rule in ("Deletes", "Overrides")
            accepted |= rule == "InFlightOnly" and message.state == "in flight"
            accepted |= rule in ("LatestReceipt", "LatestOrRefused") and (
                message.latest == row.delivery
            )
        assert row.event == (Event.ACKED if accepted else refusal), f"{message}: {row}"


TELLING = ("Refused", "Unexpired", "LatestOrRefused")
"""The rules by which a worker hears that its ack was refused."""


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
                own = row.delivery in received  # taken by a process that looks dead
                assert own or not received, f"a receive came before: {row}"
                expired.add(row.delivery)
            elif row.event == Event.RECEIVED:
                received.add(row.delivery)
            elif row.event == Event.STARTED:
                begun.add(row.worker)
            elif row.event in (Event.ACKED, Event.ACK_IGNORED, Event.ACK_REFUSED):
                assert row.delivery not in expired, f"its expiry came before: {row}"
                causal = waits_for_others or row.worker in begun
                assert causal or not received, f"a receive came before: {row}"


def dedupe(run: Run) -> None:
    """A publish is swallowed while its key is known, and only then.

    A key is known for a window from its publish on; or while a message with it is not settled, and
    for so long after.
    """
    settings = run.settings
    if run.scenario.producers.dedupe_key == "send" and run.on(
        sq.Network, publish_response_lost=True
    ):
        return  # which sends share a key is not in the rows
    window = microseconds(settings.dedupe_window or 0)
    after = -1.0 if settings.dedupe_after is None else microseconds(settings.dedupe_after)
    until: dict[object, float] = {}
    stored: dict[int, float] = {}
    unsettled: Counter[object] = Counter()
    for row, following in pairwise([*run.rows, run.nothing]):
        key = _dedupe_key(run, row)
        if row.event == Event.PUBLISHED:
            known = row.time < until.get(key, 0) or (after >= 0 and unsettled[key] > 0)
            swallowed = following.event == Event.DEDUPLICATED and following.job == row.job
            own_copy = settings.own_duplicates and not swallowed and stored.get(row.job) == row.time
            assert swallowed == known or own_copy, f"its window ends at {until.get(key)}: {row}"
            if window and (not known or settings.dedupe_refreshes):
                until[key] = row.time + window
            if not swallowed:
                stored[row.job] = row.time
                unsettled[key] += 1
        elif after >= 0 and row.event in SETTLED:
            unsettled[key] -= STATES[int(row.value)] != "dead-lettered"
            until[key] = row.time + after
        elif row.event in (Event.REDRIVEN, Event.REPLAYED):
            unsettled[key] += 1


def _dedupe_key(run: Run, row: Row) -> object:
    scenario, what = run.scenario, run.scenario.producers.dedupe_key
    return {
        "job": row.job,
        "customer": row.job % (scenario.customers or scenario.jobs or 1),
        "group": row.job % scenario.groups,
        "all": "all",
        "send": object(),
    }[what]


def retention(run: Run) -> None:
    """A message expires at its age, or a dead letter at its own, and at no other time."""
    settings = run.settings
    kept, kept_dead = settings.retention, settings.dead_letter_retention
    states = set(STATES[:3]) | ({"dead-lettered"} if settings.retention_of_dead else set())
    told: dict[int, Told] = {}
    died: dict[int, float] = {}
    ends: dict[int, float] = {}

    def look(time: float) -> None:
        """What is past its time must be gone."""
        for job, message in told.items():
            late = time > ends.get(job, NEVER) and message.state in states
            assert not late or job in too_old, f"job {job} should have expired at {ends[job] / 1e6}"
            late = time > died.get(job, NEVER) and message.state == "dead-lettered"
            assert not late, f"dead job {job} should have expired at {died[job] / 1e6}"

    too_old: set[int] = set()
    now = 0.0
    for row, message in retell(run):
        if row.time > now:
            look(row.time)
            now = row.time
        if message is None:
            continue
        told[row.job] = message
        if row.event == Event.PUBLISHED and kept is not None and not message.state:
            ends[row.job] = row.time + microseconds(kept)
        elif row.event == Event.DEAD_LETTERED and kept_dead is not None:
            died[row.job] = row.time + microseconds(kept_dead)
        elif row.event == Event.REDRIVEN:
            died.pop(row.job, None)
            if row.time >= ends.get(row.job, NEVER):
                too_old.add(row.job)  # its age was looked at while it was dead
        elif row.event == Event.MESSAGE_EXPIRED:
            assert row.time == ends[row.job], f"its time is {ends[row.job] / 1e6}: {row}"
        elif row.event == Event.DEAD_LETTER_EXPIRED:
            of_age = settings.retention_of_dead and row.time == ends.get(row.job)
            assert of_age or row.time == died.get(row.job), f"its time has not come: {row}"
    look(run.end)


LAWS = (
    conservation,
    one_state_after_another,
    visible_on_time,
    polls,
    late_acks,
    ties,
    dedupe,
    retention,
)
