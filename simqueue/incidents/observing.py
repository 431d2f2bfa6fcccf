"""Observables by name: the list of them, and how one is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from simqueue import checks
from simqueue.incidents.view import View

if TYPE_CHECKING:
    from simqueue.result import Result


@dataclass(frozen=True)
class Observable:
    """One thing to look at: its `name`, what it means in words, and how to measure it."""

    name: str
    meaning: str
    measure: Callable[[View], Any]


OBSERVABLES: dict[str, Observable] = {}
"""All of them, by name."""


def observe(result: Result, name: str) -> Any:
    """Return what `name` says about `result`: "starts", or "starts of job 3".

    Times are in seconds; None stands for never. Raises ValueError for an unknown name.
    """
    plain, job = _parsed(name)
    if job is not None:
        checks.whole(f"the job of {name!r}", job, 0, result.tally.job_count - 1)
    return OBSERVABLES[plain].measure(View(result, job))


def check_name(name: str) -> None:
    """Raise ValueError unless `name` is that of an observable, with or without "of job 3"."""
    _parsed(name)


def _parsed(name: str) -> tuple[str, int | None]:
    match = re.fullmatch(r"(\w+)(?: of job (\d+))?", name)
    if match is None or match[1] not in OBSERVABLES:
        raise checks.fail("an observable", name, "one of " + ", ".join(OBSERVABLES))
    return match[1], None if match[2] is None else int(match[2])


Measure = TypeVar("Measure", bound=Callable[[View], Any])


def observable(measure: Measure) -> Measure:
    """Put `measure` on the list, under its name and with the first line of its docstring."""
    name, meaning = measure.__name__, (measure.__doc__ or "").partition("\n")[0].rstrip(".")
    OBSERVABLES[name] = Observable(name, meaning, measure)
    return measure
