"""A handler whose code runs in another process: the grader's side.

To the simulation it looks like any handler. Each step that the submission takes through `ctx`
crosses a pipe; the real `ctx` is awaited here, in simulated time, and only here is anything
counted.
"""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from simqueue.context import HandlerError
from simqueue.grading.wire import CALLS, OF_HANDLES, Garbage, pack, pack_error, unpack_error

if TYPE_CHECKING:
    from simqueue.context import Job
    from simqueue.grading.process import Child
    from simqueue.model.context import SimulatedContext
    from simqueue.model.worker import Worker


class RemoteHandler:
    """The handler of a submission in a `child` process; `name` is that of its function.

    Each simulated worker process has memory of its own: the submission's module is run anew for it.
    So what a handler keeps in a global is gone after a crash, as it is in real life.
    """

    returns_what_is_driven_like_a_coroutine = True

    def __init__(self, child: Child, name: str = "handler", **options: Any) -> None:
        self.child = child
        self.options = options
        self.__name__ = name
        self._memory_of: weakref.WeakKeyDictionary[Worker, int] = weakref.WeakKeyDictionary()

    def __call__(self, job: Job, ctx: SimulatedContext) -> Any:
        """Begin to handle `job`: what is returned is driven like a coroutine."""
        return RemoteRun(self, next(self.child.numbers), job, ctx)

    def memory(self, worker: Worker) -> int:
        """Return the number of the memory of this worker's process: a new one after a crash."""
        found = self._memory_of.get(worker)
        if found is None:
            worker.on_death.append(lambda _: self._memory_of.pop(worker, None))
            found = self._memory_of[worker] = next(self.child.numbers)
        return found


class RemoteRun:
    """One run of the handler: drives the calls that the submission asks for, one by one.

    It has the methods by which the model drives a coroutine, and is none, since a coroutine would
    run its `except` and `finally` where a crash drops it.
    """

    def __init__(
        self, handler: RemoteHandler, number: int, job: Job, ctx: SimulatedContext
    ) -> None:
        self.cr_running = False
        self.cr_await: Any = None
        self._handler = handler
        self._child = handler.child
        self._number = number
        self._job = job
        self._ctx = ctx
        self._handles: list[Any] = []
        self._begun = False

    def send(self, _: Any) -> Any:
        """Go on until the next wait, as `coroutine.send` does."""
        return self._advance(None)

    def throw(self, error: Exception) -> Any:
        """Raise `error` where the submission waits now."""
        return self._advance(error)

    def close(self) -> None:
        """The process has crashed: neither side goes on, nor cleans up."""
        if self.cr_await is not None:
            self.cr_await.close()
            self.cr_await = None
        self._child.forget(self._number)

    def _advance(self, thrown: Exception | None) -> Any:
        self.cr_running = True
        try:
            if not self._begun:
                self._begun = True
                message = self._child.ask(self._beginning())
            elif thrown is None:
                message = None
            else:
                self.cr_await = None
                message = self._answer({"error": pack_error(thrown)})
            while True:
                if message is not None:
                    self.cr_await = self._begin_call(message)
                try:
                    return self.cr_await.send(None)
                except StopIteration as done:
                    answer = {"value": self._kept(done.value)}
                except HandlerError:
                    raise
                except Exception as error:
                    answer = {"error": pack_error(error)}
                self.cr_await = None
                message = self._answer(answer)
        finally:
            self.cr_running = False

    def _beginning(self) -> dict[str, Any]:
        job, ctx = self._job, self._ctx
        return {
            "do": "handle",
            "run": self._number,
            "memory": self._handler.memory(ctx.delivery.worker),
            "function": self._handler.__name__,
            "options": self._handler.options,
            "job": [job.id, job.customer_number, job.group, job.due],
            "attempt": ctx.attempt,
            "now": ctx.clock_now,
        }

    def _answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        return self._child.ask(
            {"do": "go on", "run": self._number, "now": self._ctx.clock_now, "answer": answer}
        )

    def _begin_call(self, message: dict[str, Any]) -> Any:
        """Return the coroutine of the call that the submission asks for, or end the run."""
        if "returned" in message:
            raise StopIteration
        if "raised" in message:
            try:
                error = unpack_error(message["raised"])
            except Garbage:
                raise self._child.spoke_garbage() from None
            raise error
        if message.get("looked"):
            _ = self._ctx.now  # the submission has looked at its clock: so has the real ctx
        args, options = message.get("args"), message.get("options")
        if not isinstance(args, list) or not isinstance(options, dict):
            raise self._child.spoke_garbage()
        if "call" in message:
            call = self._call_of_service(message["call"])
        elif "enter" in message:
            call = self._enter(message["enter"])
        elif "handle" in message:
            call = self._call_of_handle(message["handle"])
        else:
            raise self._child.spoke_garbage()
        return _driving(call, args, options)

    def _call_of_service(self, named: Any) -> Callable[..., Awaitable[Any]]:
        service, method = self._pair(named)
        if not isinstance(service, str) or method not in CALLS.get(service, ()):
            raise self._child.spoke_garbage()
        found: Callable[..., Awaitable[Any]] = getattr(
            getattr(self._ctx, service) if service else self._ctx, method
        )
        return found

    def _enter(self, service: Any) -> Callable[..., Awaitable[Any]]:
        if service not in ("database", "sql"):
            raise self._child.spoke_garbage()

        async def enter(*args: Any) -> Any:
            return await getattr(self._ctx, service).transaction(*args).__aenter__()

        return enter

    def _call_of_handle(self, named: Any) -> Callable[..., Awaitable[Any]]:
        number, method = self._pair(named)
        known = isinstance(number, int) and 0 <= number < len(self._handles)
        if not known or method not in OF_HANDLES:
            raise self._child.spoke_garbage()
        held = self._handles[number]
        if method == "exit":
            if not hasattr(held, "__aexit__"):
                raise self._child.spoke_garbage()

            async def leave(failed: bool) -> None:
                await held.__aexit__(Exception if failed else None, None, None)

            return leave
        found = getattr(held, method, None)
        if found is None:
            raise self._child.spoke_garbage()
        bound: Callable[..., Awaitable[Any]] = found
        return bound

    def _pair(self, named: Any) -> tuple[Any, str]:
        if not isinstance(named, list) or len(named) != 2 or not isinstance(named[1], str):
            raise self._child.spoke_garbage()
        return named[0], named[1]

    def _kept(self, value: Any) -> Any:
        """What a call answered: a lock or a transaction stays here, and its number goes."""
        if hasattr(value, "release") or hasattr(value, "__aexit__"):
            self._handles.append(value)
            return {"handle": len(self._handles) - 1, "token": getattr(value, "token", None)}
        return pack(value)


async def _driving(call: Callable[..., Awaitable[Any]], args: list[Any], options: Any) -> Any:
    """Make the call within a coroutine, so that errors of its parameters come from there too."""
    return await call(*args, **options)
