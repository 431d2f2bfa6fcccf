"""Work that is acked, or retried, as a whole."""

from __future__ import annotations

from simqueue.context import Context, Handler, Job, Retry
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

# One loop of twenty polls, a second each, whose deletes come at its end.

LOOP = 20.0


async def delete_at_the_end(job: Job, ctx: Context) -> None:
    """Do the item's work; the loop that it is part of deletes it when all polls are through."""
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sleep(LOOP - ctx.now % LOOP)


INC_40 = Incident(
    id="INC-40",
    title="A video job in a visibility of 30 s; a fetch loop that deletes only at its end",
    system="SQS",
    links=(
        "https://github.com/iHiD/propono/issues/80",
        "https://github.com/demisto/content/pull/19125",
    ),
    report=(
        "An hour's work is begun again by others, or by the same worker. In the other project one "
        "message returns in later rounds of a loop, and makes an incident each time."
    ),
    cause="The lease is shorter than the time to the ack, and in the loop that is all its polls.",
    fix="A timeout for each receive that fits the job; creating and deleting within the loop.",
    note=(
        "That an hour's work runs min(workers, 120) times holds where a late ack deletes the "
        "message. On SQS a newer receipt wins, and with three workers the hour begins again "
        "and again. The loop is one process with twenty slots, whose handlers all return at "
        "the loop's end."
    ),
    cases=(
        Case(
            name="an hour of work, three workers",
            scenario=queue(work=3_600, workers=3, lease=30, late_ack="deletes"),
            expect={"executions": min(3, 120), "settled_at": 3_600},
        ),
        Case(
            name="an hour of work, ample workers",
            scenario=queue(work=3_600, workers=130, lease=30, late_ack="deletes"),
            expect={"executions": min(130, 120), "settled_at": 3_600},
        ),
        Case(
            # The figures above need an ack that deletes the message wherever it is. A late delete
            # on a standard queue loses to a newer receipt: then it goes on hour after hour.
            name="an hour of work, three workers, and a newer receipt wins, as on SQS",
            scenario=queue(
                work=3_600, workers=3, lease=30, late_ack="latest_receipt", horizon=2 * 3_600 - 1
            ),
            expect={"starts": [0, 30, 60, 3_600, 3_630, 3_660], "settled_at": None},
        ),
        Case(
            name="a loop of 20 s that deletes at its end, a visibility of 5 s",
            scenario=queue(handler=delete_at_the_end, work=1, concurrency=20, lease=5),
            expect={"starts": [0, 5, 10, 15], "executions": 4, "settled_at": LOOP},
        ),
        Case(
            name="a timeout above the hour",
            fixed=True,
            scenario=queue(work=3_600, workers=3, lease=4_000, late_ack="deletes"),
            expect={"executions": 1, "settled_at": 3_600},
        ),
        Case(
            name="deleted within the loop",
            fixed=True,
            scenario=queue(work=1, concurrency=20, lease=5),
            expect={"executions": 1, "settled_at": 1},
        ),
        Case(
            name="the loop with a visibility of 30 s",
            fixed=True,
            scenario=queue(handler=delete_at_the_end, work=1, concurrency=20, lease=30),
            expect={"executions": 1, "settled_at": LOOP},
        ),
    ),
)

# Ten records, one of which can't be done.

BAD = 9


async def one_bad_record(job: Job, ctx: Context) -> None:
    """Do the record's work; the last one always fails."""
    await ctx.work()
    if job.id == BAD:
        raise Retry("this record can't be done")
    await ctx.payments.charge(job.customer, job.amount)


def batch_of_ten(ack_batch: str, receives: int = 3) -> Build:
    """Ten records that are received together, up to so many times."""
    return queue(
        handler=one_bad_record, jobs=10, work=1, batch=10, ack_batch=ack_batch, lease=60,
        max_receives=receives,
    )  # fmt: skip


INC_42 = Incident(
    id="INC-42",
    title="One bad record runs the whole batch again",
    system="SQS and Lambda",
    links=(
        "https://github.com/aws/chalice/issues/884",
        "https://github.com/LeanerCloud/CUDly/issues/1574",
        "https://github.com/aws-powertools/powertools-lambda-python/issues/92",
    ),
    report=(
        "One error in a batch of ten is returned for the whole batch. All ten records come back, "
        "nine of them done already: in one code base, purchases."
    ),
    cause="The batch is what is acked, not the record.",
    fix="A partial batch response: the function says which records failed.",
    cases=(
        Case(
            name="acked as a whole, three receives (F11)",
            scenario=batch_of_ten("whole"),
            expect={
                "executions": 10 * 3,
                "dead_lettered": 10,
                "executions of job 0": 3,
                "effects of job 0": 3,
                "recorded of job 0": "dead-lettered",
            },
        ),
        Case(
            name="each record for itself",
            fixed=True,
            scenario=batch_of_ten("each"),
            expect={
                "executions": 9 + 3,
                "dead_lettered": 1,
                "executions of job 0": 1,
                "recorded of job 0": "acked",
            },
        ),
    ),
)

# A mailing to a list, which stops half-way.

RECIPIENTS, STOPS_AT, FAILED_RUNS = 50, 20, 2


async def mail_the_list(job: Job, ctx: Context) -> None:
    """Mail all recipients in one go; the first runs stop on an error after some of them."""
    for number in range(RECIPIENTS):
        if number == STOPS_AT and ctx.attempt <= FAILED_RUNS:
            raise Retry("a rare error")
        await ctx.mailer.send(f"{job.customer}-{number}", "This week")


async def mail_who_has_none(job: Job, ctx: Context) -> None:
    """As `mail_the_list`, and remember each recipient who has been served."""
    for number in range(RECIPIENTS):
        if number == STOPS_AT and ctx.attempt <= FAILED_RUNS:
            raise Retry("a rare error")
        if not await ctx.store.is_done(f"{job.key}/{number}"):
            await ctx.mailer.send(f"{job.customer}-{number}", "This week")
            await ctx.store.complete(f"{job.key}/{number}")


async def mail_one(job: Job, ctx: Context) -> None:
    """Mail one recipient; the same one makes the first runs fail."""
    if job.id == STOPS_AT and ctx.attempt <= FAILED_RUNS:
        raise Retry("a rare error")
    await ctx.mailer.send(job.customer, "This week")


def mailing(handler: Handler, jobs: int = 1) -> Build:
    """The weekly mail, tried again a minute after an error."""
    return queue(
        handler=handler, jobs=jobs, lease=None, on_disconnect="requeue", retry_delay=60, workers=4
    )


INC_87 = Incident(
    id="INC-87",
    title="A job with many effects is retried as a whole",
    system="Sidekiq, a weekly mail job (2024)",
    links=("https://status.launchnotes.com/incidents/01J364YWJ9TXQVSV95FG1MSDE0/write-up",),
    report="One job mails a whole list. A rare error midway, and part of the users got it again.",
    cause="The retry does not leave out those who have been served.",
    fix="Skip those; or one job for each recipient.",
    cases=(
        Case(
            name="one job for the list, two runs stop after 20 of 50",
            scenario=mailing(mail_the_list),
            expect={"effects": RECIPIENTS + STOPS_AT * FAILED_RUNS, "failures": FAILED_RUNS},
        ),
        Case(
            name="the job skips who has been served",
            fixed=True,
            scenario=mailing(mail_who_has_none),
            expect={"effects": RECIPIENTS, "failures": FAILED_RUNS},
        ),
        Case(
            name="one job for each recipient",
            fixed=True,
            job=STOPS_AT,
            scenario=mailing(mail_one, jobs=RECIPIENTS),
            expect={"effects": RECIPIENTS, "duplicates": 0, "failures": FAILED_RUNS},
        ),
    ),
)

INCIDENTS = (INC_40, INC_42, INC_87)
