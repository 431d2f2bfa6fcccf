"""Azure Service Bus: queues with peek-lock, or receive-and-delete.

Sources: Microsoft's documentation of Service Bus (message transfers, locks and settlement;
dead-letter queues; prefetch; duplicate detection) and the troubleshooting guide of its .NET client.
What is known stands in `facts()`, one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

MOST_LOCK_DURATION = 300.0

FACTS = (
    Fact(
        "lock",
        "60 s unless set, 5 min at most; starts when the client has the message",
        "LockDuration",
        "test_a_message_is_locked_for_a_minute",
    ),
    Fact(
        "late settlement",
        "MessageLockLost",
        "client troubleshooting guide",
        "test_a_late_complete_is_refused",
    ),
    Fact(
        "where it comes back",
        "at the front, or near it",
        "message transfers, locks and settlement",
        "test_it_comes_back_to_the_front",
    ),
    Fact(
        "MaxDeliveryCount",
        "10 unless set: the delivery count goes up at an abandon or the end of a lock; then the "
        "dead-letter queue",
        "dead-letter queues",
        "test_ten_deliveries_and_then_the_dead_letter_queue",
    ),
    Fact(
        "abandon",
        "available again at once",
        "message transfers, locks and settlement",
        "test_an_abandoned_message_is_back_at_once",
    ),
    Fact(
        "renewal",
        "processors renew the lock of what they run, for up to 5 min",
        "MaxAutoLockRenewalDuration",
        "test_the_processor_renews_for_five_minutes",
    ),
    Fact(
        "prefetch",
        "the lock starts in the buffer, where nobody renews it: messages reach the dead-letter "
        "queue without a run",
        "prefetch",
        "test_what_waits_in_a_buffer_may_be_dead_lettered_unrun",
    ),
    Fact(
        "duplicate detection",
        "by MessageId, for 10 min unless set, if the queue requires it",
        "duplicate detection",
        "test_duplicate_detection_has_a_window",
    ),
    Fact(
        "receive-and-delete",
        "at most once",
        "message transfers, locks and settlement",
        "test_receive_and_delete_loses_what_runs",
    ),
    Fact(
        "sessions",
        "in order, one receiver for each",
        "message sessions",
        "test_a_session_is_in_order",
    ),
    Fact(
        "dead-letter queue",
        "never forgets",
        "dead-letter queues",
        "test_the_dead_letter_queue_never_forgets",
    ),
    Fact(
        "a detached link",
        "settlement fails with MessageLockLost even before the lock ends",
        "client troubleshooting guide",
        left_out="whether the message is free at once is not known; `Partition` loses its acks",
    ),
)


@dataclass(frozen=True, kw_only=True)
class ServiceBus(Profile):
    """A queue of Azure Service Bus and the processor of its client. Times are in seconds.

    Parameters
    ----------
    lock_duration
        `LockDuration`, above 0 to 300.
    max_delivery_count
        `MaxDeliveryCount`, 1 or more. That many deliveries; whether it is one more is disputed.
    max_auto_lock_renewal_duration
        `MaxAutoLockRenewalDuration` of the processor, which renews each lock at half of its time;
        0: it renews nothing.
    receive_mode
        "peek_lock", or "receive_and_delete".
    requires_duplicate_detection, duplicate_detection_history_time_window
        Whether sends are deduped; for how long: 20 to 604,800.
    requires_session
        Whether messages are in order within their session (simqueue's groups).
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FACTS

    lock_duration: float = 60.0
    max_delivery_count: int = 10
    max_auto_lock_renewal_duration: float = 300.0
    receive_mode: str = "peek_lock"
    requires_duplicate_detection: bool = False
    duplicate_detection_history_time_window: float = 600.0
    requires_session: bool = False

    def __post_init__(self) -> None:
        name = "broker.lock_duration"
        checks.positive(name, self.lock_duration, "seconds")
        checks.between(name, self.lock_duration, 0, MOST_LOCK_DURATION, "seconds")
        checks.whole("broker.max_delivery_count", self.max_delivery_count, 1)
        renewal = self.max_auto_lock_renewal_duration
        checks.non_negative("broker.max_auto_lock_renewal_duration", renewal, "seconds")
        modes = ("peek_lock", "receive_and_delete")
        checks.one_of("broker.receive_mode", self.receive_mode, modes)
        window = self.duplicate_detection_history_time_window
        name = "broker.duplicate_detection_history_time_window"
        checks.between(name, window, 20, 604_800, "seconds")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        renews = self.max_auto_lock_renewal_duration > 0
        window = self.duplicate_detection_history_time_window
        return Generic(
            lease=self.lock_duration,
            renew_every=self.lock_duration / 2 if renews else None,
            renew_for=self.max_auto_lock_renewal_duration if renews else None,
            ack_when="done" if self.receive_mode == "peek_lock" else "received",
            late_ack="unexpired",
            retry_delay=0.0,
            max_receives=self.max_delivery_count,
            counts=("failure", "expiry"),
            ordering="group" if self.requires_session else "unordered",
            returns_to="front",
            dedupe_window=window if self.requires_duplicate_detection else None,
        )
