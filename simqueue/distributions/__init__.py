"""How long a job's work takes, in seconds: distributions to choose from, or a log to replay."""

from __future__ import annotations

from simqueue.distributions.base import Distribution, Floats
from simqueue.distributions.mixture import Mixture
from simqueue.distributions.observed import Empirical, Recorded
from simqueue.distributions.parametric import Exponential, Fixed, LogNormal, Pareto, Uniform

__all__ = [
    "Distribution",
    "Empirical",
    "Exponential",
    "Fixed",
    "Floats",
    "LogNormal",
    "Mixture",
    "Pareto",
    "Recorded",
    "Uniform",
]
