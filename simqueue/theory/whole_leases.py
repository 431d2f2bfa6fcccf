"""Counting how many leases a piece of work needs, with the rule that the ack wins a tie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simqueue.checks import non_negative
from simqueue.distributions import Distribution, Fixed, Floats, Mixture
from simqueue.distributions.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable

# 2.1 s of work is exactly three leases of 0.7 s, although 3 * 0.7 < 2.1 in floats.
TIE = 1 + 1e-12


def as_distribution(work: Distribution | float) -> Distribution:
    """`work` itself, or fixed work where it is a plain number of seconds."""
    if isinstance(work, Distribution):
        return work
    return Fixed(non_negative("work", work, "seconds (or a work distribution)"))


def leases_begun(seconds: Floats, lease: float) -> Floats:
    """How many leases, 1 or more, each of the durations needs: ceil(seconds / lease)."""
    return np.maximum(np.ceil(seconds / (lease * TIE)), 1.0)


def leases_begun_by_fixed(work: Fixed, lease: float) -> int:
    """How many leases, 1 or more, fixed work needs."""
    return int(leases_begun(np.array(work.seconds), lease))


def share_outlasting(work: Distribution, seconds: Floats) -> Floats:
    """P(work > x) for each of the `seconds`; durations that can tie with them count as tied."""
    return _with_ties(work, seconds, lambda part, x: part.survival(x))


def share_fitting(work: Distribution, lease: float) -> float:
    """P(work <= lease); durations that can tie with the lease count as tied."""
    return float(_with_ties(work, np.array([lease]), lambda part, x: part.cdf(x))[0])


def _with_ties(
    work: Distribution, seconds: Floats, share: Callable[[Distribution, Floats], Floats]
) -> Floats:
    match work:
        case Mixture():
            parts = [weight * _with_ties(part, seconds, share) for weight, part in work.parts]
            total: Floats = np.sum(parts, axis=0)
            return total
        case Fixed() | Observed():
            return share(work, seconds * TIE)
        case _:  # continuous work ties with probability 0
            return share(work, seconds)
