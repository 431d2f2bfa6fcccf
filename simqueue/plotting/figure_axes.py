"""What stands on an axis for each figure of a run: its name in few words, and its unit."""

from __future__ import annotations

from dataclasses import dataclass

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.plotting.drawing import percent, seconds

SHARE, SECONDS = "%", "seconds"


@dataclass(frozen=True)
class FigureAxis:
    """How one figure is named on an axis and in a sentence.

    `unit` is "%" for a share from 0 to 1, "seconds", another word, or nothing for a plain count.
    """

    words: str
    unit: str = ""

    @property
    def label(self) -> str:
        """For the axis: the words, and the unit in brackets."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def is_share(self) -> bool:
        """Whether the figure is a share from 0 to 1, shown in percent."""
        return self.unit == SHARE

    def text(self, value: float) -> str:
        """Return one value with its unit, at most three digits of it."""
        if self.is_share:
            return percent(value)
        if self.unit == SECONDS:
            return seconds(value)
        number = f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"
        unit = self.unit.replace("jobs", "job", 1) if number == "1" else self.unit
        return f"{number} {unit}".strip()

    def sentence(self, value: float) -> str:
        """Return the value with what it is of: `1.2 % of jobs lost`, `mean wait: 3 s`."""
        return (
            f"{self.text(value)} of {self.words}" if self.of else f"{self.words} {self.text(value)}"
        )

    @property
    def of(self) -> bool:
        """Whether it is a share *of jobs*."""
        return self.is_share and self.words.startswith("jobs")


FIGURE_AXES = {
    "jobs": FigureAxis("jobs"),
    "redeliveries": FigureAxis("redeliveries"),
    "duplicate_executions": FigureAxis("duplicate runs of the handler"),
    "duplicate_effects": FigureAxis("duplicate effects"),
    "duplicate_delivery_rate": FigureAxis("jobs delivered more than once", SHARE),
    "duplicate_effect_rate": FigureAxis("jobs with a duplicate effect", SHARE),
    "extra_effects": FigureAxis("duplicate effects per job"),
    "deliveries_per_job": FigureAxis("deliveries per job"),
    "lost_rate": FigureAxis("jobs lost", SHARE),
    "dead_letter_rate": FigureAxis("jobs in the dead-letter queue", SHARE),
    "unfinished_rate": FigureAxis("jobs not settled at the end", SHARE),
    "wasted_work": FigureAxis("busy time wasted", SHARE),
    "wait_mean": FigureAxis("mean wait until the work starts", SECONDS),
    "time_to_effect_mean": FigureAxis("mean time until the effect", SECONDS),
    "time_to_effect_p50": FigureAxis("median time until the effect", SECONDS),
    "time_to_effect_p95": FigureAxis("time until the effect, 95th percentile", SECONDS),
    "time_to_effect_p99": FigureAxis("time until the effect, 99th percentile", SECONDS),
    "recovery_mean": FigureAxis("wait after a crash", SECONDS),
    "utilisation": FigureAxis("workers busy", SHARE),
    "failures": FigureAxis("failed attempts"),
    "crashes": FigureAxis("deliveries that died with their worker"),
    "acks_lost": FigureAxis("acks lost"),
}
"""For each of `simqueue.figures.DESCRIPTIONS`, which say exactly what it is."""


def axis_of(figure: str) -> FigureAxis:
    """Return the axis of a figure, raising ValueError if there is no such figure."""
    return FIGURE_AXES[checks.one_of("figure", figure, DESCRIPTIONS)]


def axis_named(name: str) -> FigureAxis:
    """Return the axis of a name with its unit in brackets: "Stale window (seconds)".

    A "(share)" is a number from 0 to 1 as one types it; only "(%)" is shown in percent.
    """
    words, _, rest = name.partition(" (")
    unit = rest.rstrip(")")
    return FigureAxis(words[:1].lower() + words[1:], "" if unit == "share" else unit)
