"""Scenarios as TOML files: readable, diffable, and enough to repeat a run together with its seed.

    jobs = 2000
    handler = "naive"          # or "module:function", your own

    [arrivals]
    kind = "poisson"
    rate = 2

    [work]
    kind = "lognormal"
    median = 10
    p99 = 90

    [workers]
    count = 40

    [workers.crash]
    mean_time_between = 3600

    [broker]
    kind = "sqs"
    visibility_timeout = 30

    [network]
    ack_lost = 0.01

    [[faults]]
    kind = "pause"
    seconds = 60
    mean_time_between = 3600

`simqueue.kinds.KINDS` lists the kinds; their parameters are those of the classes. The text "none"
stands for None, and `inf` for no limit. Where a number may also be a rule or a distribution, write
a table: `retry_delay = { kind = "full_jitter", base = 1, cap = 60 }`.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

from simqueue import kinds
from simqueue.distributions import Mixture
from simqueue.faults import Crash, Network
from simqueue.producers import Producers, Resend
from simqueue.scenario import Scenario, Workers
from simqueue.services.payments import Payments
from simqueue.services.store import Store

REQUIRED = ("arrivals", "work", "broker", "handler")
PLAIN_KEYS = ("jobs", "handler", "work_per", "groups", "horizon", "warmup")
"""The keys of a scenario that are no section, in the order in which they are written."""
PLAIN_SECTIONS = {
    "network": Network,
    "producers": Producers,
    "store": Store,
    "payments": Payments,
}
PARTS_OF_SECTIONS = {"crash": Crash, "resend": Resend}
"""Parameters of a section that are a section of their own, such as [workers.crash]."""
SECTIONS = ("arrivals", "work", "workers", "broker", *PLAIN_SECTIONS, "faults")


def load(path: str | PathLike[str]) -> Scenario:
    """Return the scenario that the TOML file at `path` describes.

    Raises
    ------
    ValueError
        With one sentence that names the file, the section, the key and the value, if the file
        cannot be read, is not TOML, or describes no possible scenario. Unknown keys are mistakes
        too; a near match is suggested.
    """
    source = fspath(path)
    document = _parse(source)
    _known(source, "", document, (*PLAIN_KEYS, *SECTIONS))
    for name in REQUIRED:
        if name not in document:
            what = f"a section [{name}]" if name in SECTIONS else f"a line such as {name} = 'naive'"
            raise ValueError(f"{source} needs {what}.")
    parts: dict[str, Any] = {
        name: kinds.as_value(document[name]) for name in PLAIN_KEYS if name in document
    }
    for name in ("arrivals", "work", "broker"):
        parts[name] = _kind(source, name, document[name])
    parts["workers"] = _plain_part(source, "workers", Workers, document.get("workers", {}))
    for name, made in PLAIN_SECTIONS.items():
        parts[name] = _plain_part(source, name, made, document.get(name, {}))
    parts["faults"] = _faults(source, document.get("faults", []))
    try:
        parts["handler"] = kinds.find_handler(parts["handler"])
        return Scenario(**parts)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def dumps(scenario: Scenario) -> str:
    """Return `scenario` as the text of a TOML file: `load` gives it back, equal in every part.

    Raises ValueError for a part that no file can name, such as a handler made inside a function.
    """
    return "\n".join(_lines(to_document(scenario), "")).strip() + "\n"


def to_document(scenario: Scenario) -> dict[str, Any]:
    """Return `scenario` as nested dicts, lists, numbers and texts, as a TOML file holds them.

    What is None unless it is set is left out. Raises ValueError as `dumps` does.
    """
    document: dict[str, Any] = {
        name: getattr(scenario, name) for name in PLAIN_KEYS if getattr(scenario, name) is not None
    }
    document["handler"] = kinds.handler_name(scenario.handler)
    for name in SECTIONS:
        part = getattr(scenario, name)
        if name != "faults":
            document[name] = _table(part, name if name in kinds.KINDS else None)
        elif part:
            document[name] = [_table(fault, "faults") for fault in part]
    return {name: _plain(value) for name, value in document.items()}


# Reading


def _parse(source: str) -> dict[str, Any]:
    try:
        with open(source, "rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{source} is not valid TOML: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{source} is not valid TOML: it is not UTF-8 text.") from error
    except OSError as error:
        raise ValueError(f"{source} cannot be read: {error.strerror}.") from error


def _known(source: str, section: str, table: Any, names: Collection[str]) -> None:
    """ValueError unless `table` is a table with no keys other than `names`."""
    where = f"{source}, [{section}]" if section else source
    if not isinstance(table, Mapping):
        raise ValueError(
            f"{source}: {section} must be a section, a line [{section}] with its keys below, "
            f"not {table!r}."
        )
    for name in table:
        if name not in names:
            raise ValueError(
                f"{where}: there is no {name!r}{kinds.did_you_mean(name, names)}. "
                f"Possible here: {', '.join(names)}."
            )


def _kind(source: str, section: str, table: Any) -> Any:
    if not isinstance(table, Mapping):
        _known(source, section, table, ())
    parameters = dict(table)
    if "kind" not in parameters:
        raise ValueError(
            f"{source}, [{section}] needs a kind, one of {', '.join(kinds.KINDS[section])}."
        )
    try:
        kind = kinds.find_kind(section, parameters.pop("kind"))
        return kinds.make(section, kind, parameters)
    except ValueError as error:
        raise ValueError(f"{source}, [{section}]: {error}") from error


def _faults(source: str, tables: Any) -> list[Any]:
    if not isinstance(tables, list):
        raise ValueError(f"{source}: faults must be sections [[faults]], not {tables!r}.")
    return [_kind(source, "faults", table) for table in tables]


def _plain_part(source: str, section: str, made: type, table: Any) -> Any:
    _known(source, section, table, [each.name for each in dataclasses.fields(made)])
    values = {name: kinds.as_value(value, name) for name, value in table.items()}
    for name in PARTS_OF_SECTIONS.keys() & values.keys():
        if values[name] is not None:
            inner = PARTS_OF_SECTIONS[name]
            values[name] = _plain_part(source, f"{section}.{name}", inner, values[name])
    try:
        return made(**values)
    except ValueError as error:
        raise ValueError(f"{source}, [{section}]: {error}") from error


# Writing


def _table(part: Any, kinds_of: str | None) -> dict[str, Any]:
    """Return the fields of `part`; with its kind first where it has one."""
    table: dict[str, Any] = {} if kinds_of is None else {"kind": kinds.kind_of(kinds_of, part)}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(part, Mixture):
            value = [{"weight": weight, **_table(each, "work")} for weight, each in value]
        elif isinstance(value, tuple(PARTS_OF_SECTIONS.values())):
            value = _table(value, None)
        elif field.name in kinds.NESTED and not isinstance(value, Real | None):
            value = _table(value, kinds.NESTED[field.name])
        is_default = value is field.default
        if not (is_default and value in (None, ())):
            table[field.name] = "none" if value is None else value
    return table


def _plain(value: Any) -> Any:
    """Return `value` with lists for tuples and Python's own numbers for those of numpy."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _lines(table: Mapping[str, Any], path: str) -> list[str]:
    lines = [f"{name} = {_toml(value)}" for name, value in table.items() if not _is_table(value)]
    for name, value in table.items():
        inner = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            lines += ["", f"[{inner}]", *_lines(value, inner)]
        elif _is_table(value):
            for each in value:
                lines += ["", f"[[{inner}]]", *_lines(each, inner)]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    )


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | str) else repr(value)
