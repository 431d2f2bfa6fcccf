"""The process in which a submission runs: started, asked, watched, and ended."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from simqueue import checks
from simqueue.grading.failure import SubmissionFailed
from simqueue.grading.wire import Garbage, dumps, loads

SECONDS_TO_START: Final = 30.0
LONGEST_LINE: Final = 1_000_000
_ROOT: Final = Path(__file__).resolve().parents[2]
_RUN: Final = (
    "import sys; sys.path.insert(0, {root!r}); from simqueue.grading.child import main; main()"
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a submission may use.

    Parameters
    ----------
    step
        Seconds by the clock on the wall from one call to the next.
    total
        Seconds of processor time in all.
    memory
        Megabytes that it may have on top of what Python and the library need.
    output
        Characters that it may print.
    """

    step: float = 2.0
    total: float = 20.0
    memory: float = 256.0
    output: int = 64_000

    def __post_init__(self) -> None:
        checks.positive("step", self.step, "seconds")
        checks.positive("total", self.total, "seconds")
        checks.positive("memory", self.memory, "megabytes")
        checks.whole("output", self.output, 0)


class Child:
    """A process that runs the submission `file`, a copy that stands alone in its folder.

    Messages call it `shown_as`.

    Raises SubmissionFailed wherever the submission ends what it should not end; from then on, each
    further question raises the same.
    """

    def __init__(self, file: Path, limits: Limits | None = None, *, shown_as: str = "") -> None:
        self.limits = limits or Limits()
        self.numbers = itertools.count(1)
        self._failure: SubmissionFailed | None = None
        self._forgotten: list[int] = []
        self._buffer = b""
        self._process = self._start(file, shown_as or file.name)
        self._watch = _Watch(self._process)
        try:
            self.ask({"do": "ready"}, seconds=SECONDS_TO_START)
            self.ask({"do": "load"})
        except SubmissionFailed:
            self.close()
            raise

    def ask(self, message: dict[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Send `message` and return the answer, for which the submission has so many `seconds`."""
        if self._failure is not None:
            raise self._failure
        if self._forgotten:
            message["forget"], self._forgotten = self._forgotten, []
        limit = self.limits.step if seconds is None else seconds
        with self._watch.limited(limit):
            line = self._exchange(dumps(message))
        if line is None:
            raise self._died(limit)
        try:
            answer = loads(line)
        except Garbage:
            raise self.spoke_garbage() from None
        if not isinstance(answer, dict):
            raise self.spoke_garbage()
        if "failed" in answer:
            raise self._said_failed(answer["failed"])
        return cast("dict[str, Any]", answer)

    def forget(self, run: int) -> None:
        """Let the child drop this run of a handler: its simulated process has crashed."""
        self._forgotten.append(run)

    def printed(self) -> str:
        """Return what the submission has printed, cut; "" if it can't be asked any more."""
        if self._failure is not None:
            return ""
        return str(self.ask({"do": "printed"}).get("text", ""))[: self.limits.output]

    def spoke_garbage(self) -> SubmissionFailed:
        """The error about a submission that wrote into the pipe to the grader by itself."""
        return self._fail(
            "tampering", "Your code wrote something of its own into the pipe to the grader."
        )

    def close(self) -> None:
        """End the process, if it still runs."""
        self._failure = self._failure or SubmissionFailed("closed", "The submission was closed.")
        self._watch.close()
        _kill(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()

    # Inside.

    def _start(self, file: Path, shown_as: str) -> subprocess.Popen[bytes]:
        settings = {
            "file": str(file),
            "name": shown_as,
            "grader": os.getpid(),
            "total": self.limits.total,
            "memory": self.limits.memory,
            "output": self.limits.output,
        }
        command = [sys.executable, "-I", "-c", _RUN.format(root=str(_ROOT)), json.dumps(settings)]
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=file.parent,
            env=_clean_environment(file.parent),
            bufsize=0,
            start_new_session=True,
        )

    def _exchange(self, line: bytes) -> bytes | None:
        """Write `line` and return the next one; None if the process has ended."""
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None
        assert taken is not None
        try:
            view = memoryview(line)
            while view:
                view = view[os.write(given.fileno(), view) :]
        except OSError:
            return None
        place, start = taken.fileno(), 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if start > LONGEST_LINE:
                raise self.spoke_garbage()
            piece = os.read(place, 65_536)
            if not piece:
                return None
            self._buffer += piece
        found, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        if self._buffer:  # it answers once for each question, and never unasked
            raise self.spoke_garbage()
        return found

    def _died(self, limit: float) -> SubmissionFailed:
        code = self._process.wait()
        if self._watch.rang:
            return self._fail(
                "too slow",
                f"Your code kept running for more than {limit:g} s without an await that gives "
                "anything back: does it loop for ever?",
            )
        if code in (-getattr(signal, "SIGXCPU", 24), -9):
            return self._fail(
                "too slow", f"Your code used more than {self.limits.total:g} s of processor time."
            )
        if code < 0:
            return self._fail("exits", f"Your code ended its process by signal {-code}.")
        return self._fail("exits", "Your code ended its process, as exit() and os._exit() do.")

    def _said_failed(self, said: Any) -> SubmissionFailed:
        if (
            not isinstance(said, list)
            or len(said) != 2
            or not all(isinstance(part, str) for part in said)
        ):
            return self.spoke_garbage()
        return self._fail(said[0][:40], said[1][:2_000])

    def _fail(self, verdict: str, reason: str) -> SubmissionFailed:
        if self._failure is None:
            self._failure = SubmissionFailed(verdict, reason)
            _kill(self._process)
        return self._failure


def _clean_environment(folder: Path) -> dict[str, str]:
    wanted = ("SYSTEMROOT", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH")
    kept = {name: os.environ[name] for name in wanted if name in os.environ}
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **one_thread, "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it may have started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


class _Watch:
    """Ends a process that takes too long to answer: a thread that looks now and then."""

    LOOKS_EVERY: Final = 0.05

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.rang = False
        self._process = process
        self._deadline = float("inf")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Let what happens inside take at most so many seconds."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            self._deadline = float("inf")

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(self.LOOKS_EVERY):
            if time.monotonic() > self._deadline:
                self.rang = True
                _kill(self._process)
                return
