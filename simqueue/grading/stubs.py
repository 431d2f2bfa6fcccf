"""`ctx` as a submission sees it: every awaited call becomes a request to the grader."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Self

from simqueue.grading.wire import CALLS, unpack_error


class Request:
    """What a submission waits for: the call, and later its answer."""

    __slots__ = ("message",)

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message

    def __await__(self) -> Generator[Request, Any, Any]:
        answer = yield self
        if "error" in answer:
            raise unpack_error(answer["error"])
        return answer.get("value")

    def close(self) -> None:
        """Whoever makes a task of it may close it, as a coroutine."""


class StubContext:
    """`simqueue.context.Context` at the other end of a pipe."""

    def __init__(self, attempt: int, now: float) -> None:
        self.attempt = attempt
        self._now = now
        self._has_looked = False
        self.payments = _Service("payments")
        self.mailer = _Service("mailer")
        self.store = _Service("store")
        self.redis = _Service("redis")
        self.locks = _Locks("locks")
        self.database = _Database("database")
        self.sql = _SQL("sql")

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        self._has_looked = True
        return self._now

    def go_on_at(self, now: float) -> None:
        """It is `now`, in seconds: a call has been answered."""
        self._now = now

    def has_looked(self) -> bool:
        """Whether the handler has looked at the clock since it was last asked."""
        looked, self._has_looked = self._has_looked, False
        return looked

    def work(self, share: float = 1.0) -> Request:
        """Be busy for `share` of the job's work."""
        return _call("", "work", (share,), {})

    def sleep(self, seconds: float) -> Request:
        """Wait for `seconds`."""
        return _call("", "sleep", (seconds,), {})

    def extend(self, seconds: float) -> Request:
        """Let the lease end `seconds` from now."""
        return _call("", "extend", (seconds,), {})


def _call(service: str, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> Request:
    return Request({"call": [service, method], "args": args, "options": options})


class _Service:
    """A service: each of its methods is a request."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Callable[..., Request]:
        name = self._name
        if method not in CALLS[name]:
            raise AttributeError(f"ctx.{name} has no method {method!r}")

        def ask(*args: Any, **options: Any) -> Request:
            return _call(name, method, args, options)

        ask.__name__ = method
        setattr(self, method, ask)
        return ask


class _Locks(_Service):
    async def acquire(self, name: str, *, ttl: float) -> _Lock | None:
        """Get lock `name` for `ttl` seconds, or None if somebody holds it."""
        got = await _call("locks", "acquire", (name,), {"ttl": ttl})
        return None if got is None else _Lock(name, got["handle"], got["token"])


class _Database(_Service):
    def transaction(self) -> _Transaction:
        """Begin a transaction: ``async with ctx.database.transaction() as tx``."""
        return _Transaction(self._name, ())


class _SQL(_Service):
    def transaction(self, mode: str = "immediate") -> _Transaction:
        """Begin a transaction: ``async with ctx.sql.transaction():``."""
        return _Transaction(self._name, (mode,))


class _Handle:
    """Something that the grader keeps for this delivery, by number."""

    _handle: int | None = None

    def _ask(self, method: str, *args: Any, **options: Any) -> Request:
        return Request({"handle": [self._handle, method], "args": args, "options": options})


class _Lock(_Handle):
    def __init__(self, name: str, handle: int, token: int) -> None:
        self._handle = handle
        self.name = name
        self.token = token

    def release(self) -> Request:
        """Give it back; whether it still was ours."""
        return self._ask("release")


class _Transaction(_Handle):
    def __init__(self, service: str, args: tuple[Any, ...]) -> None:
        self._service = service
        self._args = args

    async def __aenter__(self) -> Self:
        got = await Request({"enter": self._service, "args": self._args, "options": {}})
        self._handle = got["handle"]
        return self

    async def __aexit__(self, kind: object, _error: object, _traceback: object) -> None:
        await self._ask("exit", kind is not None)

    def __getattr__(self, method: str) -> Callable[..., Request]:
        allowed = ("execute",) if self._service == "sql" else (
            "insert", "try_lock", "get", "apply", "enqueue",
        )  # fmt: skip
        if method not in allowed:
            raise AttributeError(f"a transaction of ctx.{self._service} has no method {method!r}")
        return lambda *args, **options: self._ask(method, *args, **options)
