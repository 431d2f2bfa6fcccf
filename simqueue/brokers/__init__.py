"""Real brokers, each a small module: its parameters under its own names, its facts, its sources."""

from simqueue.brokers.bullmq import BullMQ as bullmq  # noqa: N813 - reads as a call, as do all
from simqueue.brokers.celery import CeleryRabbitMQ as celery_rabbitmq  # noqa: N813
from simqueue.brokers.celery import CeleryRedis as celery_redis  # noqa: N813
from simqueue.brokers.facts import Fact, as_table
from simqueue.brokers.generic import Generic as generic  # noqa: N813
from simqueue.brokers.kafka import Kafka as kafka  # noqa: N813
from simqueue.brokers.postgres import PGMQ as pgmq  # noqa: N811
from simqueue.brokers.postgres import GoodJob as good_job  # noqa: N813
from simqueue.brokers.postgres import RowLock as row_lock  # noqa: N813
from simqueue.brokers.pubsub import PubSub as pubsub  # noqa: N813
from simqueue.brokers.rabbitmq import RabbitMQ as rabbitmq  # noqa: N813
from simqueue.brokers.redis import RedisList as redis_list  # noqa: N813
from simqueue.brokers.redis import RedisStream as redis_stream  # noqa: N813
from simqueue.brokers.service_bus import ServiceBus as service_bus  # noqa: N813
from simqueue.brokers.sidekiq import Sidekiq as sidekiq  # noqa: N813
from simqueue.brokers.sidekiq import SidekiqSuperFetch as sidekiq_super_fetch  # noqa: N813
from simqueue.brokers.sqs import SQS as sqs  # noqa: N811
from simqueue.brokers.sqs import SQSFifo as sqs_fifo  # noqa: N813
from simqueue.brokers.status_column import StatusColumn as status_column  # noqa: N813
from simqueue.brokers.status_column import (
    graphile_worker,
    oban,
    pg_boss,
    procrastinate,
    river,
    solid_queue,
)

__all__ = [
    "Fact",
    "as_table",
    "bullmq",
    "celery_rabbitmq",
    "celery_redis",
    "generic",
    "good_job",
    "graphile_worker",
    "kafka",
    "oban",
    "pg_boss",
    "pgmq",
    "procrastinate",
    "pubsub",
    "rabbitmq",
    "redis_list",
    "redis_stream",
    "river",
    "row_lock",
    "service_bus",
    "sidekiq",
    "sidekiq_super_fetch",
    "solid_queue",
    "sqs",
    "sqs_fifo",
    "status_column",
]
