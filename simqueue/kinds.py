"""The parts of a scenario by name: `poisson`, `lognormal`, `sqs`, `naive`.

Scenario files and the command line call them by these names. Every mistake is a ValueError with one
sentence, and a near match where there is one.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from simqueue import backoff, brokers, faults, handlers
from simqueue.arrivals import AllAtOnce, EvenlySpaced, Poisson, Times
from simqueue.brokers.bullmq import Exponential as BullMQExponential
from simqueue.checks import fail
from simqueue.distributions import (
    Empirical,
    Exponential,
    Fixed,
    LogNormal,
    Mixture,
    Pareto,
    Recorded,
    Uniform,
)

if TYPE_CHECKING:
    from simqueue.context import Handler

KINDS: dict[str, dict[str, type]] = {
    "arrivals": {
        "poisson": Poisson,
        "evenly_spaced": EvenlySpaced,
        "all_at_once": AllAtOnce,
        "times": Times,
    },
    "work": {
        "fixed": Fixed,
        "exponential": Exponential,
        "lognormal": LogNormal,
        "uniform": Uniform,
        "pareto": Pareto,
        "mixture": Mixture,
        "empirical": Empirical,
        "recorded": Recorded,
    },
    "broker": {
        "sqs": brokers.sqs,
        "sqs_fifo": brokers.sqs_fifo,
        "rabbitmq": brokers.rabbitmq,
        "bullmq": brokers.bullmq,
        "sidekiq": brokers.sidekiq,
        "sidekiq_super_fetch": brokers.sidekiq_super_fetch,
        "pubsub": brokers.pubsub,
        "kafka": brokers.kafka,
        "redis_list": brokers.redis_list,
        "redis_stream": brokers.redis_stream,
        "row_lock": brokers.row_lock,
        "good_job": brokers.good_job,
        "pgmq": brokers.pgmq,
        "status_column": brokers.status_column,
        "celery_redis": brokers.celery_redis,
        "celery_rabbitmq": brokers.celery_rabbitmq,
        "service_bus": brokers.service_bus,
        "generic": brokers.generic,
    },
    "faults": {
        "crash": faults.Crash,
        "pause": faults.Pause,
        "deploy": faults.Deploy,
        "network": faults.Network,
        "partition": faults.Partition,
        "rescuer_down": faults.RescuerDown,
        "outage": faults.Outage,
        "slowness": faults.Slowness,
        "at": faults.At,
    },
    "retry_delay": {
        "no_delay": backoff.NoDelay,
        "constant": backoff.Constant,
        "linear": backoff.Linear,
        "exponential": backoff.Exponential,
        "full_jitter": backoff.FullJitter,
        "equal_jitter": backoff.EqualJitter,
        "decorrelated_jitter": backoff.DecorrelatedJitter,
        "schedule": backoff.Schedule,
        "bullmq": BullMQExponential,
    },
}
"""The kinds of each part that has any, by name."""

NESTED = {"retry_delay": "retry_delay", "backoff": "retry_delay", "latency": "work"}
"""Parameters of parts that may have a kind themselves, and where in `KINDS` those kinds are."""

HANDLERS: dict[str, Handler] = {
    name: function
    for name, function in vars(handlers).items()
    if inspect.iscoroutinefunction(function) and not name.startswith("_")
}
"""The strategies of `simqueue.handlers` by name."""


def kind_of(part: str, value: Any) -> str:
    """Return the name of the kind of `value`, which is the `part` ("work", ...) of a scenario."""
    for name, kind in KINDS[part].items():
        if type(value) is kind:
            return name
    raise ValueError(f"{part} is {value!r}, which has no name among {_list(KINDS[part])}.")


def find_kind(part: str, name: Any) -> str:
    """Return the name of a kind of `part` as `KINDS` has it: case, `-` and `_` don't matter."""
    known = KINDS[part]
    for each in known:
        if isinstance(name, str) and _plain(name) == _plain(each):
            return each
    raise ValueError(
        f"{part} can be {_list(known)}, but not {name!r}{did_you_mean(str(name).lower(), known)}."
    )


def make(part: str, kind: str, parameters: Mapping[str, Any]) -> Any:
    """Return the `part` of this `kind` (a name in `KINDS`) with these parameters.

    The text "none" stands for None, as TOML has no word for it. The parts of a mixture are mappings
    with a `weight`, a `kind` and the parameters of that kind.
    """
    made = KINDS[part][kind]
    fields = [each for each in dataclasses.fields(made) if each.init]
    known = [each.name for each in fields]
    for name in parameters:
        if name not in known:
            raise ValueError(
                f"{kind} has no {name!r}{did_you_mean(name, known)}; it has {_list(known)}."
            )
    for each in fields:
        if each.default is dataclasses.MISSING and each.name not in parameters:
            raise ValueError(f"{kind} needs {each.name}.")
    values = {name: as_value(value, name) for name, value in parameters.items()}
    if made is Mixture:
        values["parts"] = _parts_of_mixture(values["parts"])
    return made(**values)


def parse(part: str, text: str) -> Any:
    """Return the `part` that `text` describes, such as ``lognormal:median=10,p99=90``.

    Where a kind has only one parameter, its name may be left out: ``fixed:90``.
    """
    name, _, rest = text.partition(":")
    kind = find_kind(part, name.strip())
    first = next((each.name for each in dataclasses.fields(KINDS[part][kind])), "")
    parameters: dict[str, Any] = {}
    for number, pair in enumerate(rest.split(",") if rest.strip() else ()):
        key, equals, value = pair.partition("=")
        if not equals and number == 0:
            key, value = first, pair
        elif not equals:
            raise ValueError(
                f"{part} {text!r} cannot be read: write it as {kind}:name=value,name=value."
            )
        parameters[key.strip()] = plain_value(value)
    return make(part, kind, parameters)


def find_handler(name: Any) -> Handler:
    """Return the handler with this name: one of `HANDLERS`, or `module:function` to import."""
    if isinstance(name, str) and name in HANDLERS:
        return HANDLERS[name]
    if not isinstance(name, str) or ":" not in name:
        raise ValueError(
            f"handler must be {_list(HANDLERS)} or your own as 'module:function', "
            f"not {name!r}{did_you_mean(str(name), HANDLERS)}."
        )
    place, _, function = name.partition(":")
    try:
        module = importlib.import_module(place)
    except Exception as error:
        raise ValueError(
            f"handler {name!r} cannot be imported: {type(error).__name__}: {error}."
        ) from error
    found = getattr(module, function, None)
    if found is None:
        there = [each for each, value in vars(module).items() if inspect.iscoroutinefunction(value)]
        raise ValueError(f"{place} has no handler {function!r}{did_you_mean(function, there)}.")
    if not inspect.iscoroutinefunction(found):
        raise fail("handler", name, "an async function of (job, ctx)")
    handler: Handler = found
    return handler


def handler_name(handler: Handler) -> str:
    """Return the name by which `find_handler` finds `handler`, or ValueError if it has none."""
    for name, known in HANDLERS.items():
        if handler is known:
            return name
    module, name = getattr(handler, "__module__", ""), getattr(handler, "__qualname__", "")
    if not name.isidentifier() or module == "__main__":
        raise ValueError(
            f"handler {name or handler!r} has no name that a file could call it by: "
            "put it at the top level of a module of its own."
        )
    return f"{module}:{name}"


def plain_value(text: str) -> Any:
    """Return what `text` says: a whole number, a number, true, false, none, or the text itself."""
    word = text.strip()
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), as_value(word))


def as_value(value: Any, name: str = "") -> Any:
    """Return what `value`, of the parameter `name`, stands for.

    The text "none" is None, and a table with a kind is what `make` makes of it, where the parameter
    can have one (`NESTED`). Anything else is itself.
    """
    if isinstance(value, str) and value.lower() == "none":
        return None
    if name in NESTED and isinstance(value, Mapping):
        parameters = dict(value)
        if "kind" not in parameters:
            raise ValueError(f"{name} needs a kind, one of {_list(KINDS[NESTED[name]])}.")
        kind = find_kind(NESTED[name], parameters.pop("kind"))
        return make(NESTED[name], kind, parameters)
    return value


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return `` (did you mean 'rate'?)`` if one of the `known` names is near, else nothing."""
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _list(names: Collection[str]) -> str:
    return ", ".join(names)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _parts_of_mixture(parts: Any) -> Any:
    if not isinstance(parts, list) or not all(isinstance(each, Mapping) for each in parts):
        raise fail("parts", parts, "tables with a weight, a kind and its parameters")
    pairs = []
    for number, part in enumerate(parts, start=1):
        given = dict(part)
        missing = [name for name in ("weight", "kind") if name not in given]
        if missing:
            raise ValueError(f"part {number} of the mixture needs {missing[0]}.")
        weight = given.pop("weight")
        kind = find_kind("work", given.pop("kind"))
        pairs.append((weight, make("work", kind, given)))
    return tuple(pairs)
