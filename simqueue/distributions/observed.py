"""Work durations measured on real jobs: drawn from at random, or replayed job by job."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simqueue.checks import non_negative_numbers
from simqueue.distributions.base import Distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from simqueue.distributions.base import Floats


@dataclass(frozen=True, repr=False, init=False)
class Observed(Distribution):
    """What Empirical and Recorded share: a list of durations, each as likely as another.

    The quantile of q is the smallest value that at least the share q of the values does not
    exceed; no value is ever interpolated.
    """

    values: tuple[float, ...]

    def __init__(self, values: Sequence[float] | Floats) -> None:
        object.__setattr__(self, "values", self._stored(values))

    @staticmethod
    def _stored(values: Sequence[float] | Floats) -> tuple[float, ...]:
        return tuple(non_negative_numbers("values", values, "seconds").tolist())

    @cached_property
    def mean(self) -> float:
        """Mean work in seconds."""
        return float(np.mean(self._sorted))

    def sample(self, uniforms: Floats) -> Floats:
        """Durations (seconds), one of the values for each of the `uniforms` in [0, 1)."""
        places = (uniforms * len(self.values)).astype(np.intp)
        return self._sorted.take(places, mode="clip")

    def _quantile(self, q: Floats) -> Floats:
        return self._sorted[np.searchsorted(self._shares, q, side="left")]

    def _survival(self, x: Floats) -> Floats:
        return (len(self.values) - self._count_within(x)) / len(self.values)

    def _cdf(self, x: Floats) -> Floats:
        return self._count_within(x) / len(self.values)

    def _limited_mean(self, x: Floats) -> Floats:
        within = self._count_within(x)
        return (self._sums[within] + x * (len(self.values) - within)) / len(self.values)

    def _count_within(self, x: Floats) -> NDArray[np.intp]:
        return np.searchsorted(self._sorted, x, side="right")

    @cached_property
    def _sorted(self) -> Floats:
        return np.sort(np.array(self.values))

    @cached_property
    def _shares(self) -> Floats:
        """The share of values that lie at or below each of the sorted values."""
        return np.arange(1, len(self.values) + 1) / len(self.values)

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate(([0.0], np.cumsum(self._sorted)))

    def __reduce__(self) -> tuple[type[Observed], tuple[tuple[float, ...]]]:
        # Without this a pickle would carry the cached arrays too.
        return type(self), (self.values,)

    def __repr__(self) -> str:
        if len(self.values) <= 5:
            return f"{type(self).__name__}({list(self.values)})"
        return (
            f"{type(self).__name__}({len(self.values)} values, median {self.quantile(0.5):g}, "
            f"mean {self.mean:g}, longest {self.quantile(1.0):g})"
        )


@dataclass(frozen=True, repr=False, init=False)
class Empirical(Observed):
    """Work drawn at random from measured durations, each value as likely as another.

    Parameters
    ----------
    values
        One or more durations in seconds, each 0 or more, in any order: a sequence, a numpy array
        or a pandas Series. Kept as a sorted tuple, so two with the same values are equal.
    """

    @staticmethod
    def _stored(values: Sequence[float] | Floats) -> tuple[float, ...]:
        return tuple(np.sort(non_negative_numbers("values", values, "seconds")).tolist())


@dataclass(frozen=True, repr=False, init=False)
class Recorded(Observed):
    """The measured durations of a log, replayed: job j takes `values[j]` seconds.

    Mean, quantile and survival describe the recording as a whole, as Empirical's do.

    Parameters
    ----------
    values
        One or more durations in seconds, each 0 or more, in the order of the jobs.
    """

    def for_jobs(self, first: int, uniforms: Floats) -> Floats:
        """Durations (seconds) of the jobs first, first + 1, ..., one for each uniform.

        The uniforms only say how many jobs; `first` counts from 0.

        Raises
        ------
        ValueError
            If the recording has no duration for one of these jobs.
        """
        end = first + len(uniforms)
        if end > len(self.values):
            raise ValueError(
                f"the recorded work has {len(self.values)} durations, too few for {end} jobs."
            )
        return self._in_order[first:end].copy()

    @cached_property
    def _in_order(self) -> Floats:
        return np.array(self.values)
