"""Named random streams, whose draws belong to (job, attempt, purpose) and to nothing else.

A draw does not depend on what was drawn before it, so a change of the timeout or of the strategy
changes no arrival and no duration: two curves differ only by what was changed (common random
numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from simqueue.grid import all_on_grid

Uniforms = NDArray[np.float64]
Transform = Callable[[int, Uniforms], NDArray[Any]]

BLOCK = 1024
FEW = 16


class Streams:
    """All random draws of a run with `jobs` jobs, which follow from `seed`."""

    def __init__(self, seed: int, jobs: int) -> None:
        self._seed = seed
        self._jobs = jobs
        self._streams: list[Stream] = []

    def close(self) -> None:
        """Forget all draws: the run is over. They would be the same again."""
        for stream in self._streams:
            stream.forget()

    def per_job(self, purpose: str) -> Uniforms:
        """Return one uniform draw in [0, 1) for each job."""
        return self._uniforms(purpose, count=self._jobs)

    def stream(self, purpose: str, transform: Transform) -> Stream:
        """Return the draws of one purpose, for each (job, attempt).

        `transform` turns the uniform draws of the jobs from `first` on into values, as an array.
        """

        def block(first: int, attempt: int) -> list[Any]:
            count = min(BLOCK, self._jobs - first)
            draws = self._uniforms(purpose, attempt, first // BLOCK, count=count)
            values: list[Any] = transform(first, draws).tolist()
            return values

        stream = Stream(block)
        self._streams.append(stream)
        return stream

    def chances(self, purpose: str, probability: float) -> Stream:
        """Return, for each (job, attempt), whether something of that `probability` happens."""
        return self.stream(purpose, lambda _, draws: draws < probability)

    def exponential(self, purpose: str, mean: float) -> Stream:
        """Return, for each (job, attempt), an exponential time of that `mean`, in seconds."""
        return self.stream(purpose, lambda _, draws: all_on_grid(-mean * np.log1p(-draws)))

    def generator_if_used(self, purpose: str, *place: int) -> np.random.Generator:
        """Return what `generator` would, made only when something of it is used."""
        return cast(np.random.Generator, _Later(lambda: self.generator(purpose, *place)))

    def _uniforms(self, purpose: str, *place: int, count: int) -> Uniforms:
        if count > FEW:
            return self.generator(purpose, *place).random(count)
        return _few_uniforms(self._seed, purpose, place, count).copy()

    def generator(self, purpose: str, *place: int) -> np.random.Generator:
        """Return a generator that `purpose` and `place` (such as a job and a turn) alone name."""
        return _generator(self._seed, purpose, place)


def _generator(seed: int, purpose: str, place: tuple[int, ...]) -> np.random.Generator:
    name = crc32(purpose.encode())
    sequence = np.random.SeedSequence(seed, spawn_key=(name, *place))
    return np.random.Generator(np.random.PCG64(sequence))


@lru_cache(maxsize=256)
def _few_uniforms(seed: int, purpose: str, place: tuple[int, ...], count: int) -> Uniforms:
    """Exploration runs one job thousands of times: the same draws again and again."""
    return _generator(seed, purpose, place).random(count)


class _Later:
    """Stands for a generator that most callers don't use: making one costs more than a draw."""

    def __init__(self, make: Callable[[], np.random.Generator]) -> None:
        self._make = make
        self._made: np.random.Generator | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


class Stream:
    """One purpose's draws, one for each (job, attempt), as plain Python values.

    They are made for a block of jobs at a time, when the first of them is asked for.
    """

    def __init__(self, block: Callable[[int, int], list[Any]]) -> None:
        self._block = block
        self._blocks: dict[tuple[int, int], list[Any]] = {}

    def forget(self) -> None:
        """Give the memory back."""
        self._blocks.clear()

    def draw(self, job: int, attempt: int = 0) -> Any:
        """Return the draw of this `job` on this `attempt`; 0 stands for all attempts together."""
        place = (job // BLOCK, attempt)
        block = self._blocks.get(place)
        if block is None:
            first = job - job % BLOCK
            block = self._blocks[place] = self._block(first, attempt)
        return block[job % BLOCK]
