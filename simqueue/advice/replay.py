"""What one visibility timeout would do to the jobs of a log: replayed without and with crashes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simqueue import brokers, handlers
from simqueue.faults import Crash
from simqueue.scenario import Scenario, Workers
from simqueue.simulation import simulate

if TYPE_CHECKING:
    from simqueue.tally import Tally
    from simqueue.trace import JobLog

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """One row of the advice. All rates are shares of jobs, 0 to 1, unless they say otherwise.

    Attributes
    ----------
    timeout
        The visibility timeout, in seconds.
    share_outlasting
        Jobs that take longer than the timeout: counted in the log, exactly.
    duplicate_rate
        Jobs that are delivered more than once, in a replay of the log in which no worker crashes.
    duplicate_rate_with_crashes
        The same in the replay with crashes.
    extra_work
        Share of all busy seconds that went into repeating work, without crashes.
    dead_letter_rate
        Jobs that end in the dead-letter queue, without crashes: each of their runs succeeded, but
        none within its lease.
    time_to_effect_p99
        99th percentile of the seconds from publish to the job's first effect, without crashes.
    recovery_p50, recovery_p95
        Seconds by which a crash in the middle of a job delays that job's effect: what its user
        waits longer than without the crash. NaN where no crash hit a job; infinite if the job
        ended in the dead-letter queue instead.
    crashes
        On how many crashed jobs these two rest.
    """

    timeout: float
    share_outlasting: float
    duplicate_rate: float
    duplicate_rate_with_crashes: float
    extra_work: float
    dead_letter_rate: float
    time_to_effect_p99: float
    recovery_p50: float
    recovery_p95: float
    crashes: int


@dataclass(frozen=True)
class Replay:
    """How a log is replayed: everything but the timeout.

    `workers` carry the crashes of the replay with crashes, which is run `repeats` times.
    """

    log: JobLog
    workers: Workers
    late_ack: str
    max_receives: int
    seed: int
    repeats: int

    def predict(self, timeout: float) -> Prediction:
        """Replay the log with this visibility timeout (s)."""
        scenario = self._scenario(timeout)
        calm = dataclasses.replace(self.workers, crash=None)
        without = simulate(scenario.replace({"workers": calm}), self.seed)
        delays: list[Floats] = []
        duplicate_rates: list[float] = []
        for repeat in range(self.repeats):
            crashed = simulate(scenario, self.seed + repeat)
            delays.append(_delays(crashed.tally, without.tally))
            duplicate_rates.append(crashed.figures["duplicate_delivery_rate"])
        figures = without.figures
        delay = np.concatenate(delays)
        return Prediction(
            timeout=timeout,
            share_outlasting=self.log.share_over(timeout),
            duplicate_rate=figures["duplicate_delivery_rate"],
            duplicate_rate_with_crashes=float(np.mean(duplicate_rates)),
            extra_work=figures["wasted_work"],
            dead_letter_rate=figures["dead_letter_rate"],
            time_to_effect_p99=figures["time_to_effect_p99"],
            recovery_p50=_quantile(delay, 0.5),
            recovery_p95=_quantile(delay, 0.95),
            crashes=len(delay),
        )

    def _scenario(self, timeout: float) -> Scenario:
        return Scenario.from_log(
            self.log,
            workers=self.workers,
            broker=brokers.generic(
                lease=timeout,
                late_ack=self.late_ack,
                max_receives=self.max_receives,
                exhaustion="receive",
            ),
            handler=handlers.naive,
        )


def crashes_to_measure(log: JobLog, hit_share: float = 0.005, restart_after: float = 10.0) -> Crash:
    """Return crashes that hit about this share of the jobs, to see what a single one does.

    They are rare so that hardly a job is hit twice; how rare does not matter then.
    """
    mean_work = float(log.durations.mean())
    return Crash(mean_time_between=max(mean_work / hit_share, 1e-3), restart_after=restart_after)


def repeats_for(log: JobLog, crash: Crash, wanted: int = 100, most: int = 30) -> int:
    """Return how many replays it takes to see `wanted` crashes, 1 to `most`."""
    if crash.mean_time_between is None:
        return 1
    expected = float(log.durations.sum()) / crash.mean_time_between
    return most if expected <= 0 else min(most, max(1, math.ceil(wanted / expected)))


def _delays(crashed: Tally, calm: Tally) -> Floats:
    """By how many seconds each job whose first delivery crashed had its effect later."""
    jobs, first = np.unique(crashed.delivery_job, return_index=True)
    hit = jobs[~np.isnan(crashed.delivery_crashed[first])]
    later: Floats = crashed.first_effect[hit] - calm.first_effect[hit]
    return np.where(np.isnan(later), np.inf, later)


def _quantile(values: Floats, q: float) -> float:
    if len(values) == 0:
        return math.nan
    return float(np.quantile(values, q, method="inverted_cdf"))
