"""The theory that belongs on a picture over the lease: duplicates, and the wait after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simqueue import theory

if TYPE_CHECKING:
    from simqueue.distributions import Distribution, Floats

DUPLICATES = "theory: P(work > timeout)"
RECOVERY = "theory: timeout minus time of crash"

STEPS = 4000


def share_outlasting(work: Distribution, leases: Floats) -> Floats:
    """The share of jobs delivered more than once with ample workers, for each lease (s)."""
    return theory.duplicate_delivery_rate(work, leases)


def wait_after_crash(work: Distribution, leases: Floats) -> Floats:
    """Mean seconds from a worker's crash to the job's next delivery, for each lease (s).

    The crash falls, at time C, anywhere in the work S of a first delivery, equally likely in every
    second of work that is done at all: C has density P(S > c) / E[S]. The broker waits for the
    lease T, so the wait is `theory.crash_recovery_delay(T, C)` = max(0, T - C), on average the
    integral over t from 0 to T of E[min(S, t)] / E[S]. Ample workers. NaN where E[S] is 0 or
    infinite.
    """
    if not 0 < work.mean < np.inf:
        return np.full(len(leases), np.nan)
    times = np.unique(np.concatenate([np.linspace(0, np.max(leases), STEPS + 1), leases]))
    limited = work.limited_mean(times)
    areas = np.diff(times) * (limited[1:] + limited[:-1]) / 2
    integral = np.concatenate([[0.0], np.cumsum(areas)])
    waits: Floats = np.interp(leases, times, integral) / work.mean
    return waits
