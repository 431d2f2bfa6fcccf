"""Fault plans per second, with and without real SQL."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import simqueue as sq
from benchmarks import measure
from simqueue.context import UniqueViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = """
CREATE TABLE done (key TEXT PRIMARY KEY);
CREATE TABLE charges (id INTEGER PRIMARY KEY, key TEXT);
"""


async def with_sql(job: sq.Job, ctx: sq.Context) -> None:
    """Effect and key in one real transaction."""
    await ctx.work()
    try:
        async with ctx.sql.transaction():
            await ctx.sql.execute("INSERT INTO done VALUES (?)", (job.key,))
            await ctx.sql.execute("INSERT INTO charges (key) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


def in_storage(storage: str) -> sq.exploration.Report:
    """Explore the handler above, its database in memory or in a file."""
    database = sq.services.SQL(schema=SCHEMA, effects="charges", storage=storage)
    return sq.explore(with_sql, sql=database)


def of_strategies(faults_at_once: int) -> sq.exploration.Report:
    """Explore the strategy that passes, so that no plan is left out."""
    return sq.explore(sq.handlers.reclaim_with_key, faults_at_once=faults_at_once)


CASES: tuple[tuple[str, Callable[[], sq.exploration.Report], int], ...] = (
    ("without SQL, one fault", partial(of_strategies, 1), 2_000),
    ("without SQL, pairs", partial(of_strategies, 2), 2_000),
    ("with SQL in memory", partial(in_storage, "memory"), 300),
    ("with SQL in a file", partial(in_storage, "file"), 300),
)


def plans_per_second(repeats: int) -> Iterator[tuple[str, float, int, int]]:
    """For each case: its name, plans per second of CPU time, the goal, and the plans of one run."""
    times = measure.interleaved([run for _, run, _ in CASES], repeats)
    for (name, run, goal), seconds in zip(CASES, times, strict=True):
        plans = run().plans
        yield name, plans / sorted(seconds)[len(seconds) // 2], goal, plans
