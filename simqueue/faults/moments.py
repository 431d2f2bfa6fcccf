"""Checks of parameters that say when, and to whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from simqueue import checks


def check_moments(name: str, pairs: Sequence[Any]) -> tuple[tuple[int, float], ...]:
    """Return `pairs` of (worker, seconds) as a tuple; ValueError if they are not such."""
    try:
        found = tuple((worker, time) for worker, time in pairs)
    except (TypeError, ValueError):
        raise checks.fail(name, pairs, "pairs of (worker, seconds)") from None
    for worker, time in found:
        checks.whole(f"{name}: the worker", worker, 1)
        checks.non_negative(f"{name}: the time", time, "seconds")
    return found


def check_window(name: str, window: Any, *, endless: bool = False) -> tuple[float, float]:
    """Return `window` as (start, end) in seconds; ValueError if it is not such.

    `endless`: the end may be infinite.
    """
    try:
        start, end = window
        checks.non_negative(name, start)
        if not (endless and end == math.inf) and checks.positive(name, end) <= start:
            raise ValueError
    except (TypeError, ValueError):
        raise checks.fail(name, window, "a pair (start, end) of seconds, start first") from None
    return float(start), float(end)
