"""Which panels the picture of `tune` has: a figure each, with the theory that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.plotting import lease_theory
from simqueue.plotting.lease_sweep import LEASES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simqueue.distributions import Distribution, Floats
    from simqueue.plotting.figure_axes import FigureAxis
    from simqueue.widgets.subject import Subject

    Theory = Callable[[Distribution, Floats], Floats]

OF_LEASE = ("duplicate_delivery_rate", "recovery_mean")
"""What is drawn over a lease unless something else is asked for: the trade of lesson 02."""
OF_OTHERS = ("duplicate_effect_rate",)
PER_CENT = "per cent"
MOST = 2
"""Panels: with more, none would be legible."""


@dataclass(frozen=True)
class PanelSettings:
    """One panel: its figure, and what is known of it before anything is simulated.

    Attributes
    ----------
    figure, axis
        What is drawn, and how it is named.
    title
        Above it; may be empty.
    theory
        The figure over the x axis for a distribution of work, or None.
    log
        Whether the axis is logarithmic, from half a job in all to all jobs.
    top
        The top of the axis, or None if it follows what is drawn.
    waits
        Whether each crash is a mark of its own.
    """

    figure: str
    axis: FigureAxis
    title: str = ""
    theory: Theory | None = None
    log: bool = False
    top: float | None = None
    waits: bool = False

    @property
    def grows(self) -> bool:
        """Whether the axis follows what is drawn."""
        return not self.log and self.top is None

    @property
    def label(self) -> str:
        """Of the axis: what the title says already is not said again."""
        if self.title.lower() == self.axis.words.lower():
            return PER_CENT if self.axis.is_share else self.axis.unit or "number"
        return self.axis.label


def panels_of(
    subject: Subject, x: str, figures: Sequence[str] | None, highest: float
) -> list[PanelSettings]:
    """The panels over the parameter `x`, which reaches to `highest`.

    Without `figures`, the two of the trade where `x` is a lease, and duplicate effects elsewhere.
    """
    if figures is None:
        figures = OF_LEASE if x in LEASES else OF_OTHERS
    if not 0 < len(figures) <= MOST:
        raise checks.fail("figures", figures, "one or two names")
    return [_panel(figure, subject.axis(figure), x, highest) for figure in figures]


def theory_along(
    panels: Sequence[PanelSettings], work: Distribution | None, fine: Floats
) -> Mapping[str, Floats]:
    """Theory by figure along `fine`, where there is one for this work."""
    if work is None:
        return {}
    return {each.figure: each.theory(work, fine) for each in panels if each.theory is not None}


def _panel(figure: str, axis: FigureAxis, x: str, highest: float) -> PanelSettings:
    if x in LEASES and figure.startswith("duplicate") and axis.is_share:
        return PanelSettings(
            figure,
            axis,
            title="Too short: duplicates",
            theory=lease_theory.share_outlasting,
            log=True,
        )
    if x in LEASES and figure == "recovery_mean":
        return PanelSettings(
            figure,
            axis,
            title="Too long: the wait after a crash",
            theory=lease_theory.wait_after_crash,
            top=highest * 1.05,
            waits=True,
        )
    return PanelSettings(figure, axis, title=axis.words[:1].upper() + axis.words[1:])
