"""Amazon SQS, standard queues.

Facts (AWS, *Amazon SQS API Reference* and *Developer Guide*):

- A received message is hidden for the visibility timeout: 30 s unless set, 0 to 43,200 s (12 h).
  SQS sees neither crashes nor connections; only the end of that time brings the message back.
- Each receive makes a new receipt handle. A delete with the newest one works even after the time
  ran out; with an older one it succeeds and deletes nothing.
- There is no backoff: a failed message comes back when its visibility timeout ends.
- With a redrive policy, a message received `maxReceiveCount` times goes to the dead-letter queue
  when somebody next asks for it: exactly that many deliveries. 10 unless set, 1 to 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass

from simqueue import checks
from simqueue.model.late_ack import LatestReceipt
from simqueue.model.settings import LeaseSettings

MOST_VISIBILITY_TIMEOUT = 43_200


@dataclass(frozen=True, kw_only=True)
class SQS:
    """A standard queue of Amazon SQS.

    Parameters
    ----------
    visibility_timeout
        `VisibilityTimeout`: seconds for which a received message is hidden, above 0 to 43,200.
    max_receive_count
        `maxReceiveCount` of the redrive policy, 1 to 1,000; None: no dead-letter queue.
    """

    visibility_timeout: float = 30.0
    max_receive_count: int | None = None

    def __post_init__(self) -> None:
        name, timeout = "broker.visibility_timeout", self.visibility_timeout
        checks.positive(name, timeout, "seconds")
        checks.between(name, timeout, 0, MOST_VISIBILITY_TIMEOUT, "seconds")
        if self.max_receive_count is not None:
            checks.whole("broker.max_receive_count", self.max_receive_count, 1, 1000)

    def settings(self) -> LeaseSettings:
        """Return this queue as settings of the model."""
        return LeaseSettings(
            lease=self.visibility_timeout,
            late_ack=LatestReceipt(),
            max_attempts=self.max_receive_count,
            exhaustion="receive",
        )
