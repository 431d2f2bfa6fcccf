"""Advice: from a log to a timeout, with numbers that can be counted by hand."""

from __future__ import annotations

import csv
import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simqueue import Crash, Scenario, Workers, brokers, simulate
from simqueue.advice import Advice, advise, usual_timeouts
from simqueue.advice.timeouts import round_up
from simqueue.advice.words import lost_work, percent, seconds
from simqueue.trace import JobLog, read
from simqueue.trace.load import offered_load

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "thumbnails.csv"
REAL_LOG = ROOT.parent / "shared" / "data" / "genai_requests.csv"

needs_real_log = pytest.mark.skipif(
    not REAL_LOG.exists(), reason="the real log is not beside this repository (../shared/data)"
)


def log_of(durations, *, every: float = 1000.0, **fields) -> JobLog:
    """Jobs that arrive `every` so many seconds: by default far enough apart not to meet."""
    return JobLog(np.arange(len(durations)) * every, np.array(durations, dtype=float), **fields)


FAST_AND_SLOW = log_of([10.0] * 18 + [100.0] * 2)
"""Nine jobs in ten take 10 s, one in ten takes 100 s."""


def predictions(log: JobLog = FAST_AND_SLOW, **options) -> Advice:
    """Advice on `log` with ten workers and no crash that matters."""
    return advise(log, **{"workers": 10, "timeouts": [30], "crash": Crash(), **options})


# What one timeout does


def test_slow_jobs_are_delivered_again_until_the_dead_letter_queue():
    """SQS: each new receive voids the last one's ack, so 100 s of work in 30 s leases never ends.

    Five runs of 100 s for each slow job, of which one was needed.
    """
    (found,) = predictions().predictions
    assert found.timeout == 30
    assert found.share_outlasting == found.duplicate_rate == found.dead_letter_rate == 0.1
    assert found.extra_work == pytest.approx(2 * 400 / (18 * 10 + 2 * 500))


def test_a_broker_whose_late_ack_deletes_stops_at_the_first_run_that_ends():
    """Starts at 0, 30, 60 and 90: four runs, none dead-lettered."""
    (found,) = predictions(late_ack="deletes").predictions
    assert (found.duplicate_rate, found.dead_letter_rate) == (0.1, 0.0)
    assert found.extra_work == pytest.approx(2 * 300 / (18 * 10 + 2 * 400))


def test_the_receive_limit_bounds_the_extra_work():
    """Two receives: two runs."""
    (found,) = predictions(max_receives=2).predictions
    assert found.extra_work == pytest.approx(2 * 100 / (18 * 10 + 2 * 200))


def test_a_timeout_that_no_job_outlasts_makes_no_duplicates():
    """Exactly as long as the longest job is enough: at one instant the ack comes first."""
    (found,) = predictions(timeouts=[100]).predictions
    assert (found.share_outlasting, found.duplicate_rate) == (0.0, 0.0)
    assert (found.extra_work, found.dead_letter_rate) == (0.0, 0.0)
    assert found.time_to_effect_p99 == 100.0


def test_every_job_of_the_log_is_replayed_with_its_own_duration():
    """Whatever the number of jobs: the simulation draws them in blocks."""
    log = log_of([5.0] * 1500 + [50.0], every=10.0)
    (found,) = predictions(log, timeouts=[10]).predictions
    assert found.duplicate_rate == found.share_outlasting == 1 / 1501


@pytest.mark.parametrize("timeout", [20.0, 200.0])
def test_a_crash_delays_a_job_by_its_timeout(timeout):
    """The job is visible again when its lease ends, and then starts over: at V, not at V + c."""
    crash = Crash(at=[(1, 5.0)], restart_after=1.0)
    (found,) = predictions(timeouts=[timeout], crash=crash).predictions
    assert (found.recovery_p50, found.recovery_p95, found.crashes) == (timeout, timeout, 1)


def test_a_crashed_job_waits_for_a_worker_too():
    """The only worker is dead for 500 s, and takes the job up then."""
    crash = Crash(at=[(1, 5.0)], restart_after=500.0)
    (found,) = predictions(workers=1, timeouts=[200], crash=crash).predictions
    assert found.recovery_p50 == 505.0


def test_crashes_belong_to_the_second_replay_only():
    """The duplicates of slow jobs and those of crashes are told apart."""
    crash = Crash(at=[(1, 5.0)], restart_after=1.0)
    (found,) = predictions(timeouts=[200], crash=crash).predictions
    assert (found.duplicate_rate, found.duplicate_rate_with_crashes) == (0.0, 1 / 20)


def test_a_job_that_crashes_until_the_dead_letter_queue_never_recovers():
    """Its delay is infinite, and the advice warns of it."""
    crash = Crash(at=[(1, 5.0)], restart_after=1.0)
    advice = predictions(timeouts=[200], crash=crash, max_receives=1)
    assert math.isinf(advice.predictions[0].recovery_p95)
    assert any("never recover" in each for each in advice.warnings)


def test_without_a_crash_to_measure_the_recovery_is_unknown():
    """NaN in the table, a dash in the text, and the rule of thumb in the reason."""
    advice = predictions(timeouts=[100])
    assert math.isnan(advice.predictions[0].recovery_p50)
    assert "its user waits about 100 s longer" in advice.reason


def test_the_same_seed_gives_the_same_advice():
    """And another seed moves the crashes only."""
    log = read(EXAMPLE).head(300)
    first, again, other = (
        advise(log, workers=4, timeouts=[30], seed=seed).table for seed in (1, 1, 2)
    )
    assert first.equals(again)
    crash_columns = [name for name in first if "recovery" in name or "crash" in name]
    assert first.drop(columns=crash_columns).equals(other.drop(columns=crash_columns))
    assert not first[crash_columns].equals(other[crash_columns])


# The recommendation


def test_the_shortest_timeout_within_the_target_is_recommended():
    """2 jobs of 20 outlast 30 s: too many for a target of 5 %, few enough for one of 10 %."""
    timeouts = [5, 30, 100, 200]
    assert predictions(timeouts=timeouts, target=0.05).recommendation == 100
    assert predictions(timeouts=timeouts, target=0.1).recommendation == 30
    assert predictions(timeouts=[5, 30]).recommendation is None


def test_a_busy_worker_does_not_excuse_a_short_timeout():
    """One worker makes no duplicates, as nobody is free to take the job; a second one would."""
    advice = predictions(workers=1, timeouts=[30, 100])
    assert advice.predictions[0].duplicate_rate == 0
    assert advice.recommendation == 100


def test_prefetched_jobs_count_as_duplicates_although_none_outlasts_its_timeout():
    """Ten jobs of 20 s held by one worker: their leases run while they wait."""
    log = log_of([20.0] * 10, every=0.0)
    team = Workers(count=1, prefetch=10)
    advice = predictions(log, workers=team, timeouts=[30, 300], max_receives=3)
    assert advice.predictions[0].share_outlasting == 0
    assert advice.predictions[0].duplicate_rate > 0.5
    assert advice.recommendation == 300


def test_the_reason_names_the_worst_case_the_temptation_and_the_price():
    """In plain words, with this log's own numbers."""
    crash = Crash(at=[(1, 5.0)], restart_after=1.0)
    reason = predictions(timeouts=[30, 100], crash=crash).reason
    assert "not the average: the mean is 19 s" in reason
    assert "the longest took 100 s" in reason
    assert "30 s, would make 10% of the jobs run more than once" in reason
    assert "send 10% of all jobs to the dead-letter queue after 5 deliveries" in reason
    assert "its user waits 100 s longer, since nothing brings the job back" in reason


def test_a_list_of_too_short_timeouts_is_told_what_it_takes():
    """From the log alone."""
    advice = predictions(timeouts=[5, 30])
    assert "None of these timeouts is long enough." in advice.to_text()
    assert "By the log" not in advice.to_text()
    assert "Judging by the log alone it takes 100 s" in advice.reason


def test_a_large_target_has_no_timeout_above_the_mean_to_speak_of():
    """The recommended timeout may lie below the mean."""
    advice = predictions(timeouts=[15], target=0.1)
    assert advice.recommendation == 15
    assert "A timeout just above the mean" not in advice.reason


def test_a_heartbeat_costs_the_work_that_was_done():
    """Jobs of 100 s lose 50 s on average; the last beat is 5 s old, and its lease lasts 30 s."""
    advice = predictions(log_of([100.0] * 4), timeouts=[100])
    assert lost_work(advice.log) == 50.0
    assert "its user waits about 75 s longer (the lost work included) instead of 100 s" in (
        advice.heartbeat
    )
    assert "would gain little" in predictions(log_of([5.0] * 4), timeouts=[10]).heartbeat


def test_long_jobs_are_hit_more_often():
    """A crash in a random busy second hits the long job in 100 cases of 190."""
    assert lost_work(log_of([10.0] * 9 + [100.0])) == pytest.approx(10_900 / 380)
    assert lost_work(log_of([0.0])) == 0.0


def test_what_is_said_of_heartbeats_holds_in_the_model():
    """A beat every 10 s: no duplicate on a 30 s lease, and a crash at 45 s costs 70 s.

    The last beat, at 40 s, keeps the lease until 70 s, when the job starts over.
    """

    async def beating(job, ctx):
        for _ in range(10):
            await ctx.work(1 / 10)
            await ctx.extend(30)
        await ctx.payments.charge(job.customer, job.amount)

    scenario = Scenario.from_log(
        log_of([100.0] * 3),
        workers=Workers(count=5, crash=Crash(at=[(1, 45.0)], restart_after=1.0)),
        broker=brokers.sqs(visibility_timeout=30),
        handler=beating,
    )
    jobs = simulate(scenario).jobs
    assert jobs["deliveries"].tolist() == [2, 1, 1]
    assert jobs["first_effect"].tolist() == pytest.approx([170.0, 1100.0, 2100.0])


# Load and warnings


def test_the_offered_load_is_the_work_per_second():
    """10 s of work every 20 s keep half a worker busy; the burst keeps more."""
    steady = log_of([10.0] * 101, every=20.0)
    assert offered_load(steady).average == pytest.approx(1010 / 2000)
    burst = JobLog(np.array([0.0] + [5000.0] * 10 + [9000.0]), np.full(12, 120.0))
    load = offered_load(burst)
    assert (load.peak, load.peak_at, load.window) == (2.0, 5000.0, 600.0)
    assert offered_load(log_of([60.0] * 9, every=600.0)).peak == 0.1125


def test_jobs_longer_than_ten_minutes_widen_the_window():
    """Else a single job of an hour would look like six workers' work."""
    load = offered_load(log_of([3600.0, 1.0], every=7200.0))
    assert (load.window, load.peak) == (3600.0, 1.0)


def test_a_log_of_one_instant_lasts_as_long_as_its_longest_job():
    """Ten jobs at once need ten workers."""
    assert offered_load(log_of([60.0] * 10, every=0.0)).average == 10.0
    assert offered_load(log_of([0.0] * 10, every=0.0)).average == 0.0


def test_too_few_workers_are_warned_of():
    """On average, or only at the peak; the time of day is told where the log has it."""
    crowded = log_of([30.0] * 50, every=10.0)
    assert "2 workers cannot keep up: the log brings work for 3.06" in " ".join(
        predictions(crowded, workers=2, timeouts=[60]).warnings
    )
    burst = JobLog(
        np.array([0.0] + [5000.0] * 10 + [50_000.0]),
        np.full(12, 120.0),
        started_at="2024-05-01T00:00:00Z",
    )
    warned = " ".join(predictions(burst, workers=1, timeouts=[240]).warnings)
    assert "1 worker falls behind at the peak: in the 10 min from 2024-05-01T01:23:20Z" in warned
    assert "behind" not in " ".join(predictions(burst, workers=2, timeouts=[240]).warnings)


def test_slots_count_not_processes():
    """Three processes of four slots are twelve workers."""
    team = Workers(count=3, concurrency=4)
    assert predictions(workers=team).slots == 12


def test_a_short_log_is_warned_of():
    """0.1 % of 20 jobs is nothing to build on; of 10,000 it is ten."""
    assert "0.1% of 20 jobs is 0.02" in predictions().warnings[-1]
    long = log_of([1.0] * 10_000, every=10.0)
    assert predictions(long, timeouts=[30]).warnings == ()


# Timeouts, words, arguments


def test_the_usual_timeouts_span_the_log():
    """30, 60, 90, 120 s and round numbers at the quantiles, with no wide gap at the end."""
    log = log_of([20.0] * 500 + [45.0] * 480 + [98.0] * 19 + [1000.0])
    assert usual_timeouts(log) == (20, 30, 45, 60, 90, 100, 120, 350, 1000)
    assert usual_timeouts(log_of([0.0])) == (1, 30, 60, 90, 120)


@pytest.mark.parametrize(
    ("given", "rounded"),
    [(0, 1), (0.2, 1), (1, 1), (6.7, 7), (23, 25), (25, 25), (106, 110), (159.2, 160), (567, 600)],
)
def test_timeouts_are_round_numbers(given, rounded):
    """Never below what is needed."""
    assert round_up(given) == rounded


def test_numbers_are_short_in_text():
    """Percentages and seconds."""
    shares = [percent(share) for share in (0, 0.000_973, 0.001, 0.0071, 0.2869, 1)]
    assert shares == ["0%", "0.097%", "0.1%", "0.71%", "28.7%", "100%"]
    texts = [seconds(value) for value in (28.71, 160.0, 1200.0, math.nan, math.inf)]
    assert texts == ["28.7 s", "160 s", "1,200 s", "-", "never"]


def test_the_text_holds_report_table_and_recommendation():
    """The recommended row is marked."""
    text = predictions(timeouts=[30, 100]).to_text()
    assert text.startswith("log: 20 jobs")
    assert "Set the visibility timeout to 100 s." in text
    assert [line.split()[0] for line in text.splitlines() if " s  " in line] == ["30", ">"]
    assert max(len(line) for line in text.split("Set the")[0].splitlines()) <= 120


def test_timeouts_can_be_tried_side_by_side():
    """On any executor, with the same outcome."""
    alone = predictions(timeouts=[20, 30, 100])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        together = predictions(timeouts=[20, 30, 100], executor=pool)
    pd.testing.assert_frame_equal(together.table, alone.table)


def test_progress_is_reported():
    """Before the first timeout and after each."""
    seen = []
    predictions(timeouts=[30, 100], on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers.count must be a whole number of 1 or more, not 0"),
        ({"timeouts": []}, "timeouts must be one or more numbers of seconds"),
        ({"timeouts": [30, -1]}, "timeouts must be a number of seconds above 0, not -1"),
        ({"late_ack": "maybe"}, "late_ack must be one of 'deletes'"),
        ({"max_receives": 0}, "max_receives must be a whole number of 1 or more, not 0"),
        ({"target": 2}, "target must be a number from 0 to 1, not 2"),
        ({"seed": -1}, "seed must be a whole number of 0 or more, not -1"),
    ],
)
def test_wrong_arguments_are_refused_with_one_sentence(options, message):
    """The parameter, the value, and what is allowed."""
    with pytest.raises(ValueError, match=message):
        predictions(**options)


# The logs that are there


def test_the_example_log_gets_a_timeout_above_its_slow_jobs():
    """The mean is 10 s; only 150 s leaves one job in a thousand."""
    advice = advise(read(EXAMPLE), workers=4, timeouts=[10, 30, 150], crash=Crash())
    assert advice.recommendation == 150
    assert advice.table.shape == (3, 10)


@needs_real_log
def test_the_real_log_is_advised_from_exact_shares():
    """Shares as counted by hand; and 40 workers turn nearly all of them into duplicates."""
    with REAL_LOG.open(newline="") as file:
        durations = [float(row["exec_time_seconds"]) for row in csv.DictReader(file)]
    limits = [30, 60, 90, 120]
    counted = [sum(d > limit for d in durations) / len(durations) for limit in limits]
    advice = advise(read(REAL_LOG), workers=40, timeouts=limits, crash=Crash())
    assert advice.table["share_outlasting"].tolist() == counted
    assert advice.table["duplicate_rate"].tolist() == pytest.approx(counted, abs=1e-4)
    assert all(advice.table["duplicate_rate"] <= counted)
    assert advice.recommendation is None
