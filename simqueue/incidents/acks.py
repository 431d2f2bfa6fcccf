"""Acks that come before the work: what a process holds then dies with it."""

from __future__ import annotations

from typing import Any

from simqueue.arrivals import EvenlySpaced
from simqueue.context import Context, Job
from simqueue.faults import Crash, Outage
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

# One and a half million rows for a slow database writer. Each job stands for a thousand.

PUBLISHED, INSERTED = 1_500, 1_000
PREFETCH = 10


def slow_writer(**options: Any) -> Build:
    """Arrivals at one and a half times the rate of service; a restart when all have been sent."""
    return queue(
        arrivals=EvenlySpaced(rate=PUBLISHED / INSERTED), jobs=PUBLISHED, work=1.0,
        crash=Crash(at=[(1, INSERTED + 0.5)], restart_after=1), **options,
    )  # fmt: skip


INC_11 = Incident(
    id="INC-11",
    title="A consumer library drains the queue into memory, and a restart loses it",
    system="RabbitMQ with automatic acks and no prefetch limit",
    links=(
        "https://github.com/streadway/amqp/issues/434",
        "https://github.com/rabbitmq/amqp091-go/issues/83",
        "https://github.com/Particular/NServiceBus.RabbitMQ/issues/122",
    ),
    report=(
        "1.5 million rows are published and 1.0 million inserted; after a restart the queue is "
        "empty, and half a million are gone. Here each job stands for a thousand."
    ),
    cause=(
        "An automatic ack settles a message as it is sent, and no limit holds the broker back: "
        "what is not written yet lives in the client's memory alone."
    ),
    fix="Acks after the work, and a prefetch limit.",
    note=("That the first thread acked automatically is said only in those that link to it."),
    cases=(
        Case(
            name="acked as it is sent, no limit",
            job=INSERTED,
            scenario=slow_writer(ack_when="received", prefetch=float("inf")),
            expect={"effects": INSERTED, "lost": PUBLISHED - INSERTED, "duplicates": 0},
        ),
        Case(
            name="acked when done, a prefetch of 10",
            fixed=True,
            job=INSERTED,
            scenario=slow_writer(lease=None, on_disconnect="requeue", prefetch=PREFETCH),
            expect={
                "effects": PUBLISHED,
                "lost": 0,
                "duplicates": 0,
                "delivered_again": PREFETCH,
            },
        ),
    ),
)

# Ten threads in one process, and a job that kills it.

CRASHES_AT, INNOCENT = 5.0, 60.0
PERIOD = 10.0


def poisoned(**options: Any) -> Build:
    """Job 0 kills its process after 5 s; nine others need 60 s. It is back after 5 s."""
    return queue(
        jobs=10, work=INNOCENT, crash=Crash(after=CRASHES_AT, jobs=[0], restart_after=PERIOD / 2),
        **options,
    )  # fmt: skip


def recovered(**options: Any) -> Build:
    """The same with a fetch that keeps what a dead process held."""
    return poisoned(lease=None, on_disconnect="requeue", **options)


INC_45 = Incident(
    id="INC-45",
    title="Ack on fetch: a kill loses every job of the process; reliable fetch meets the poison",
    system="Sidekiq, basic fetch and super_fetch",
    links=(
        "https://github.com/sidekiq/sidekiq/issues/4633",
        "https://github.com/sidekiq/sidekiq/issues/6829",
        "https://github.com/sidekiq/sidekiq/issues/4594",
    ),
    report=(
        "After SIGKILL jobs are gone, neither retried nor dead. Where they are recovered, a job "
        "that runs out of memory returns several times a week, until somebody removes it by hand."
    ),
    cause=(
        "Basic fetch removes a job before it runs. Recovery brings back all that the process held: "
        "the killer, and its neighbours."
    ),
    fix="A limit of recoveries, after which a job is dead, and somebody is told.",
    note=(
        "A limit of recoveries, counted for each job, does not save the neighbours of the "
        "poison while they share its process on every run: they come back as often, and are "
        "dead as soon. They finish where they run in other processes."
    ),
    cases=(
        Case(
            name="basic fetch",
            scenario=poisoned(concurrency=10, ack_when="received"),
            expect={"lost": 10, "executions": 10, "dead_lettered": 0},
        ),
        Case(
            name="recovered without a limit: the poison loops, its neighbours never finish",
            scenario=recovered(concurrency=10, horizon=60 * PERIOD - 1),
            expect={
                "executions of job 0": 60,
                "executions of job 9": 60,
                "acked": 0,
                "lost": 0,
            },
        ),
        Case(
            # A counter for each job counts for all that the dead process held: those who share a
            # process with the poison on every run share its fate.
            name="dead at the fourth strike, in one process: the neighbours die too",
            scenario=recovered(concurrency=10, counts=["disconnect"], max_receives=4),
            expect={"executions of job 0": 1 + 3, "dead_lettered": 10, "acked": 0},
        ),
        Case(
            name="dead at the fourth strike, a process for each job",
            fixed=True,
            scenario=recovered(workers=10, counts=["disconnect"], max_receives=4),
            expect={"executions of job 0": 1 + 3, "dead_lettered": 1, "acked": 9, "lost": 0},
        ),
    ),
)

# A child process that is killed: acked, delivered again, or delivered again so often.

POISON = Crash(after=5.0, jobs=[0], restart_after=1)
VICTIM = Crash(at=[(1, 5.0)], restart_after=1)
CAP = 3


def child_killed(crash: Crash, policy: str, **options: Any) -> Build:
    """What becomes of the task: "ack" it, "requeue" it, or "cap" its deliveries."""
    policies: dict[str, dict[str, Any]] = {
        "ack": {"ack_when": "received"},
        "requeue": {"lease": None, "on_disconnect": "requeue"},
        "cap": {
            "lease": None, "on_disconnect": "requeue", "counts": ["disconnect"],
            "max_receives": CAP,
        },
    }  # fmt: skip
    return queue(work=10, crash=crash, **policies[policy], **options)


INC_75 = Incident(
    id="INC-75",
    title="The worker is lost: its task too, or it comes back for ever, or so often",
    system="Celery, acks_late",
    links=(
        "https://github.com/celery/celery/issues/1628",
        "https://github.com/OasisLMF/OasisPlatform/pull/975",
        "https://github.com/freelabz/secator/pull/1284",
    ),
    report=(
        "As it is, a task whose child process is killed is acked, and lost. With the option that "
        "rejects it instead, a task without enough memory evicts its pods in a loop."
    ),
    cause="Either is right for one kind of task; what is missing is a counter.",
    fix="Requeue only while the task has been delivered fewer times than a cap.",
    cases=(
        Case(
            name="acked, a victim",
            scenario=child_killed(VICTIM, "ack"),
            expect={"executions": 1, "recorded": "lost", "lost": 1},
        ),
        Case(
            name="acked, a poisonous task",
            scenario=child_killed(POISON, "ack"),
            expect={"executions": 1, "recorded": "lost"},
        ),
        Case(
            name="requeued, a victim",
            scenario=child_killed(VICTIM, "requeue"),
            expect={"executions": 2, "recorded": "acked"},
        ),
        Case(
            name="requeued, a poisonous task: it never ends",
            scenario=child_killed(POISON, "requeue", horizon=600),
            expect={"executions": 600 / 6, "recorded": "unfinished"},
        ),
        Case(
            name="requeued up to three times, a victim",
            fixed=True,
            scenario=child_killed(VICTIM, "cap"),
            expect={"executions": 2, "recorded": "acked", "lost": 0},
        ),
        Case(
            name="requeued up to three times, a poisonous task",
            fixed=True,
            scenario=child_killed(POISON, "cap"),
            expect={"executions": CAP, "recorded": "dead-lettered"},
        ),
    ),
)

# A mail API that says yes before it has stored anything. Each job stands for a thousand mails.

LOST_MAILS, FAULTY = 137, 420.0


async def store_mail(job: Job, ctx: Context) -> None:
    """Write the mail that was accepted into the database."""
    async with ctx.database.transaction() as tx:
        await tx.insert("mails", job.key)
        await tx.apply("stored")


def mail_api(**options: Any) -> Build:
    """Mails at the rate of the incident for ten minutes; for seven of them nothing is stored."""
    return queue(
        arrivals=EvenlySpaced(rate=LOST_MAILS / FAULTY), jobs=196, handler=store_mail, workers=4,
        faults=[Outage(service="database", window=(60, 60 + FAULTY))], **options,
    )  # fmt: skip


INC_88 = Incident(
    id="INC-88",
    title="Accepted, and not stored",
    system="A mail API (2016); Redis at a failover",
    links=(
        "http://status.mailgun.com/incidents/5v57x1lmbk5b",
        "https://github.com/sidekiq/sidekiq/issues/3811",
    ),
    report=(
        "A faulty release loses some 137,000 mails in about seven minutes: 326 a second. Here each "
        "job stands for a thousand."
    ),
    cause="The answer goes out before anything is written where it lasts.",
    fix="Say yes once the store has said so; the sender tries again until then.",
    cases=(
        Case(
            name="accepted first",
            job=100,
            scenario=mail_api(ack_when="received", max_receives=1, exhausted="drop"),
            expect={"lost": LOST_MAILS, "effects": 196 - LOST_MAILS},
        ),
        Case(
            name="stored first",
            fixed=True,
            job=100,
            scenario=mail_api(retry_delay=30),
            expect={"lost": 0, "effects": 196, "duplicates": 0},
        ),
    ),
)

INCIDENTS = (INC_11, INC_45, INC_75, INC_88)
