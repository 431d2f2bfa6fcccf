"""Random numbers one by one, drawn in blocks because a single draw costs as much as an event."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simqueue import checks
from simqueue.distributions import Floats

BLOCK = 256


def endless(block: Callable[[int], Floats]) -> Iterator[float]:
    """Yield the numbers of one block after the other; `block(n)` draws n of them."""
    while True:
        yield from block(BLOCK).tolist()


def generators(seed: int, trials: int) -> list[np.random.Generator]:
    """Return an independent generator for each trial."""
    checks.whole("seed", seed)
    checks.whole("trials", trials, 1)
    return [np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(trials)]
