"""What handlers may not do: found out, and said in one clear sentence.

A handler that waits with asyncio, starts tasks of its own, exits, or never comes back, is a mistake
in the code and not a failed attempt: each ends the run with a `HandlerError`.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final, NoReturn

from simqueue.context import HandlerError

LOOKS_BEFORE_STUCK: Final = 5
SECONDS_BETWEEN_LOOKS: Final = 1.0

NO_LOOP = (
    "asyncio has no event loop in simulated time. A handler may await only what ctx gives it, "
    "such as ctx.sleep(seconds), one call after the other"
)
TASKS = (
    "The handler starts a task of its own (asyncio.create_task, gather, TaskGroup), which would "
    "outlive its delivery. A handler may await only what ctx gives it, one call after the other."
)
ENDLESS = (
    "The handler loops for ever without awaiting anything that takes time: it kept the processor "
    f"for about {LOOKS_BEFORE_STUCK * SECONDS_BETWEEN_LOOKS:.0f} seconds at one instant of "
    "simulated time."
)


@contextmanager
def guarding(handles: CodeType) -> Iterator[None]:
    """Watch over handlers for as long as time passes in a run.

    `handles` is the code in whose frames handlers run, by which a look sees whether one is stuck.
    """
    asyncio: Any = sys.modules.get("asyncio")
    tripwire, outer = _Tripwire(), None
    if asyncio is not None:
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(tripwire)
    _watchdog.watch(handles)
    try:
        yield
    except _Stuck:
        raise HandlerError(ENDLESS) from None
    except SystemExit as error:
        raise HandlerError(
            f"The handler called exit({error.code!r}), which would end the whole program."
        ) from None
    except Exception as error:
        if tripwire.said is None or isinstance(error, HandlerError):
            raise
        raise HandlerError(tripwire.said) from error
    else:
        if tripwire.said is not None:
            raise HandlerError(tripwire.said)
    finally:
        _watchdog.leave()
        if asyncio is not None:
            asyncio._set_running_loop(outer)


def awaited_something_else(awaited: Any) -> HandlerError:
    """The error about a handler that awaited what is not of `ctx`."""
    what = f"this one awaited {awaited!r}"
    if awaited is None:
        what = "this one awaited None, as asyncio.sleep(0) does"
    return HandlerError(f"A handler may await only what ctx gives it; {what}.")


def check_failure(error: Exception) -> None:
    """Raise HandlerError if `error`, which a handler raised, says that it used asyncio."""
    if type(error) is RuntimeError and _comes_from_asyncio(error):
        raise HandlerError(f"The handler uses asyncio: {error}. But {NO_LOOP}.") from error


def _comes_from_asyncio(error: BaseException) -> bool:
    trace, name = error.__traceback__, ""
    while trace is not None:
        name, trace = trace.tb_frame.f_globals.get("__name__", ""), trace.tb_next
    return name.partition(".")[0] == "asyncio" or "running event loop" in str(error)


class _Tripwire:
    """Stands where asyncio looks for the running loop, and says what a handler wants of it.

    It remembers what it said, since the handler may swallow the error.
    """

    said: str | None = None

    def create_task(self, coroutine: Any, **_: Any) -> NoReturn:
        coroutine.close()
        self._trip(TASKS)

    def __getattr__(self, name: str) -> Any:
        self._trip(f"The handler uses asyncio (its loop's {name}), but {NO_LOOP}.")

    def _trip(self, said: str) -> NoReturn:
        self.said = self.said or said
        raise HandlerError(self.said)


class _Stuck(BaseException):
    """Raised in the middle of a handler that is stuck; no `except Exception` swallows it."""


class _Watchdog:
    """Looks once a second whether some thread is still in the same call of the same handler.

    It reads no clock, and nothing on the way of a run knows of it: it looks at the frames of the
    thread. Where there are no threads, as in a browser, there is no watchdog.
    """

    def __init__(self) -> None:
        self._watched: dict[int, list[CodeType]] = {}
        self._busy = threading.Condition()
        self._thread: threading.Thread | None = None

    def watch(self, handles: CodeType) -> None:
        """Watch over the calling thread until it leaves."""
        self._watched.setdefault(threading.get_ident(), []).append(handles)
        if self._thread is None or not self._thread.is_alive():
            self._start()
        elif len(self._watched) == 1:
            with self._busy:
                self._busy.notify()

    def leave(self) -> None:
        """The calling thread needs no watching any more."""
        here = threading.get_ident()
        self._watched[here].pop()
        if not self._watched[here]:
            del self._watched[here]

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._look_now_and_then, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None

    def _look_now_and_then(self) -> None:
        seen: dict[int, tuple[FrameType, int]] = {}
        pause = threading.Event()
        while True:
            with self._busy:
                while not self._watched:
                    seen.clear()
                    self._busy.wait()
            pause.wait(SECONDS_BETWEEN_LOOKS)
            frames = sys._current_frames()
            for thread, handles in list(self._watched.items()):
                frame = _innermost(frames.get(thread), handles)
                before, looks = seen.get(thread, (None, 0))
                if frame is None:
                    seen.pop(thread, None)
                    continue
                looks = looks + 1 if frame is before else 0
                seen[thread] = (frame, looks)
                if looks >= LOOKS_BEFORE_STUCK:
                    _raise_in(thread)
            del frames
            frame = None


def _innermost(frame: FrameType | None, handles: list[CodeType]) -> FrameType | None:
    """The innermost frame that runs one of these codes, from `frame` outwards."""
    while frame is not None and frame.f_code not in handles:
        frame = frame.f_back
    return frame


def _raise_in(thread: int) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Stuck))


_watchdog = _Watchdog()
