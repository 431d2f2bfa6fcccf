"""Time in whole microseconds, so that ties are ties and every platform agrees.

Seconds are floats, and 0.3 added up 68 times is a little more than 20.4: an ack that should come
at the very end of its lease would be late. So every time that the model computes is moved to the
nearest float of a whole number of microseconds, which is the float that one would write down. It
also rounds away the last bit of a logarithm, in which processors differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PER_SECOND = 1e6


def on_grid(seconds: float) -> float:
    """Return `seconds` (finite) as the nearest whole number of microseconds, in seconds."""
    return round(seconds * PER_SECOND) / PER_SECOND


def all_on_grid(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `on_grid` of each element."""
    return np.rint(seconds * PER_SECOND) / PER_SECOND
