"""The x axis of `tune`: which parameter stands on it, and where along it runs are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np

from simqueue import checks
from simqueue.plotting.lease_sweep import LEASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simqueue.distributions import Floats
    from simqueue.widgets.subject import Subject

POINTS = 24
"""Runs of the whole curve, of all its lines together."""
LEAST_POINTS = 9
"""Of each line."""
FINE = 240
AROUND = 4
"""Without a slider for it, the axis reaches from nearly 0 to so many times the value."""


@dataclass(frozen=True)
class CurveAxis:
    """Along the axis: the `places` of the simulated curve, and the `fine` ones of theory's."""

    places: list[float]
    fine: Floats


def parameter(
    subject: Subject, parameters: Iterable[str], wanted: str | None, *, of_lease: bool
) -> str:
    """The parameter on the axis: the wanted one, a lease, or the first that has a slider.

    `of_lease` says that the broker's own lease may stand there without a slider, too.
    """
    if wanted is not None:
        checks.number(wanted, subject.value(wanted))
        return wanted
    names = list(parameters)
    for name in names:
        if name in LEASES:
            return name
    for name in LEASES:
        if of_lease and _is_number(subject, name):
            return name
    return names[0]


def _is_number(subject: Subject, name: str) -> bool:
    try:
        checks.number(name, subject.value(name))
    except ValueError:
        return False
    return True


def of(slider: Any, here: float, lines: int) -> CurveAxis:
    """The axis over the slider's range, or around the value `here` where there is no slider."""
    if slider is None and here <= 0:
        raise checks.fail("x", here, "a parameter above 0, or one that has a slider")
    low, high = (AROUND * here / POINTS, AROUND * here)
    if slider is not None:
        low, high = slider.min, slider.max
    places = np.linspace(low, high, max(LEAST_POINTS, POINTS // lines))
    if isinstance(slider, ipywidgets.IntSlider):
        # Where the slider can stand, so that its ring meets the curve.
        steps = np.rint((places - low) / slider.step) * slider.step
        places = np.unique(np.minimum(low + steps, high))
    fine = np.unique(np.concatenate([np.linspace(low, high, FINE), places]))
    return CurveAxis(places.tolist(), fine)


def coarse_first(places: list[float]) -> list[float]:
    """The same places in an order in which the shape of the curve shows early.

    They are sorted by the binary digits of their numbers read backwards: the first, the middle,
    the quarters, and so on.
    """
    order = sorted(range(len(places)), key=lambda place: f"{place:08b}"[::-1])
    return [places[place] for place in order]
