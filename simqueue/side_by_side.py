"""The brokers side by side: the same jobs and the same faults on each of them.

`compare_brokers` gives one table: what went wrong with the jobs, how long recovery took, what a
late ack does, and what exhaustion does. The last two are not written down: each is a small run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simqueue import brokers
from simqueue.arrivals import AllAtOnce, Poisson
from simqueue.context import Context, Job
from simqueue.distributions import Fixed, LogNormal
from simqueue.experiments import compare
from simqueue.faults import At, Crash, Network, Pause
from simqueue.handlers import naive
from simqueue.model.progress import NeverSettles
from simqueue.scenario import Scenario, Workers
from simqueue.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd

    from simqueue.result import Result
    from simqueue.scenario import Broker

HOUR = 3_600.0
HEADS = {
    "duplicate_delivery_rate": "delivered twice",
    "duplicate_effect_rate": "charged twice",
    "lost_rate": "lost",
    "dead_letter_rate": "dead letters",
    "unfinished_rate": "stuck",
    "recovery_mean": "recovery",
}


def everyone() -> dict[str, Broker]:
    """Return the brokers that are compared, each as it is unless something is set."""
    return {
        "SQS": brokers.sqs(max_receive_count=10),
        "SQS FIFO": brokers.sqs_fifo(max_receive_count=10),
        "RabbitMQ 4.2, quorum": brokers.rabbitmq(version="4.2"),
        "RabbitMQ 4.3, quorum": brokers.rabbitmq(),
        "RabbitMQ 4.3, classic": brokers.rabbitmq(queue="classic"),
        "BullMQ": brokers.bullmq(),
        "Sidekiq": brokers.sidekiq(),
        "Sidekiq super_fetch": brokers.sidekiq_super_fetch(),
        "Pub/Sub": brokers.pubsub(max_delivery_attempts=5),
        "Pub/Sub exactly once": brokers.pubsub(
            enable_exactly_once_delivery=True, max_delivery_attempts=5
        ),
        "Kafka": brokers.kafka(partitions=12),
        "Redis BRPOP": brokers.redis_list(pop="BRPOP"),
        "Redis BLMOVE, monitor": brokers.redis_list(monitor_every=30, stale_after=300),
        "Redis Streams": brokers.redis_stream(max_deliveries=5),
        "Postgres row lock": brokers.row_lock(),
        "pgmq, vt 30 s": brokers.pgmq(vt=30),
        "pg-boss": brokers.pg_boss(),
        "River": brokers.river(),
        "Oban": brokers.oban(),
        "Solid Queue": brokers.solid_queue(),
        "Celery, Redis, early ack": brokers.celery_redis(),
        "Celery, Redis, late ack": brokers.celery_redis(acks_late=True),
        "Celery, RabbitMQ, late ack": brokers.celery_rabbitmq(acks_late=True),
        "Service Bus": brokers.service_bus(),
    }


def trouble(broker: Broker) -> Scenario:
    """Return the scenario that they all get: jobs of some seconds, workers that die and freeze."""
    return Scenario(
        arrivals=Poisson(rate=0.5),
        jobs=300,
        groups=300,
        work=LogNormal(median=8, p99=60),
        workers=Workers(count=12, crash=Crash(mean_time_between=900, restart_after=20)),
        faults=[Pause(seconds=90, mean_time_between=1_800)],
        network=Network(ack_lost=0.01),
        broker=broker,
        handler=naive,
        horizon=6 * HOUR,
    )


def compare_brokers(
    some: Mapping[str, Broker] | None = None, *, replications: int = 20, seed: int = 0
) -> pd.DataFrame:
    """Simulate the same jobs and faults on each broker, and say how each fared.

    Parameters
    ----------
    some
        Names and brokers; None: `everyone()`.
    replications, seed
        As for `simqueue.compare`.

    Returns
    -------
    DataFrame
        A row for each broker, by name. Columns: the means of the figures in `HEADS` (shares of
        jobs, and seconds), each followed by the half-width of its 95 % interval, as
        "<figure>_half_width"; and in words `late_ack` and `exhaustion`.
    """
    import pandas as pd

    chosen = everyone() if some is None else dict(some)
    scenarios = {name: trouble(broker) for name, broker in chosen.items()}
    found = compare(scenarios, replications=replications, seed=seed, progress=False)
    rows = {}
    for name, broker in chosen.items():
        own = found[found["scenario"] == name].set_index("figure")
        numbers = {}
        for figure in HEADS:
            numbers[figure] = own["mean"][figure]
            numbers[f"{figure}_half_width"] = own["half_width"][figure]
        rows[name] = {**numbers, "late_ack": late_ack(broker), "exhaustion": exhaustion(broker)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("broker")


def late_ack(broker: Broker) -> str:
    """Say what becomes of the ack of a worker that was silent for so long that another has its job.

    Two workers and one job. The first freezes as it begins, until a second after the other one has
    got the job, and is done soon after that.
    """
    waits = _frozen_for(24 * HOUR, broker).deliveries
    if len(waits) == 1:
        return "never late: nobody else gets the job"
    apart = float(waits.received[1] - waits.started[0])
    first = _frozen_for(apart + 1, broker).deliveries.iloc[0]
    return {
        "accepted": "accepted, under the other's hands",
        "ignored": "ignored, in silence",
        "refused": "refused, and the worker is told",
    }[str(first.ack)]


def _frozen_for(seconds: float, broker: Broker) -> Result:
    """One job on two workers, of which the first freezes for so long as it begins."""
    return simulate(
        Scenario(
            arrivals=AllAtOnce(),
            jobs=1,
            work=Fixed(1),
            workers=Workers(count=2),
            faults=[At(step="sleep", what="pause", when="before", seconds=seconds)],
            broker=broker,
            handler=slow_the_second_time,
            horizon=30 * HOUR,
        )
    )


async def slow_the_second_time(job: Job, ctx: Context) -> None:  # noqa: ARG001
    """Take two seconds at first, and ten minutes on any other attempt."""
    await ctx.sleep(2 if ctx.attempt == 1 else 600)


async def always_fails(job: Job, ctx: Context) -> None:  # noqa: ARG001
    """Work for a second, and raise."""
    await ctx.sleep(1)
    raise RuntimeError("it fails")


def exhaustion(broker: Broker) -> str:
    """Say what becomes of a job that fails on every attempt."""
    scenario = Scenario(
        arrivals=AllAtOnce(), jobs=1, work=Fixed(1), broker=broker, handler=always_fails
    )
    try:
        result = simulate(scenario)
    except NeverSettles:
        return "goes round for ever"
    runs, outcome = int(result.jobs.executions[0]), str(result.jobs.outcome[0])
    words = "1 run" if runs == 1 else f"{runs:,} runs"
    return {
        "dead-lettered": f"dead-letter queue after {words}",
        "lost": f"dropped after {words}",
        "expired": f"expires after {words}",
        "acked": f"acked all the same after {words}",
    }[outcome]


def as_markdown(table: pd.DataFrame) -> str:
    """Return what `compare_brokers` gives as a table in Markdown, without the half-widths."""
    heads = ("broker", *HEADS.values(), "late ack", "exhaustion")
    lines = [heads, ("---", *["---:"] * len(HEADS), "---", "---")]
    for name, row in table.iterrows():
        shares = [f"{100 * row[figure]:.1f} %" for figure in HEADS if figure != "recovery_mean"]
        recovery = row["recovery_mean"]
        waits = "never" if math.isnan(recovery) else f"{recovery:,.0f} s"
        lines.append((str(name), *shares, waits, row["late_ack"], row["exhaustion"]))
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
