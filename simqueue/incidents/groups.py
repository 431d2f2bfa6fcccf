"""The incidents in groups: by the system that they happened to, and by what went wrong."""

from __future__ import annotations

from simqueue.incidents.registry import INCIDENTS, MECHANISMS

SYSTEMS = {
    "SQS": ("SQS",),
    "RabbitMQ": ("RabbitMQ",),
    "Celery": ("Celery",),
    "Sidekiq": ("Sidekiq", "sidekiq"),
    "Redis, and libraries on it": ("Redis", "redis", "idekiq", "Bull", "arq", "RQ", "Huey"),
    "SQL databases, and libraries on them": (
        *("Postgres", "delayed_job", "GoodJob", "Solid Queue", "Procrastinate", "Hangfire"),
        *("database", "outbox"),
    ),
    "Kafka": ("Kafka",),
    "Google Pub/Sub": ("Pub/Sub",),
    "NATS JetStream": ("NATS",),
}
"""The name of each group, and the words of `Incident.system` that tell who belongs to it."""
OTHERS = "other systems"


def by_system() -> dict[str, list[str]]:
    """Return the ids of the incidents of each system; one may stand in several groups."""
    groups = {
        name: [one.id for one in INCIDENTS.values() if any(word in one.system for word in words)]
        for name, words in SYSTEMS.items()
    }
    named = {number for numbers in groups.values() for number in numbers}
    return groups | {OTHERS: [number for number in INCIDENTS if number not in named]}


def by_mechanism() -> dict[str, list[str]]:
    """Return the ids of the incidents of each mechanism; each stands in exactly one group."""
    return {
        name: sorted(incident.id for incident in module.INCIDENTS)
        for name, module in MECHANISMS.items()
    }
