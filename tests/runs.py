"""Small runs that many tests start from."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import simqueue as sq

BROKER = {field.name for field in dataclasses.fields(sq.brokers.generic)}
TEAM = {field.name for field in dataclasses.fields(sq.Workers)} - {"count"}


def run(work: Any = 1.0, workers: int = 1, seed: int = 0, **options: Any) -> sq.Result:
    """Simulate one job at 0 (or `jobs` of them) on a generic broker; the rest as keywords."""
    return sq.simulate(scenario(work, workers, **options), seed)


def scenario(work: Any = 1.0, workers: int = 1, **options: Any) -> sq.Scenario:
    """The scenario that `run` runs: options of broker, workers and scenario all as keywords."""
    broker = {name: options.pop(name) for name in BROKER & set(options)}
    team = {name: options.pop(name) for name in TEAM & set(options)}
    parts: dict[str, Any] = {
        "arrivals": sq.AllAtOnce(),
        "jobs": 1,
        "handler": sq.handlers.naive,
        "work": work if isinstance(work, sq.Distribution) else sq.Fixed(work),
        "workers": sq.Workers(count=workers, **team),
        "broker": sq.brokers.generic(**broker),
    }
    return sq.Scenario(**(parts | options))


def starts(result: sq.Result, job: int = 0) -> list[float]:
    """When the handler was started on `job`, in seconds."""
    deliveries = result.deliveries
    times = deliveries.started[deliveries.job == job].dropna()
    return [float(time) for time in times]


def received(result: sq.Result, job: int = 0) -> list[float]:
    """When `job` was delivered, in seconds."""
    deliveries = result.deliveries
    return [float(time) for time in deliveries.received[deliveries.job == job]]


def settled(result: sq.Result, job: int = 0) -> float:
    """When `job` was settled, in seconds; NaN if it was not."""
    return float(result.jobs.settled[job])


def story(result: sq.Result) -> list[str]:
    """Every event as one line, "time event job/delivery@worker", to compare whole runs."""
    return [
        f"{row.time:g} {row.event} {row.job}/{row.delivery}@{row.worker}"
        for row in result.events.itertuples()
    ]


EVER = math.inf
