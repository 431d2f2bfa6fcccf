"""What crosses the pipe between the grader and a submission: JSON lines, of a few kinds of value.

The submission's side may send only plain data and names out of short lists; nothing that it sends
is ever unpickled, evaluated or looked up as an attribute. What it gets back is built here from such
names too.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from simqueue.context import (
    Claim,
    Conflict,
    Fenced,
    LeaseLimit,
    LeaseLost,
    Mismatch,
    RedisError,
    ResponseLost,
    Retry,
    Rows,
    TimeLimit,
    Unavailable,
    UniqueViolation,
)
from simqueue.services.sql_client import SQLUniqueViolation

CALLS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"work", "sleep", "extend"}),
    "payments": frozenset({"charge"}),
    "mailer": frozenset({"send"}),
    "store": frozenset({"is_done", "claim", "insert", "complete", "fail"}),
    "locks": frozenset({"acquire"}),
    "database": frozenset({"guarded_write"}),
    "sql": frozenset({"execute"}),
    "redis": frozenset(
        {"get", "set", "delete", "delete_if_equals", "expire", "expire_if_equals", "persist"}
        | {"ttl", "pttl", "exists", "incr", "decr"}
    ),
}
"""What a submission may ask for: the methods of `ctx`, by service."""

OF_HANDLES: Final = frozenset(
    {"release", "insert", "try_lock", "get", "apply", "enqueue", "execute", "exit"}
)
"""What it may ask of a lock or a transaction that it has got. "exit" ends a transaction."""

ERRORS: Final[Mapping[str, type[Exception]]] = {
    kind.__name__: kind
    for kind in (
        Retry,
        Conflict,
        Fenced,
        LeaseLimit,
        LeaseLost,
        Mismatch,
        RedisError,
        ResponseLost,
        SQLUniqueViolation,
        TimeLimit,
        Unavailable,
        UniqueViolation,
        sqlite3.Error,
        sqlite3.IntegrityError,
        sqlite3.OperationalError,
        sqlite3.ProgrammingError,
        sqlite3.InterfaceError,
        sqlite3.DataError,
        sqlite3.DatabaseError,
        sqlite3.Warning,
        ArithmeticError,
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        LookupError,
        NotImplementedError,
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    )
}
"""Exceptions that cross by name; any other becomes one of its name that is an Exception."""

LONGEST_TEXT: Final = 2_000


class Garbage(ValueError):  # noqa: N818 - it is what came through
    """What came through the pipe is no message."""


def dumps(message: Any) -> bytes:
    """Return `message` as one line. TypeError for what is not plain data."""
    return json.dumps(message, default=_tagged, separators=(",", ":")).encode() + b"\n"


def loads(line: bytes) -> Any:
    """Read one line. Raises `Garbage` for what is no JSON."""
    try:
        return _decode(line.decode())
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise Garbage(str(error)) from None


def _tagged(value: Any) -> Any:
    """Return a value that JSON does not know as a dict with a tag."""
    if isinstance(value, Claim):
        return {"$": "claim", "value": value.value}
    if isinstance(value, bytes):
        return {"$": "bytes", "value": value.hex()}
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # a number of numpy's
        return value.item()
    raise TypeError(f"{value!r:.80} cannot be sent: only numbers, text, lists and dicts can")


def _untagged(found: dict[str, Any]) -> Any:
    match found.get("$"):
        case "claim":
            return Claim(found["value"])
        case "bytes":
            return bytes.fromhex(found["value"])
        case "rows":
            rows = Rows(tuple(row) for row in found["value"])
            rows.rowcount = found["rowcount"]
            return rows
    return found


_decode = json.JSONDecoder(object_hook=_untagged).decode


def pack(value: Any) -> Any:
    """Make `value`, the answer of a call, ready to be sent. Rows keep their `rowcount`."""
    if isinstance(value, Rows):
        return {"$": "rows", "value": list(value), "rowcount": value.rowcount}
    return value


def pack_error(error: BaseException) -> dict[str, Any]:
    """Return an exception as its name, its message, and the delay that a `Retry` asks for."""
    packed: dict[str, Any] = {
        "name": type(error).__name__,
        "text": str(error)[:LONGEST_TEXT],
    }
    after = getattr(error, "after", None)
    if isinstance(error, Retry) and isinstance(after, int | float):
        packed["after"] = float(after)
    return packed


def unpack_error(packed: Any) -> Exception:
    """Return the exception that was sent. Raises `Garbage` for what describes none."""
    if not isinstance(packed, dict):
        raise Garbage("no exception")
    name, text, after = packed.get("name"), packed.get("text"), packed.get("after")
    if not isinstance(name, str) or not isinstance(text, str):
        raise Garbage("no exception")
    if name == "Retry":
        wanted = isinstance(after, int | float) and not isinstance(after, bool)
        return Retry(text[:LONGEST_TEXT], after=float(after) if after and wanted else None)
    kind = ERRORS.get(name)
    if kind is None:
        plain = name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", name) else "Exception"
        kind = type(plain, (Exception,), {})
    return kind(text[:LONGEST_TEXT])
