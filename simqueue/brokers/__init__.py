"""Real brokers, each a small module: its parameters under its own names, its facts, its sources."""

from simqueue.brokers.generic import Generic as generic  # noqa: N813 - reads as a call
from simqueue.brokers.sqs import SQS as sqs  # noqa: N811 - as above

__all__ = ["generic", "sqs"]
