"""The facts of all brokers together: for the command line, and for the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.brokers.bullmq import BullMQ
from simqueue.brokers.celery import CeleryRabbitMQ, CeleryRedis
from simqueue.brokers.kafka import Kafka
from simqueue.brokers.postgres import PGMQ, GoodJob, RowLock
from simqueue.brokers.pubsub import PubSub
from simqueue.brokers.rabbitmq import RabbitMQ
from simqueue.brokers.redis import RedisList, RedisStream
from simqueue.brokers.service_bus import ServiceBus
from simqueue.brokers.sidekiq import Sidekiq, SidekiqSuperFetch
from simqueue.brokers.sqs import SQS, SQSFifo
from simqueue.brokers.status_column import StatusColumn

if TYPE_CHECKING:
    from simqueue.brokers.facts import Fact
    from simqueue.scenario import Broker

NAMES = {
    "sqs": "Amazon SQS, standard queues",
    "sqs_fifo": "Amazon SQS, FIFO queues",
    "rabbitmq": "RabbitMQ, classic and quorum queues, 3.13 to 4.3",
    "bullmq": "BullMQ on Redis",
    "sidekiq": "Sidekiq, basic fetch",
    "sidekiq_super_fetch": "Sidekiq Pro, super_fetch",
    "pubsub": "Google Cloud Pub/Sub, at least once or exactly once",
    "kafka": "Apache Kafka, consumer groups",
    "redis_list": "Redis lists: BRPOP, or BLMOVE with a monitor",
    "redis_stream": "Redis streams with a consumer group",
    "row_lock": "PostgreSQL, a row lock held during the job",
    "good_job": "GoodJob on PostgreSQL, an advisory lock of the session",
    "pgmq": "pgmq on PostgreSQL",
    "status_column": "PostgreSQL, a status and a rescuer: pg-boss, River, Oban and others",
    "celery_redis": "Celery on Redis",
    "celery_rabbitmq": "Celery on RabbitMQ",
    "service_bus": "Azure Service Bus",
}

KINDS: dict[str, type[Broker]] = {
    "sqs": SQS,
    "sqs_fifo": SQSFifo,
    "rabbitmq": RabbitMQ,
    "bullmq": BullMQ,
    "sidekiq": Sidekiq,
    "sidekiq_super_fetch": SidekiqSuperFetch,
    "pubsub": PubSub,
    "kafka": Kafka,
    "redis_list": RedisList,
    "redis_stream": RedisStream,
    "row_lock": RowLock,
    "good_job": GoodJob,
    "pgmq": PGMQ,
    "status_column": StatusColumn,
    "celery_redis": CeleryRedis,
    "celery_rabbitmq": CeleryRabbitMQ,
    "service_bus": ServiceBus,
}

MODULES = {
    "sqs_fifo": "sqs",
    "sidekiq_super_fetch": "sidekiq",
    "redis_list": "redis_brokers",
    "redis_stream": "redis_brokers",
    "row_lock": "postgres",
    "good_job": "postgres",
    "pgmq": "postgres",
    "status_column": "postgres",
    "celery_redis": "celery",
    "celery_rabbitmq": "celery",
}
"""Where the tests of a broker are, in `tests/test_<module>.py`, where that is not its name."""


def facts_of(name: str) -> tuple[Fact, ...]:
    """Return the facts of the broker with this name; ValueError if there is none."""
    checks.one_of("the broker", name, NAMES)
    facts: tuple[Fact, ...] = KINDS[name].FACTS  # type: ignore[attr-defined]
    return facts


def file_of_tests(name: str) -> str:
    """Return the path of the tests of the broker with this name."""
    return f"tests/test_{MODULES.get(name, name)}.py"


def as_markdown() -> str:
    """Return the facts of all brokers, each with its source and its test, as Markdown."""
    parts = [HEAD]
    for name, what in NAMES.items():
        parts.append(f"\n## {what}\n\n`sq.brokers.{name}` (tests: `{file_of_tests(name)}`)\n\n")
        facts = facts_of(name)
        modelled = [(f.what, f.value, f.source, f"`{f.test}`") for f in facts if f.test]
        others = [(f.what, f.value, f.source, f.left_out) for f in facts if f.left_out]
        parts.append(_table(("about", "fact", "source", "test"), modelled))
        if others:
            parts.append("\nNot modelled:\n\n")
            parts.append(_table(("about", "fact", "source", "why not"), others))
    return "".join(parts)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


HEAD = """# What each broker does

Every broker of `simqueue.brokers` is made of facts. Here is each of them, with where it comes from
and the test that holds it; and those that are not modelled, with the reason. This page is what
`simqueue brokers --markdown` prints.
"""
