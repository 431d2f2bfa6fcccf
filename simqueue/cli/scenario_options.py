"""Flags that describe a scenario, for `run` and `sweep`: they change a file's, or the default."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from simqueue import brokers, handlers, kinds
from simqueue.arrivals import Poisson
from simqueue.distributions import LogNormal
from simqueue.faults import Crash
from simqueue.scenario import Scenario, Workers

Command = TypeVar("Command", bound=Callable[..., Any])

BROKER_FLAGS = {
    "sqs": {"visibility_timeout": "visibility_timeout", "max_receives": "max_receive_count"},
    "generic": {"lease": "lease", "late_ack": "late_ack", "max_receives": "max_receives"},
}
"""For each broker, which flags set which of its parameters."""

DIRECT_FLAGS = {
    "jobs": "jobs",
    "workers": "workers.count",
    "concurrency": "workers.concurrency",
    "prefetch": "workers.prefetch",
    "ack_lost": "network.ack_lost",
    "crash_every": "workers.crash.mean_time_between",
    "restart_after": "workers.crash.restart_after",
    "horizon": "horizon",
    "warmup": "warmup",
}
"""Flags that set one parameter of the scenario each."""

OPTIONS = (
    click.option("--jobs", type=int, metavar="N", help="How many jobs. [2000]"),
    click.option("--rate", type=float, metavar="R", help="Jobs per second, at random times. [2]"),
    click.option(
        "--arrivals", metavar="KIND", help="Or: all_at_once, evenly_spaced:interval=5, poisson:2."
    ),
    click.option(
        "--work",
        metavar="KIND",
        help="Seconds of work: fixed:90, exponential:10, uniform:low=5,high=20, "
        "pareto:minimum=2,shape=1.5. [lognormal:median=10,p99=90]",
    ),
    click.option("--workers", type=int, metavar="N", help="Worker processes. [100]"),
    click.option("--concurrency", type=int, metavar="N", help="Jobs each runs at once. [1]"),
    click.option("--prefetch", metavar="N", help="Deliveries each holds, or inf. [none]"),
    click.option("--broker", metavar="NAME", help="sqs, or generic with every knob. [sqs]"),
    click.option(
        "--visibility-timeout",
        metavar="S",
        help="sqs: seconds a delivered message is hidden. [30]",
    ),
    click.option("--lease", metavar="S", help="generic: the same, or none. [30]"),
    click.option(
        "--late-ack",
        metavar="RULE",
        help="generic: deletes, in_flight_only, latest_receipt or unexpired.",
    ),
    click.option(
        "--max-receives", metavar="N", help="Deliveries, then the dead-letter queue; or none. [5]"
    ),
    click.option(
        "--handler",
        metavar="NAME",
        help="naive, claim, another of simqueue.handlers, or your own module:function. [naive]",
    ),
    click.option("--ack-lost", type=float, metavar="P", help="Share of acks lost, 0 to 1. [0]"),
    click.option(
        "--crash-every", type=float, metavar="S", help="Mean seconds of work between crashes."
    ),
    click.option(
        "--restart-after", type=float, metavar="S", help="Seconds a crashed worker is off."
    ),
    click.option("--horizon", type=float, metavar="S", help="Stop at this many seconds."),
    click.option(
        "--warmup", type=float, metavar="S", help="Leave jobs before this out of the figures."
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any parameter by its dotted name: broker.lease=5. Repeatable; has the last word.",
    ),
)


def scenario_options(command: Command) -> Command:
    """Add the scenario file and all flags of a scenario to `command`, as keywords."""
    for option in reversed(OPTIONS):
        command = option(command)
    return click.argument(
        "scenario_file", required=False, type=click.Path(), metavar="[SCENARIO.toml]"
    )(command)


def default_scenario() -> Scenario:
    """Return what is simulated without a file and flags."""
    return Scenario(
        arrivals=Poisson(rate=2.0),
        jobs=2_000,
        work=LogNormal(median=10, p99=90),
        workers=Workers(count=100),
        broker=brokers.sqs(visibility_timeout=30, max_receive_count=5),
        handler=handlers.naive,
    )


def scenario_from(path: str | None, flags: dict[str, Any]) -> Scenario:
    """Return the scenario of the file at `path` (or the default) with `flags` applied.

    `flags` are the keywords of `scenario_options`, None where not given. ValueError with one
    sentence for any mistake.
    """
    _import_from_here()
    scenario = default_scenario()
    if path is not None:
        from simqueue import scenario_file

        scenario = scenario_file.load(path)
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    changes = {
        DIRECT_FLAGS[name]: kinds.plain_value(value) if isinstance(value, str) else value
        for name, value in given.items()
        if name in DIRECT_FLAGS
    }
    if "restart_after" in given and scenario.workers.crash is None and "crash_every" not in given:
        raise ValueError("--restart-after needs --crash-every: without it no worker crashes.")
    changes |= _arrivals(scenario, given)
    changes |= _broker(scenario, given, from_file=path is not None)
    for name in ("work", "handler"):
        if name in given:
            changes[name] = value_of(name, given[name])
    scenario = replace(scenario, changes)
    return replace(scenario, dict(_settings(given.get("settings", ()))))


def replace(scenario: Scenario, changes: dict[str, Any]) -> Scenario:
    """Return `scenario` with `changes`; a crash parameter lets workers crash that did not."""
    return with_crash(scenario, changes).replace(changes) if changes else scenario


def with_crash(scenario: Scenario, names: Iterable[str]) -> Scenario:
    """Return `scenario`, with a (still harmless) `Crash` if one of `names` needs one there."""
    if scenario.workers.crash is None and any(name.startswith("workers.crash.") for name in names):
        return scenario.replace({"workers.crash": Crash()})
    return scenario


def value_of(name: str, text: str) -> Any:
    """Return the value that `text` gives to the parameter with this dotted name."""
    last = name.rpartition(".")[2]
    if name in kinds.KINDS:
        return kinds.parse(name, text)
    if last in kinds.NESTED and not _is_number(text):
        return kinds.parse(kinds.NESTED[last], text)
    return kinds.find_handler(text.strip()) if name == "handler" else kinds.plain_value(text)


def has_kinds(name: str) -> bool:
    """Whether values of the parameter with this dotted name contain commas themselves."""
    return name in kinds.KINDS or name.rpartition(".")[2] in kinds.NESTED


def _is_number(text: str) -> bool:
    return not isinstance(kinds.plain_value(text), str)


def _import_from_here() -> None:
    """Let --handler find modules in the current folder, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _settings(texts: Iterable[str]) -> Iterable[tuple[str, Any]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set must be NAME=VALUE, such as broker.lease=5, not {text!r}.")
        yield name.strip(), value_of(name.strip(), value)


def _arrivals(scenario: Scenario, given: dict[str, Any]) -> dict[str, Any]:
    if "rate" in given and "arrivals" in given:
        raise ValueError("--rate and --arrivals say the same thing twice: give one of them.")
    if "arrivals" in given:
        return {"arrivals": value_of("arrivals", given["arrivals"])}
    if "rate" not in given:
        return {}
    if getattr(scenario.arrivals, "rate", None) is not None:
        return {"arrivals.rate": given["rate"]}
    return {"arrivals": Poisson(rate=given["rate"])}


def _broker(scenario: Scenario, given: dict[str, Any], *, from_file: bool) -> dict[str, Any]:
    present = kinds.kind_of("broker", scenario.broker)
    if "broker" in given:
        kind = kinds.find_kind("broker", given["broker"])
    elif not from_file and ("lease" in given or "late_ack" in given):
        kind = "generic"
    else:
        kind = present
    known = BROKER_FLAGS.get(kind, {})
    changes: dict[str, Any] = {}
    if kind != present:
        changes["broker"] = _fresh_broker(kind, from_file)
    for flag in ("visibility_timeout", "lease", "late_ack", "max_receives"):
        if flag not in given:
            continue
        if flag not in known:
            these = ", ".join(f"--{each.replace('_', '-')}" for each in known)
            these = these or "--set broker.NAME=VALUE"
            raise ValueError(
                f"--{flag.replace('_', '-')} does not go with the broker {kind}, "
                f"whose flags are {these}."
            )
        changes[f"broker.{known[flag]}"] = kinds.plain_value(given[flag])
    return changes


def _fresh_broker(kind: str, from_file: bool) -> Any:
    if kind == "generic" and not from_file:
        return brokers.generic(max_receives=5)
    return kinds.make("broker", kind, {})
