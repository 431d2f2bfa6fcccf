"""What failures and crashes cost: attempts, dead letters, time to completion, added load."""

from __future__ import annotations

import math
from typing import Literal

from simqueue.checks import between, fail, non_negative, one_of, positive, probability, whole
from simqueue.distributions import Distribution, Fixed
from simqueue.theory.queueing import utilisation
from simqueue.theory.whole_leases import as_distribution, leases_begun_by_fixed, share_fitting


def dead_letter_share(failure_chance: float, max_attempts: int) -> float:
    """The share of jobs that fail all `max_attempts` (1 or more): failure_chance ** max_attempts.

    Attempts fail independently, each with `failure_chance` (0 to 1).
    """
    chance = probability("failure_chance", failure_chance)
    return chance ** whole("max_attempts", max_attempts, low=1)


def mean_attempts(failure_chance: float, max_attempts: int) -> float:
    """Mean attempts of a job that is retried up to `max_attempts` attempts in all (1 or more).

    With p the `failure_chance` (0 to 1) of each attempt: (1 - p**m) / (1 - p).
    """
    chance = probability("failure_chance", failure_chance)
    attempts = whole("max_attempts", max_attempts, low=1)
    if chance in (0.0, 1.0):
        return 1.0 if chance == 0 else float(attempts)
    return -math.expm1(attempts * math.log(chance)) / (1 - chance)


def deliveries_refused(
    work: Distribution | float, lease: float, crash_chance: float = 0.0
) -> float:
    """Expected deliveries of a job where late acks are refused and deliveries may crash.

    Each delivery draws its work anew, fits the lease (seconds) with chance F(lease) and survives
    with 1 - crash_chance, independently: 1 / ((1 - crash_chance) * F(lease)); math.inf where
    nothing fits. Ample workers; a crash is noticed only when the lease runs out. Derived.
    """
    survives = 1 - probability("crash_chance", crash_chance)
    fits = share_fitting(as_distribution(work), positive("lease", lease, "seconds"))
    return 1 / (survives * fits) if survives * fits > 0 else math.inf


def completion_with_crashes(work: float, lease: float, crash_chance: float) -> float:
    """Mean seconds from a job's first delivery to its completion, if deliveries may crash.

    Each crashes with `crash_chance` c (0 to 1), independently, and is noticed only when the lease
    T runs out; wherever in the work it falls, the next delivery starts T after the one before:
    S + T * c / (1 - c). math.inf for c = 1. `work` is S in seconds, which is fixed and fits the
    lease. Ample workers. Derived.

    Raises
    ------
    ValueError
        If the work outlasts the lease, or a number is out of range.
    """
    lease = positive("lease", lease, "seconds")
    if non_negative("work", work, "seconds") > lease:
        raise fail("work", work, f"at most the lease, which is {lease!r} seconds")
    chance = probability("crash_chance", crash_chance)
    return work + lease * chance / (1 - chance) if chance < 1 else math.inf


def dead_letter_time(
    work: float,
    lease: float,
    max_receives: int,
    *,
    workers: int | None = None,
    noticed: Literal["expiry", "receive"] = "expiry",
) -> float:
    """Seconds from first delivery to dead-letter queue of a job whose every run succeeds, too late.

    Fixed work S outlasts the lease T and late acks are refused ("unexpired"; "latest_receipt"
    does the same with two workers or more), so the r = `max_receives` receives are used up.
    Receive k (from 0) happens at kT with ample workers. W workers, too few to have one free when
    a lease runs out, take turns: (k // W) * S + (k % W) * T. The message is dead T after receive
    r - 1 if exhaustion is noticed at expiry, or when receive r would happen if it is noticed then.
    So rT with ample workers; one worker: (r - 1) * S + T, or r * S. math.inf where the work fits
    the lease: it is acked. Derived.

    Parameters
    ----------
    work, lease
        Seconds; work is the same on every attempt.
    max_receives
        1 or more.
    workers
        How many workers there are, 1 or more; None for ample.
    noticed
        "expiry" or "receive": when the broker sees that the receives are used up.
    """
    work = non_negative("work", work, "seconds")
    lease = positive("lease", lease, "seconds")
    receives = whole("max_receives", max_receives, low=1)
    one_of("noticed", noticed, ("expiry", "receive"))
    needed = leases_begun_by_fixed(Fixed(work), lease)
    if needed == 1:
        return math.inf
    count = needed if workers is None else min(needed, whole("workers", workers, low=1))

    def receive_time(number: int) -> float:
        if count == needed:
            return number * lease
        return (number // count) * work + (number % count) * lease

    if noticed == "receive":
        return receive_time(receives)
    return receive_time(receives - 1) + lease


def retry_sojourn(arrival_rate: float, service_rate: float, failure_chance: float) -> float:
    """Mean seconds from publish to success with one worker and instant retries (M/M/1).

    A failed attempt (chance p, below 1) goes to the end of the queue at once, which raises the
    arrival rate to lambda / (1 - p): 1 / (mu * (1 - p) - lambda), and math.inf where that load is
    too much. Rates are per second. Source: J. R. Jackson, Operations Research 5 (1957).
    """
    succeeds = 1 - between("failure_chance", failure_chance, 0, 1)
    if succeeds == 0 or utilisation(arrival_rate, service_rate * succeeds) >= 1:
        return math.inf
    return 1 / (service_rate * succeeds - arrival_rate)
