"""Which visibility timeouts are worth trying on a log."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.trace import JobLog

USUAL_TIMEOUTS = (30.0, 60.0, 90.0, 120.0)
WIDEST_GAP = 2.0


def usual_timeouts(log: JobLog, target: float = 0.001) -> tuple[float, ...]:
    """Return the timeouts (s) worth trying on `log`: from its median job to its longest.

    They are 30, 60, 90 and 120 s; round numbers just above the median, the 90th and 99th
    percentile, the quantile that leaves the share `target` (0 to 1), and the longest job; and one
    between the last two where they lie more than a factor of two apart.
    """
    needed, longest = round_up(log.quantile(1 - target)), round_up(log.quantile(1.0))
    found = {round_up(log.quantile(level)) for level in (0.5, 0.9, 0.99)} | {needed, longest}
    if longest > WIDEST_GAP * needed:
        found.add(round_up(math.sqrt(longest * needed)))
    return tuple(sorted({*USUAL_TIMEOUTS, *found}))


def round_up(seconds: float) -> float:
    """Return the next round number of seconds, at least 1: 23 gives 25, 159 gives 160."""
    if seconds <= 1:
        return 1.0
    magnitude = 10.0 ** math.floor(math.log10(seconds))
    step = max(1.0, magnitude / (10 if seconds < 2 * magnitude else 2))
    return math.ceil(seconds / step) * step
