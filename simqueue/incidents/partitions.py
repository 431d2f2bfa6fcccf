"""Consumer groups of a log: whoever gets a partition begins at the last commit."""

from __future__ import annotations

import math
from typing import Any

from simqueue.brokers import kafka
from simqueue.distributions import Recorded
from simqueue.faults import Crash, Partition, Pause
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident


def group(broker: dict[str, Any], **options: Any) -> Build:
    """Return a scenario on Kafka, whose group does not wait for its first members."""
    return queue(broker=kafka(initial_rebalance_delay=0, **broker), **options)


# A message of seven minutes, and a limit of five.

SEVEN_MINUTES = 420.0


def too_long(rejoin: str = "background", max_poll_interval: float = 300, **options: Any) -> Build:
    """Two consumers of one partition, in which another message waits behind the long one."""
    broker = {
        "commit": "after", "rejoin": rejoin, "max_poll_interval": max_poll_interval,
        "max_poll_records": 1,
    }  # fmt: skip
    return group(broker, work=SEVEN_MINUTES, jobs=2, workers=2, **options)


INC_58 = Incident(
    id="INC-58",
    title="A message of seven minutes, a poll limit of five: it loops for ever",
    system="Kafka, consumer group",
    links=(
        "https://github.com/aio-libs/aiokafka/issues/848",
        "https://github.com/confluentinc/confluent-kafka-python/issues/552",
        "https://github.com/confluentinc/librdkafka/issues/2971",
    ),
    report=(
        "A consumer leaves the group at five minutes, and another one takes the message over. "
        "At seven the first one's commit fails; it joins again, and the second one loses it; etc."
    ),
    cause="Only commits count, leaving makes them void, and joining again rebalances once more.",
    fix="A limit above the longest message; fewer records per poll; or to pause and poll on.",
    cases=(
        Case(
            name="a client that joins again in the background",
            scenario=too_long(horizon=1_000),
            expect={
                "starts of job 0": [0, 300, 420, 720, 840],
                "starts of job 1": [],
                "settled_at": None,
            },
        ),
        Case(
            name="a client that joins again in its next poll",
            scenario=too_long("poll", horizon=1_000),
            expect={
                "starts of job 0": [0, 300, 600, 900],
                "starts of job 1": [],
                "settled_at": None,
            },
        ),
        Case(
            name="a limit of ten minutes",
            fixed=True,
            scenario=too_long(max_poll_interval=600),
            expect={"executions": 2, "settled_at": 2 * SEVEN_MINUTES},
        ),
    ),
)

# A commit every five seconds, of what was handed over.

DIES_AT = Crash(at=[(1, 10.0)], restart_after=1)


def twenty_seconds(commit: str, batch: int = 1) -> Build:
    """Three messages of 20 s; the consumer dies at 10."""
    broker = {"commit": commit, "max_poll_records": batch}
    return group(broker, work=20, jobs=3, crash=DIES_AT)


INC_59 = Incident(
    id="INC-59",
    title="Auto-commit moves past a message that was never processed",
    system="Kafka clients with automatic commits",
    links=(
        "https://github.com/confluentinc/librdkafka/issues/1122",
        "https://github.com/confluentinc/librdkafka/issues/2609",
        "https://github.com/dpkp/kafka-python/issues/722",
    ),
    report=(
        "Maintainers confirm it: a crash after the commit skips a message, one where messages are "
        "consumed one by one, up to a batch where they are polled."
    ),
    cause="The offset is stored before the message is handed over, and committed every 5 s.",
    fix="Store the offset when the message is done; then automatic commits are safe.",
    cases=(
        Case(
            name="one by one",
            scenario=twenty_seconds("background"),
            expect={"lost": 1, "delivered_again": 0},
        ),
        Case(
            name="a batch of three",
            scenario=twenty_seconds("background", batch=3),
            expect={"lost": 3, "delivered_again": 0},
        ),
        Case(
            # 1.1 s each: five had been handed over by the tick at 5 s, seven were done at 8.5.
            name="short messages: what was done since the last tick is done again",
            job=5,
            scenario=group(
                {"commit": "background", "max_poll_records": 1},
                work=1.1,
                jobs=10,
                crash=Crash(at=[(1, 8.5)], restart_after=1),
            ),
            expect={"lost": 0, "duplicates": 2, "effects of job 5": 2, "effects of job 6": 2},
        ),
        Case(
            name="stored when done",
            fixed=True,
            scenario=twenty_seconds("stored"),
            expect={"lost": 0, "executions of job 0": 2, "effects of job 0": 1},
        ),
    ),
)

# A thousand partitions that are handed over while their records are at work.

PARTITIONS, AT_WORK, LONGEST = 1_024, 997, 40.0
JOINS_AT = 12.0
REMAINING = [LONGEST * (number + 0.5) / AT_WORK for number in range(AT_WORK)]


def handed_over(**on_revoke: Any) -> Build:
    """Of 1,024 records 27 are done by 12 s; then a second member comes, and gets half of all.

    What the first one had at work needs 0 to 40 s more.
    """
    durations = [1.0] * (PARTITIONS - AT_WORK) + [JOINS_AT + more for more in REMAINING]
    broker = {
        "partitions": PARTITIONS, "commit": "after", "max_poll_records": PARTITIONS, **on_revoke
    }  # fmt: skip
    return group(
        broker, work=Recorded(durations), jobs=PARTITIONS, workers=2, concurrency=PARTITIONS,
        faults=[Partition(worker=2, window=(0, JOINS_AT))],
    )  # fmt: skip


def doubled(drained_for: float) -> int:
    """How many of the records at work need longer than that."""
    return sum(more > drained_for for more in REMAINING)


def handing_over(name: str, drained_for: float, *, fixed: bool = False, **on_revoke: Any) -> Case:
    """The share that is processed twice is P(U > D)."""
    return Case(
        name=name,
        fixed=fixed,
        job=PARTITIONS - 1,
        scenario=handed_over(**on_revoke),
        expect={
            "delivered_again": doubled(drained_for),
            "delivered_again_share": doubled(drained_for) / PARTITIONS,
            "lost": 0,
        },
    )


INC_61 = Incident(
    id="INC-61",
    title="A partition is handed over before the work in flight is committed",
    system="Kafka, rolling deploys and scaling",
    links=(
        "https://github.com/PostHog/posthog/pull/35269",
        "https://github.com/PostHog/posthog/pull/56097",
        "https://github.com/PostHog/posthog/pull/80897",
        "https://github.com/tulios/kafkajs/issues/922",
    ),
    report=(
        "In one deploy 997 of 1,024 pairs of partition and offset were processed by two pods or "
        "more. A limit of 20 s for draining is reached some 60 times an hour in a region; later, "
        "work that was done in time was thrown away, as the fencing came first."
    ),
    cause="The new owner starts at the last commit, whatever the old one has at work.",
    fix="Drain and commit before the hand-over; drain first, and fence after that.",
    cases=(
        handing_over("nobody waits for what is at work", 0, on_revoke="drop"),
        handing_over(
            "fenced before a drain of 20 s", 0,
            on_revoke="drain", drain_limit=20, fence_first=True,
        ),
        handing_over("drained for 20 s", 20, fixed=True, on_revoke="drain", drain_limit=20),
        handing_over("drained to the end", math.inf, fixed=True, on_revoke="drain"),
    ),
)  # fmt: skip

# A consumer that keeps committing what it had, among the commits of the new owner.


def stale_committer(joins: float, *, fenced: bool) -> Build:
    """Worker 1 polls records 0 to 9, and stands still from 2.5 to 33.1 s; worker 2 takes over at 3.

    From 33.1 s on both commit once a second: 3, 4, … at 33.1, 34.1, …; 23, 24, … at 33.6, 34.6, ….
    A third member joins at `joins`, and whoever is assigned the partition reads from there.
    """
    broker = {
        "commit": "after", "rejoin": "background", "max_poll_records": 10,
        "heartbeat_interval": 0.2, "session_timeout": 10.05, "fenced": fenced,
    }  # fmt: skip
    return group(
        broker, work=1.0, jobs=100, workers=3, horizon=40,
        faults=[Pause(seconds=30.6, at=[(1, 2.5)]), Partition(worker=3, window=(0, joins))],
    )  # fmt: skip


def rewound(joins: float, times: int, *, fenced: bool = False) -> Case:
    """Record 10, which only the new owner has read, is read again after a step back."""
    who = "fenced by generation" if fenced else "not fenced"
    return Case(
        name=f"{who}, a rebalance at {joins:g} s",
        fixed=fenced,
        job=10,
        scenario=stale_committer(joins, fenced=fenced),
        expect={"deliveries of job 10": times},
    )


INC_85 = Incident(
    id="INC-85",
    title="Two of eight partitions jump back half a million messages",
    system="Kafka, a rolling update with racecar",
    links=(
        "https://github.com/zendesk/racecar/issues/198",
        "https://github.com/zendesk/ruby-kafka/pull/595",
    ),
    report=(
        "Shortly after a deploy some 500,000 messages are processed again on each of two "
        "partitions. A related fix: a consumer that holds batches from before a rebalance keeps "
        "committing its old offsets among those of the new owner."
    ),
    cause="The first was never established. In the second, an old owner's commits are not fenced.",
    fix="Drop what was fetched before the rebalance; check the generation of a commit.",
    note=(
        "The cause of the first report was never established; the scenario is that of the "
        "second one."
    ),
    cases=(
        rewound(33.15, 2),
        rewound(33.35, 2),
        rewound(33.75, 1),
        rewound(33.95, 1),
        *(rewound(joins, 1, fenced=True) for joins in (33.15, 33.35, 33.75, 33.95)),
    ),
)

INCIDENTS = (INC_58, INC_59, INC_61, INC_85)
