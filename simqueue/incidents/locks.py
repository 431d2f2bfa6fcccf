"""Locks that are given back by the wrong one, kept by the dead, or hold nobody off."""

from __future__ import annotations

from functools import partial
from typing import Any

from simqueue.arrivals import Times
from simqueue.context import Context, Job, Retry, TimeLimit
from simqueue.faults import Crash, Pause
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.services import Locks

# Three workers want one lock. The first overruns its time to live by half a second.

POLL = 0.2
OVERRUN = 0.5
TIMES_TO_LIVE = (5.0, 10.0, 10.0)
WORK = (5.0 + OVERRUN, 10.0, 10.0)


async def one_at_a_time(job: Job, ctx: Context) -> None:
    """Wait for the lock, do the work inside, and give the lock back."""
    while (held := await ctx.locks.acquire("report", ttl=TIMES_TO_LIVE[job.id])) is None:
        await ctx.sleep(POLL)
    async with ctx.database.transaction() as tx:
        await tx.apply("enter")
    await ctx.sleep(WORK[job.id])
    async with ctx.database.transaction() as tx:
        await tx.apply("leave")
    await held.release()


def three_in_a_row(check_owner: bool) -> Build:
    """A comes at 0, B at 1, C at 5, just after B has got the lock that expired."""
    return queue(
        arrivals=Times([0, 1, 5]), handler=one_at_a_time, workers=3, lease=None,
        on_disconnect="requeue", locks=Locks(check_owner=check_owner),
    )  # fmt: skip


INC_10 = Incident(
    id="INC-10",
    title="A late release deletes the next holder's lock, and lets a third one in",
    system="Redis locks (Laravel, redis-py and others)",
    links=(
        "https://github.com/laravel/framework/issues/26213",
        "https://github.com/redis/redis-py/issues/415",
        "https://github.com/twentyhq/twenty/issues/25661",
        "https://github.com/nexspence/nexspence/issues/223",
    ),
    report=(
        "A script takes a lock for 5 s and works longer. A second one gets the lock as it expires; "
        "the first one releases late; a third one gets in at that moment, beside the second."
    ),
    cause="The key is deleted without a look at whose token it holds.",
    fix="A random token for each acquisition, compared and deleted in one step.",
    note=(
        "The third worker polls every 0.2 s, so it enters at the first poll after the late "
        "release, at 5.6 s. It overlaps the second one from then until 15 s: for 10 s less "
        "the overrun and that wait. In both cases the overrun itself overlaps the second one: "
        "only fencing tokens help against that."
    ),
    cases=(
        Case(
            name="released by whoever comes",
            job=2,
            scenario=three_in_a_row(check_owner=False),
            expect={
                "effect_times of job 0": [0, 5.5],
                "effect_times of job 1": [5, 15],
                "effect_times of job 2": [5.6, 15.6],
            },
        ),
        Case(
            name="released by its owner only",
            fixed=True,
            job=2,
            scenario=three_in_a_row(check_owner=True),
            expect={
                "effect_times of job 0": [0, 5.5],
                "effect_times of job 1": [5, 15],
                "effect_times of job 2": [15, 25],
            },
        ),
    ),
)

# A lock that expires just as its holder gives up, and is given back two seconds later.

LOCKED = 14_400.0
CLEAN_UP = 2.001
"""Seconds: just too late for a poll that comes two seconds after the lock's end."""


async def gives_up(job: Job, ctx: Context) -> None:
    """Work; when the time is up, clean up, and let the failure release the job."""
    try:
        await ctx.work()
    except TimeLimit:
        await ctx.sleep(CLEAN_UP)
        raise
    await ctx.payments.charge(job.customer, job.amount)


def three_pollers(late_nack: str, time_limit: float = LOCKED) -> Build:
    """Polls every 5 s; the first worker is busy for a while with what failed."""
    return queue(
        handler=gives_up, work=2 * LOCKED, workers=3, poll_every=5, poll_phases=(0, 0, 2),
        time_limit=time_limit, lease=LOCKED, late_nack=late_nack, retry_delay=0,
        faults=[Pause(seconds=60, at=[(1, LOCKED + CLEAN_UP + 0.001)])], horizon=20_000,
    )  # fmt: skip


INC_05 = Incident(
    id="INC-05",
    title="A holder whose lock expired unlocks the job that someone else now owns",
    system="delayed_job",
    links=(
        "https://github.com/collectiveidea/delayed_job/issues/554",
        "https://github.com/collectiveidea/delayed_job_active_record/issues/193",
    ),
    report=(
        "At 16:00:00 one worker locks a job for four hours. At 20:00:00 a second one takes it; "
        "at 20:00:02 the first one's own timeout clears the lock; at 20:00:07 a third one has it."
    ),
    cause=(
        "A release does not ask whose the lock is, and the lock's life and the worker's own limit "
        "are the same four hours."
    ),
    fix="An unlock that compares the owner; a limit of the worker's that is shorter than the lock.",
    note=(
        "The first worker's clean-up takes a millisecond more than the two seconds of the "
        "log, or the third worker's poll at that instant would find the job free; then its "
        "failure keeps it busy for a minute, or its own next poll would come first."
    ),
    cases=(
        Case(
            name="released by whoever comes",
            scenario=three_pollers("releases"),
            expect={"starts": [0, LOCKED, LOCKED + 7], "still_running": 2},
        ),
        Case(
            name="released by its owner only",
            fixed=True,
            scenario=three_pollers("ignored"),
            expect={"starts": [0, LOCKED], "still_running": 1},
        ),
        Case(
            name="released by whoever comes, a limit ten seconds shorter",
            fixed=True,
            scenario=three_pollers("releases", time_limit=LOCKED - 10),
            expect={"executions": 2, "overlap_peak": 1, "still_running": 1},
        ),
    ),
)

# A lock that holds nobody off.

HOLDS_NOBODY_OFF = 0.001
"""Seconds for which others don't see the row."""


def polled_by_five(**options: Any) -> Build:
    """One job of 4 s, and five threads that poll within that time."""
    return queue(work=4.0, workers=5, poll_every=5, poll_phases=(0, 0.5, 1, 1.5, 2), **options)


INC_16 = Incident(
    id="INC-16",
    title="A lock that does not lock: all five threads perform one job",
    system="GoodJob, advisory locks of Postgres",
    links=(
        "https://github.com/bensheldon/good_job/issues/1599",
        "https://github.com/bensheldon/good_job/issues/802",
        "https://github.com/bensheldon/good_job/issues/52",
    ),
    report=(
        "One job is enqueued; five threads say that they perform it, and that they have performed "
        "it, in 4.0 s each. A warning says that the session does not own the lock."
    ),
    cause=(
        "Locks of a session were taken through a pooler that shares sessions (issue 802), so that "
        "they excluded nobody: each thread that polls while the job runs takes it too."
    ),
    fix="A connection of one's own for locks.",
    cases=(
        Case(
            name="five threads that poll half a second apart, a lock that holds nobody off",
            scenario=polled_by_five(lease=HOLDS_NOBODY_OFF, late_ack="deletes"),
            expect={"starts": [0, 0.5, 1, 1.5, 2], "executions": 5, "overlap_peak": 5},
        ),
        Case(
            name="a lock that lasts as long as its session",
            fixed=True,
            scenario=polled_by_five(lease=None, on_disconnect="requeue"),
            expect={"executions": 1, "overlap_peak": 1},
        ),
    ),
)

# A lock whose holder was killed, and a schedule that enqueues every five minutes.

EVERY = 300.0
DAY = 86_400.0


async def one_of_its_class(job: Job, ctx: Context, *, ttl: float) -> None:
    """Run if no other job of the class does; else be put off, to the next one of the schedule."""
    held = await ctx.locks.acquire("the class", ttl=ttl)
    if held is None:
        raise Retry("another job of this class is running")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await held.release()


def orphaned_lock(
    blocked_for: float, ttl: float, locks: Locks | None = None, starts: float = 1.0
) -> Build:
    """The first job, started by hand at `starts`, is killed at 31 s; the schedule goes on."""
    runs = int(blocked_for // EVERY) + 3
    return queue(
        arrivals=Times([starts, *(EVERY * number for number in range(1, runs + 1))]), work=60,
        handler=partial(one_of_its_class, ttl=ttl), locks=locks or Locks(),
        ack_when="received", max_receives=1, exhausted="drop",
        crash=Crash(at=[(1, 31.0)], restart_after=1),
    )  # fmt: skip


def blocked(name: str, blocked_for: float, scenario: Build, *, fixed: bool, job: int = 1) -> Case:
    """All runs of the schedule within the orphan's life are skipped, and the three after it run."""
    skipped = int(blocked_for // EVERY)
    return Case(
        name=name,
        fixed=fixed,
        job=job,
        scenario=scenario,
        expect={"failures": skipped, "effects": 3},
    )


INC_49 = Incident(
    id="INC-49",
    title="An orphaned uniqueness lock blocks all later jobs",
    system="sidekiq-unique-jobs",
    links=(
        "https://github.com/zoolutions/sidekiq-unique-jobs/issues/546",
        "https://github.com/mastodon/mastodon/pull/27246",
        "https://github.com/WikiEducationFoundation/WikiEduDashboard/issues/3048",
        "https://github.com/sidekiq/sidekiq/issues/6890",
    ),
    report=(
        "A job of 60 s is killed with kill -9. Every later job of its class starts and is put off; "
        "a course is never updated again. One site's locks lived for 50 days by default."
    ),
    cause="Only its holder releases a lock, and a killed holder can't.",
    fix="A reaper, a shorter life of the lock, or a release when the job dies.",
    note=(
        "Skipped runs are floor(X / 300) where the lock is taken just after a tick of the "
        "schedule, here a second; one that is taken at a tick is free again at its last one."
    ),
    cases=(
        # The story of the first run after the hour, which only the shorter lock lets through.
        blocked(
            "a lock for 50 days",
            50 * DAY,
            orphaned_lock(50 * DAY, ttl=50 * DAY),
            fixed=False,
            job=13,
        ),
        Case(
            name="a lock for an hour, taken at a tick: free again at the twelfth",
            job=1,
            scenario=orphaned_lock(3_600, ttl=3_600, starts=0),
            expect={"failures": 11, "effects": 4},
        ),
        blocked("a lock for an hour", 3_600, orphaned_lock(3_600, ttl=3_600), fixed=True, job=13),
        blocked(
            "a reaper ten minutes after the death",
            600,
            orphaned_lock(600, ttl=50 * DAY, locks=Locks(bound_to="session", session_timeout=600)),
            fixed=True,
        ),
    ),
)

INCIDENTS = (INC_05, INC_10, INC_16, INC_49)
