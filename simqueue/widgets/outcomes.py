"""What the sliders' settings lead to: simulated, and remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.model.late_ack import Deletes
from simqueue.model.settings import LeaseSettings
from simqueue.plotting import lease_theory
from simqueue.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simqueue.distributions import Distribution, Floats
    from simqueue.scenario import Scenario

MOST_REMEMBERED = 5_000


@dataclass(frozen=True)
class Outcome:
    """One run: its lease (s), its figures, and the wait (s) after each crash in it."""

    lease: float
    figures: Mapping[str, float]
    waits: Floats


@dataclass(frozen=True)
class Theory:
    """Over `leases` (s): the share of jobs delivered again, and the mean wait after a crash (s)."""

    leases: Floats
    duplicates: Floats
    waits: Floats

    def at(self, lease: float) -> tuple[float, float]:
        """The two at one lease (s) within the range."""
        return (
            float(np.interp(lease, self.leases, self.duplicates)),
            float(np.interp(lease, self.leases, self.waits)),
        )


class Outcomes:
    """Runs of one scenario with some settings replaced, always with the same seed.

    A run that was made before is not made again.
    """

    def __init__(self, scenario: Scenario, lease: str, seed: int) -> None:
        checks.whole("seed", seed)
        _ends(scenario)
        self._scenario = scenario
        self._lease = lease
        self._seed = seed
        self._known: dict[tuple[tuple[str, Any], ...], Outcome] = {}
        self._theory: dict[Distribution, Theory] = {}

    def knows(self, settings: Mapping[str, Any]) -> bool:
        """Tell whether the run with these settings was made."""
        return _key(settings) in self._known

    def at(self, settings: Mapping[str, Any]) -> Outcome:
        """Return the run with these settings, making it if need be."""
        key = _key(settings)
        if key not in self._known:
            result = simulate(self._scenario.replace(settings), self._seed)
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = Outcome(
                lease=float(settings[self._lease]),
                figures=result.figures,
                waits=result.tally.recovery,
            )
        return self._known[key]

    def theory(self, settings: Mapping[str, Any], leases: Floats) -> Theory:
        """Return what theory says over `leases` (s) of the work in these settings."""
        work = self._scenario.replace(settings).work
        if work not in self._theory:
            self._theory[work] = Theory(
                leases,
                lease_theory.share_outlasting(work, leases),
                lease_theory.wait_after_crash(work, leases),
            )
        return self._theory[work]


def _key(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(settings.items()))


def _ends(scenario: Scenario) -> None:
    """Refuse a scenario whose slow jobs may be delivered for ever: no slider would wait for it."""
    settings = scenario.broker.settings()
    if (
        isinstance(settings, LeaseSettings)
        and scenario.horizon is None
        and settings.max_attempts is None
        and not isinstance(settings.late_ack, Deletes)
    ):
        raise ValueError(
            "the scenario must end although jobs outlast their lease: give its broker a limit of "
            "receives (max_receives or max_receive_count), or the scenario a horizon."
        )
