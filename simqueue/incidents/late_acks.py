"""Acks that come after their lease: what they do differs from broker to broker."""

from __future__ import annotations

from typing import Any

from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident


def late(mode: str, workers: int, **options: Any) -> Build:
    """Forty seconds of work in a lease of thirty."""
    return queue(work=40, lease=30, late_ack=mode, workers=workers, **options)


INC_78 = Incident(
    id="INC-78",
    title="What does a late ack do? Three brokers, three answers",
    system="Azure Storage queues, NATS JetStream, SQS FIFO",
    links=(
        "https://github.com/Azure/azure-storage-net/issues/285",
        "https://github.com/nats-io/nats-server/issues/4786",
        "https://github.com/aws/aws-sdk-js/issues/1279",
        "https://github.com/aws/aws-sdk-js/issues/1750",
    ),
    report=(
        "At Azure a late delete works if nobody has received the message since. JetStream counts a "
        "late ack even while another copy is out. SQS FIFO refuses it once the handle expired."
    ),
    cause="An ack may name the latest receipt, the message, or only an unexpired receipt.",
    fix="A lease that is longer than the work, after which all three are the same.",
    cases=(
        Case(
            name="latest receipt, 2 workers: each delete loses to a newer receipt",
            scenario=late("latest_receipt", 2, horizon=1_000),
            expect={
                "starts": [number * 30 for number in range(34)],
                "acks_refused": 32,
                "settled_at": None,
            },
        ),
        Case(
            name="latest receipt, 1 worker",
            scenario=late("latest_receipt", 1),
            expect={"executions": 1, "settled_at": 40},
        ),
        Case(
            name="by message, 1 worker",
            scenario=late("deletes", 1),
            expect={"executions": 1, "settled_at": 40},
        ),
        Case(
            name="by message, 2 workers",
            scenario=late("deletes", 2),
            expect={"executions": 2, "settled_at": 40},
        ),
        Case(
            name="unexpired only, 1 worker",
            scenario=late("unexpired", 1, horizon=1_000),
            expect={"executions": 25, "settled_at": None},
        ),
        Case(
            name="unexpired only, 2 workers",
            scenario=late("unexpired", 2, horizon=1_000),
            expect={"starts": [number * 30 for number in range(34)], "settled_at": None},
        ),
        *(
            Case(
                name=f"{mode.replace('_', ' ')}, with a lease of a minute",
                fixed=True,
                scenario=queue(work=40, lease=60, late_ack=mode, workers=2),
                expect={"executions": 1, "settled_at": 40},
            )
            for mode in ("latest_receipt", "deletes", "unexpired")
        ),
    ),
)

INCIDENTS = (INC_78,)
