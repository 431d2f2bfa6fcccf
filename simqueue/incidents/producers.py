"""Producers that publish twice without meaning to, or mean to and can't."""

from __future__ import annotations

import math
from typing import Any

from simqueue.arrivals import EvenlySpaced
from simqueue.context import Context, Handler, Job, Retry
from simqueue.faults import Network
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Mean, SameAs
from simqueue.incidents.incident import Case, Incident
from simqueue.producers import Producers, Resend

# A producer that sends again when it hears nothing. One message for twenty-five.

SENT = 20_000
REPLY_LOST = 0.00641


def sends_again(**options: Any) -> Build:
    """Messages a millisecond apart; a lost reply makes the producer send again after a second."""
    return queue(
        arrivals=EvenlySpaced(interval=0.001), jobs=SENT,
        network=Network(publish_response_lost=REPLY_LOST, resend_after=1), **options,
    )  # fmt: skip


INC_20 = Incident(
    id="INC-20",
    title="500,000 sent, 503,225 received",
    system="A Kafka producer with retries; RabbitMQ with confirms",
    links=(
        "https://github.com/confluentinc/librdkafka/issues/1958",
        "https://github.com/EasyNetQ/EasyNetQ/issues/1413",
    ),
    report=(
        "A producer is faster than its link, and requests time out: of 500,000 messages 503,225 "
        "arrive, 0.645 % too many. In the other thread a publisher gets a timeout for a message "
        "that is in the queue. Here at a scale of 1:25."
    ),
    cause="A request that timed out may have been done; what is sent again is a new message.",
    fix="An idempotent producer, whose messages carry numbers; or consumers that know ids.",
    cases=(
        Case(
            name="sent again until a reply comes",
            job=90,
            scenario=sends_again(),
            expect={
                "second_messages": SameAs("replies_lost"),
                "duplicates": SameAs("replies_lost"),
                "second_messages_per_job": Mean(
                    REPLY_LOST / (1 - REPLY_LOST), math.sqrt(REPLY_LOST) / (1 - REPLY_LOST), SENT
                ),
            },
        ),
        Case(
            name="the broker knows what it has",
            job=90,
            fixed=True,
            scenario=sends_again(dedupe_window=60),
            expect={"second_messages": 0, "duplicates": 0, "effects": SENT},
        ),
    ),
)

# A sender whose repeats are swallowed while nobody has done the job.


async def reject(job: Job, ctx: Context) -> None:  # noqa: ARG001
    """The consumer does not take it."""
    raise Retry("rejected")


async def reject_the_first(job: Job, ctx: Context) -> None:
    """The consumer does not take it the first time, and does the second time."""
    if ctx.now < RESEND_EVERY:
        raise Retry("rejected")
    await ctx.payments.charge(job.customer, job.amount)


RESEND_EVERY, MOST_SENDS, PATIENCE = 13.0, 5, 15.0


def sender(window: float, handler: Handler = reject, dedupe_key: str = "job") -> Build:
    """Five sends, 13 s apart; the last one is waited for 15 s. A rejected message is gone."""
    return queue(
        handler=handler, lease=None, on_disconnect="requeue", max_receives=1,
        dedupe_window=window,
        producers=Producers(
            dedupe_key=dedupe_key,
            resend=Resend(every=RESEND_EVERY, most=MOST_SENDS, patience=PATIENCE),
        ),
    )  # fmt: skip


INC_09 = Incident(
    id="INC-09",
    title="The producer's retry falls inside the broker's dedupe window, and is swallowed",
    system="NATS JetStream with an outbox",
    links=("https://github.com/alexfrmn/murmur/issues/141",),
    report=(
        "A row is sent at 17:09:46 and stored once. Four more attempts follow, 13 s apart; at "
        "17:10:55 it is given up for lack of an ack. The receiver has seen one delivery."
    ),
    cause=(
        "A repeat within the window is accepted and not enqueued. What failed at the consumer "
        "can't be mended by sending again, and the sender counts it as an attempt."
    ),
    fix="A new id where a second delivery is meant; or to take a duplicate as stored, and wait.",
    note=(
        "Four waits of 13 s and one of 15 s are 67 s; the log has 69 s, with waits of about 13 s."
    ),
    cases=(
        Case(
            name="a window of 120 s",
            scenario=sender(window=120),
            expect={
                "sends": MOST_SENDS,
                "messages": 1,
                "deliveries": 1,
                "producer_gave_up_at": [(MOST_SENDS - 1) * RESEND_EVERY + PATIENCE],
            },
        ),
        Case(
            name="a window of 10 s",
            scenario=sender(window=10),
            expect={"sends": MOST_SENDS, "messages": 5, "deliveries": 5},
        ),
        Case(
            name="a window of 120 s, a new id for each send",
            fixed=True,
            scenario=sender(window=120, handler=reject_the_first, dedupe_key="send"),
            expect={"messages": 2, "deliveries": 2, "effects": 1, "producer_gave_up_at": []},
        ),
    ),
)

# A message that is put back by hand, under its old id.

FIFO_WINDOW = 300.0


async def fails_at_ten_seconds(job: Job, ctx: Context) -> None:  # noqa: ARG001
    """Fail after 10 s, and be removed."""
    await ctx.work()
    raise Retry("failed")


def put_back(after: float, dedupe_key: str = "job") -> Build:
    """Sent at 0, failed at 10, sent once more; the window goes on after the delete."""
    return queue(
        handler=fails_at_ten_seconds, work=10, max_receives=1, retry_delay=0, ordering="fifo",
        dedupe_window=FIFO_WINDOW,
        producers=Producers(dedupe_key=dedupe_key, resend=Resend(every=after, most=2)),
    )  # fmt: skip


def again(after: float) -> Case:
    """It is swallowed within the window, whatever became of the first one."""
    return Case(
        name=f"put back after {after:g} s",
        scenario=put_back(after),
        expect={"sends": 2, "deliveries": 1 + int(after >= FIFO_WINDOW)},
    )


INC_77 = Incident(
    id="INC-77",
    title="What is put back within the five minutes of a FIFO queue disappears",
    system="SQS FIFO",
    links=(
        "https://github.com/ruby-shoryuken/shoryuken/pull/473",
        "https://github.com/ministackorg/ministack/issues/1326",
    ),
    report=(
        "The author of a tool documents it: a message that is requeued within the window is "
        "accepted, and suppressed."
    ),
    cause="The window is about sends, not about what became of them, and outlives the delete.",
    fix="A new deduplication id for what is sent again on purpose.",
    cases=(
        again(60),
        again(299),
        again(300),
        again(301),
        Case(
            name="put back after 60 s, under a new id",
            fixed=True,
            scenario=put_back(60, dedupe_key="send"),
            expect={"sends": 2, "deliveries": 2},
        ),
    ),
)

INCIDENTS = (INC_09, INC_20, INC_77)
