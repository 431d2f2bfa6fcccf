"""The figures of a run, each defined here and nowhere else.

Every share and mean is over the cohort: the jobs published from the warm-up on. A run drains unless
the scenario has a horizon, so nothing of a job is cut off; where a horizon cuts, `unfinished_rate`
says how much. Three things are counted apart: redeliveries (the broker's), duplicate executions
(the handler ran again) and duplicate effects (the world was changed again). Only the last one
hurts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simqueue.model.ledger import Event
from simqueue.scenario import Scenario
from simqueue.tally import Floats, Ints, Tally

DESCRIPTIONS = {
    "jobs": "jobs in the cohort",
    "redeliveries": "deliveries beyond each job's first",
    "duplicate_executions": "runs of the handler beyond each job's first",
    "duplicate_effects": "effects beyond each job's first of their kind",
    "duplicate_delivery_rate": "share of jobs delivered more than once",
    "duplicate_effect_rate": "share of jobs with an effect applied more than once",
    "extra_effects": "duplicate effects per job",
    "deliveries_per_job": "mean number of deliveries",
    "lost_rate": "share of jobs without any effect, of which no queue holds a message any more",
    "dead_letter_rate": "share of jobs in the dead-letter queue",
    "unfinished_rate": "share of jobs with a message that was not settled when the run ended",
    "wasted_work": "share of busy seconds not spent on the attempt whose effect came first",
    "wait_mean": "mean seconds from publish to the first start of the handler",
    "time_to_effect_mean": "mean seconds from publish to first effect",
    "time_to_effect_p50": "median of the same",
    "time_to_effect_p95": "95th percentile of the same",
    "time_to_effect_p99": "99th percentile of the same",
    "recovery_mean": "mean seconds from a worker's crash to the next delivery of what it held",
    "utilisation": "share of all slots' time spent busy, over the whole run",
    "failures": "attempts whose handler raised",
    "crashes": "deliveries that died with their worker",
    "acks_lost": "acks that never arrived",
}


def figures(tally: Tally, scenario: Scenario) -> dict[str, float]:
    """Return all figures of a run by name; NaN where there is nothing to take a mean of."""
    cohort = tally.published >= scenario.warmup
    deliveries = tally.deliveries[cohort]
    extra = tally.extra_effects[cohort]
    dead, unsettled = tally.dead[cohort] > 0, tally.unsettled[cohort] > 0
    running = np.isin(np.flatnonzero(cohort), tally.delivery_job[tally.still_running])
    hopeless = ~dead & ~unsettled & ~running
    to_effect = tally.first_effect[cohort] - tally.published[cohort]
    return {
        "jobs": int(np.count_nonzero(cohort)),
        "redeliveries": _beyond_first(deliveries),
        "duplicate_executions": _beyond_first(tally.executions[cohort]),
        "duplicate_effects": int(extra.sum()),
        "duplicate_delivery_rate": _mean(deliveries > 1),
        "duplicate_effect_rate": _mean(extra > 0),
        "extra_effects": _mean(extra),
        "deliveries_per_job": _mean(deliveries),
        "lost_rate": _mean((tally.effects[cohort] == 0) & hopeless),
        "dead_letter_rate": _mean(dead),
        "unfinished_rate": _mean(unsettled),
        "wasted_work": _wasted_work(tally, cohort),
        "wait_mean": _mean(tally.started[cohort] - tally.published[cohort]),
        "time_to_effect_mean": _mean(to_effect),
        **_percentiles("time_to_effect", to_effect),
        "recovery_mean": _mean(tally.recovery),
        "utilisation": _utilisation(tally, scenario),
        "failures": tally.count(Event.FAILED, cohort),
        "crashes": tally.count(Event.CRASHED, cohort),
        "acks_lost": tally.count(Event.ACK_LOST, cohort),
    }


def _mean(values: NDArray[Any]) -> float:
    """Mean of what is not NaN."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else math.nan


def _beyond_first(counts: Ints) -> int:
    return int(np.maximum(counts - 1, 0).sum())


def _percentiles(name: str, values: Floats) -> dict[str, float]:
    there = values[~np.isnan(values)]
    levels = (50, 95, 99)
    found = np.percentile(there, levels) if len(there) else [math.nan] * 3
    return {f"{name}_p{level}": float(value) for level, value in zip(levels, found, strict=True)}


def _wasted_work(tally: Tally, cohort: NDArray[np.bool_]) -> float:
    busy = np.where(cohort[tally.delivery_job], tally.busy, 0.0)
    total = busy.sum()
    first = tally.first_effect_delivery
    useful = busy[first[first >= 0]].sum()
    return float(1 - useful / total) if total else math.nan


def _utilisation(tally: Tally, scenario: Scenario) -> float:
    slots = scenario.workers.count * scenario.workers.concurrency
    return float(tally.busy.sum() / (slots * tally.end)) if tally.end else math.nan
