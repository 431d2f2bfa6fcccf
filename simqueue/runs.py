"""Many runs at once: on every core, with a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from simqueue.pool import Elsewhere, Here, pool_for
from simqueue.scenario import Scenario
from simqueue.simulation import simulate

Figures = dict[str, float]


def run_all(
    runs: Sequence[tuple[Scenario, int]],
    *,
    executor: Executor | None = None,
    progress: bool = True,
) -> list[Figures]:
    """Return the figures of each (scenario, seed), in their order."""
    with pool_for(executor, [scenario for scenario, _ in runs]) as pool:
        return run(runs, pool, progress)


def run(
    runs: Sequence[tuple[Scenario, int]], pool: Here | Elsewhere, progress: bool
) -> list[Figures]:
    """Do the same in `pool`."""
    with _bar(len(runs), progress) as advance:
        return pool.results(_figures, runs, advance)


def _figures(scenario: Scenario, seed: int) -> Figures:
    return simulate(scenario, seed).figures


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Callable[[], Any]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        wanted = False
    if not wanted:
        yield lambda: None
        return
    with tqdm(total=total, unit="run", delay=1, leave=False) as bar:
        yield bar.update
