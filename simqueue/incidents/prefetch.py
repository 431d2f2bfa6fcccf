"""Messages that age in a client's buffer: their leases run while nobody works on them (F8)."""

from __future__ import annotations

import contextlib
import math
from functools import partial

from simqueue.context import Context, Job, LeaseLost
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

# Ten messages of 28 s, and two replicas that buffer all that they can get.


def two_replicas(prefetch: float) -> Build:
    """Leases of 30 s from the hand-over; a client that holds a message is not given it again."""
    return queue(
        jobs=10, work=28, workers=2, prefetch=prefetch, holds_once=True, lease=30,
        late_ack="deletes",
    )  # fmt: skip


INC_02 = Incident(
    id="INC-02",
    title="A second replica adds no throughput: buffered messages age out while they wait",
    system="NATS JetStream, pull consumer",
    links=(
        "https://github.com/nats-io/nats.go/issues/1929",
        "https://github.com/ThreeDotsLabs/watermill-nats/pull/37",
    ),
    report=(
        "Ten messages of 28 s each, acks due in 30 s. The first replica buffers all ten; at 30 s "
        "the rest is delivered to the second one too, and both work through the same messages."
    ),
    cause=(
        "The time to ack runs from the delivery to the client's buffer on, not from the start of "
        "the handler; and what has expired in the buffer is run all the same."
    ),
    fix="One message at a time, so that clock and handler start together.",
    cases=(
        Case(
            name="all that there is, two replicas",
            job=1,
            scenario=two_replicas(math.inf),
            expect={
                "executions": 19,
                "executions of job 0": 1,
                "executions of job 9": 2,
                "settled_at": 280,
                "ends of job 9": [10 * 28, 10 * 28 + 2],
            },
        ),
        Case(
            name="one message at a time, two replicas",
            fixed=True,
            job=1,
            scenario=two_replicas(1),
            expect={"executions": 10, "delivered_again": 0, "settled_at": 140},
        ),
    ),
)

# Two hundred messages in one buffer, and a sleep before each ack.

BUFFER_LEASE = 20.4
"""Seconds for which a buffered message was ours: the value that fits the reported counts."""


def acks_in_time(messages: int, work: float, lease: float) -> int:
    """F8: how many of the messages in one worker's buffer it acks before their leases end."""
    return min(messages, int(lease / work + 1e-9))


def slept_before_ack(work: float, lease: float = BUFFER_LEASE, prefetch: float = math.inf) -> Build:
    """All are handed over at 0; what is acked late is not deleted, and counted once only."""
    return queue(
        jobs=200, work=work, prefetch=prefetch, lease=lease, late_ack="unexpired", max_receives=1
    )


def slept(work: float, lease: float, seen: str) -> Case:
    """A run of the report: so many seconds before each ack."""
    acked = acks_in_time(200, work, lease)
    return Case(
        name=f"{work:g} s before each ack{seen}",
        scenario=slept_before_ack(work, lease),
        job=acked if acked < 200 else 199,
        expect={"acked": acked, "dead_lettered": 200 - acked, "acks_refused": 200 - acked},
    )


INC_07 = Incident(
    id="INC-07",
    title="A small delay per message makes most of 200 acks useless",
    system="Google Pub/Sub, streaming pull (2017 client)",
    links=("https://github.com/googleapis/google-cloud-go/issues/778",),
    report=(
        "One goroutine sleeps 0, 100, 200 or 300 ms before each of 200 acks: 200, 196, 102 and 68 "
        "messages are deleted. A second run at 300 ms, with a deadline of 5 minutes, deletes 123."
    ),
    cause=(
        "Messages come in bulk and wait in a buffer in front of the client, where nobody extends "
        "their leases: they run out, and an ack that comes later does nothing."
    ),
    fix="Pulling one message at a time; later, changes of server and client.",
    note=(
        "The lease in the buffer, 20.4 s, and 36.9 s in the second run, is derived from the "
        "counts; nobody in the thread names it."
    ),
    cases=(
        slept(0.2, BUFFER_LEASE, ""),
        slept(0.1, BUFFER_LEASE, ", where 196 were seen"),
        slept(0.3, BUFFER_LEASE, ""),
        slept(0.3, 36.9, ", second run"),
        Case(
            name="0.2 s before each ack, one message at a time",
            fixed=True,
            job=102,
            scenario=slept_before_ack(0.2, prefetch=1),
            expect={"acked": 200, "dead_lettered": 0, "acks_refused": 0},
        ),
    ),
)

# Messages on hold, whose lease nobody extends until they are run.

STREAM_LEASE = 10.0


async def extended_while_run(job: Job, ctx: Context, *, lease: float) -> None:
    """Extend the lease as the run begins, as the client does; it does not mind coming too late."""
    with contextlib.suppress(LeaseLost):
        await ctx.extend(lease)
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


def on_hold(messages: int, work: float, lease: float = STREAM_LEASE) -> Build:
    """One message at a time is run, and renewed while it is; all others wait in the client."""
    return queue(
        handler=partial(extended_while_run, lease=lease), jobs=messages, work=work,
        prefetch=math.inf, lease=lease, renew_every=lease / 2, late_ack="deletes",
    )  # fmt: skip


def lapse_on_hold(messages: int, work: float, lease: float = STREAM_LEASE) -> int:
    """How many messages wait for longer than their lease; a start at its very end is in time."""
    return sum(number * work > lease for number in range(messages))


def held(messages: int, work: float, lease: float = STREAM_LEASE, *, fixed: bool = False) -> Case:
    """So many messages, each of so many seconds."""
    return Case(
        name=f"{messages} messages of {work:g} s, a lease of {lease:g} s",
        fixed=fixed,
        job=messages - 1,
        scenario=on_hold(messages, work, lease),
        expect={
            "delivered_again": lapse_on_hold(messages, work, lease),
            "deliveries of job 0": 1,
        },
    )


INC_32 = Incident(
    id="INC-32",
    title="A message that flow control puts on hold comes back after 10 s, not after 300",
    system="Google Pub/Sub, Python client",
    links=(
        "https://github.com/googleapis/google-cloud-python/issues/9252",
        "https://github.com/googleapis/google-cloud-python/pull/9268",
        "https://github.com/googleapis/google-cloud-python/issues/4984",
    ),
    report=(
        "With max_messages at 1 and a deadline of 300 s or more, the second of two messages is "
        "always duplicated when the handler takes more than about 10 s, and rarely below 8 s."
    ),
    cause="The client opened its stream with a minimum of 10 s, and renewed nothing on hold.",
    fix="The subscription's own deadline for the stream.",
    cases=(
        held(2, 12),
        held(2, 8),
        held(40, 1),
        held(2, 12, 300, fixed=True),
        held(40, 1, 300, fixed=True),
    ),
)

# Copies of what waits join the end of the same buffer.


def consumed_per_message(messages: int, work: float, lease: float) -> float:
    """Deliveries per message: each lease's end brings back all that is not acked by then."""
    ends = range(math.ceil(messages * work / lease))
    return sum(messages - int(end * lease / work + 1e-9) for end in ends) / messages


def competing_copies(lease: float) -> Case:
    """Three hundred messages, 50 ms each: 15 s of work in one buffer."""
    return Case(
        name=f"15 s of work, leases of {lease:g} s in the buffer",
        fixed=lease > 15,
        job=299,
        scenario=queue(jobs=300, work=0.05, prefetch=math.inf, lease=lease, late_ack="deletes"),
        expect={"deliveries_per_job": consumed_per_message(300, 0.05, lease), "acked": 300},
    )


INC_82 = Incident(
    id="INC-82",
    title="Thirty thousand messages, 55 to 142 thousand consumed",
    system="Google Pub/Sub, Java client (2017)",
    links=(
        "https://github.com/googleapis/google-cloud-java/issues/2534",
        "https://github.com/googleapis/google-cloud-java/issues/2465",
    ),
    report=(
        "Of 30,000 messages with a short sleep before each ack, four runs consumed 1.86 to 4.74 "
        "times as many. Without the sleep there were few duplicates. Here at a scale of 1:100."
    ),
    cause="What waits in a buffer is not known to the server's flow control, and its lease ends.",
    fix="A buffer that is worked off before its leases end.",
    note=(
        "Copies of what waits join the end of the same buffer, so a lease of T in the face of "
        "W seconds of work gives about (W / T + 1) / 2 deliveries per message. The report's "
        "1.86 to 4.74 are leases of 1.8 to 5.5 s here."
    ),
    cases=(
        competing_copies(2.0),
        competing_copies(5.0),
        competing_copies(20.0),
    ),
)

INCIDENTS = (INC_02, INC_07, INC_32, INC_82)
