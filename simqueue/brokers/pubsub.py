"""Google Cloud Pub/Sub: subscriptions with pull, at least once or exactly once.

Sources: Google's description of the API (`google/pubsub/v1/pubsub.proto`), the documentation of
lease management, ordering and exactly-once delivery, and the source of the Python client
(googleapis/python-pubsub: `types.py`, `leaser.py`, `streaming_pull_manager.py`, `dispatcher.py`).
What is known stands in `facts()`, one by one.

In short: a short ack deadline, which the client library extends again and again for all that it
holds, up to an hour. At least once, an ack is a wish: it may get lost, and a late one may be too
late. Exactly once means that only the newest ack id is good, and that the others are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks
from simqueue.backoff import Exponential
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

LATEST_RENEWAL = 0.9
EARLIEST_RENEWAL = 0.01
EXACTLY_ONCE_FLOOR = 60.0
MOST_DEADLINE = 600.0

FACTS = (
    Fact(
        "ack deadline",
        "10 s unless set, 10 to 600, from the hand-over",
        "pubsub.proto: ackDeadlineSeconds",
        "test_without_lease_management_the_deadline_is_all",
    ),
    Fact(
        "lease management",
        "the client extends the deadline of all that it holds, also of what waits for a thread",
        "streaming_pull_manager.py, leaser.py",
        "test_the_client_keeps_what_it_holds",
    ),
    Fact(
        "when it extends",
        "after a random share, 0.01 to 0.9, of the deadline",
        "leaser.py, maintain_leases",
        "test_renewals_come_at_random_in_time",
    ),
    Fact(
        "the limit of lease management",
        "an hour, from the start of the callback; then it lets go, while the callback goes on",
        "types.py: max_lease_duration; start_lease_expiry_timer",
        "test_the_client_lets_go_after_an_hour",
    ),
    Fact(
        "crash of a subscriber",
        "nobody extends: back when the deadline passes that was granted last",
        "derived",
        "test_after_a_crash_the_last_deadline_counts",
    ),
    Fact(
        "ack",
        "best effort: it may get lost, and a late one may or may not work",
        "message.py, ack; pubsub.proto: Acknowledge",
        "test_at_least_once_an_ack_can_get_lost",
    ),
    Fact(
        "late ack, at least once",
        "is no error; here it works until somebody has received the message again",
        "pubsub.proto: Acknowledge",
        "test_at_least_once_a_late_ack_is_no_error",
    ),
    Fact(
        "late ack, exactly once",
        "only the newest ack id is valid; others are told INVALID_ACK_ID",
        "exactly-once delivery",
        "test_exactly_once_only_the_newest_ack_id_is_valid",
    ),
    Fact(
        "deadline, exactly once",
        "the client asks for 60 s at least",
        "streaming_pull_manager.py",
        "test_exactly_once_has_a_deadline_of_a_minute",
    ),
    Fact(
        "nack",
        "a deadline of 0: back at once, or after the retry policy's delay",
        "pubsub.proto: ModifyAckDeadline",
        "test_a_nack_is_back_at_once",
    ),
    Fact(
        "retry policy",
        "exponential, 10 to 600 s, for nacks and for deadlines that passed; none unless set",
        "pubsub.proto: RetryPolicy (the factor is not documented: 2 here)",
        "test_the_retry_policy_delays_both",
    ),
    Fact(
        "maxDeliveryAttempts",
        "5 to 100, then the dead-letter topic; nacks and passed deadlines count",
        "pubsub.proto: DeadLetterPolicy (attempts are approximate there, exact here)",
        "test_it_is_dead_lettered_after_its_attempts",
    ),
    Fact(
        "no dead-letter policy",
        "tried again until the retention ends: 7 days unless set",
        "pubsub.proto: messageRetentionDuration",
        "test_without_a_policy_only_the_retention_ends_it",
    ),
    Fact(
        "ordering keys",
        "in order; a redelivery brings back all later messages of the key, even acked ones",
        "ordering messages",
        "test_a_redelivery_brings_back_acked_successors",
    ),
    Fact(
        "flow control",
        "1,000 messages at once in a client (in simqueue: `Workers.prefetch`)",
        "types.py: FlowControl.max_messages",
        "test_flow_control_limits_what_a_client_holds",
    ),
    Fact(
        "publishing twice",
        "two messages",
        "pubsub.proto: Publish",
        "test_nothing_is_deduped",
    ),
    Fact(
        "length of an extension",
        "the 99th percentile of ack times so far, between 10 and 600 s",
        "streaming_pull_manager.py",
        left_out="the client's estimate of its own past: give `ack_deadline` what it arrives at",
    ),
    Fact(
        "not redelivered while outstanding",
        "best effort only, at least once",
        "pubsub.proto",
        left_out="no rate is known; `own_duplicates` of the generic broker shows it",
    ),
)


@dataclass(frozen=True, kw_only=True)
class PubSub(Profile):
    """A subscription of Pub/Sub, and its Python client. Times are in seconds.

    Parameters
    ----------
    ack_deadline
        `ackDeadlineSeconds`, 10 to 600; what the client's extensions last, too.
    lease_management
        Whether the client extends deadlines.
    max_lease_duration
        For how long after the callback's start.
    enable_exactly_once_delivery
        `enableExactlyOnceDelivery`.
    retry_policy
        (`minimumBackoff`, `maximumBackoff`), 0 to 600 each; None: redelivery at once.
    max_delivery_attempts
        `maxDeliveryAttempts` of the dead-letter policy, 5 to 100; None: no policy.
    enable_message_ordering
        `enableMessageOrdering`: simqueue's groups are the ordering keys.
    message_retention_duration
        `messageRetentionDuration`, 600 to 2,678,400.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FACTS

    ack_deadline: float = 10.0
    lease_management: bool = True
    max_lease_duration: float = 3_600.0
    enable_exactly_once_delivery: bool = False
    retry_policy: tuple[float, float] | None = None
    max_delivery_attempts: int | None = None
    enable_message_ordering: bool = False
    message_retention_duration: float = 604_800.0

    def __post_init__(self) -> None:
        checks.between("broker.ack_deadline", self.ack_deadline, 10, MOST_DEADLINE, "seconds")
        checks.non_negative("broker.max_lease_duration", self.max_lease_duration, "seconds")
        if self.max_delivery_attempts is not None:
            checks.whole("broker.max_delivery_attempts", self.max_delivery_attempts, 5, 100)
        if self.retry_policy is not None:
            self._check_policy()
        retention = self.message_retention_duration
        name = "broker.message_retention_duration"
        checks.between(name, retention, 600, 2_678_400, "seconds")

    def _check_policy(self) -> None:
        name, policy = "broker.retry_policy", self.retry_policy
        if not isinstance(policy, tuple | list) or len(policy) != 2:
            raise checks.fail(name, policy, "a pair (minimum, maximum) of seconds, or None")
        for seconds in policy:
            checks.between(name, seconds, 0, 600, "seconds")
        if policy[0] > policy[1]:
            raise checks.fail(name, policy, "a pair of seconds with the smaller first")
        object.__setattr__(self, "retry_policy", tuple(policy))

    def generic(self) -> Generic:
        """Return the same subscription in the model's own words."""
        exactly_once = self.enable_exactly_once_delivery
        deadline = max(self.ack_deadline, EXACTLY_ONCE_FLOOR if exactly_once else 0.0)
        policy = self.retry_policy
        return Generic(
            lease=deadline,
            renew_every=LATEST_RENEWAL * deadline if self.lease_management else None,
            renew_jitter=1 - EARLIEST_RENEWAL / LATEST_RENEWAL / deadline,
            renew_for=self.max_lease_duration,
            renew_what="held",
            late_ack="latest_or_refused" if exactly_once else "latest_receipt",
            retry_delay=0.0 if policy is None else Exponential(base=policy[0], cap=policy[1]),
            retry_on=("failure",) if policy is None else ("failure", "expiry"),
            max_receives=self.max_delivery_attempts,
            ordering="replay" if self.enable_message_ordering else "unordered",
            retention=self.message_retention_duration,
        )
