"""Attempts: who counts them, when, and what a limit does to a job that would have succeeded."""

from __future__ import annotations

from typing import Any

from simqueue.context import Context, Job
from simqueue.faults import Crash, Outage
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

HOUR = 3_600.0

# A job that kills its process after a quarter of an hour, under a lock of four hours.

FIVE_DAYS = 432_000.0


def out_of_memory(**options: Any) -> Build:
    """The job of INC-06; a crash comes to no failure handler."""
    return queue(
        work=HOUR, lease=4 * HOUR, crash=Crash(after=900.0), max_receives=1, horizon=FIVE_DAYS,
        **options,
    )  # fmt: skip


INC_06 = Incident(
    id="INC-06",
    title="An out-of-memory job restarts every four hours for five days, with attempts at 0",
    system="delayed_job, GoodJob",
    links=(
        "https://github.com/collectiveidea/delayed_job/issues/415",
        "https://github.com/bensheldon/good_job/issues/922",
    ),
    report=(
        "A job with one attempt allowed kills its process after about 15 minutes. It ran some "
        "thirty times in five days, once in every lock of four hours, and its attempts stayed at 0."
    ),
    cause="The counter moves in the failure handler, which never runs when the process dies.",
    fix="Count the attempt as the job is picked up, before it runs.",
    cases=(
        Case(
            name="counted when a failure is handled",
            scenario=out_of_memory(counts=["failure"]),
            expect={
                "executions": int(FIVE_DAYS / (4 * HOUR)),
                "starts": [number * 4 * HOUR for number in range(30)],
                "recorded": "unfinished",
                "dead_lettered": 0,
            },
        ),
        Case(
            name="counted at pick-up",
            fixed=True,
            scenario=out_of_memory(counts=["receive"]),
            expect={"executions": 1, "recorded": "dead-lettered", "settled_at": 4 * HOUR},
        ),
    ),
)

# A dependency that is down, and a limit that passes in a moment.


async def call_dependency(job: Job, ctx: Context) -> None:
    """Take one cycle of the loop, then call the dependency; a refusal requeues the message."""
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


def requeued_at_once(cycle: float, outage: float, limit: int | None) -> Build:
    """The loop of INC-28: tries of `cycle` seconds while the dependency is down for `outage`."""
    return queue(
        handler=call_dependency, work=cycle, lease=None, on_disconnect="requeue", retry_delay=0,
        max_receives=limit, exhausted="drop",
        faults=[Outage(service="payments", window=(0, outage))],
    )  # fmt: skip


INC_28 = Incident(
    id="INC-28",
    title="A new default limit of 20 turns requeue-on-any-error into silent loss",
    system="RabbitMQ 4.0, quorum queues",
    links=("https://github.com/rabbitmq/rabbitmq-server/pull/11937",),
    report=(
        "Quorum queues got a limit of 20 where there had been none. Its authors called that a "
        "breaking change, and users feared for messages in queues that are meant to keep them."
    ),
    cause="A requeue at once makes attempts a clock: twenty of them can pass in a moment.",
    fix="A pause before the requeue, or a dead-letter policy that catches all.",
    note=(
        "Here a limit of 20 means 20 tries. RabbitMQ's own limit of 20 lets a message be "
        "delivered 21 times."
    ),
    cases=(
        Case(
            name="a try takes 10 ms, the dependency is down for 10 s",
            scenario=requeued_at_once(0.01, outage=10.005, limit=20),
            expect={"executions": 20, "settled_at": 20 * 0.01, "recorded": "lost", "lost": 1},
        ),
        Case(
            name="a try takes 30 s, down for 601 s: one second too long",
            scenario=requeued_at_once(30, outage=601, limit=20),
            expect={"executions": 20, "settled_at": 20 * 30, "lost": 1},
        ),
        Case(
            name="a try takes 30 s, down for 600 s",
            fixed=True,
            scenario=requeued_at_once(30, outage=600, limit=20),
            expect={"executions": 20, "settled_at": 600, "recorded": "acked", "effects": 1},
        ),
        Case(
            name="no limit: tries are wasted, and nothing is lost",
            fixed=True,
            scenario=requeued_at_once(0.01, outage=10.005, limit=None),
            expect={"failures": int(10.005 / 0.01), "recorded": "acked", "effects": 1},
        ),
    ),
)

# A reservation that lapses long before the job is done; the limit is looked at before a run.


def reserved(tries: int, retry_after: float = 90.0) -> Build:
    """The job of INC-37; whoever finishes it deletes the row."""
    return queue(
        work=300, workers=6, lease=retry_after, late_ack="deletes", max_receives=tries,
        exhaustion="receive",
    )  # fmt: skip


INC_37 = Incident(
    id="INC-37",
    title="retry_after is shorter than the job: it succeeds and is recorded as failed",
    system="Laravel queues",
    links=(
        "https://github.com/whisper-money/whisper-money/pull/645",
        "https://github.com/pabloroman/virtua-fc/pull/363",
        "https://github.com/laravel/framework/issues/15696",
    ),
    report=(
        "Jobs of up to 300 and 600 s run with retry_after at 90 s and one try. The log says that "
        "too many attempts were made, some eighteen times, while the only run finishes normally."
    ),
    cause="The reservation lapses; the next worker counts one attempt too many, and fails it.",
    fix="retry_after above the longest job, and a test that keeps it so.",
    cases=(
        Case(
            name="one try",
            scenario=reserved(tries=1),
            expect={
                "executions": 1,
                "failures": 0,
                "effects": 1,
                "recorded": "dead-lettered",
                "settled_at": 90,
            },
        ),
        Case(
            name="three tries",
            scenario=reserved(tries=3),
            expect={"starts": [0, 90, 180], "recorded": "dead-lettered", "settled_at": 270},
        ),
        Case(
            name="five tries",
            scenario=reserved(tries=5),
            expect={"executions": 4, "recorded": "acked", "settled_at": 300},
        ),
        Case(
            name="retry_after of 900 s",
            fixed=True,
            scenario=reserved(tries=1, retry_after=900),
            expect={"executions": 1, "recorded": "acked", "settled_at": 300},
        ),
    ),
)

# More messages than a function takes, received by pollers that do not wait for it.


def throttled(jobs: int, **options: Any) -> Build:
    """N messages at once, 64 of which find room in each round of the visibility timeout."""
    return queue(
        jobs=jobs, work=20, concurrency=64, throttled=True, lease=30, max_receives=9, **options
    )


INC_43 = Incident(
    id="INC-43",
    title="Throttling eats the attempts of valid messages",
    system="SQS and Lambda",
    links=(
        "https://github.com/DataBiosphere/azul/issues/3708",
        "https://github.com/DataBiosphere/azul/issues/3315",
        "https://github.com/seek-oss/skuba/pull/1412",
    ),
    report=(
        "Several hundred messages meet a function that runs 64 at a time. Pollers receive more "
        "than it takes; receive counts rise without a run, and some messages end in the fail queue."
    ),
    cause="A receive counts as an attempt, whether the message is run or not.",
    fix="A counter of one's own, raised when a run starts; or pollers that ask for what fits.",
    cases=(
        Case(
            name="700 messages, 9 receives (F9)",
            job=576,
            scenario=throttled(700),
            expect={
                "acked": 9 * 64,
                "dead_lettered": max(0, 700 - 9 * 64),
                "dead_unrun": 124,
            },
        ),
        Case(
            name="500 messages: all find room in time",
            scenario=throttled(500),
            expect={"acked": 500, "dead_lettered": 0},
        ),
        Case(
            name="700 messages, failed runs counted instead of receives",
            job=576,
            fixed=True,
            scenario=throttled(700, counts=["failure"]),
            expect={"acked": 700, "dead_lettered": 0, "executions": 700},
        ),
    ),
)

INCIDENTS = (INC_06, INC_28, INC_37, INC_43)
