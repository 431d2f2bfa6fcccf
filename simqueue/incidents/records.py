"""What is recorded is not what happened: successes that are moved to the failed ones."""

from __future__ import annotations

import math
from typing import Any

from simqueue.arrivals import EvenlySpaced
from simqueue.faults import Crash, Network, Pause
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Mean, Within, rate
from simqueue.incidents.incident import Case, Incident

# A job that is done, and whose "started" record is not removed.

JOBS, NOT_REMOVED = 3_000, 0.05
TIMEOUT, CLEANING = 180.0, 60.0


def registered(not_removed: float, tries: int) -> Build:
    """Jobs of 20 s; a cleaning moves what has been started for too long, and a try may be left."""
    return queue(
        arrivals=EvenlySpaced(interval=5), jobs=JOBS, work=20, workers=12, lease=TIMEOUT,
        sweep_period=CLEANING, max_receives=tries, network=Network(ack_lost=not_removed),
    )  # fmt: skip


INC_53 = Incident(
    id="INC-53",
    title="A job is OK, and then moved to failed as abandoned",
    system="RQ",
    links=(
        "https://github.com/rq/rq/issues/2424",
        "https://github.com/rq/rq/issues/2289",
        "https://github.com/rq/rq/issues/2061",
        "https://github.com/rq/rq/issues/1507",
    ),
    report=(
        "A worker logs that a job is OK; minutes later another one moves it to failed, in one "
        "thread 90 s later. A fix is out, and a later thread sees it still."
    ),
    cause="Success and the removal of the record that says started are two writes.",
    fix="Success and the removal in one transaction.",
    note=(
        "1 + q runs per job where a failed job is tried once more; tried until its removal is "
        "recorded, 1 / (1 - q)."
    ),
    cases=(
        Case(
            name="one record in twenty stays, failed jobs are left alone",
            job=5,
            scenario=registered(NOT_REMOVED, tries=1),
            expect={
                "dead_lettered_share": rate(NOT_REMOVED, JOBS),
                "executions_per_job": 1,
                "effects_per_job": 1,
                "settled_after_latest": Within(TIMEOUT, TIMEOUT + CLEANING),
                "failures": 0,
            },
        ),
        Case(
            name="one record in twenty stays, failed jobs are tried once more",
            scenario=registered(NOT_REMOVED, tries=2),
            expect={
                "executions_per_job": Mean(
                    1 + NOT_REMOVED, math.sqrt(NOT_REMOVED * (1 - NOT_REMOVED)), JOBS
                ),
            },
        ),
        Case(
            name="both in one transaction",
            job=5,
            fixed=True,
            scenario=registered(0, tries=1),
            expect={"dead_lettered_share": 0, "executions_per_job": 1},
        ),
    ),
)

# A heartbeat that comes too late, and a job that goes on.

DEAD_AFTER, BEAT, LONG = 300.0, 60.0, 1_000.0


def pruned(late_ack: str, **options: Any) -> Build:
    """A process without a heartbeat for five minutes is pruned, and its job marked as failed."""
    return queue(
        work=LONG, workers=2, lease=DEAD_AFTER, renew_every=BEAT, late_ack=late_ack, **options
    )


def hiccup(seconds: float) -> list[Pause]:
    """The database hangs just after the heartbeat at 120 s."""
    return [Pause(seconds=seconds, at=[(1, 121.0)])]


DIES = Crash(at=[(1, 121.0)], restart_after=2_000)

INC_55 = Incident(
    id="INC-55",
    title="Pruned while alive: finished and failed at once",
    system="Solid Queue",
    links=(
        "https://github.com/rails/solid_queue/issues/589",
        "https://github.com/rails/solid_queue/issues/422",
        "https://github.com/rails/solid_queue/issues/455",
    ),
    report=(
        "Finished jobs are listed as failed too. Jobs of killed pods sit among the failed ones and "
        "are not run again."
    ),
    cause=(
        "A hiccup of the database makes a heartbeat stale; and to delete a claim that is gone "
        "already is no error. That the pruned job fails, and is not requeued, is on purpose."
    ),
    fix="A claim is finished exactly once; a process whose heartbeat keeps failing stops itself.",
    cases=(
        Case(
            name="a hiccup of 310 s, no guard: both",
            scenario=pruned("overrides", on_expiry="dead_letter", faults=hiccup(310)),
            expect={
                "dead_lettered_at": [120 + DEAD_AFTER],
                "recorded": "acked",
                "executions": 1,
                "effects": 1,
            },
        ),
        Case(
            name="a hiccup of 290 s",
            scenario=pruned("overrides", on_expiry="dead_letter", faults=hiccup(290)),
            expect={"dead_lettered_at": [], "recorded": "acked", "executions": 1},
        ),
        Case(
            name="a hiccup of 310 s, finished once",
            fixed=True,
            scenario=pruned("unexpired", on_expiry="dead_letter", faults=hiccup(310)),
            expect={"recorded": "dead-lettered", "executions": 1, "acks_refused": 1},
        ),
        Case(
            name="a crash, the job fails",
            scenario=pruned("unexpired", on_expiry="dead_letter", crash=DIES),
            expect={"recorded": "dead-lettered", "executions": 1, "effects": 0},
        ),
        Case(
            name="a crash, the job is requeued",
            fixed=True,
            scenario=pruned("unexpired", crash=DIES),
            expect={"recorded": "acked", "executions": 2, "effects": 1},
        ),
    ),
)

INCIDENTS = (INC_53, INC_55)
