"""Ways to measure: CPU time of interleaved repeats, memory, and time in a fresh process."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def cpu_seconds(action: Callable[[], Any]) -> float:
    """CPU seconds of this process for `action`, from a clean heap.

    CPU time and not the clock's: other programs on the machine then disturb it less.
    """
    gc.collect()
    began = time.process_time()
    action()
    return time.process_time() - began


def interleaved(actions: Sequence[Callable[[], Any]], repeats: int) -> list[list[float]]:
    """CPU seconds of each action, `repeats` times, in turn.

    Taking turns spreads a slow spell of the machine over all of them, so their ratios stay. The
    first round warms caches up and is not counted.
    """
    for action in actions:
        action()
    rounds = [[cpu_seconds(action) for action in actions] for _ in range(repeats)]
    return [list(times) for times in zip(*rounds, strict=True)]


def ratio(times: Sequence[float], to: Sequence[float]) -> float:
    """The median, over the rounds, of one action's time to another's in the same round."""
    return statistics.median(one / other for one, other in zip(times, to, strict=True))


def traced_bytes(action: Callable[[], Any]) -> tuple[int, int]:
    """Bytes that what `action` returns holds, and the most that were in use on the way."""
    gc.collect()
    tracemalloc.start()
    try:
        result = action()
        gc.collect()
        kept, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return kept, peak


def seconds_in_fresh_process(statement: str, repeats: int) -> float:
    """The best of `repeats` times that `statement` takes in an interpreter of its own."""
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(repeats)
    )
