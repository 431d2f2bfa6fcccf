"""When the first of several staggered copies of a job finishes."""

from __future__ import annotations

import math
from functools import cache, singledispatch

import numpy as np

from simqueue.distributions import Distribution, Exponential, Floats, Mixture
from simqueue.distributions.observed import Observed

NEGLIGIBLE = 1e-17

# Between these quantiles the survival function of smooth work is close to a polynomial.
SMOOTH_BETWEEN = np.array(
    [
        *(0, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.03),
        *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        *(0.95, 0.98, 0.99, 0.995, 0.999, 0.9999, 1 - 1e-5, 1 - 1e-7, 1 - 1e-9, 1 - 1e-12, 1),
    ]
)


def mean_first_finish(work: Distribution, lease: float) -> float:
    """The mean of min over k of k * lease + S_k, in seconds, where each S_k is drawn anew.

    Copy k runs from k * lease on. With G the survival function, "no copy has finished by t" has
    the chance G(t) * G(t - lease) * ... * G(t mod lease), and the mean is its integral over all t.
    Exponential work: the closed form given at `settle_time`. Other work: lease by lease, with
    Gauss-Legendre nodes between the places where G bends or jumps; exact to rounding for measured
    durations, to about 9 digits otherwise.
    """
    if isinstance(work, Exponential):
        return _exponential(work.mean, lease)
    nodes, weights = _nodes(work, lease)
    total = 0.0
    unfinished = np.ones_like(nodes)
    lease_number = 0
    while unfinished.max() > NEGLIGIBLE:
        unfinished = unfinished * work.survival(nodes + lease_number * lease)
        total += float(weights @ unfinished)
        lease_number += 1
    return total


def _exponential(mean: float, lease: float) -> float:
    ratio = lease / mean
    total, n = 0.0, 0
    while (unfinished := math.exp(-ratio * n * (n + 1) / 2)) > NEGLIGIBLE:
        total -= unfinished * math.expm1(-(n + 1) * ratio) * mean / (n + 1)
        n += 1
    return total


def _nodes(work: Distribution, lease: float) -> tuple[Floats, Floats]:
    """Where to evaluate within one lease, and the weights (seconds) with which to add up."""
    corners = np.mod(_corners(work), lease)
    edges = np.unique(np.concatenate(([0.0, lease], corners)))
    half = np.diff(edges) / 2
    middle = edges[:-1] + half
    if isinstance(work, Observed):
        return middle, 2 * half  # constant between the edges
    points, weights = _gauss_legendre()
    return (
        (middle[:, None] + half[:, None] * points).ravel(),
        (half[:, None] * weights).ravel(),
    )


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    """The points between -1 and 1, and their weights."""
    from numpy.polynomial.legendre import leggauss  # slow to import, and seldom needed

    points, weights = leggauss(16)
    return points, weights


@singledispatch
def _corners(work: Distribution) -> Floats:
    """Durations between which the survival function is smooth."""
    quantiles = work.quantile(SMOOTH_BETWEEN)
    return quantiles[np.isfinite(quantiles)]


@_corners.register
def _(work: Observed) -> Floats:
    return np.array(work.values)


@_corners.register
def _(work: Mixture) -> Floats:
    return np.concatenate([_corners(part) for _, part in work.parts])
