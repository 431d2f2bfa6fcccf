"""The numbers to meet: what the original programs give, with how exactly it is known.

The originals print means without intervals. These are from runs of them, ported to Python 3 where
need be, with more trials than they make, so that each has a half-width of 95 % where one is given.
"""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """A published mean and the half-width of its interval (0 where none is known)."""

    mean: float
    half_width: float = 0.0


AWS_CLIENTS = (10, 20, 50, 100, 150, 190)

AWS_TIME: dict[str, tuple[Figure, ...]] = {
    "exponential": (
        Figure(3449.8, 128), Figure(14408, 267), Figure(36024, 318), Figure(63222, 376),
        Figure(85842, 416), Figure(101076, 411),
    ),
    "decorrelated jitter": (
        Figure(436.7, 8.1), Figure(829.1), Figure(2213.7, 54), Figure(4599, 67),
        Figure(6506.9, 73), Figure(7878.9, 81),
    ),
    "equal jitter": (
        Figure(726.7, 17.5), Figure(1604.4), Figure(4239.3, 56), Figure(6626, 65),
        Figure(8256, 61), Figure(9481.6, 61),
    ),
    "full jitter": (
        Figure(461.1, 10.4), Figure(972.3), Figure(2882.1, 54), Figure(4968, 52),
        Figure(6425, 52), Figure(7443.3, 50),
    ),
    "none": (
        Figure(378.8, 3.4), Figure(608.2), Figure(1139.1, 4.5), Figure(2025.5, 4.4),
        Figure(2874), Figure(3539, 4.4),
    ),
}  # fmt: skip
"""Milliseconds until the last client is done, for each of `AWS_CLIENTS`; 400 trials."""

AWS_CALLS: dict[str, tuple[Figure, ...]] = {
    "exponential": (
        Figure(50.73, 0.41), Figure(149.49), Figure(620.81, 2.8), Figure(1850.5, 6.0),
        Figure(3544.6), Figure(5157.5, 11.5),
    ),
    "decorrelated jitter": (
        Figure(37.63, 0.23), Figure(101.04), Figure(374.90, 1.2), Figure(1002.8, 2.9),
        Figure(1759.4, 4.5), Figure(2433.3, 5.9),
    ),
    "equal jitter": (
        Figure(42.39, 0.26), Figure(107.85), Figure(346.94, 0.6), Figure(811.92, 0.77),
        Figure(1324.4, 0.98), Figure(1760.4, 1.2),
    ),
    "full jitter": (
        Figure(38.82, 0.24), Figure(100.09), Figure(332.49, 0.5), Figure(796.15, 0.66),
        Figure(1318.0, 0.93), Figure(1772.2, 1.2),
    ),
    "none": (
        Figure(50.57, 0.42), Figure(152.63), Figure(691.30, 1.8), Figure(2419.2, 3.2),
        Figure(5136.9), Figure(7997.2, 6.9),
    ),
}  # fmt: skip
"""Writes tried, for each of `AWS_CLIENTS`; 400 trials."""

AWS_SPREAD_AT_10 = 1306.0
"""Standard deviation of the time with plain exponential backoff and 10 clients (ms)."""

FAILURES = (0.01, 0.05, 0.1, 0.2, 0.5)

LOAD: dict[str, tuple[float, ...]] = {
    "three retries": (1.0108, 1.0553, 1.1100, 1.2497, 1.8751),
    "token bucket": (1.0108, 1.0556, 1.1006, 1.1345, 1.1418),
    "breaker at 10 %": (1.0098, 1.0377, 1.0307, 1.0032, 1.0),
    "no retries": (1.0, 1.0, 1.0, 1.0, 1.0),
}
"""Attempts for each call at each of `FAILURES`; 5 trials."""

AVAILABILITY: dict[str, tuple[float, ...]] = {
    "three retries": (1.0, 1.0, 0.9999, 0.9985, 0.9377),
    "token bucket": (1.0, 0.9998, 0.9928, 0.9064, 0.5707),
    "breaker at 10 %": (0.9988, 0.9854, 0.9264, 0.8014, 0.4988),
    "no retries": (0.9901, 0.9514, 0.9023, 0.8011, 0.4980),
}
"""The share of calls that succeed at each of `FAILURES`; 5 trials."""

SUCCESS = {
    ("ramp", False): 0.3125,
    ("ramp", True): 0.3122,
    ("spike", False): 0.408,
    ("spike", True): 0.977,
}
"""The share of requests answered in time, by load and whether there is backoff; 30 trials."""

SPIKE_RECOVERS = (6, 24)
"""Of so many runs of the spike without backoff (the second number), the first came back to 40/s."""
