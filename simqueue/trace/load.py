"""How much work a log brings, against how much its workers can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simqueue import checks

if TYPE_CHECKING:
    from simqueue.trace.log import JobLog

SHORTEST_WINDOW = 600.0


@dataclass(frozen=True)
class OfferedLoad:
    """The work that arrives, in workers kept busy: 3 means that three could just do it.

    It counts each job once, whatever a queue then makes of it. Where it exceeds the number of
    workers, jobs wait longer and longer.

    Attributes
    ----------
    average
        Seconds of work per second, over the whole log.
    peak
        The same in the busiest window.
    window
        Length of that window in seconds: ten minutes, or the longest job if that is longer.
    peak_at
        When that window begins, in seconds from the first arrival.
    """

    average: float
    peak: float
    window: float
    peak_at: float


def offered_load(log: JobLog, window: float | None = None) -> OfferedLoad:
    """Return the load that `log` offers; `window` in seconds replaces the default.

    The log is taken to last from its first arrival to its last, or as long as its longest job if
    that is longer.
    """
    longest = float(log.durations.max())
    width = max(SHORTEST_WINDOW, longest) if window is None else window
    checks.positive("window", width, "seconds")
    total = float(log.durations.sum())
    lasts = max(log.span, longest)
    if lasts == 0:
        return OfferedLoad(0.0, 0.0, width, 0.0)
    work_before = np.concatenate(([0.0], np.cumsum(log.durations)))
    ends = np.searchsorted(log.arrivals, log.arrivals + width, side="left")
    begins = np.searchsorted(log.arrivals, log.arrivals, side="left")
    work = work_before[ends] - work_before[begins]
    busiest = int(np.argmax(work))
    # A log shorter than the window fills only part of it.
    peak = max(float(work[busiest]) / width, total / lasts)
    return OfferedLoad(total / lasts, peak, width, float(log.arrivals[busiest]))
