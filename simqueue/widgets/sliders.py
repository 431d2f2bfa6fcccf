"""A slider for each parameter, with its name in words and its unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simqueue.widgets.subject import Subject

NAMES = {
    "arrivals.interval": "Time between jobs (seconds)",
    "arrivals.rate": "Arrivals (jobs per second)",
    "broker.lease": "Lease (seconds)",
    "broker.max_receive_count": "Receives at most",
    "broker.max_receives": "Receives at most",
    "broker.retry_delay": "Delay before a retry (seconds)",
    "broker.visibility_timeout": "Visibility timeout (seconds)",
    "jobs": "Jobs",
    "network.ack_lost": "Acks that get lost (share)",
    "work.mean": "Work, mean (seconds)",
    "work.median": "Work, median (seconds)",
    "work.p90": "Work, 90th percentile (seconds)",
    "work.p95": "Work, 95th percentile (seconds)",
    "work.p99": "Work, 99th percentile (seconds)",
    "work.seconds": "Work (seconds)",
    "workers.concurrency": "Slots of each worker",
    "workers.count": "Workers",
    "workers.crash.mean_time_between": "Work between crashes (seconds)",
    "workers.crash.restart_after": "Restart after a crash (seconds)",
    "workers.prefetch": "Messages held by a worker",
}

STEPS = 100
NEARLY = 1e-6
SURE_DIGITS = 6
"""Digits beyond the first of its step in which a slider's value is looked for."""
NOISE = 1e-12
"""So far from it, or less, is a value that means it: sums of floats are off by some 1e-16."""


def label(name: str, labels: Mapping[str, str]) -> str:
    """The parameter's name in words, with its unit in brackets."""
    words = labels.get(name) or NAMES.get(name) or name.replace(".", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def slider(subject: Subject, name: str, bounds: Sequence[float], labels: Mapping[str, str]) -> Any:
    """Return a slider for the parameter `name`, standing where the subject has it.

    `bounds` are (low, high) or (low, high, step). The slider moves in whole numbers where these
    and the subject's own value are whole, and otherwise in round steps of about a hundredth of the
    range, on which the value lies.
    """
    low, high, step = _checked(name, bounds)
    value = checks.between(f"{name}, where its slider starts,", subject.value(name), low, high)
    whole = all(float(each).is_integer() for each in (low, high, value, step or 1))
    step = step or (1 if whole else _step(high - low, value - low))
    # Both ends must be possible: better a sentence now than halfway along the slider.
    for end in (low, high):
        subject.check({name: int(end) if whole else end})
    kind, number = (ipywidgets.IntSlider, int) if whole else (ipywidgets.FloatSlider, float)
    return kind(
        value=number(value),
        min=number(low),
        max=number(high),
        step=number(step),
        readout_format="d" if whole else f".{_decimals(low, step)}f",
        description=label(name, labels),
        continuous_update=True,
        style={"description_width": "20em"},
        layout=ipywidgets.Layout(width="50em", max_width="100%"),
    )


def setting(moved: Any, value: float) -> float:
    """A `value` of the slider `moved`, without what adding up steps of 0.1 leaves behind."""
    tidy = round(value, SURE_DIGITS - math.floor(math.log10(moved.step)))
    noise = NOISE * moved.step
    return tidy if math.isclose(tidy, value, rel_tol=NOISE, abs_tol=noise) else value


def _step(span: float, start: float) -> float:
    """A round step of a hundredth of `span`, or less, so that `start` is some steps away.

    A browser would move a slider that stands between two steps, and so change the settings. If
    there is no round one, it is the first of all that fit.
    """
    power = 10.0 ** math.floor(math.log10(span / STEPS))
    some = [digit * power for digit in (10, 5, 2.5, 2, 1)]
    every = [span / parts for parts in range(STEPS, 2 * STEPS)]
    fits = (
        step
        for step in (*some, *every)
        if STEPS <= round(span / step) < 2 * STEPS
        and all(abs(each / step - round(each / step)) < NEARLY for each in (span, start))
    )
    return next(fits, span / STEPS)


def _decimals(*values: float) -> int:
    """How many it takes to write `values`, of which the last is the step: two beyond it at most."""
    most = max(2 - math.floor(math.log10(values[-1])), 0)
    exact = (n for n in range(most) if all(round(each, n) == each for each in values))
    return next(exact, most)


def _checked(name: str, bounds: Sequence[float]) -> tuple[float, float, float | None]:
    allowed = "(low, high) or (low, high, step) with low below high and step above 0"
    try:
        low, high, *rest = bounds
        (step,) = rest or (None,)
    except (TypeError, ValueError):
        raise checks.fail(f"the range of {name}", bounds, allowed) from None
    for each in (low, high, 1 if step is None else step):
        checks.number(f"the range of {name}", each)
    if not low < high or (step is not None and step <= 0):
        raise checks.fail(f"the range of {name}", bounds, allowed)
    return low, high, step
