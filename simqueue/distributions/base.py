"""What every work distribution can tell: its mean, quantiles, survival function, and samples."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from simqueue.checks import fail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Floats: TypeAlias = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, repr=False)
class Distribution(ABC):
    """The length of a job's work, in seconds: never negative, and possibly without upper bound.

    A new distribution is a frozen dataclass with a `mean` and the methods `_quantile`,
    `_survival` and `_limited_mean`; these get and return float arrays of one dimension, with
    arguments already in range.
    """

    if TYPE_CHECKING:
        # Only declared: a real property here would become the default value of a field `mean`.
        @property
        def mean(self) -> float:
            """Mean work in seconds; math.inf where it has none."""

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: Sequence[float] | Floats) -> Floats: ...
    def quantile(self, q: float | Sequence[float] | Floats) -> float | Floats:
        """The smallest duration (seconds) that at least the share `q` of all jobs stays within.

        Takes a number or an array of numbers from 0 to 1, and returns the same shape. The quantile
        of 1 is the longest possible duration, which may be math.inf.

        Raises
        ------
        ValueError
            If a `q` lies outside 0 to 1.
        """
        levels = np.asarray(q, dtype=np.float64)
        wrong = ~((levels >= 0) & (levels <= 1))
        if wrong.any():
            raise fail("q", float(levels[wrong].flat[0]), "a share from 0 to 1")
        return _in_shape_of(levels, self._quantile)

    @overload
    def survival(self, x: float) -> float: ...
    @overload
    def survival(self, x: Sequence[float] | Floats) -> Floats: ...
    def survival(self, x: float | Sequence[float] | Floats) -> float | Floats:
        """P(work > x): the share of jobs that take strictly longer than `x` seconds.

        Takes a number or an array (math.inf is allowed), and returns the same shape.
        """

        def survival(seconds: Floats) -> Floats:
            return np.where(seconds < 0, 1.0, self._survival(np.maximum(seconds, 0.0)))

        return _in_shape_of(_seconds(x), survival)

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Sequence[float] | Floats) -> Floats: ...
    def cdf(self, x: float | Sequence[float] | Floats) -> float | Floats:
        """P(work <= x): the share of jobs that take `x` seconds or less.

        It is 1 - survival(x), but exact to the last digits where that is a tiny share.
        """

        def cdf(seconds: Floats) -> Floats:
            return np.where(seconds < 0, 0.0, self._cdf(np.maximum(seconds, 0.0)))

        return _in_shape_of(_seconds(x), cdf)

    @overload
    def limited_mean(self, x: float) -> float: ...
    @overload
    def limited_mean(self, x: Sequence[float] | Floats) -> Floats: ...
    def limited_mean(self, x: float | Sequence[float] | Floats) -> float | Floats:
        """Mean of min(work, x) in seconds: what a job takes if it is cut off after `x` seconds.

        It is the integral of the survival function from 0 to `x`, finite even where the mean is
        not. Takes a number or an array of 0 or more, and returns the same shape; 0 where `x` < 0.
        """

        def limited_mean(seconds: Floats) -> Floats:
            within = np.where(np.isinf(seconds), 0.0, np.maximum(seconds, 0.0))
            return np.where(np.isposinf(seconds), self.mean, self._limited_mean(within))

        return _in_shape_of(_seconds(x), limited_mean)

    def sample(self, uniforms: Floats) -> Floats:
        """Durations (seconds), one for each of the `uniforms`, which lie in [0, 1)."""
        return self._quantile(uniforms)

    def for_jobs(self, first: int, uniforms: Floats) -> Floats:  # noqa: ARG002
        """Durations (seconds) of the jobs first, first + 1, ..., one for each uniform.

        `first` counts from 0. Only a recording cares which job it is; others sample.
        """
        return self.sample(uniforms)

    @abstractmethod
    def _quantile(self, q: Floats) -> Floats: ...

    @abstractmethod
    def _survival(self, x: Floats) -> Floats: ...

    @abstractmethod
    def _limited_mean(self, x: Floats) -> Floats: ...

    def _cdf(self, x: Floats) -> Floats:
        return 1.0 - self._survival(x)

    def __repr__(self) -> str:
        given = (
            f"{field.name}={_plain(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) is not None
        )
        return f"{type(self).__name__}({', '.join(given)})"


def _seconds(x: float | Sequence[float] | Floats) -> Floats:
    seconds = np.asarray(x, dtype=np.float64)
    if np.isnan(seconds).any():
        raise fail("x", math.nan, "a number of seconds")
    return seconds


def _in_shape_of(argument: Floats, function: Callable[[Floats], Floats]) -> float | Floats:
    # The logarithms and powers used here reach zero and infinity at the ends, as they should.
    with np.errstate(divide="ignore", over="ignore"):
        result = function(argument.ravel()).reshape(argument.shape)
    return result if argument.ndim else float(result)


def _plain(value: Any) -> str:
    """30.0 as "30": parameters are mostly round numbers."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else repr(value)
