"""How long it takes until the job of a dead worker is back: the other side of a long lease."""

from __future__ import annotations

from typing import Any

from simqueue.arrivals import Times
from simqueue.distributions import Recorded
from simqueue.faults import Crash
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Within
from simqueue.incidents.incident import Case, Incident
from simqueue.incidents.leases import copies

MINUTE = 60.0
HOUR = 3_600.0

# A hundred jobs, one a second, each killed ten seconds in: every phase of the sweep once.

KILLED = 100
CRASH_AT = 10.0


def killed_workers(timeout: float, period: float) -> Build:
    """Redelivery after V + U(0, P): arrivals at 0.5, 1.5, … meet each phase of a sweep of 100 s."""
    arrivals = [0.5 + number for number in range(KILLED)]
    crashes = [(number + 1, time + CRASH_AT) for number, time in enumerate(arrivals)]
    return queue(
        arrivals=Times(arrivals), work=20, workers=2 * KILLED, lease=timeout,
        sweep_period=period, late_ack="in_flight_only",
        crash=Crash(at=crashes, restart_after=24 * HOUR),
    )  # fmt: skip


def sweep_of_100(timeout: float) -> Case:
    """F4: from V to V + 100 s, on average V + 50."""
    return Case(
        name=f"a timeout of {timeout:,.0f} s, swept every 100 s",
        scenario=killed_workers(timeout, 100),
        expect={
            "redelivery_soonest": Within(timeout, timeout + 1),
            "redelivery_mean": timeout + 100 / 2,
            "redelivery_latest": Within(timeout + 99, timeout + 100),
            "executions": 2 * KILLED,
            "lost": 0,
        },
    )


INC_29 = Incident(
    id="INC-29",
    title="How long until a killed worker's task comes back",
    system="Celery on Redis",
    links=(
        "https://github.com/celery/celery/issues/3541",
        "https://github.com/celery/celery/issues/5935",
        "https://github.com/celery/kombu/pull/2558",
    ),
    report=(
        "After kill -9 a task seems lost, and is in fact hidden for an hour, the default. With a "
        "timeout of 30 s it came back after about a minute, with 120 s after about three."
    ),
    cause="Only each tenth look, one every ten seconds, restores anything: a sweep of 100 s.",
    fix="Options for the interval and for how many looks are skipped; none, if one likes.",
    cases=(
        sweep_of_100(30),
        sweep_of_100(120),
        sweep_of_100(3_600),
        Case(
            name="a timeout of 30 s, swept every second",
            fixed=True,
            scenario=killed_workers(30, 1),
            expect={
                "redelivery_soonest": Within(30, 31),
                "redelivery_mean": Within(30, 31),
                "redelivery_latest": Within(30, 31),
                "lost": 0,
            },
        ),
    ),
)

# A lock of four hours: too short for a long job, and a long wait after a crash.

CRASHED_AT = HOUR
SWEEP = 10 * MINUTE


def six_hours(lease: float = 4 * HOUR, sweep: float = SWEEP, **options: Any) -> Build:
    """The job of INC-34."""
    return queue(
        work=6 * HOUR, workers=3, lease=lease, sweep_period=sweep, sweep_phase=sweep / 2,
        late_ack="deletes", **options,
    )  # fmt: skip


AN_HOUR_IN = Crash(at=[(1, CRASHED_AT)], restart_after=24 * HOUR)

INC_34 = Incident(
    id="INC-34",
    title="A six-hour job under a four-hour lock",
    system="graphile-worker, Postgres",
    links=(
        "https://github.com/graphile/worker/issues/169",
        "https://github.com/graphile/worker/issues/222",
    ),
    report=(
        "Results came twice, and it took a long hunt to find the rule that locks are broken after "
        "four hours. Jobs whose worker crashed wait just as long."
    ),
    cause="The lock's age is the only signal, and it can't tell a slow worker from a dead one.",
    fix="Short jobs; or heartbeats of the workers, as in the paid edition.",
    cases=(
        Case(
            name="slow",
            scenario=six_hours(),
            expect={"starts": [0, Within(4 * HOUR, 4 * HOUR + SWEEP)], "executions": 2},
        ),
        Case(
            name="crashed after an hour",
            scenario=six_hours(crash=AN_HOUR_IN),
            expect={
                "recovered_after": [
                    Within(4 * HOUR - CRASHED_AT, 4 * HOUR - CRASHED_AT + SWEEP),
                ],
            },
        ),
        Case(
            name="slow, with a heartbeat a minute and death after five",
            fixed=True,
            scenario=six_hours(lease=5 * MINUTE, sweep=MINUTE, renew_every=MINUTE),
            expect={"starts": [0], "executions": 1},
        ),
        Case(
            name="crashed after an hour, with the heartbeat",
            fixed=True,
            scenario=six_hours(
                lease=5 * MINUTE, sweep=MINUTE, renew_every=MINUTE, crash=AN_HOUR_IN
            ),
            expect={"recovered_after": [Within(0, 6 * MINUTE)], "executions": 2},
        ),
    ),
)

# What a worker's death costs under a long lease.

LONG_JOB, DIES_AT = 300.0, 12.0


def mostly_short(lease: float, **options: Any) -> Build:
    """A hundred jobs of a second, but for two of five minutes; ample workers."""
    work = Recorded([LONG_JOB if number % 50 == 0 else 1.0 for number in range(100)])
    return queue(jobs=100, work=work, workers=130, lease=lease, late_ack="deletes", **options)


def dies(lease: float, **options: Any) -> Build:
    """One long job, whose worker dies."""
    return queue(
        work=LONG_JOB, workers=12, lease=lease, late_ack="deletes",
        crash=Crash(at=[(1, DIES_AT)], restart_after=24 * HOUR), **options,
    )  # fmt: skip


EXTRA = 0.02 * (copies(LONG_JOB, 30) - 1)

INC_79 = Incident(
    id="INC-79",
    title="The longer the lease, the slower the recovery",
    system="NATS JetStream, Celery, Hangfire",
    links=(
        "https://github.com/nats-io/nats-server/issues/4627",
        "https://github.com/celery/celery/issues/2268",
        "https://github.com/gottscj/Hangfire.Mongo/issues/377",
    ),
    report=(
        "AckWait is raised from 30 s to 10 minutes so that nothing runs twice; elsewhere people "
        "think of seven days. When a client dies, its message is back only when that time is over."
    ),
    cause="One number serves two ends: when a worker counts as dead, and how long a job may take.",
    fix="A short lease, and a heartbeat while the job runs.",
    cases=(
        Case(
            name="two jobs in a hundred take 300 s, a lease of 30 s",
            scenario=mostly_short(30),
            expect={"executions_per_job": 1 + EXTRA, "executions of job 0": 10},
        ),
        Case(
            name="a lease of 30 s, the worker dies",
            scenario=dies(30),
            expect={"recovered_after": [30 - DIES_AT]},
        ),
        Case(
            name="a lease of 600 s",
            scenario=mostly_short(600),
            expect={"executions_per_job": 1},
        ),
        Case(
            name="a lease of 600 s, the worker dies",
            scenario=dies(600),
            expect={"recovered_after": [600 - DIES_AT]},
        ),
        Case(
            name="a lease of 30 s, renewed every 10 s",
            fixed=True,
            scenario=mostly_short(30, renew_every=10),
            expect={"executions_per_job": 1, "executions of job 0": 1},
        ),
        Case(
            name="renewed every 10 s, the worker dies (F6)",
            fixed=True,
            scenario=dies(30, renew_every=10),
            expect={"recovered_after": [10 + 30 - DIES_AT]},
        ),
    ),
)

INCIDENTS = (INC_29, INC_34, INC_79)
