"""What must be true of handlers in every run: each law a function of a `Run`."""

from __future__ import annotations

from collections import Counter

from reenactment import ACKS, ENDS, Run, handler_name, microseconds, retell

import simqueue as sq
from simqueue.faults import At
from simqueue.model.ledger import Event


def time_limits(run: Run) -> None:
    """No handler runs for longer than its process allows, but while that stands still."""
    limit = run.scenario.workers.time_limit
    if handler_name(run) in ("lock", "return_if_locked", "one_transaction", "outbox"):
        return  # they clean up first, which takes time
    if limit is None or run.on(sq.Pause) or run.on(At, what="pause"):
        return
    started: dict[int, float] = {}
    for row in run.rows:
        if row.event == Event.STARTED:
            started[row.delivery] = row.time
        elif row.event in ENDS:
            lasted = row.time - started.pop(row.delivery)
            assert lasted <= microseconds(limit), f"it ran for {lasted / 1e6} s: {row}"
    late = [n for n, time in started.items() if time + microseconds(limit) < run.end]
    assert not late, f"deliveries {late} run on"


def not_before_due(run: Run) -> None:
    """No handler starts before its job is due; a worker that is to keep it until then does."""
    after = run.scenario.producers.due_after
    keeps = run.settings.due_held_by == "worker"
    early: set[int] = set()
    kept: dict[int, int] = {}
    forgotten: set[int] = set()
    for row in run.rows:
        if row.event == Event.CONNECTION_CLOSED and run.settings.forgets_due:
            theirs = {n for n, worker in kept.items() if worker == row.worker}
            forgotten |= {n for n in theirs if run.due[run.received[n].job] > row.time}
        if row.event == Event.STARTED and after:
            assert row.delivery not in forgotten, f"its worker has forgotten it: {row}"
            assert row.time >= run.due[row.job], f"due at {run.due[row.job] / 1e6}: {row}"
        elif row.event == Event.HELD_UNTIL_DUE:
            assert row.value == run.due[row.job], f"due at {run.due[row.job] / 1e6}: {row}"
            early.discard(row.delivery)
            kept[row.delivery] = row.worker
        elif row.event == Event.DELIVERY_LOST:
            early.discard(row.delivery)
        elif row.event == Event.RECEIVED and row.time < run.due[row.job]:
            assert keeps, f"due at {run.due[row.job] / 1e6}: {row}"
            early.add(row.delivery)
    assert not early, f"deliveries {early} were not kept until they were due"


def failures(run: Run) -> None:
    """What a failure does at once is what the broker's client does with one.

    Looked at where nothing stands between worker and broker, and each message is acked by itself.
    """
    settings, released = run.settings, run.settings.late_nack == "releases"
    if run.scenario.workers.ack_batch == "whole":
        return
    stopped = (Event.ACK_LOST, Event.WORKER_CRASHED)
    for place, (row, message) in enumerate(retell(run), start=1):
        if row.event != Event.FAILED or message is None:
            continue
        following = [*run.rows[place : place + 1], run.nothing][0]
        if following.event in stopped and row.worker == following.worker:
            continue
        asked = run.word(row).startswith("Retry(")
        answer = following.event if following.job == row.job else 0
        held = message.holder == row.delivery
        if not asked and settings.on_failure == "ack":
            assert answer in ACKS, f"not acked: {row}"
        elif not asked and settings.on_failure == "dead_letter":
            given_up = answer in (Event.DEAD_LETTERED, Event.LOST)
            assert given_up == held, f"given up, or not: {row}"
        elif settings.retry is not None:
            heard = held or (released and message.state == "in flight")
            assert (answer == Event.NACKED) == heard, f"heard, or not: {row}"


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
    time_limits,
    not_before_due,
    failures,
    promises,
)
