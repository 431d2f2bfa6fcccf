"""The process in which a submission runs: its code is loaded here, and nothing is counted here.

It answers the grader's questions one by one: load the file; handle a job until the next call
through `ctx`; go on with the answer of that call; call a function. It may say whatever it likes,
since the grader believes only what it counts itself.
"""

from __future__ import annotations

import io
import json
import os
import random
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, NoReturn

from simqueue.context import HandlerError, Job
from simqueue.grading.confinement import confine, import_first, set_tripwire
from simqueue.grading.stubs import Request, StubContext
from simqueue.grading.wire import dumps, loads, pack_error
from simqueue.model import guard

MOST_MEMORIES: Final = 32


class Failure(BaseException):
    """The submission can't be graded: a verdict and a sentence. No `except` swallows it."""


def main() -> None:
    """Serve the grader until it closes the pipe."""
    settings = json.loads(sys.argv[1])
    pipe = _Pipe()
    file, name = Path(settings["file"]), settings["name"]
    try:
        source = file.read_text(encoding="utf-8-sig")
        code = compile(source, name, "exec")
    except UnicodeDecodeError:
        _fail_for_good(pipe, "not Python", f"{name} is no text in UTF-8.")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _fail_for_good(pipe, "syntax error", f"{name} does not compile: {_where(error)}.")
    import_first(source)
    sys.stdin = io.StringIO()
    output = _Output(pipe, settings["output"])
    sys.stdout = sys.stderr = output
    sys.argv = [name]
    tripwire = _watch_asyncio()
    confine(settings["total"], settings["memory"], settings["grader"])
    set_tripwire(file.parent, lambda what: _tripped(pipe, what))
    _Server(pipe, code, output, tripwire).serve()


class _Pipe:
    """Lines to and from the grader, over what were standard input and output."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
        self._buffer = b""

    def read(self) -> bytes:
        """The next line; ends the process where there is none."""
        while (end := self._buffer.find(b"\n")) < 0:
            piece = os.read(self._in, 65_536)
            if not piece:
                os._exit(0)
            self._buffer += piece
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return line

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            view = view[os.write(self._out, view) :]

    def say_failed(self, verdict: str, reason: str) -> NoReturn:
        """Say it and end: what a submission did can't be undone by what it does next."""
        self.write(dumps({"failed": [verdict, reason]}))
        os._exit(0)


def _fail_for_good(pipe: _Pipe, verdict: str, reason: str) -> NoReturn:
    pipe.read()
    pipe.say_failed(verdict, reason)


def _tripped(pipe: _Pipe, what: str) -> NoReturn:
    pipe.say_failed("forbidden", f"Your code tried to {what}, which no submission may do.")


class _Output(io.TextIOBase):
    """Keeps what is printed, up to a limit."""

    def __init__(self, pipe: _Pipe, limit: int) -> None:
        self._pipe = pipe
        self._limit = limit
        self._length = 0
        self._pieces: list[str] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._length += len(text)
        if self._length > self._limit:
            self._pipe.say_failed(
                "prints too much", f"Your code printed more than {self._limit:,} characters."
            )
        self._pieces.append(text)
        return len(text)

    def text(self) -> str:
        return "".join(self._pieces)


def _watch_asyncio() -> guard._Tripwire:
    tripwire = guard._Tripwire()
    asyncio: Any = sys.modules.get("asyncio")
    if asyncio is not None:
        asyncio._set_running_loop(tripwire)
    return tripwire


class _Server:
    """Answers the grader's questions about one submission."""

    def __init__(
        self, pipe: _Pipe, code: CodeType, output: _Output, tripwire: guard._Tripwire
    ) -> None:
        self._pipe = pipe
        self._code = code
        self._output = output
        self._tripwire = tripwire
        self._memories: dict[int, ModuleType] = {}
        self._runs: dict[int, tuple[Coroutine[Any, Any, Any], StubContext]] = {}
        # Kept for good: Python would run the `finally` of a coroutine that nobody has any more.
        self._crashed: list[Any] = []
        self._do: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "ready": lambda _: {},
            "load": self._load,
            "handle": self._handle,
            "go on": self._go_on,
            "call": self._call,
            "printed": lambda _: {"text": self._output.text()},
        }

    def serve(self) -> NoReturn:
        while True:
            question = loads(self._pipe.read())
            for number in question.get("forget", ()):
                if number in self._runs:
                    self._crashed.append(self._runs.pop(number))
            try:
                answer = self._do[question["do"]](question)
                if self._tripwire.said is not None:
                    raise Failure("not a handler", self._tripwire.said)
                line = dumps(answer)
            except Failure as failure:
                self._pipe.say_failed(*failure.args)
            except SystemExit as error:
                self._pipe.say_failed(
                    "exits",
                    f"Your code called exit({error.code!r}), which would end the whole program.",
                )
            except (TypeError, ValueError, RecursionError) as error:
                self._pipe.say_failed("not plain data", f"What your code passed on: {error}.")
            self._pipe.write(line)

    # What is asked.

    def _load(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"names": sorted(self._fresh(0).__dict__)}

    def _handle(self, question: dict[str, Any]) -> dict[str, Any]:
        number, customer, group, due = question["job"]
        job = Job(number, customer_number=customer, group=group, due=due)
        ctx = StubContext(question["attempt"], question["now"])
        function = self._function(question["memory"], question["function"])
        try:
            coroutine = function(job, ctx, **question["options"])
        except Exception as error:
            raise Failure("not a handler", _raised_at_once(question, error)) from None
        if not isinstance(coroutine, Coroutine):
            raise Failure(
                "not a handler",
                f"{question['function']} must be an async def; it returned {coroutine!r:.60}.",
            )
        self._runs[question["run"]] = (coroutine, ctx)
        return self._drive(question["run"], None)

    def _go_on(self, question: dict[str, Any]) -> dict[str, Any]:
        run = self._runs.get(question["run"])
        if run is None:
            raise Failure("tampering", "A handler that was at work is gone.")
        run[1].go_on_at(question["now"])
        return self._drive(question["run"], question["answer"])

    def _call(self, question: dict[str, Any]) -> dict[str, Any]:
        """Call a function on each of several lists of arguments."""
        function = self._function(question["memory"], question["function"])
        values: list[Any] = []
        for args in question["calls"]:
            try:
                given = [_made(arg) for arg in args]
                value = function(*given)
                dumps(value)
                values.append({"value": value})
            except Exception as error:
                values.append({"error": pack_error(error), "line": _line_of(error, self._code)})
        return {"values": values}

    def _drive(self, number: int, answer: Any) -> dict[str, Any]:
        coroutine, ctx = self._runs[number]
        try:
            wanted = coroutine.send(answer)
        except StopIteration:
            del self._runs[number]
            return {"returned": True}
        except HandlerError as error:
            raise Failure("not a handler", str(error)) from None
        except Exception as error:
            del self._runs[number]
            try:
                guard.check_failure(error)
            except HandlerError as said:
                raise Failure("not a handler", str(said)) from None
            return {"raised": pack_error(error)}
        if type(wanted) is not Request:
            raise Failure("not a handler", str(guard.awaited_something_else(wanted)))
        return {**wanted.message, "looked": ctx.has_looked()}

    # The submission's module.

    def _function(self, memory: int, name: str) -> Callable[..., Any]:
        module = self._memories.get(memory) or self._fresh(memory)
        function = getattr(module, name, None)
        if not callable(function):
            raise Failure("nothing to grade", f"There is no function {name} in the file.")
        found: Callable[..., Any] = function
        return found

    def _fresh(self, memory: int) -> ModuleType:
        """Run the module anew: the memory of one more process."""
        module = ModuleType("submission")
        sys.modules["submission"] = module
        while len(self._memories) >= MOST_MEMORIES:
            del self._memories[next(iter(self._memories))]
        self._memories[memory] = module
        try:
            exec(self._code, module.__dict__)
        except Exception as error:
            raise Failure(
                "fails to import", f"The file fails as it is imported: {_where(error)}."
            ) from None
        return module


def _made(arg: Any) -> Any:
    """An argument as it is passed on: a source of random numbers is made of its seed."""
    if isinstance(arg, dict) and arg.get("$") == "random":
        return random.Random(arg["seed"])
    return arg


def _raised_at_once(question: dict[str, Any], error: Exception) -> str:
    return f"{question['function']}(job, ctx) can't be called: {type(error).__name__}: {error}."


def _line_of(error: BaseException, code: CodeType) -> int | None:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == code.co_filename:
            return frame.lineno
    return None


def _where(error: BaseException) -> str:
    line = getattr(error, "lineno", None)
    if line is None:
        frames = traceback.extract_tb(error.__traceback__)
        line = frames[-1].lineno if frames else None
    said = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
    return said if line is None else f"{said} (line {line})"
