"""What a lease shorter than the work does: how often a job is delivered, when it settles.

Common to all of this page: one job, whose message is handed out again exactly when its lease runs
out; no crash, no heartbeat, no limit on receives; a worker whose lease ran out works on and acks
at its end; at one instant an ack comes before the expiry. "Ample workers" means that some worker
is always free to take the message.

A late ack has four meanings (`late_ack`):

- "deletes" removes the message wherever it is;
- "in_flight_only" removes it unless it is back in the queue;
- "latest_receipt" counts only while nobody received the message later;
- "unexpired" counts only before the lease runs out.

With ample workers these are two. An expired message is in another worker's hands at once: it is
never found back in the queue, so "in_flight_only" always removes it as "deletes" does, and there
is always a newer receipt, so "latest_receipt" never counts, as "unexpired" never does. We call the
first two *accepted*, the others *refused*.

`work` is a distribution, or a plain number of seconds for fixed work. With work_per="job" a job's
every delivery takes the same time; with "attempt" each takes a new draw.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from simqueue.checks import fail, one_of, positive, whole
from simqueue.distributions import Distribution, Exponential, Fixed, Mixture
from simqueue.distributions.observed import Observed
from simqueue.theory.first_finish import mean_first_finish
from simqueue.theory.whole_leases import (
    as_distribution,
    leases_begun,
    leases_begun_by_fixed,
    share_fitting,
    share_outlasting,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.distributions import Floats

LateAck: TypeAlias = Literal["deletes", "in_flight_only", "latest_receipt", "unexpired"]
WorkPer: TypeAlias = Literal["job", "attempt"]

LATE_ACKS = ("deletes", "in_flight_only", "latest_receipt", "unexpired")
ACCEPTED = ("deletes", "in_flight_only")

BLOCK = 4096
TERMS = 65_536


@overload
def p_work_exceeds(work: Distribution | float, lease: float) -> float: ...
@overload
def p_work_exceeds(work: Distribution | float, lease: Sequence[float] | Floats) -> Floats: ...
def p_work_exceeds(
    work: Distribution | float, lease: float | Sequence[float] | Floats
) -> float | Floats:
    """P(work > lease): the share of jobs that outlast the lease (seconds; a number or an array)."""
    return as_distribution(work).survival(lease)


@overload
def duplicate_delivery_rate(work: Distribution | float, lease: float) -> float: ...
@overload
def duplicate_delivery_rate(
    work: Distribution | float, lease: Sequence[float] | Floats
) -> Floats: ...
def duplicate_delivery_rate(
    work: Distribution | float, lease: float | Sequence[float] | Floats
) -> float | Floats:
    """The share of jobs delivered more than once, ample workers: P(work > lease).

    The second delivery starts if and only if the first outlasts the lease (seconds; a number or an
    array), whatever a late ack means and whether work is drawn per job or per attempt.
    """
    return p_work_exceeds(work, lease)


def deliveries(
    work: Distribution | float,
    lease: float,
    *,
    late_ack: LateAck,
    work_per: WorkPer = "job",
    workers: int | None = None,
) -> float:
    """Expected deliveries of a job, the first included; math.inf where they never end.

    With S the work and T the lease, ample workers:

    - accepted, per job: copy k + 1 starts if S > kT, so the sum over k of P(S > kT)
      (k = 0 counts 1), which is ceil(S / T) for fixed work and 1 / (1 - exp(-T / mean)) for
      exponential work;
    - accepted, per attempt: copy k + 1 starts if none of the k before it, which had kT, ..., 2T, T
      to work, has finished: the sum over k of P(S > T) * P(S > 2T) * ... * P(S > kT);
    - refused, per job: 1 if no job outlasts the lease, otherwise without end;
    - refused, per attempt: tries until one fits, 1 / P(S <= T).

    A fixed number of workers, for fixed work S > T only, with n = ceil(S / T):

    - "deletes": min(workers, n);
    - "in_flight_only": n with n workers or more. With fewer, all are busy when a lease runs out,
      so the first ack finds the message back in the queue and does nothing; its worker takes the
      message at once, and the second worker's ack, at S + T, removes that copy: workers + 1. One
      worker has no second one to do so: without end;
    - "latest_receipt": 1 with one worker, as nobody else can receive; otherwise without end, as
      another worker becomes free before the holder of the latest receipt does;
    - "unexpired": without end.

    Parameters
    ----------
    work
        The work distribution, or the seconds of fixed work.
    lease
        Seconds, above 0.
    late_ack
        What an ack after expiry does: "deletes", "in_flight_only", "latest_receipt", "unexpired".
    work_per
        "job" or "attempt": when work is drawn.
    workers
        How many workers there are, 1 or more; None for ample.

    Raises
    ------
    ValueError
        If a parameter is out of range, or `workers` is given for work that is not fixed.
    """
    work, lease = _checked(work, lease, late_ack, work_per, workers)
    accepted = late_ack in ACCEPTED
    if isinstance(work, Fixed):
        copies = leases_begun_by_fixed(work, lease)
        return _fixed_deliveries(copies, late_ack, math.inf if workers is None else workers)
    if work_per == "attempt":
        return _accepted_per_attempt(work, lease) if accepted else _refused_per_attempt(work, lease)
    if accepted:
        return _accepted_per_job(work, lease)
    return 1.0 if _never_outlasts(work, lease) else math.inf


def settle_time(
    work: Distribution | float,
    lease: float,
    *,
    late_ack: LateAck,
    work_per: WorkPer = "job",
    workers: int | None = None,
) -> float:
    """Expected seconds from a job's first delivery to the ack that counts; math.inf if none does.

    With S the work, T the lease and G(t) = P(S > t), ample workers:

    - accepted, per job: the first copy always finishes first: the mean of S;
    - accepted, per attempt: the mean of min over k of kT + S_k, the integral over t of
      G(t) * G(t - T) * ... down to G(t mod T). For exponential work with mean m the sum over n of
      exp(-n(n+1)T / 2m) * (1 - exp(-(n+1)T / m)) * m / (n+1); for other work by numerical
      integration, to about 9 digits;
    - refused, per job: the mean of S if no job outlasts the lease, otherwise math.inf;
    - refused, per attempt: each attempt takes min(S, T), so E[min(S, T)] / P(S <= T). For
      exponential work this is the mean of S, whatever the lease.

    A fixed number of workers, for fixed work S > T only: as in `deliveries`; S where the first ack
    counts, S + T where "in_flight_only" has at least two workers but too few.

    Parameters and errors are those of `deliveries`.
    """
    work, lease = _checked(work, lease, late_ack, work_per, workers)
    accepted = late_ack in ACCEPTED
    if isinstance(work, Fixed):
        copies = leases_begun_by_fixed(work, lease)
        if math.isinf(_fixed_deliveries(copies, late_ack, workers or math.inf)):
            return math.inf
        one_more_lease = late_ack == "in_flight_only" and (workers or math.inf) < copies
        return work.seconds + (lease if one_more_lease else 0.0)
    if work_per == "attempt" and accepted:
        return mean_first_finish(work, lease)
    if work_per == "attempt":
        fitting = share_fitting(work, lease)
        return work.limited_mean(lease) / fitting if fitting > 0 else math.inf
    return work.mean if accepted or _never_outlasts(work, lease) else math.inf


def _fixed_deliveries(copies: int, late_ack: LateAck, workers: float) -> float:
    """Deliveries of fixed work that begins `copies` leases, by the rules in `deliveries`."""
    if copies == 1:
        return 1.0
    match late_ack:
        case "deletes":
            return float(min(workers, copies))
        case "in_flight_only" if workers >= copies:
            return float(copies)
        case "in_flight_only":
            return workers + 1.0 if workers >= 2 else math.inf
        case "latest_receipt":
            return 1.0 if workers == 1 else math.inf
        case "unexpired":
            return math.inf


def _accepted_per_job(work: Distribution, lease: float) -> float:
    """The mean number of leases that the work begins."""
    match work:
        case Exponential():
            return -1 / math.expm1(-lease / work.mean)
        case Observed():
            return float(leases_begun(np.array(work.values), lease).mean())
        case Fixed():
            return float(leases_begun_by_fixed(work, lease))
        case Mixture():
            return math.fsum(share * _accepted_per_job(part, lease) for share, part in work.parts)
    if math.isinf(work.mean):
        return math.inf
    # Beyond the summed terms the midpoint rule: by then P(work > x) is straight between two terms.
    terms = share_outlasting(work, lease * np.arange(1, TERMS, dtype=np.float64))
    rest = work.mean - work.limited_mean((TERMS - 0.5) * lease)
    return 1.0 + math.fsum(terms) + max(0.0, rest) / lease


def _accepted_per_attempt(work: Distribution, lease: float) -> float:
    total, none_finished, begin = 1.0, 1.0, 1
    while none_finished > 1e-18 * total:
        whole_leases = lease * np.arange(begin, begin + BLOCK, dtype=np.float64)
        products = none_finished * share_outlasting(work, whole_leases).cumprod()
        total += math.fsum(products)
        none_finished, begin = float(products[-1]), begin + BLOCK
    return total


def _refused_per_attempt(work: Distribution, lease: float) -> float:
    fitting = share_fitting(work, lease)
    return 1 / fitting if fitting > 0 else math.inf


def _never_outlasts(work: Distribution, lease: float) -> bool:
    return bool(share_outlasting(work, np.array([lease]))[0] == 0)


def _checked(
    work: Distribution | float,
    lease: float,
    late_ack: str,
    work_per: str,
    workers: int | None,
) -> tuple[Distribution, float]:
    distribution = as_distribution(work)
    one_of("late_ack", late_ack, LATE_ACKS)
    one_of("work_per", work_per, ("job", "attempt"))
    if workers is not None:
        whole("workers", workers, low=1)
        if not isinstance(distribution, Fixed):
            raise fail("workers", workers, f"None (ample workers) for {distribution!r}")
    return distribution, positive("lease", lease, "seconds")
