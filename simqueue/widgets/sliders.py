"""A slider for each parameter, with its name in words and its unit."""

from __future__ import annotations

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


def label(name: str, labels: Mapping[str, str]) -> str:
    """The parameter's name in words, with its unit in brackets."""
    words = labels.get(name) or NAMES.get(name) or name.replace(".", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def slider(subject: Subject, name: str, bounds: Sequence[float], labels: Mapping[str, str]) -> Any:
    """Return a slider for the parameter `name`, standing where the subject has it.

    `bounds` are (low, high) or (low, high, step). The slider moves in whole numbers where these
    and the subject's own value are whole, and otherwise in steps of a hundredth of the range, or
    smaller ones on which the value lies.
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
        description=label(name, labels),
        continuous_update=True,
        style={"description_width": "20em"},
        layout=ipywidgets.Layout(width="50em", max_width="100%"),
    )


def _step(span: float, start: float) -> float:
    """A step of a hundredth of `span`, or a bit smaller, so that `start` is some steps away.

    A browser would move a slider that stands between two steps, and so change the settings.
    """
    parts = (n for n in range(STEPS, 2 * STEPS) if abs(start / span * n % 1 - 0.5) > 0.5 - 1e-6)
    return span / next(parts, STEPS)


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
