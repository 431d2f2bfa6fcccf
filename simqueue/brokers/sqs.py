"""Amazon SQS: standard queues, and FIFO queues.

Sources: AWS, *Amazon SQS API Reference* (its text is also botocore's service description) and
*Amazon SQS Developer Guide*. What is known stands in `facts()`, one by one.

In short: a received message is hidden for the visibility timeout, and only the end of that time
brings it back; SQS sees neither crashes nor connections. Each receive makes a new receipt handle.
A standard queue takes every delete and ignores those that come too late; a FIFO queue refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from simqueue import checks
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

MOST_VISIBILITY_TIMEOUT = 43_200
LARGEST_BATCH = 10
DEDUPLICATION_INTERVAL = 300.0
API = "SQS API Reference"
GUIDE = "SQS Developer Guide"

SHARED_FACTS = (
    Fact(
        "visibility timeout",
        "30 s unless set, up to 12 h; starts at the receive",
        f"{API}: CreateQueue, ReceiveMessage",
        "test_a_message_is_hidden_for_the_visibility_timeout",
    ),
    Fact(
        "crash of a consumer",
        "not seen: the message is back when its visibility timeout ends",
        f"{GUIDE}: visibility timeout",
        "test_sqs_does_not_see_a_crash",
    ),
    Fact(
        "a batch",
        "up to 10 messages a receive, whose timeouts start together",
        f"{API}: ReceiveMessage, MaxNumberOfMessages",
        "test_the_timeouts_of_a_batch_start_together",
    ),
    Fact(
        "heartbeat",
        "ChangeMessageVisibility: from now on, not added to what is left",
        f"{API}: ChangeMessageVisibility",
        "test_a_heartbeat_counts_from_now",
    ),
    Fact(
        "the limit of heartbeats",
        "12 h from the receive; more is an error, and changes nothing",
        f"{API}: ChangeMessageVisibility",
        "test_more_than_twelve_hours_is_an_error",
    ),
    Fact(
        "receives are counted",
        "also those whose reply is lost",
        f"{GUIDE}: avoiding inconsistent message processing",
        "test_a_receive_whose_reply_is_lost_counts",
    ),
    Fact(
        "maxReceiveCount N",
        "N deliveries; the message moves at the receive after them",
        f"{API}: RedrivePolicy; lazily as in ElasticMQ and moto",
        "test_it_is_dead_lettered_at_the_receive_after_the_last",
    ),
    Fact(
        "no redrive policy",
        "a message goes round until its retention ends",
        f"{API}: MessageRetentionPeriod, 4 days unless set",
        "test_without_a_redrive_policy_only_the_retention_ends_it",
    ),
    Fact(
        "DelaySeconds",
        "0 to 900 s from send until visible",
        f"{API}: CreateQueue",
        "test_delayed_messages_are_visible_later",
    ),
    Fact(
        "retry delay",
        "none: a failed message waits for the rest of its visibility timeout",
        f"{API}: ReceiveMessage",
        "test_a_failed_message_waits_for_its_timeout",
    ),
    Fact(
        "messages in flight",
        "about 120,000 a queue",
        f"{GUIDE}: quotas",
        "test_only_so_many_messages_are_in_flight",
    ),
    Fact(
        "long and short polling",
        "WaitTimeSeconds 0 to 20; a short poll asks only some servers",
        f"{API}: ReceiveMessage",
        left_out="workers are told when there is a message; an empty reply would only cost time",
    ),
)

STANDARD_FACTS = (
    *SHARED_FACTS,
    Fact(
        "late delete",
        "an old receipt handle: success, and the message may stay; the newest one still works",
        f"{API}: DeleteMessage",
        "test_a_late_delete_works_until_the_next_receive",
    ),
    Fact(
        "its own duplicates",
        "more than one copy may be delivered, now and then, without any expiry",
        f"{GUIDE}: at-least-once delivery",
        "test_a_standard_queue_makes_duplicates_of_its_own",
    ),
    Fact(
        "retention in the dead-letter queue",
        "goes on from the send",
        f"{GUIDE}: dead-letter queues",
        "test_the_retention_of_a_standard_dead_letter_goes_on",
    ),
    Fact(
        "dedupe of sends",
        "none",
        f"{API}: SendMessage",
        "test_a_standard_queue_dedupes_nothing",
    ),
    Fact(
        "order",
        "best effort",
        f"{GUIDE}: standard queues",
        left_out="messages come in order here unless they come back; no rate of disorder is known",
    ),
)

FIFO_FACTS = (
    *SHARED_FACTS,
    Fact(
        "groups",
        "while one of a group is in flight, no other receive gets any of that group",
        f"{API}: MessageGroupId",
        "test_a_group_waits_while_one_of_it_is_in_flight",
    ),
    Fact(
        "groups and batches",
        "one receive may bring several of a group, in order",
        f"{API}: ReceiveMessage",
        "test_a_receive_may_bring_several_of_a_group",
    ),
    Fact(
        "late delete",
        "an expired receipt handle is an error",
        f"{API}: DeleteMessage",
        "test_a_late_delete_is_an_error_on_a_fifo_queue",
    ),
    Fact(
        "dedupe of sends",
        "5 minutes from the first send, also after a delete; success, but no message",
        f"{API}: MessageDeduplicationId",
        "test_fifo_dedupes_for_five_minutes",
    ),
    Fact(
        "retention in the dead-letter queue",
        "starts anew at the move",
        f"{GUIDE}: dead-letter queues",
        "test_the_retention_of_a_fifo_dead_letter_starts_anew",
    ),
    Fact(
        "ReceiveRequestAttemptId",
        "a receive can be repeated for 5 minutes",
        f"{API}: ReceiveMessage",
        left_out="a client's repeated request; `Network.delivery_lost` shows the loss",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SQS(Profile):
    """A standard queue of Amazon SQS. Times are in seconds.

    Parameters
    ----------
    visibility_timeout
        `VisibilityTimeout`: how long a received message is hidden, above 0 to 43,200.
    max_receive_count
        `maxReceiveCount` of the redrive policy, 1 to 1,000; None: no dead-letter queue.
    delay_seconds
        `DelaySeconds`, 0 to 900.
    message_retention_period
        `MessageRetentionPeriod`, 60 to 1,209,600.
    duplicates
        How often the queue itself delivers a second copy, 0 to 1. AWS gives no rate; 0 unless set.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = STANDARD_FACTS

    visibility_timeout: float = 30.0
    max_receive_count: int | None = None
    delay_seconds: float = 0.0
    message_retention_period: float = 345_600.0
    duplicates: float = 0.0

    def __post_init__(self) -> None:
        check_queue(self)
        checks.probability("broker.duplicates", self.duplicates)

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return replace(
            of_both_kinds(self),
            late_ack="latest_receipt",
            own_duplicates=self.duplicates,
            retention_of_dead=True,
        )


@dataclass(frozen=True, kw_only=True)
class SQSFifo(Profile):
    """A FIFO queue of Amazon SQS: groups in order, dedupe of sends, late deletes refused.

    Parameters
    ----------
    visibility_timeout, max_receive_count, delay_seconds, message_retention_period
        As for a standard queue.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FIFO_FACTS

    visibility_timeout: float = 30.0
    max_receive_count: int | None = None
    delay_seconds: float = 0.0
    message_retention_period: float = 345_600.0

    def __post_init__(self) -> None:
        check_queue(self)

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return replace(
            of_both_kinds(self),
            late_ack="unexpired",
            ordering="group",
            group_batches=True,
            dedupe_window=DEDUPLICATION_INTERVAL,
            dead_letter_retention=self.message_retention_period,
        )


def check_queue(queue: SQS | SQSFifo) -> None:
    """Raise ValueError where a parameter that both kinds have is out of SQS's range."""
    name, timeout = "broker.visibility_timeout", queue.visibility_timeout
    checks.positive(name, timeout, "seconds")
    checks.between(name, timeout, 0, MOST_VISIBILITY_TIMEOUT, "seconds")
    if queue.max_receive_count is not None:
        checks.whole("broker.max_receive_count", queue.max_receive_count, 1, 1000)
    checks.between("broker.delay_seconds", queue.delay_seconds, 0, 900, "seconds")
    retention = queue.message_retention_period
    checks.between("broker.message_retention_period", retention, 60, 1_209_600, "seconds")


def of_both_kinds(queue: SQS | SQSFifo) -> Generic:
    """Return what standard and FIFO queues share, in the model's own words."""
    return Generic(
        lease=queue.visibility_timeout,
        lease_cap=MOST_VISIBILITY_TIMEOUT,
        max_receives=queue.max_receive_count,
        exhaustion="receive",
        delay=queue.delay_seconds,
        retention=queue.message_retention_period,
        most_per_receive=LARGEST_BATCH,
        most_in_flight=120_000,
    )
