"""Heartbeats that don't come: the loop is blocked, or they were set to come too late."""

from __future__ import annotations

from simqueue.distributions import Recorded
from simqueue.faults import Pause
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

# Sixty jobs, each with its own worker, whose loop is blocked once: at each phase of the renewal.

LOCK, RENEWAL = 30.0, 15.0
BLOCKED = 60
LONG = 400.0


def chance_of_a_lapse(pause: float, lock: float = LOCK) -> float:
    """F5: the probability that a pause (s) at a random moment outlasts what is left of the lock."""
    return min(max((pause - (lock - RENEWAL)) / RENEWAL, 0.0), 1.0)


def blocked_loops(pause: float, lock: float = LOCK) -> Build:
    """Long jobs, renewed every 15 s, whose workers stand still for `pause` s from 60 to 75 s on."""
    moments = [(number + 1, 60 + RENEWAL * (number + 0.5) / BLOCKED) for number in range(BLOCKED)]
    return queue(
        jobs=BLOCKED, work=LONG, workers=2 * BLOCKED, lease=lock, renew_every=RENEWAL,
        sweep_period=30, late_ack="unexpired", faults=[Pause(seconds=pause, at=moments)],
    )  # fmt: skip


def blocked_for(pause: float) -> Case:
    """A lapse gives a second run, and the first one's completion is refused."""
    lapses = round(BLOCKED * chance_of_a_lapse(pause))
    return Case(
        name=f"blocked for {pause:g} s, a lock of 30 s",
        scenario=blocked_loops(pause),
        job=BLOCKED - 1,
        expect={
            "delivered_again_share": chance_of_a_lapse(pause),
            "executions": BLOCKED + lapses,
            "acks_refused": lapses,
            "acked": BLOCKED,
        },
    )


INC_22 = Incident(
    id="INC-22",
    title="The event loop is blocked: a live worker loses its lock, and the job runs twice",
    system="Bull, BullMQ",
    links=(
        "https://github.com/taskforcesh/bullmq/issues/3183",
        "https://github.com/taskforcesh/bullmq/issues/3056",
        "https://github.com/OptimalBits/bull/issues/308",
        "https://github.com/OptimalBits/bull/issues/1416",
    ),
    report=(
        "The log is full of locks that could not be renewed. One shop blocks its loop for more "
        "than 30 s by design; another measured pauses of 2 to 10 minutes."
    ),
    cause=(
        "The renewal runs on the same loop as the job. The stalled check gives the job to another "
        "worker, while the first one still completes it, and is told that its lock is missing."
    ),
    fix="Work in other processes or in smaller steps; a longer lock.",
    note=(
        "A pause here stops the whole process. Renewal from another thread, which such a "
        "blocked loop does not stop, can't be told apart from it yet."
    ),
    cases=(
        blocked_for(20),
        blocked_for(10),
        blocked_for(25),
        blocked_for(30),
        Case(
            name="blocked for 30 s, a lock of 90 s",
            fixed=True,
            job=BLOCKED - 1,
            scenario=blocked_loops(30, lock=90),
            expect={
                "delivered_again_share": chance_of_a_lapse(30, lock=90),
                "acks_refused": 0,
                "acked": BLOCKED,
            },
        ),
    ),
)

# Two backups, one shorter than the lock and one longer.

SHORT_BACKUP, LONG_BACKUP = 3_500.0, 4_000.0


def backups(renew_every: float) -> Build:
    """A lock of an hour, and no second chance for a job that stalled."""
    return queue(
        jobs=2, work=Recorded([SHORT_BACKUP, LONG_BACKUP]), workers=2, lease=3_600,
        renew_every=renew_every, late_ack="unexpired", max_receives=1,
    )  # fmt: skip


INC_23 = Incident(
    id="INC-23",
    title="The renewal interval is longer than the lock",
    system="Bull",
    links=(
        "https://github.com/OptimalBits/bull/issues/2332",
        "https://github.com/Budibase/budibase/pull/12237",
    ),
    report=(
        "With a lock of 3,600 s, renewed every 5,400 s, jobs are marked as stalled. Elsewhere long "
        "backups never complete: the lock is missing when they finish."
    ),
    cause="A renewal can come only after the lock has expired.",
    fix="Several chances of renewal in every lock.",
    note=(
        "Lost renewals, the second half of the report, are not simulated: only acks can be lost."
    ),
    cases=(
        Case(
            name="a lock of 60 minutes, renewed every 90",
            job=1,
            scenario=backups(5_400),
            expect={
                "recorded of job 0": "acked",
                "recorded of job 1": "dead-lettered",
                "settled_at of job 1": 3_600,
                "acks_refused of job 0": 0,
                "effects of job 1": 1,
            },
        ),
        Case(
            name="renewed every 6 minutes",
            fixed=True,
            job=1,
            scenario=backups(360),
            expect={
                "recorded": "acked",
                "settled_at of job 1": LONG_BACKUP,
                "effects of job 1": 1,
            },
        ),
    ),
)

INCIDENTS = (INC_22, INC_23)
