"""Leases that are shorter than the job: nothing went wrong, and yet it runs again and again."""

from __future__ import annotations

import math
from typing import Any

from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

HOUR = 3_600.0
MINUTE = 60.0


def copies(work: float, lease: float) -> int:
    """F1: how often a job runs that is delivered anew at the end of each lease, until it is done.

    Both in seconds. A job of exactly k leases runs k times: its ack comes before the expiry.
    """
    return math.ceil(work / lease)


def at_each_lease(work: float, lease: float) -> list[float]:
    """F1: when these copies start, in seconds."""
    return [number * lease for number in range(copies(work, lease))]


# A mail-merge of three and a half hours, which Redis gives back every hour.

MAIL_MERGE = 12_826.0


def mail_merge(workers: int = 4, lease: float = HOUR, **options: Any) -> Build:
    """The job of INC-01: an ack clears the in-flight record, whoever made it."""
    return queue(
        work=MAIL_MERGE, workers=workers, lease=lease, late_ack="in_flight_only", **options
    )


INC_01 = Incident(
    id="INC-01",
    title="A mail-merge job of 3 h 34 min is started four times, an hour apart",
    system="Celery on Redis",
    links=(
        "https://github.com/pretix/pretix/issues/2058",
        "https://github.com/celery/kombu/blob/main/kombu/transport/redis.py",
    ),
    report=(
        "One task id was received four times, about an hour apart. The first run succeeded after "
        "12,826 s, and nothing was received after that; the other three ran on to their ends."
    ),
    cause=(
        "Nobody extends the lease, which is an hour by default, so a copy comes back every hour "
        "until some copy is acked. All copies share one delivery tag: the first ack clears it."
    ),
    fix="A visibility timeout above the longest job, which makes recovery slower; or renewal.",
    cases=(
        Case(
            name="four idle workers",
            scenario=mail_merge(),
            expect={
                "starts": at_each_lease(MAIL_MERGE, HOUR),
                "executions": copies(MAIL_MERGE, HOUR),
                "settled_at": MAIL_MERGE,
                "ends": [start + MAIL_MERGE for start in at_each_lease(MAIL_MERGE, HOUR)],
                "overlap_peak": 4,
            },
        ),
        Case(
            name="three workers: the waiting copy outlives the first ack",
            scenario=mail_merge(workers=3),
            expect={"executions": 4, "settled_at": HOUR + MAIL_MERGE},
        ),
        Case(
            name="two workers",
            scenario=mail_merge(workers=2),
            expect={
                "starts": [0, HOUR, MAIL_MERGE],
                "executions": 3,
                "settled_at": HOUR + MAIL_MERGE,
            },
        ),
        Case(
            name="one worker: it never ends",
            scenario=mail_merge(workers=1, horizon=5 * MAIL_MERGE - 1),
            expect={
                "starts": [number * MAIL_MERGE for number in range(5)],
                "settled_at": None,
            },
        ),
        Case(
            name="a timeout of five hours",
            fixed=True,
            scenario=mail_merge(lease=5 * HOUR),
            expect={"executions": 1, "settled_at": MAIL_MERGE},
        ),
        Case(
            name="renewal every 20 minutes",
            fixed=True,
            scenario=mail_merge(renew_every=1_200.0),
            expect={"executions": 1, "settled_at": MAIL_MERGE},
        ),
    ),
)

INC_35 = Incident(
    id="INC-35",
    title="A job of two hours, invisible for thirty minutes",
    system="Hangfire",
    links=(
        "https://github.com/HangfireIO/Hangfire/issues/1197",
        "https://github.com/HangfireIO/Hangfire/issues/514",
        "https://github.com/arnoldasgudas/Hangfire.MySqlStorage/issues/20",
    ),
    report=(
        "Exactly thirty minutes into a job of one or two hours another worker begins the same "
        "job; with two machines each of them picks it up."
    ),
    cause="Only the age of the fetch counts, not whether somebody is still at work.",
    fix="An invisibility timeout above the longest job; newer stores extend it while a job runs.",
    cases=(
        Case(
            name="120 minutes",
            scenario=queue(work=120 * MINUTE, workers=6, lease=30 * MINUTE, late_ack="deletes"),
            expect={"starts": at_each_lease(120 * MINUTE, 30 * MINUTE), "executions": 4},
        ),
        Case(
            name="120 minutes, two workers",
            scenario=queue(work=120 * MINUTE, workers=2, lease=30 * MINUTE, late_ack="deletes"),
            expect={"executions": 2},
        ),
        Case(
            name="121 minutes",
            scenario=queue(work=121 * MINUTE, workers=6, lease=30 * MINUTE, late_ack="deletes"),
            expect={"executions": copies(121, 30)},
        ),
        Case(
            name="invisible for five minutes, as in an early version",
            scenario=queue(work=120 * MINUTE, workers=30, lease=5 * MINUTE, late_ack="deletes"),
            expect={"executions": copies(120, 5)},
        ),
        Case(
            name="a timeout of three hours",
            fixed=True,
            scenario=queue(work=120 * MINUTE, workers=6, lease=3 * HOUR, late_ack="deletes"),
            expect={"executions": 1},
        ),
        Case(
            name="extended while it runs",
            fixed=True,
            scenario=queue(
                work=120 * MINUTE, workers=6, lease=30 * MINUTE, renew_every=600, late_ack="deletes"
            ),
            expect={"executions": 1},
        ),
    ),
)

# Forty minutes of work in a reservation of thirty, whose late ack is refused.

RESERVED = 1_800.0


def reserved(lease: float = RESERVED, workers: int = 4, **options: Any) -> Build:
    """The job of INC-39."""
    return queue(work=40 * MINUTE, workers=workers, lease=lease, late_ack="unexpired", **options)


INC_39 = Incident(
    id="INC-39",
    title="A reservation of 1,800 s runs out, and the late ack finds no job",
    system="Faktory",
    links=(
        "https://github.com/jbielick/faktory_worker_node/issues/163",
        "https://github.com/contribsys/faktory/issues/237",
        "https://github.com/cjbottaro/faktory_worker_ex/issues/37",
        "https://github.com/contribsys/faktory/issues/409",
    ),
    report=(
        "Jobs are enqueued again while the original still runs, and the second copy does harm. The "
        "first one's ack is refused, as its reservation is gone; some such jobs end among the dead."
    ),
    cause="A reservation can't be extended, and is removed when it ends: no late ack counts.",
    fix="A longer reservation, or a client that stops by itself before the reservation ends.",
    cases=(
        Case(
            name="the first forty minutes",
            scenario=reserved(horizon=40 * MINUTE + 1),
            expect={"starts": [0, 1_800], "acks_refused": 1, "settled_at": None},
        ),
        Case(
            name="six hours: it never settles",
            scenario=reserved(horizon=6 * HOUR),
            expect={
                "starts": [number * RESERVED for number in range(12)],
                "settled_at": None,
            },
        ),
        Case(
            name="one worker, six hours: one start each time it is free",
            scenario=reserved(workers=1, horizon=6 * HOUR),
            expect={
                "starts": [number * 40 * MINUTE for number in range(9)],
                "settled_at": None,
            },
        ),
        Case(
            name="three tries: dead, although each run succeeded (F3)",
            scenario=reserved(max_receives=3),
            expect={
                "executions": 3,
                "failures": 0,
                "effects": 3,
                "recorded": "dead-lettered",
                "settled_at": 3 * RESERVED,
            },
        ),
        Case(
            name="reserved for an hour",
            fixed=True,
            scenario=reserved(lease=HOUR),
            expect={"executions": 1, "settled_at": 40 * MINUTE, "recorded": "acked"},
        ),
    ),
)

INC_93 = Incident(
    id="INC-93",
    title="A waiting time given in the wrong unit",
    system="NATS JetStream clients",
    links=(
        "https://github.com/nats-io/nats.net/issues/244",
        "https://github.com/nats-io/nack/issues/136",
    ),
    report="Everything that is acked comes again, if AckWait is set; with the default all is well.",
    cause="The field is in nanoseconds, so what was meant as 20 s became 20 ms.",
    fix="The right unit; and a warning where a lease is shorter than most jobs.",
    cases=(
        Case(
            name="20 ms, ten workers",
            scenario=queue(work=4, workers=10, lease=0.02, late_ack="deletes"),
            expect={"deliveries": 10, "overlap_peak": 10},
        ),
        Case(
            name="20 ms, ample workers",
            scenario=queue(work=4, workers=210, lease=0.02, late_ack="deletes"),
            expect={"deliveries": copies(4_000, 20)},
        ),
        Case(
            name="20 s",
            fixed=True,
            scenario=queue(work=4, workers=10, lease=20, late_ack="deletes"),
            expect={"deliveries": 1},
        ),
    ),
)

INCIDENTS = (INC_01, INC_35, INC_39, INC_93)
