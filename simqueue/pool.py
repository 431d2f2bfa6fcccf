"""Where many runs are made: here, or in processes that are gone without a trace in the end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import Any

from simqueue.scenario import Scenario

Function = Callable[..., Any]
Calls = Sequence[tuple[Any, ...]]
Done = Callable[[], Any]

FEW_JOBS = 15_000
"""So many jobs, of all runs together, are simulated before other processes would have started."""
MOST_TO_WAIT = 5.0
"""Seconds for a thread that has nothing left to do."""


@contextmanager
def pool_for(
    executor: Executor | None, scenarios: Sequence[Scenario], *, open_ended: bool = False
) -> Iterator[Here | Elsewhere]:
    """Give a pool for a run of each scenario: of somebody's `executor`, or the best there is.

    Whatever happens, nothing runs on. `open_ended`: there may be many more runs.
    """
    if executor is not None:
        pool = Elsewhere(executor)
        try:
            yield pool
        finally:
            pool.cancel()
        return
    here = _are_few(scenarios) and not open_ended
    own = None if here else _own_executor(len(scenarios))
    if own is None:
        yield Here()
        return
    with _running(own) as pool:
        yield pool


class Here:
    """The process that asks."""

    def results(self, function: Function, calls: Calls, done: Done) -> list[Any]:
        """Return what `function` returns for each of its `calls`; call `done` after each."""
        found = []
        for call in calls:
            found.append(function(*call))
            done()
        return found


class Elsewhere:
    """An executor, which can be told to begin nothing more of what we gave it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._futures: list[Future[Any]] = []
        self._finished: SimpleQueue[Future[Any] | None] = SimpleQueue()

    def results(self, function: Function, calls: Calls, done: Done) -> list[Any]:
        """Do the same, in any order; KeyboardInterrupt after `interrupt`.

        The first error is raised.
        """
        futures = [self._executor.submit(function, *call) for call in calls]
        self._futures += futures
        for future in futures:
            future.add_done_callback(self._finished.put)
        for _ in futures:
            finished = self._finished.get()
            if finished is None:
                raise KeyboardInterrupt
            finished.result()
            done()
        return [future.result() for future in futures]

    def interrupt(self) -> None:
        """Let `results` end, now or when it is called next. Also for handlers of signals."""
        self._finished.put(None)

    def cancel(self) -> None:
        """Let the executor begin nothing more of ours."""
        for future in self._futures:
            future.cancel()


def _are_few(scenarios: Sequence[Scenario]) -> bool:
    jobs = sum((each.jobs or 0) * each.producers.replicas for each in scenarios)
    return jobs <= FEW_JOBS


def _own_executor(runs: int) -> Any:
    """One of loky's, of which no process was started yet; None without loky."""
    try:
        import loky
    except ImportError:
        return None
    processes = min(loky.cpu_count(), runs)
    return loky.ProcessPoolExecutor(processes, initializer=_leave_interrupts_to_parent)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _running(own: Any) -> Iterator[Elsewhere]:
    """Start the processes, and leave none of them behind."""
    others = set(threading.enumerate())
    pool = Elsewhere(own)
    with _interrupts_go_to(pool):
        try:
            with _interrupts_blocked():
                own.submit(_leave_interrupts_to_parent)
            yield pool
        finally:
            own.shutdown(wait=True, kill_workers=True)
            _wait_for_feeder(others)


@contextmanager
def _interrupts_go_to(pool: Elsewhere) -> Iterator[None]:
    """Let Ctrl-C end the results, where nothing is left half done, and not an executor's code.

    Anywhere in that, KeyboardInterrupt would leave a lock locked, or a process half started. The
    second time it comes at once, for whoever sees nothing happen.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield  # then no KeyboardInterrupt comes here anyway
        return
    came: list[int] = []

    def note(number: int, _: Any) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, before)
        pool.interrupt()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    except KeyboardInterrupt:
        came.clear()
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let processes begin that get no interrupts: half started, they would complain of one."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # It begins with the first process otherwise, and lets interrupts through to those after it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_feeder(others: Collection[threading.Thread]) -> None:
    """Wait for the thread of the pool that loky does not wait for: the one that gives out work.

    It is the last that knows the pool's semaphores. Where Python ends in the middle of its cleaning
    up, they are reported as leaked.
    """
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread" and thread not in others:
            thread.join(MOST_TO_WAIT)
