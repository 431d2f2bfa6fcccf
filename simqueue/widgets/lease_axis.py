"""The x axis of `tune`: which parameter stands on it, and where along it runs are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np

from simqueue import checks
from simqueue.plotting.lease_sweep import LEASES
from simqueue.widgets.sliders import current

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simqueue.distributions import Floats
    from simqueue.scenario import Scenario

POINTS = 24
FINE = 240
AROUND = 4
"""Without a slider for the lease, the curve reaches from nearly 0 to so many times the lease."""


@dataclass(frozen=True)
class LeaseAxis:
    """In seconds: the `leases` of the simulated curve, and the `fine` ones of theory's."""

    leases: list[float]
    fine: Floats


def parameter(
    scenario: Scenario, parameters: Mapping[str, Sequence[float]], wanted: str | None
) -> str:
    """The parameter on the axis: the wanted one, the first that is a lease, the broker's own."""
    if wanted is not None:
        checks.number(wanted, current(scenario, wanted))
        return wanted
    for name in parameters:
        if name in LEASES:
            return name
    for name in LEASES:
        if getattr(scenario.broker, name.partition(".")[2], None) is not None:
            return name
    raise checks.fail("x", None, "the name of a parameter here: the broker has no lease")


def of(slider: Any, lease: float) -> LeaseAxis:
    """The axis over the slider's range, or around `lease` (s) where there is no slider."""
    low, high = (AROUND * lease / POINTS, AROUND * lease)
    if slider is not None:
        low, high = slider.min, slider.max
    leases = np.linspace(low, high, POINTS)
    if isinstance(slider, ipywidgets.IntSlider):
        leases = np.unique(np.rint(leases))
    fine = np.unique(np.concatenate([np.linspace(low, high, FINE), leases]))
    return LeaseAxis(leases.tolist(), fine)


def coarse_first(leases: list[float]) -> list[float]:
    """The same leases in an order in which the shape of the curve shows early.

    Their places are sorted by their binary digits read backwards: the first, the middle, the
    quarters, and so on.
    """
    places = sorted(range(len(leases)), key=lambda place: f"{place:08b}"[::-1])
    return [leases[place] for place in places]
