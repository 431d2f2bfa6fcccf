"""Scenarios in one call: the options of broker, workers and scenario side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from simqueue import handlers
from simqueue.arrivals import AllAtOnce
from simqueue.brokers.generic import Generic
from simqueue.distributions import Distribution, Fixed
from simqueue.scenario import Scenario, Workers

_BROKER = {field.name for field in dataclasses.fields(Generic)}
_WORKERS = {field.name for field in dataclasses.fields(Workers)} - {"count"}


Build = Callable[[], Scenario]
"""Builds a scenario when it is called."""


def queue(**options: Any) -> Build:
    """Return a function that builds the scenario which `build` makes of `options`."""
    return partial(build, **options)


def build(work: float | Distribution = 0.0, workers: int = 1, **options: Any) -> Scenario:
    """Return a scenario: one job at 0, on a generic broker, with the naive handler.

    Parameters
    ----------
    work
        Seconds that every job takes, or a distribution.
    workers
        How many worker processes.
    options
        Parameters of `brokers.generic`, of `Workers` and of `Scenario`, each under its own name.
    """
    broker = {name: options.pop(name) for name in _BROKER & set(options)}
    team = {name: options.pop(name) for name in _WORKERS & set(options)}
    parts: dict[str, Any] = {
        "arrivals": AllAtOnce(),
        "handler": handlers.naive,
        "work": work if isinstance(work, Distribution) else Fixed(work),
        "workers": Workers(count=workers, **team),
        "broker": Generic(**broker),
    } | options
    if parts["arrivals"].count is None:
        parts.setdefault("jobs", 1)
    return Scenario(**parts)
