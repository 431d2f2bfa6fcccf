"""Rescuers that come only at a start, hold on to a lock, die themselves, or come too early."""

from __future__ import annotations

import math
from typing import Any

from simqueue.arrivals import AllAtOnce, Times
from simqueue.context import Context, Job
from simqueue.faults import Crash, RescuerDown
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Within
from simqueue.incidents.incident import Case, Incident

NEVER = 1e7
"""Seconds: longer than any run here."""

# A process that dies with a job, and the next one that starts.

KILLED_AT, SEEN_FOR, BEAT = 25.0, 60.0, 5.0


def orphaned(*boots: float, **options: Any) -> Build:
    """A is killed at 25 s with a job; B is replaced, and starts at each of `boots`.

    A's heartbeat, every 5 s, is good for 60 s: it looks dead from 85 s on.
    """
    replaced = [Crash(at=[(2, boot - 1)], restart_after=1) for boot in boots]
    return queue(
        work=600, workers=2, lease=SEEN_FOR, renew_every=BEAT, renew_what="process",
        faults=[Crash(at=[(1, KILLED_AT)], restart_after=NEVER), *replaced],
        **options,
    )  # fmt: skip


MANUAL_RESTART = KILLED_AT + 78 * 60 + 1

INC_46 = Incident(
    id="INC-46",
    title="Orphans are looked for only when some process starts",
    system="Sidekiq Pro, super_fetch",
    links=(
        "https://github.com/sidekiq/sidekiq/issues/5540",
        "https://github.com/sidekiq/sidekiq/issues/6951",
        "https://github.com/sidekiq/sidekiq/issues/4937",
        "https://github.com/sidekiq/sidekiq/issues/4635",
    ),
    report=(
        "In a deploy the new process starts before the old one is killed, whose job then waits for "
        "the next deploy. One log has a child that died at 07:24:02 and a job that went on at "
        "08:42:03, after a restart by hand."
    ),
    cause="Recovery happens as a process starts, and only if the old one's heartbeat has lapsed.",
    fix="A longer drain; a check at intervals.",
    cases=(
        Case(
            name="the next start is 78 minutes later",
            scenario=orphaned(MANUAL_RESTART, sweep_at_boot=1),
            expect={"recovered_after": [MANUAL_RESTART - KILLED_AT], "executions": 2},
        ),
        Case(
            name="the next start is at 100 s",
            scenario=orphaned(100, sweep_at_boot=1),
            expect={"recovered_after": [100 - KILLED_AT]},
        ),
        Case(
            name="a start at 65 s, 40 s after the death, sees a heartbeat; the next is at 200 s",
            scenario=orphaned(65, 200, sweep_at_boot=1),
            expect={"recovered_after": [200 - KILLED_AT]},
        ),
        Case(
            name="a check every 30 s",
            fixed=True,
            scenario=orphaned(MANUAL_RESTART, sweep_period=30),
            expect={"recovered_after": [Within(0, SEEN_FOR + 30)], "executions": 2},
        ),
    ),
)

# A cleaning lock that outlives the cleaning.

TIMEOUT, MAINTENANCE, CLEANING_LOCK = 180.0, 60.0, 899.0
BETWEEN_CLEANINGS = math.ceil(CLEANING_LOCK / MAINTENANCE) * MAINTENANCE
ABANDONED = 90


def abandoned(period: float) -> Build:
    """Ninety jobs, 10 s apart, that die at once; a cleaning moves them to the failed ones."""
    return queue(
        arrivals=Times([10 * number + 5.0 for number in range(ABANDONED)]), work=100,
        workers=ABANDONED, lease=TIMEOUT, sweep_period=period, max_receives=1,
        crash=Crash(after=1, restart_after=NEVER),
    )  # fmt: skip


INC_52 = Incident(
    id="INC-52",
    title="Cleaning up after dead workers is slow: its lock outlives the cleaning",
    system="RQ",
    links=(
        "https://github.com/rq/rq/issues/1644",
        "https://github.com/rq/rq/issues/2022",
        "https://github.com/rq/rq/issues/2015",
    ),
    report=(
        "Jobs of killed workers reach the failed list only after many minutes, whatever the "
        "maintenance interval is: the lock for cleaning lives for 899 s."
    ),
    cause="Whoever takes the lock does not give it back: nobody cleans for the next 15 minutes.",
    fix="A lock that is released after the cleaning.",
    note=(
        "With maintenance every 60 s the lock of 899 s lets every fifteenth through: the "
        "longest wait is 180 + 900 s."
    ),
    cases=(
        Case(
            # Maintenance is every minute, so the first one that finds the lock free is at 900 s.
            name="maintenance every 60 s, a lock of 899 s",
            scenario=abandoned(BETWEEN_CLEANINGS),
            expect={
                "settled_after_soonest": Within(TIMEOUT, TIMEOUT + 10),
                "settled_after_mean": TIMEOUT + BETWEEN_CLEANINGS / 2,
                "settled_after_latest": Within(TIMEOUT + 890, TIMEOUT + 900),
                "executions": ABANDONED,
                "dead_lettered": ABANDONED,
            },
        ),
        Case(
            name="the lock is released",
            fixed=True,
            scenario=abandoned(MAINTENANCE),
            expect={
                "settled_after_soonest": Within(TIMEOUT, TIMEOUT + MAINTENANCE),
                "settled_after_latest": Within(TIMEOUT, TIMEOUT + MAINTENANCE),
                "executions": ABANDONED,
            },
        ),
    ),
)

# A rescuer that is killed while it holds the lock of the rescue.

ORPHANS = 10


def rescuer_dies(lock_life: float) -> Build:
    """Ten jobs are orphaned at 40 s; at 35 s the rescuer, due every 30, died holding its lock."""
    return queue(
        jobs=ORPHANS, work=50, workers=2 * ORPHANS, lease=60, sweep_period=30,
        faults=[
            Crash(at=[(n + 1, 40.0) for n in range(ORPHANS)], restart_after=NEVER),
            RescuerDown(window=(35, 35 + lock_life)),
        ],
    )  # fmt: skip


INC_57 = Incident(
    id="INC-57",
    title="The recovery gets stuck itself, and holds the recovery lock",
    system="Procrastinate's rescuer; taskiq-redis",
    links=(
        "https://github.com/procrastinate-org/procrastinate/issues/1408",
        "https://github.com/taskiq-python/taskiq-redis/issues/131",
        "https://github.com/taskiq-python/taskiq-redis/pull/107",
    ),
    report=(
        "A worker is killed while it rescues: from then on everything that stalls stays so. "
        "Elsewhere the one that died held the lock for reclaiming, and nothing was reclaimed since."
    ),
    cause="The lock has no end, and its owner is one who may die.",
    fix="No lock, or one that ends after 30 s.",
    cases=(
        Case(
            name="a lock without an end",
            scenario=rescuer_dies(math.inf),
            expect={"unfinished": ORPHANS, "delivered_again": 0, "settled_at": None},
        ),
        Case(
            name="a lock that ends after 30 s: one look is missed",
            fixed=True,
            scenario=rescuer_dies(30),
            expect={
                "unfinished": 0,
                "redelivery_soonest": 90,
                "redelivery_latest": 90,
                "acked": ORPHANS,
            },
        ),
    ),
)

# A process that has a job, and no heartbeat yet.

BOOTED, CHECKED = 100.0, 103.0


async def four_then_two_seconds(job: Job, ctx: Context) -> None:
    """The first copy takes 4 s, the second one 2 s."""
    await ctx.sleep((4.0, 2.0)[ctx.attempt - 1])
    await ctx.payments.charge(job.customer, job.amount)


def autoscaled(first_heartbeat: float) -> Build:
    """One process starts at 100 s and takes a job; another starts at 103 s, and checks."""
    return queue(
        arrivals=AllAtOnce(at=BOOTED), handler=four_then_two_seconds, workers=2, lease=60,
        renew_every=10, renew_what="process", first_heartbeat=first_heartbeat, sweep_at_boot=1,
        late_ack="deletes",
        faults=[
            Crash(at=[(1, 50.0)], restart_after=BOOTED - 50),
            Crash(at=[(2, 60.0)], restart_after=CHECKED - 60),
        ],
    )  # fmt: skip


INC_92 = Incident(
    id="INC-92",
    title="Recovered three seconds after it was picked up",
    system="Sidekiq Pro with autoscaling",
    links=("https://github.com/sidekiq/sidekiq/issues/4611",),
    report=(
        "A job is fetched at 15:51:45 and recovered at 15:51:48; the copies end at :49 and :50. It "
        "happens several times a day."
    ),
    cause="Perhaps (nobody confirmed it) a check at a start that misses a new process's heartbeat.",
    fix="A first heartbeat that comes before the first fetch.",
    note=("The cause is a guess that nobody confirmed; what it predicts are the times in the log."),
    cases=(
        Case(
            name="the first heartbeat comes five seconds after the start",
            scenario=autoscaled(5),
            expect={"starts": [BOOTED, CHECKED], "ends": [104, 105], "effects": 2},
        ),
        Case(
            name="the first heartbeat comes with the start",
            fixed=True,
            scenario=autoscaled(0),
            expect={"starts": [BOOTED], "effects": 1},
        ),
    ),
)

INCIDENTS = (INC_46, INC_52, INC_57, INC_92)
