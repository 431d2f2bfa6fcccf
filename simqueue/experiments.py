"""Many runs: a parameter swept over its values, each point repeated, with intervals."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.intervals import interval
from simqueue.scenario import Scenario
from simqueue.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, float]
Point = dict[str, Any]


def sweep(
    scenario: Scenario,
    values: Mapping[str, Iterable[Any]],
    *,
    replications: int = 20,
    seed: int = 0,
    confidence: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Simulate `scenario` at every combination of `values`, and return each figure's mean.

    Parameters
    ----------
    scenario
        Where to start from.
    values
        Dotted parameter names, as for `Scenario.replace`, and the values that each takes.
    replications
        Runs of each point. Run k uses seed `seed` + k at every point, so all points see the same
        arrivals and durations, and differ only by what was swept (common random numbers).
    confidence
        Of the intervals, above 0 and below 1.
    executor
        Any `concurrent.futures.Executor`; it is used and left open. None: a pool of one process
        per core for the time of the sweep or, where loky is not installed, this process.
    progress
        Show a bar if it takes longer than a second (and tqdm is installed).

    Returns
    -------
    DataFrame
        Tidy: a row for each point and figure. One column for each swept parameter, then `figure`,
        `mean`, `low`, `high`, `half_width`, `replications` (those in which the figure exists). In
        `attrs`: "scenario", "parameters", "seed", "confidence".

    Raises
    ------
    ValueError
        For a parameter that the scenario does not have, or a value that it does not allow, before
        anything is run.
    """
    checks.whole("replications", replications, 1)
    checks.whole("seed", seed)
    if not 0 < checks.probability("confidence", confidence) < 1:
        raise checks.fail("confidence", confidence, "a number above 0 and below 1")
    points = [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*(list(each) for each in values.values()))
    ]
    if not points:
        raise checks.fail("values", dict(values), "dotted names with at least one value each")
    scenarios = [scenario.replace(point) for point in points]
    runs = [(each, seed + k) for each in scenarios for k in range(replications)]
    found = run_all(runs, executor=executor, progress=progress)
    blocks = [found[n : n + replications] for n in range(0, len(found), replications)]
    table = _tidy(points, blocks, confidence)
    table.attrs.update(scenario=scenario, parameters=list(values), seed=seed, confidence=confidence)
    return table


def run_all(
    runs: Sequence[tuple[Scenario, int]],
    *,
    executor: Executor | None = None,
    progress: bool = True,
) -> list[Figures]:
    """Return the figures of each (scenario, seed), in their order."""
    with _pool(executor, len(runs)) as pool, _bar(len(runs), progress) as advance:
        if pool is None:
            return [_advancing(advance, _figures(*run)) for run in runs]
        futures = [pool.submit(_figures, scenario, seed) for scenario, seed in runs]
        try:
            for future in as_completed(futures):
                future.result()
                advance()
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]


def _figures(scenario: Scenario, seed: int) -> Figures:
    return simulate(scenario, seed).figures


def _advancing(advance: Callable[[], Any], figures: Figures) -> Figures:
    advance()
    return figures


@contextmanager
def _pool(executor: Executor | None, runs: int) -> Iterator[Executor | None]:
    """Give an executor for the runs; None: run them here. Of our own, no process is left alive."""
    pool = _own_pool(runs) if executor is None else None
    try:
        yield pool or executor
    finally:
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=True)


def _own_pool(runs: int) -> Any:
    try:
        import loky
    except ImportError:
        return None
    processes = min(loky.cpu_count(), runs)
    return loky.ProcessPoolExecutor(processes, initializer=_leave_interrupts_to_parent)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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


def _tidy(
    points: Sequence[Point], blocks: Sequence[list[Figures]], confidence: float
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for point, block in zip(points, blocks, strict=True):
        for figure in DESCRIPTIONS:
            found = interval([figures[figure] for figures in block], confidence)
            rows.append(
                {
                    **point,
                    "figure": figure,
                    "mean": found.mean,
                    "low": found.low,
                    "high": found.high,
                    "half_width": found.half_width,
                    "replications": found.replications,
                }
            )
    return pd.DataFrame(rows)
