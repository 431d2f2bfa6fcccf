"""Work of several kinds in one queue, such as many quick jobs and a few slow ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simqueue.checks import fail, non_negative
from simqueue.distributions.base import Distribution
from simqueue.distributions.observed import Recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from simqueue.distributions.base import Floats

# Halving runs until no float lies between the ends; this only bounds it near zero.
MOST_HALVINGS = 300
BELOW_ONE = np.nextafter(1.0, 0.0)


@dataclass(frozen=True, repr=False)
class Mixture(Distribution):
    """Each job is of one of several kinds, each kind with its own distribution.

    Parameters
    ----------
    parts
        Pairs (weight, distribution). Weights are 0 or more with a sum above 0, and are
        normalised to a sum of 1.
    """

    parts: tuple[tuple[float, Distribution], ...]

    def __post_init__(self) -> None:
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or not self.parts:
            raise fail("parts", self.parts, "one or more pairs (weight, distribution)")
        pairs = [_checked_pair(f"parts[{place}]", pair) for place, pair in enumerate(self.parts)]
        total = sum(weight for weight, _ in pairs)
        if total <= 0:
            raise ValueError("parts must have at least one weight above 0; all of them are 0.")
        # Weights already normalised stay as they are, so that a mixture made of another's parts
        # equals it.
        scale = 1.0 if abs(total - 1.0) < 1e-12 else total
        object.__setattr__(self, "parts", tuple((weight / scale, part) for weight, part in pairs))

    @property
    def mean(self) -> float:
        """Mean work in seconds; math.inf where a part has none."""
        return math.fsum(weight * part.mean for weight, part in self._likely_parts())

    def sample(self, uniforms: Floats) -> Floats:
        """Durations (seconds), one for each of the `uniforms`, which lie in [0, 1).

        One uniform both picks the part and, stretched to [0, 1) again, draws inside it.
        """
        parts = self._likely_parts()
        ends = np.cumsum([weight for weight, _ in parts])
        chosen = np.minimum(np.searchsorted(ends, uniforms, side="right"), len(parts) - 1)
        durations = np.empty(uniforms.shape)
        for place, (weight, part) in enumerate(parts):
            here = chosen == place
            begin = ends[place - 1] if place else 0.0
            inside = np.clip((uniforms[here] - begin) / weight, 0.0, BELOW_ONE)
            durations[here] = part.sample(inside)
        return durations

    def _quantile(self, q: Floats) -> Floats:
        """By bisection: every part's own quantiles enclose that of the mixture."""
        of_parts = np.array([part.quantile(q) for _, part in self._likely_parts()])
        low, high = of_parts.min(axis=0), of_parts.max(axis=0)
        result: Floats = np.where(self._reaches(low, q), low, high)
        searched = np.flatnonzero((low < result) & np.isfinite(result))
        low, high, targets = low[searched], high[searched], q[searched]
        for _ in range(MOST_HALVINGS):
            middle = low + (high - low) / 2
            if not ((low < middle) & (middle < high)).any():
                break
            reached = self._reaches(middle, targets)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        result[searched] = high
        return result

    def _reaches(self, x: Floats, q: Floats) -> NDArray[np.bool_]:
        """Whether P(work <= x) >= q, compared on the side where the shares are small."""
        reaches: NDArray[np.bool_] = np.where(
            q < 0.5, self._cdf(x) >= q, self._survival(x) <= 1.0 - q
        )
        return reaches

    def _survival(self, x: Floats) -> Floats:
        return self._weighted(lambda part: part.survival(x))

    def _cdf(self, x: Floats) -> Floats:
        return self._weighted(lambda part: part.cdf(x))

    def _limited_mean(self, x: Floats) -> Floats:
        return self._weighted(lambda part: part.limited_mean(x))

    def _weighted(self, figure: Callable[[Distribution], Floats]) -> Floats:
        total: Floats = np.sum([w * figure(part) for w, part in self._likely_parts()], axis=0)
        return total

    def _likely_parts(self) -> list[tuple[float, Distribution]]:
        return [(weight, part) for weight, part in self.parts if weight > 0]


def _checked_pair(name: str, pair: object) -> tuple[float, Distribution]:
    if not isinstance(pair, Sequence) or len(pair) != 2 or not isinstance(pair[1], Distribution):
        raise fail(name, pair, "a pair (weight, distribution)")
    if isinstance(pair[1], Recorded):
        raise ValueError(
            f"{name} is a recording, which belongs to the jobs one by one: "
            "use Empirical inside a Mixture."
        )
    return non_negative(f"{name}[0]", pair[0]), pair[1]
