"""Every figure and every level over time, computed again from the tables in plain Python."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from reenactment import MOVES, SETTLED, STATES, Run

from simqueue.model.ledger import Event


def mean(values: list[float]) -> float:
    """The mean, NaN of nothing."""
    return sum(values) / len(values) if values else math.nan


def percentile(values: list[float], level: float) -> float:
    """The value below which `level` per cent lie, between two values by their distance."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = (len(ordered) - 1) * level / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def figures(run: Run) -> None:
    """`Result.figures` are what `simqueue.figures.DESCRIPTIONS` says they are."""
    result, scenario = run.result, run.scenario
    end = result.duration
    cohort = [
        job
        for job, row in result.jobs.iterrows()
        if row.outcome != "unpublished" and row.published >= scenario.warmup
    ]
    jobs = result.jobs.loc[cohort].to_dict("index")
    deliveries = result.deliveries.to_dict("records")
    effects = result.effects.to_dict("records")
    dead = Counter[int]()
    for row in run.rows:
        dead[row.job] += row.event == Event.DEAD_LETTERED
        dead[row.job] -= row.event in (Event.REDRIVEN, Event.DEAD_LETTER_EXPIRED)
        dead[row.job] -= row.event == Event.ACKED and STATES[int(row.value)] == "dead-lettered"

    first_effect_by: dict[int, int] = {}
    extra: Counter[int] = Counter()
    for effect in effects:
        first_effect_by.setdefault(effect["job"], effect["delivery"])
        extra[effect["job"]] += effect["repeat"] > 0
    running = {d["job"] for d in deliveries if d["outcome"] == "running"}
    settled = ("acked", "lost", "expired")
    lost = [
        job
        for job, row in jobs.items()
        if row["outcome"] in settled and not dead[job] and row["effects"] == 0
        if job not in running
    ]
    busy = [
        0.0
        if d["outcome"] == "unstarted"
        else (end if d["outcome"] == "running" else d["ended"]) - d["started"]
        for d in deliveries
    ]
    all_busy = sum(b for b, d in zip(busy, deliveries, strict=True) if d["job"] in jobs)
    useful = sum(
        busy[number] for job, number in first_effect_by.items() if number >= 0 and job in jobs
    )
    to_effect = [
        row["first_effect"] - row["published"] for row in jobs.values() if row["effects"] > 0
    ]
    waits = [
        row["first_start"] - row["published"] for row in jobs.values() if row["executions"] > 0
    ]
    recoveries = []
    for number, delivery in enumerate(deliveries):
        later = [d for d in deliveries[number + 1 :] if d["job"] == delivery["job"]]
        if delivery["outcome"] == "crashed" and later:
            recoveries.append(max(later[0]["received"] - delivery["ended"], 0.0))
    slots = scenario.workers.count * scenario.workers.concurrency
    expected = {
        "jobs": len(jobs),
        "redeliveries": sum(max(row["deliveries"] - 1, 0) for row in jobs.values()),
        "duplicate_executions": sum(max(row["executions"] - 1, 0) for row in jobs.values()),
        "duplicate_effects": sum(extra[job] for job in jobs),
        "duplicate_delivery_rate": mean([row["deliveries"] > 1 for row in jobs.values()]),
        "duplicate_effect_rate": mean([extra[job] > 0 for job in jobs]),
        "extra_effects": mean([extra[job] for job in jobs]),
        "deliveries_per_job": mean([row["deliveries"] for row in jobs.values()]),
        "lost_rate": len(lost) / len(jobs) if jobs else math.nan,
        "dead_letter_rate": mean([dead[job] > 0 for job in jobs]),
        "unfinished_rate": mean([row["outcome"] == "unfinished" for row in jobs.values()]),
        "wasted_work": 1 - useful / all_busy if all_busy else math.nan,
        "wait_mean": mean(waits),
        "time_to_effect_mean": mean(to_effect),
        "time_to_effect_p50": percentile(to_effect, 50),
        "time_to_effect_p95": percentile(to_effect, 95),
        "time_to_effect_p99": percentile(to_effect, 99),
        "recovery_mean": mean(recoveries),
        "utilisation": sum(busy) / (slots * end) if end else math.nan,
        "failures": sum(d["outcome"] == "failed" and d["job"] in jobs for d in deliveries),
        "crashes": sum(d["outcome"] == "crashed" and d["job"] in jobs for d in deliveries),
        "acks_lost": sum(d["ack"] == "lost" and d["job"] in jobs for d in deliveries),
    }
    assert set(result.figures) == set(expected)
    for name, value in expected.items():
        given = result.figures[name]
        assert given == pytest.approx(value, nan_ok=True, abs=1e-9), f"{name}: {given}, not {value}"


def settled(run: Run) -> None:
    """What became of each job is what its rows say last, in the table and in the figures."""
    counts: dict[int, Counter[str]] = {job: Counter() for job in range(run.scenario.jobs or 0)}
    for row in run.rows:
        if row.event == Event.PUBLISHED:
            counts[row.job][STATES[int(row.value)]] += 1
        elif row.event in MOVES or row.event in SETTLED:
            before, after = MOVES.get(row.event) or (STATES[int(row.value)], SETTLED[row.event])
            counts[row.job][before] -= 1
            counts[row.job][after] += 1
    outcomes = []
    for here in counts.values():
        words = [state for state in STATES if here[state]]
        first = next((word for word in RANKED if word in words), "unpublished")
        outcomes.append("unfinished" if first in STATES[:3] else first)
    outcomes = ["expired" if outcome == "deduplicated" else outcome for outcome in outcomes]
    assert run.result.jobs.outcome.tolist() == outcomes
    unfinished = outcomes.count("unfinished")
    assert run.result.cut["unsettled"] == unfinished
    cohort = (run.result.jobs.published >= run.scenario.warmup).tolist()
    left = [outcome for outcome, counted in zip(outcomes, cohort, strict=True) if counted]
    rate = left.count("unfinished") / len(left) if left else math.nan
    assert run.result.figures["unfinished_rate"] == pytest.approx(rate, nan_ok=True)
    assert run.result.figures["jobs"] == len(left)


RANKED = (*STATES[:3], "dead-lettered", "acked", "lost", "expired", "deduplicated")
"""Of a job with several messages the first of these counts."""


def levels(run: Run) -> None:
    """`Result.timeseries` counts messages and busy slots as the rows tell them, at each instant."""
    now: Counter[str] = Counter()
    lives = [(row.published, row.settled) for row in run.result.jobs.itertuples()]
    naive = []
    for time, rows in run.instants:
        for row in rows:
            if row.event == Event.PUBLISHED:
                now[STATES[int(row.value)]] += 1
            elif row.event in MOVES or row.event in SETTLED:
                before, after = MOVES.get(row.event) or (STATES[int(row.value)], SETTLED[row.event])
                now[before] -= 1
                now[after] += 1
            now["busy"] += row.event == Event.STARTED
            now["busy"] -= row.event in (Event.FINISHED, Event.FAILED, Event.CRASHED)
        at = time / 1e6
        ages = [at - start for start, end in lives if start <= at and not end <= at]
        naive.append((at, [now[state] for state in (*STATES, "busy")], max(ages, default=0)))
    table = run.result.timeseries
    names = ["delayed", "visible", "in_flight", "acked", "dead_lettered", "lost", "expired"]
    columns = table[[*names, "deduplicated", "busy"]].to_numpy().tolist()
    assert list(table.index) == [at for at, _, _ in naive]
    assert columns == [counts for _, counts, _ in naive]
    assert list(table.oldest_age) == pytest.approx([age for _, _, age in naive])


LAWS = (figures, settled, levels)
