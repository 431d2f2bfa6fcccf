"""A table of `sweep` over a lease, taken apart into the lines of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks

if TYPE_CHECKING:
    import pandas as pd

    from simqueue.distributions import Distribution, Floats
    from simqueue.scenario import Scenario

LEASES = {
    "broker.visibility_timeout": "visibility timeout",
    "broker.lease": "lease",
}
"""The parameters that say for how long a delivered message is hidden, and their names in words."""


@dataclass(frozen=True)
class Line:
    """One line of the picture: its name, the changes to the scenario, and its points."""

    name: str
    scenario: Scenario | None
    table: pd.DataFrame

    def points(self, lease: str, figure: str) -> pd.DataFrame:
        """Rows of one figure, in order of the lease, that have a mean."""
        rows = self.table[self.table["figure"] == figure].sort_values(lease)
        return rows[rows["mean"].notna()]


@dataclass(frozen=True)
class Sweep:
    """A sweep over a lease, taken apart into lines."""

    lease: str
    lines: tuple[Line, ...]
    confidence: float

    @classmethod
    def of(cls, curve: pd.DataFrame, figure: str) -> Sweep:
        """Take `curve` apart, or say in one sentence what is wrong with it."""
        columns = list(getattr(curve, "columns", ()))
        if not {"figure", "mean", "low", "high"} <= set(columns):
            raise ValueError("curve must be a table that simqueue.sweep returned.")
        parameters = [str(each) for each in columns[: columns.index("figure")]]
        found = [each for each in parameters if each in LEASES]
        if len(found) != 1:
            raise checks.fail(
                "curve", parameters or "nothing", f"a sweep over one of {', '.join(LEASES)}"
            )
        if figure not in set(curve["figure"]):
            raise checks.fail("figure", figure, "one that the table has")
        (lease,) = found
        for value in curve[lease].unique():
            checks.positive(lease, value, "seconds")
        others = [each for each in parameters if each != lease]
        base = curve.attrs.get("scenario")
        return cls(lease, tuple(_lines(curve, others, base)), curve.attrs.get("confidence", 0.95))

    @property
    def word(self) -> str:
        """What the lease is called."""
        return LEASES[self.lease]

    @property
    def leases(self) -> Floats:
        """All leases of the sweep, in seconds, sorted."""
        return np.unique(np.concatenate([line.table[self.lease] for line in self.lines]))

    @property
    def fine_leases(self) -> Floats:
        """Many leases over the same range, for smooth curves of theory."""
        leases = self.leases
        return np.unique(np.append(np.linspace(leases[0], leases[-1], 300), leases))

    def has(self, figure: str) -> bool:
        """Tell whether any line has a point of this figure."""
        return any(len(line.points(self.lease, figure)) for line in self.lines)

    def works(self, *, crashing: bool = False) -> list[Distribution]:
        """The distributions of work of the lines, or only of those with crashes; each once."""
        scenarios = [line.scenario for line in self.lines if line.scenario]
        found = [each.work for each in scenarios if each.workers.crash or not crashing]
        return [work for place, work in enumerate(found) if work not in found[:place]]


def _lines(curve: pd.DataFrame, others: list[str], base: Scenario | None) -> list[Line]:
    if not others:
        return [Line("simulated", base, curve)]
    lines = []
    for key, table in curve.groupby(others, sort=False, dropna=False):
        values = dict(zip(others, key if isinstance(key, tuple) else (key,), strict=True))
        scenario = None if base is None else base.replace(values)
        name = ", ".join(_value_name(parameter, value) for parameter, value in values.items())
        lines.append(Line(name, scenario, table))
    return lines


def _value_name(parameter: str, value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", value))
    shown = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{parameter.rpartition('.')[2].replace('_', ' ')} {shown}"
