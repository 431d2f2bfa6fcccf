"""Tasks that are due later, and that a worker holds until then."""

from __future__ import annotations

from typing import Any

from simqueue.arrivals import AllAtOnce
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.incidents.leases import copies
from simqueue.producers import Producers

# Due in 4,000 s, on a broker that closes a channel after 1,800 s without an ack.

DUE, CONSUMER_TIMEOUT = 4_000.0, 1_800.0


def due_later(**options: Any) -> Build:
    """One task, fetched at 0 by the only worker."""
    return queue(
        work=1, lease=CONSUMER_TIMEOUT, on_expiry="close", on_disconnect="requeue",
        late_ack="unexpired", prefetch=10,
        producers=Producers(due_after=DUE), **options,
    )  # fmt: skip


INC_26 = Incident(
    id="INC-26",
    title="Tasks scheduled beyond the ack timeout close the channel",
    system="Celery on RabbitMQ",
    links=(
        "https://github.com/celery/celery/issues/6760",
        "https://github.com/celery/celery/issues/6229",
    ),
    report=(
        "RabbitMQ closes channels that don't ack within 15, later 30 minutes. A task with "
        "a later due time stops the worker with PRECONDITION_FAILED, again after each restart."
    ),
    cause="The worker holds tasks that are due later, unacked.",
    fix="A longer timeout (some quote a year), or a broker that holds what is not due.",
    cases=(
        Case(
            name="the worker keeps its timers",
            scenario=due_later(due_held_by="worker"),
            expect={
                "received": [0, 1_800, 3_600],
                "deliveries": copies(DUE, CONSUMER_TIMEOUT),
                "executions": 3,
            },
        ),
        Case(
            name="the worker forgets them: the last copy runs",
            scenario=due_later(due_held_by="worker", forgets_due=True),
            expect={
                "received": [0, 1_800, 3_600],
                "starts": [DUE],
                "executions": 1,
            },
        ),
        Case(
            name="the broker holds what is not due",
            fixed=True,
            scenario=due_later(due_held_by="broker"),
            expect={"received": [DUE], "starts": [DUE]},
        ),
    ),
)

# A timeline of a few seconds.

FETCHED, DUE_AT, VISIBILITY = 1.0, 5.0, 2.0


def toy(lease: float) -> Build:
    """Fetched at 1, due at 5, done in no time."""
    return queue(
        arrivals=AllAtOnce(at=FETCHED), workers=3, lease=lease, late_ack="in_flight_only",
        due_held_by="worker", producers=Producers(due_after=DUE_AT - FETCHED),
    )  # fmt: skip


INC_30 = Incident(
    id="INC-30",
    title="A toy timeline: a timeout of 2, due in 5",
    system="Celery on Redis",
    links=("https://github.com/celery/kombu/issues/337",),
    report=(
        "The reporter writes it as a timeline: fetched at 1, restored at 3, fetched by a second "
        "worker, and done twice at 5."
    ),
    cause="The time of the fetch is the score of what is in flight, not the time it is due.",
    fix="The due time as the score (proposed).",
    cases=(
        Case(
            # The second lease ends at 5 too, when both run: their acks come first.
            name="scored by the fetch",
            scenario=toy(VISIBILITY),
            expect={
                "received": [FETCHED, FETCHED + VISIBILITY],
                "starts": [DUE_AT, DUE_AT],
                "effects": 2,
            },
        ),
        Case(
            name="scored by the due time",
            fixed=True,
            scenario=toy(DUE_AT - FETCHED + VISIBILITY),
            expect={"received": [FETCHED], "starts": [DUE_AT], "effects": 1},
        ),
    ),
)

INCIDENTS = (INC_26, INC_30)
