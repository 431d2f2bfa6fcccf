"""Schedules that every replica fires."""

from __future__ import annotations

from simqueue.arrivals import EvenlySpaced, Times
from simqueue.context import Claim, Context, Handler, Job
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.producers import Producers

# A schedule that each of three workers fires, a few milliseconds apart.

OFFSETS = (0.0, 0.010, 0.020)
TICKS = 12


def ticks(period: float, kept: float) -> Build:
    """Twelve ticks of a unique job of 1 ms, whose key is kept for so long after its end."""
    return queue(
        arrivals=EvenlySpaced(interval=period), jobs=TICKS, work=0.001, workers=len(OFFSETS),
        producers=Producers(replicas=len(OFFSETS), offsets=OFFSETS, dedupe_key="all"),
        dedupe_after=kept,
    )  # fmt: skip


INC_14 = Incident(
    id="INC-14",
    title="A unique cron job runs once per replica; the cure starves one of every five seconds",
    system="arq, Redis",
    links=(
        "https://github.com/python-arq/arq/issues/196",
        "https://github.com/python-arq/arq/issues/459",
    ),
    report=(
        "Several workers each run a cron job that is unique, and takes a millisecond. Since keys "
        "are kept for a minute, another one that is due every five seconds runs once a minute."
    ),
    cause=(
        "The key lives as long as the job does, which is less than the pollers are apart; then it "
        "lives longer than the period."
    ),
    fix="A key that is kept for longer than the pollers are apart, and shorter than the period.",
    cases=(
        Case(
            name="the key goes with the job",
            scenario=ticks(period=61, kept=0),
            expect={"executions": TICKS * len(OFFSETS), "executions of job 0": len(OFFSETS)},
        ),
        Case(
            name="kept for 60 s, due every 61 s",
            fixed=True,
            scenario=ticks(period=61, kept=60),
            expect={"executions": TICKS, "executions of job 0": 1},
        ),
        Case(
            name="kept for 60 s, due every 5 s: one tick of twelve",
            scenario=ticks(period=5, kept=60),
            expect={"executions": 1},
        ),
        Case(
            name="kept for 2 s, due every 5 s",
            fixed=True,
            scenario=ticks(period=5, kept=2),
            expect={"executions": TICKS, "executions of job 0": 1},
        ),
    ),
)

# A schedule fired by replicas whose timers are anywhere in the period.

PERIOD = 60.0
PHASES = (0.0, 17.0, 41.0)
PERIODS = 10


async def unique_while_it_runs(job: Job, ctx: Context) -> None:
    """Run, unless the same is running; its key goes with its end."""
    held = await ctx.locks.acquire(job.customer, ttl=3_600)
    if held is None:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await held.release()


async def once_per_period(job: Job, ctx: Context) -> None:
    """Run, unless somebody has claimed this period's slot in the ledger."""
    if await ctx.store.claim(f"slot {ctx.now // PERIOD:.0f}") is not Claim.WON:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


def clustered(handler: Handler, *, dies_in: int = PERIODS) -> Build:
    """Three replicas with timers of their own; the first one dies in period `dies_in`."""
    times = [
        period * PERIOD + phase
        for period in range(PERIODS)
        for phase in PHASES
        if phase > 0 or period < dies_in
    ]
    return queue(handler=handler, arrivals=Times(times), work=5, workers=3, customers=1)


INC_90 = Incident(
    id="INC-90",
    title="Every replica fires the schedule",
    system="Cron in clustered workers",
    links=(
        "https://github.com/hexpm/bob/pull/257",
        "https://github.com/objectstack-ai/objectstack/pull/2219",
        "https://github.com/sidekiq/sidekiq/issues/3773",
    ),
    report=(
        "Each instance has its own timer, out of step with the others, and a job is unique only "
        "while it is active: with two instances things happen twice as often."
    ),
    cause="Nothing is claimed for a tick that all share.",
    fix="A slot for each entry and period, claimed in the database.",
    cases=(
        Case(
            name="three replicas, unique while it runs",
            job=1,
            scenario=clustered(unique_while_it_runs),
            expect={"effects": len(PHASES) * PERIODS},
        ),
        Case(
            name="three replicas, a slot for each period",
            job=1,
            fixed=True,
            scenario=clustered(once_per_period),
            expect={"effects": PERIODS},
        ),
        Case(
            name="the first replica dies: another takes over within the period",
            fixed=True,
            scenario=clustered(once_per_period, dies_in=4),
            expect={"effects": PERIODS},
        ),
    ),
)

INCIDENTS = (INC_14, INC_90)
