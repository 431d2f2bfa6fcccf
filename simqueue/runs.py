"""Many runs at once: on every core, with a bar, and gone without a trace when interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import Any

from simqueue.scenario import Scenario
from simqueue.simulation import simulate

Figures = dict[str, float]

FEW_JOBS = 15_000
"""So many jobs, of all runs together, are simulated before other processes would have started."""


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
    runs: Sequence[tuple[Scenario, int]], pool: Executor | None, progress: bool
) -> list[Figures]:
    """Do the same in `pool`, or, if it is None, here."""
    with _bar(len(runs), progress) as advance:
        if pool is None:
            return [_advancing(advance, _figures(*run)) for run in runs]
        futures = [pool.submit(_figures, scenario, seed) for scenario, seed in runs]
        for future in as_completed(futures):
            future.result()
            advance()
        return [future.result() for future in futures]


def _figures(scenario: Scenario, seed: int) -> Figures:
    return simulate(scenario, seed).figures


def _advancing(advance: Callable[[], Any], figures: Figures) -> Figures:
    advance()
    return figures


@contextmanager
def pool_for(
    executor: Executor | None, scenarios: Sequence[Scenario], *, open_ended: bool = False
) -> Iterator[Executor | None]:
    """Give an executor for a run of each scenario; None: run them here.

    Whatever happens, nothing runs on. `open_ended`: there may be many more runs.
    """
    here = executor is not None or (_are_few(scenarios) and not open_ended)
    own = None if here else _own_pool(len(scenarios))
    if executor is not None:
        pool = Cancelling(executor)
        try:
            yield pool
        finally:
            pool.cancel()
    else:
        try:
            yield own
        finally:
            if own is not None:
                own.shutdown(wait=True, kill_workers=True)


class Cancelling(Executor):
    """Somebody else's executor, which can be told to begin nothing more of what we gave it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Pass it on."""
        future = self._executor.submit(fn, *args, **kwargs)
        self._futures.append(future)
        return future

    def cancel(self) -> None:
        """Let it begin nothing more of ours."""
        for future in self._futures:
            future.cancel()


def _are_few(scenarios: Sequence[Scenario]) -> bool:
    jobs = sum((each.jobs or 0) * each.producers.replicas for each in scenarios)
    return jobs <= FEW_JOBS


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
