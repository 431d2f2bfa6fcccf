"""Named random streams, whose draws belong to (job, attempt, purpose) and to nothing else.

A draw does not depend on what was drawn before it, so a change of the timeout or of the strategy
changes no arrival and no duration: two curves differ only by what was changed (common random
numbers).

Durations are rounded to whole multiples of 2⁻²⁰ seconds (about a microsecond). Sums of such numbers
are exact, and the last bit of a logarithm, which differs between processors, is rounded away: the
same seed gives the same events everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Uniforms = NDArray[np.float64]
Transform = Callable[[int, Uniforms], NDArray[Any]]

BLOCK = 1024
GRID = 2.0**20


def on_grid(seconds: Uniforms) -> Uniforms:
    """Round `seconds` to the grid on which sums are exact."""
    return np.rint(seconds * GRID) / GRID


def uniforms(seed: int, purpose: str, *place: int, size: int = BLOCK) -> Uniforms:
    """Return `size` uniform draws in [0, 1) of the stream that `seed`, `purpose`, `place` name."""
    sequence = np.random.SeedSequence(seed, spawn_key=(crc32(purpose.encode()), *place))
    return np.random.Generator(np.random.PCG64(sequence)).random(size)


class Stream:
    """One purpose's draws, one for each (job, attempt), as plain Python values.

    `transform` turns the uniform draws of the jobs from `first` on into values, as an array. Draws
    are made for a block of jobs at a time, when the first of them is asked for.
    """

    def __init__(self, seed: int, purpose: str, transform: Transform) -> None:
        self._seed = seed
        self._purpose = purpose
        self._transform = transform
        self._blocks: dict[tuple[int, int], list[Any]] = {}

    def draw(self, job: int, attempt: int = 0) -> Any:
        """Return the draw of this `job` on this `attempt`; 0 stands for all attempts together."""
        place = (attempt, job // BLOCK)
        block = self._blocks.get(place)
        if block is None:
            first = job - job % BLOCK
            values = self._transform(first, uniforms(self._seed, self._purpose, *place))
            block = self._blocks[place] = values.tolist()
        return block[job % BLOCK]
