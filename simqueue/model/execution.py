"""One run of a handler: a coroutine that SimPy's events drive, and that a crash can stop dead.

SimPy's own `Process` can only be interrupted, which runs the handler's `except` and `finally`. A
process that is killed runs nothing any more. So a crashed coroutine is never resumed and never
thrown into. Nor may it be closed, since closing it would run its `finally` too, and so would
Python if it dropped it: where there is such code, the coroutine is kept for good.
"""

from __future__ import annotations

import ctypes
import dis
from collections.abc import Coroutine
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

from simpy.events import Event

from simqueue.context import HandlerError
from simqueue.model.guard import awaited_something_else, check_failure

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker

_kept: list[Coroutine[Any, Any, Any]] = []
"""Crashed coroutines that would run code of theirs if they were dropped."""


def _keep(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Keep `coroutine` for good, past the end of the interpreter, which empties every list."""
    _kept.append(coroutine)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))


def kept() -> int:
    """Return how many crashed coroutines are kept so far."""
    return len(_kept)


class Execution:
    """Runs `coroutine`, a handler at work on `delivery`, until it returns, raises or is killed."""

    __slots__ = ("_coroutine", "alive", "delivery", "worker")

    def __init__(
        self, worker: Worker, delivery: Delivery, coroutine: Coroutine[Any, Any, Any]
    ) -> None:
        self.delivery = delivery
        self.worker = worker
        self.alive = True
        self._coroutine = coroutine

    def resume(self, _: Event | None = None) -> None:
        """Run on until the next wait. Called by the event that was waited for."""
        if not self.alive:
            return
        try:
            awaited = self._coroutine.send(None)
        except StopIteration:
            self.alive = False
            self.worker.ended(self.delivery, None)
        except HandlerError:
            raise
        except Exception as error:
            check_failure(error)
            self.alive = False
            self.worker.ended(self.delivery, error)
        else:
            if not self.alive:
                _drop(self._coroutine)
                return
            if not isinstance(awaited, Event) or awaited.callbacks is None:
                raise awaited_something_else(awaited)
            awaited.callbacks.append(self.resume)

    def kill(self) -> None:
        """Stop dead, as a killed process does: no `except`, no `finally`."""
        self.alive = False
        runs_now = getattr(self._coroutine, "cr_running", False)
        if not runs_now:  # if it does, it is about to wait for ever: see `resume`
            _drop(self._coroutine)


def _drop(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Let go of a crashed coroutine without any code of it being run."""
    link: Any = coroutine
    while link is not None:
        code = getattr(link, "cr_code", None)
        if code is not None and _handles_exceptions(code):
            _keep(coroutine)
            return
        link = getattr(link, "cr_await", None)
    coroutine.close()


@cache
def _handles_exceptions(code: CodeType) -> bool:
    """Whether `code` has an `except`, a `finally` or a `with`, which closing would run."""
    return any(step.opname == "PUSH_EXC_INFO" for step in dis.get_instructions(code))


def pausable(kind: type[Execution]) -> type[Execution]:
    """Return the kind of execution that is `kind` and may be paused."""
    return kind if issubclass(kind, Pausable) else Pausable


class Pausable(Execution):
    """An execution on a worker that may be paused: what it waited for then reaches it late."""

    __slots__ = ()

    def resume(self, event: Event | None = None) -> None:
        """Run on until the next wait, or when the pause is over."""
        worker = self.worker
        if worker.paused_until > worker.clock.now:
            worker.clock.at(worker.paused_until, self.resume)
        else:
            super().resume(event)


class Interruptible(Pausable):
    """An execution into which its worker can throw an exception, as a time limit does."""

    __slots__ = ("_tape",)

    def __init__(
        self, worker: Worker, delivery: Delivery, coroutine: Coroutine[Any, Any, Any]
    ) -> None:
        self._tape = _Taped(coroutine)
        super().__init__(worker, delivery, cast("Coroutine[Any, Any, Any]", self._tape))

    def interrupt(self, error: Exception) -> None:
        """Raise `error` where the handler waits now; once a pause of its worker is over."""
        clock, awaited = self.worker.clock, self._tape.awaited
        if self.worker.paused_until > clock.now or awaited.callbacks is None:
            again = max(self.worker.paused_until, clock.now)
            clock.at(again, lambda _: self.interrupt(error) if self.alive else None)
            return
        awaited.callbacks.remove(self.resume)
        self._tape.error = error
        self.resume()


class _Taped:
    """A coroutine that remembers what it waits for, and can be made to raise there."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.awaited: Any = None
        self.error: Exception | None = None

    def send(self, value: Any) -> Any:
        error, self.error = self.error, None
        if error is None:
            self.awaited = self._coroutine.send(value)
        else:
            self.awaited = self._coroutine.throw(error)
        return self.awaited

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)
