"""What is off must leave no trace in a run: a law that is a function of a `Run`."""

from __future__ import annotations

from collections import Counter

from faults_at_random import Redrive
from reenactment import STATES, Run, handler_name

import simqueue as sq
from simqueue.faults import At
from simqueue.model.ledger import EVENT_NAMES, Event

OF_THE_LOG = (
    Event.REVOKED, Event.REWOUND, Event.REBALANCED, Event.ASSIGNED, Event.LEFT_GROUP,
    Event.SKIPPED,
)  # fmt: skip


def nothing_of_what_is_off(run: Run) -> None:
    """A fault that is off never occurs, and a knob that is off leaves no trace."""
    team, settings, producers = run.scenario.workers, run.settings, run.scenario.producers
    name = handler_name(run)
    gives_up = settings.max_attempts is not None or settings.max_stalls is not None
    gives_up |= "dead_letter" in (settings.on_failure, settings.on_expiry)
    slots = run.on(sq.Crash, kills="slot")
    processes = run.on(sq.Crash, kills="process") or run.on(sq.Crash, kills="machine")
    kills = processes or run.on(sq.Deploy) or run.on(At, what="crash")
    pauses = run.on(sq.Pause) or run.on(At, what="pause")
    hangs_up = settings.on_disconnect != "wait" and (kills or run.on(sq.Partition))
    may = {
        Event.CRASHED: kills or slots,
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
        Event.EXPIRED: settings.lease is not None and settings.on_expiry != "dead_letter",
        Event.LEASE_STARTED: settings.lease is not None
        and (settings.lease_from == "start" or settings.renew_what == "process"),
        Event.EXTENDED: settings.lease is not None
        and (settings.renew_every is not None or name == "extending"),
        Event.ACK_REFUSED: settings.late_ack.told,
        Event.ACK_IGNORED: not settings.late_ack.told,
        Event.NACKED: settings.retry is not None
        or name == "failing"
        or hangs_up
        or (slots and settings.on_slot_lost == "return")
        or settings.on_expiry == "close"
        or settings.ordering == "replay"
        or run.on(sq.Deploy, push_back=True),
        Event.DEAD_LETTERED: gives_up and settings.exhausted == "dead_letter",
        Event.LOST: (gives_up and settings.exhausted == "drop")
        or (settings.on_disconnect == "lose" and hangs_up)
        or (settings.ack_on_start and kills),
        Event.MESSAGE_EXPIRED: settings.retention is not None,
        Event.DEAD_LETTER_EXPIRED: settings.dead_letter_retention is not None
        or (settings.retention is not None and settings.retention_of_dead),
        Event.DEDUPLICATED: settings.dedupe_window is not None or settings.dedupe_after is not None,
        Event.PRODUCER_GAVE_UP: producers.resend is not None,
        Event.HELD_UNTIL_DUE: settings.due_held_by == "worker" and producers.due_after > 0,
        Event.CONNECTION_CLOSED: settings.on_expiry == "close",
        Event.CONSUMER_CANCELLED: settings.on_expiry == "cancel",
        Event.REPLAYED: settings.ordering == "replay",
        **dict.fromkeys(OF_THE_LOG, False),
        Event.REDRIVEN: run.on(Redrive),
        Event.CLAIMED: name in ("claim", "reclaim", "reclaim_with_key", "insert_only")
        or name == "email_after_done",
    }
    waits = team.prefetch or team.batch or settings.due_held_by == "worker"
    published: Counter[int] = Counter()
    for row in run.rows:
        assert may.get(row.event, True), f"{EVENT_NAMES[row.event]} is off: {row}"
        if row.event == Event.PUBLISHED:
            published[row.job] += 1
            delayed = STATES[int(row.value)] == "delayed"
            waits_there = settings.due_held_by == "broker" and producers.due_after
            assert not delayed or settings.delay or waits_there, f"delays are off: {row}"
        elif row.event == Event.STARTED and not waits:
            assert row.time == run.received[row.delivery].time, f"buffers are off: {row}"
    if not run.publishes_again:
        assert max(published.values(), default=1) == 1, "a job was published twice"


LAWS = (nothing_of_what_is_off,)
