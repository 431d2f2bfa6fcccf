"""RabbitMQ: classic and quorum queues, in the versions that differ: 3.13, 4.0 to 4.2, and 4.3.

Sources: the documentation of each version (confirms, consumers, consumer prefetch, heartbeats,
quorum queues, dead lettering), the release notes of 4.0 and 4.3, and the source of quorum queues
(`deps/rabbit/src/rabbit_fifo.erl`, and `rabbit_fifo_v7.erl` for what it did up to 4.2). What is
known stands in `facts()`, one by one.

In short: there is no lease that ends by itself, but a connection. A consumer that dies gives back
all that it held, at once; one whose machine dies does so after a heartbeat. Above that, a limit for
how long a consumer may keep a message (30 minutes): what it closes differs from version to version,
and so does what counts towards the delivery limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks
from simqueue.backoff import Backoff, Constant, Linear
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

VERSIONS = ("3.13", "4.0", "4.1", "4.2", "4.3")
QUEUES = ("quorum", "classic")
CONSUMER_TIMEOUT = 1_800.0
TIMEOUT_SCAN = 60.0
NO_HEARTBEAT = 660.0
DELIVERY_LIMIT = 20
DEFAULT = "the version's default"

FACTS = (
    Fact(
        "redelivery",
        "what a channel has not acked comes back when it closes: at once if the process died",
        "docs: confirms",
        "test_a_dead_consumer_gives_all_back_at_once",
    ),
    Fact(
        "a silent host",
        "missed after the heartbeat timeout: 60 s unless set; without heartbeats about 11 min",
        "docs: heartbeats",
        "test_a_dead_machine_is_missed_after_the_heartbeat",
    ),
    Fact(
        "prefetch",
        "per consumer; unlimited unless set (in simqueue: `Workers.prefetch`)",
        "docs: consumer prefetch",
        "test_a_crash_releases_the_whole_prefetch_buffer",
    ),
    Fact(
        "position of what comes back",
        "its old one or near the head; quorum queues look at returned messages first",
        "docs: confirms; rabbit_fifo.erl, take_next_msg",
        "test_what_comes_back_is_delivered_before_new_work",
    ),
    Fact(
        "automatic ack",
        "at most once: what a consumer holds is lost with it",
        "docs: confirms",
        "test_with_automatic_ack_a_crash_loses_all_that_was_sent",
    ),
    Fact(
        "ack after the channel closed",
        "impossible: PRECONDITION_FAILED, unknown delivery tag",
        "docs: confirms",
        "test_an_ack_on_a_closed_channel_is_refused",
    ),
    Fact(
        "nack and reject with requeue",
        "back at once, so a failing message goes round as fast as it fails",
        "docs: nack",
        "test_a_nack_comes_back_at_once",
    ),
    Fact(
        "reject without requeue",
        "to the dead-letter exchange, or dropped without one",
        "docs: dead lettering",
        "test_reject_without_requeue_is_dead_lettered_or_dropped",
    ),
    Fact(
        "consumer timeout up to 4.2",
        "30 min, looked at every minute; the channel is closed, and all on it comes back",
        "docs of 4.2: consumers",
        "test_up_to_4_2_a_timeout_closes_the_channel",
    ),
    Fact(
        "consumer timeout of quorum queues from 4.3",
        "30 min to the moment, per message; only that one comes back, the consumer is cancelled",
        "rabbit_fifo.erl, evaluate_consumer_timeout; release notes of 4.3",
        "test_from_4_3_only_the_late_message_comes_back",
    ),
    Fact(
        "late settle from 4.3",
        "of a released message: silently nothing",
        "rabbit_fifo.erl, complete",
        "test_from_4_3_a_late_ack_is_ignored",
    ),
    Fact(
        "consumer timeout of classic queues from 4.3",
        "none",
        "release notes of 4.3",
        "test_from_4_3_classic_queues_have_no_timeout",
    ),
    Fact(
        "delivery limit of quorum queues",
        "none in 3.13; 20 from 4.0; the message is given up at return 21: 21 deliveries",
        "release notes of 4.0; rabbit_fifo.erl, return_one",
        "test_a_limit_of_n_allows_n_plus_one_deliveries",
    ),
    Fact(
        "what counts up to 4.2",
        "every return: nack, reject, lost connection, timeout",
        "rabbit_fifo_v7.erl, acquired_count",
        "test_up_to_4_2_every_return_counts",
    ),
    Fact(
        "what counts from 4.3",
        "reject and lost connections; not nack, not the timeout",
        "rabbit_fifo.erl, delivery_count",
        "test_from_4_3_a_nack_does_not_count",
    ),
    Fact(
        "a crash with a prefetch buffer",
        "counts for all messages in it",
        "docs: quorum queues, poison messages",
        "test_a_crash_counts_for_the_whole_buffer",
    ),
    Fact(
        "classic queues",
        "count nothing, and have no limit",
        "docs: quorum queues, feature matrix",
        "test_a_classic_queue_never_gives_up",
    ),
    Fact(
        "delayed retry of quorum queues from 4.3",
        "min(min * max(1, failures), max), for failed or returned messages, or all; off unless set",
        "rabbit_fifo.erl, calculate_ready_at",
        "test_delayed_retry_is_linear",
    ),
    Fact(
        "dedupe of publishes",
        "none: a publisher whose confirm is lost sends again",
        "docs: publishers",
        "test_a_lost_confirm_makes_a_duplicate",
    ),
    Fact(
        "dead lettering at most once",
        "the copy to the dead-letter queue may get lost, unless the strategy is at-least-once",
        "docs: quorum queues, dead lettering",
        left_out="the move is one step here; nobody gives a rate of its loss",
    ),
    Fact(
        "a node that is gone",
        "consumer_disconnected_timeout: a quorum queue waits 60 s for the consumers on it",
        "rabbit_fifo.erl",
        left_out="the broker is one node here; `silence_after` of the generic broker is the same",
    ),
)


@dataclass(frozen=True, kw_only=True)
class RabbitMQ(Profile):
    """A queue of RabbitMQ and how its consumers are written. Times are in seconds.

    Parameters
    ----------
    version
        "3.13", "4.0", "4.1", "4.2" or "4.3".
    queue
        `x-queue-type`: "quorum" or "classic".
    auto_ack
        Whether consumers use automatic acknowledgement.
    heartbeat
        The heartbeat timeout; 0: none, and a silent host is missed after 11 minutes.
    consumer_timeout
        `consumer_timeout` (there in ms): 60 or more up to 4.2, above 0 from 4.3; None: none. It is
        1,800 unless set.
    delivery_limit
        `x-delivery-limit` of a quorum queue, 0 or more; None: no limit, which is written -1 there.
        It is 20 unless set, and none in 3.13.
    on_error
        What consumers do when their handler raises something other than `Retry`: "nack" or "reject"
        it with requeue, or "dead_letter": reject without.
    dead_letter_exchange
        Whether there is one, with a queue behind it; without, what is given up is dropped.
    delayed_retry_type, delayed_retry_min, delayed_retry_max
        `delayed-retry-type` of a quorum queue from 4.3: "disabled", "all", "failed" (reject) or
        "returned" (nack, timeout); and its bounds (there in ms).
    resubscribe_after
        Until a consumer that was cancelled (from 4.3) subscribes again; None: it never does.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FACTS

    version: str = "4.3"
    queue: str = "quorum"
    auto_ack: bool = False
    heartbeat: float = 60.0
    consumer_timeout: float | None = CONSUMER_TIMEOUT
    delivery_limit: int | str | None = DEFAULT
    on_error: str = "nack"
    dead_letter_exchange: bool = True
    delayed_retry_type: str = "disabled"
    delayed_retry_min: float = 0.0
    delayed_retry_max: float | None = None
    resubscribe_after: float | None = None

    def __post_init__(self) -> None:
        checks.one_of("broker.version", self.version, VERSIONS)
        checks.one_of("broker.queue", self.queue, QUEUES)
        checks.one_of("broker.on_error", self.on_error, ("nack", "reject", "dead_letter"))
        checks.non_negative("broker.heartbeat", self.heartbeat, "seconds")
        if self.consumer_timeout is not None:
            checks.positive("broker.consumer_timeout", self.consumer_timeout, "seconds")
            if not self.is_new and self.consumer_timeout < TIMEOUT_SCAN:
                allowed = f"{TIMEOUT_SCAN:g} s or more up to 4.2, which looks once a minute"
                raise checks.fail("broker.consumer_timeout", self.consumer_timeout, allowed)
        if self.delivery_limit not in (None, DEFAULT):
            checks.whole("broker.delivery_limit", self.delivery_limit)
            if not self.is_quorum:
                allowed = "left out or None for a classic queue"
                raise checks.fail("broker.delivery_limit", self.delivery_limit, allowed)
        kinds = ("disabled", "all", "failed", "returned")
        checks.one_of("broker.delayed_retry_type", self.delayed_retry_type, kinds)
        checks.non_negative("broker.delayed_retry_min", self.delayed_retry_min, "seconds")
        if self.delayed_retry_max is not None:
            checks.non_negative("broker.delayed_retry_max", self.delayed_retry_max, "seconds")
        if self.delayed_retry_type != "disabled" and not (self.is_new and self.is_quorum):
            allowed = "'disabled' but for quorum queues from 4.3 on"
            raise checks.fail("broker.delayed_retry_type", self.delayed_retry_type, allowed)

    @property
    def is_new(self) -> bool:
        """Whether the rules of 4.3 hold."""
        return self.version == "4.3"

    @property
    def is_quorum(self) -> bool:
        """Whether it is a quorum queue."""
        return self.queue == "quorum"

    @property
    def limit(self) -> int | None:
        """The delivery limit that holds."""
        if self.delivery_limit != DEFAULT:
            assert not isinstance(self.delivery_limit, str)
            return self.delivery_limit
        return DELIVERY_LIMIT if self.is_quorum and self.version != "3.13" else None

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        timeout = None if self.is_new and not self.is_quorum else self.consumer_timeout
        delay = self._retry_delay()
        released_too = delay is not None and self.delayed_retry_type in ("all", "returned")
        return Generic(
            lease=timeout,
            sweep_period=None if self.is_new else TIMEOUT_SCAN,
            on_expiry="cancel" if self.is_new else "close",
            resubscribe_after=self.resubscribe_after,
            ack_when="received" if self.auto_ack else "done",
            late_ack="ignored" if self.is_new else "refused",
            on_disconnect="requeue",
            silence_after=self.heartbeat or NO_HEARTBEAT,
            on_failure="dead_letter" if self.on_error == "dead_letter" else "return",
            retry_delay=0.0 if delay is None else delay,
            retry_on=("failure", "expiry") if released_too else ("failure",),
            max_receives=None if self.limit is None else self.limit + 1,
            counts=self._counts(),
            exhausted="dead_letter" if self.dead_letter_exchange else "drop",
            returns_to="front",
        )

    def _counts(self) -> tuple[str, ...]:
        if not self.is_new:
            return ("failure", "expiry", "disconnect")
        return ("failure", "disconnect") if self.on_error == "reject" else ("disconnect",)

    def _retry_delay(self) -> Backoff | None:
        """The delay of what comes back: a reject raises the delivery count, a nack does not."""
        cap = self.delayed_retry_max
        failed, kind = self.on_error == "reject", self.delayed_retry_type
        if failed and kind in ("all", "failed"):
            step = self.delayed_retry_min
            return Linear(step=step) if cap is None else Linear(step=step, cap=cap)
        if not failed and kind in ("all", "returned"):
            least = self.delayed_retry_min
            return Constant(least if cap is None else min(least, cap))
        return None
