"""When jobs arrive, in seconds from the start of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simqueue.checks import non_negative, non_negative_numbers, positive
from simqueue.grid import all_on_grid

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = NDArray[np.float64]


class Arrivals(ABC):
    """The times at which jobs are published."""

    @property
    def count(self) -> int | None:
        """How many jobs there are, where the arrivals themselves say so; otherwise None."""
        return None

    @abstractmethod
    def times(self, uniforms: Floats) -> Floats:
        """The arrival time of each job, in seconds, never falling.

        `uniforms` holds one number in [0, 1) for each job, in the order of the jobs; job k's time
        depends on the first k + 1 of them at most.
        """


@dataclass(frozen=True)
class Poisson(Arrivals):
    """Jobs arrive independently of each other, `rate` a second on average (above 0).

    The gaps between arrivals, and the one before the first, are exponential with mean 1 / rate.
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive("rate", self.rate, "jobs a second"))

    def times(self, uniforms: Floats) -> Floats:
        """The arrival time of each job, in seconds: the running sum of exponential gaps."""
        return np.cumsum(all_on_grid(-np.log1p(-uniforms) / self.rate))


@dataclass(frozen=True, repr=False)
class EvenlySpaced(Arrivals):
    """One job every `interval` seconds, or `rate` of them a second; the first at 0.

    Job k (from 0) arrives at k * interval, which is k / rate. Exactly one of the two is given,
    and is above 0.
    """

    rate: float | None = None
    interval: float | None = None

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.interval is None):
            raise ValueError(
                "EvenlySpaced needs exactly one of rate and interval, "
                f"not {'none' if self.rate is None else 'both'}."
            )
        if self.rate is not None:
            object.__setattr__(self, "rate", positive("rate", self.rate, "jobs a second"))
        else:
            object.__setattr__(self, "interval", positive("interval", self.interval, "seconds"))

    def times(self, uniforms: Floats) -> Floats:
        """The arrival time of each job, in seconds; only the number of `uniforms` counts."""
        places = np.arange(len(uniforms), dtype=np.float64)
        if self.rate is not None:
            return places / self.rate
        assert self.interval is not None
        return places * self.interval

    def __repr__(self) -> str:
        name = "interval" if self.rate is None else "rate"
        return f"EvenlySpaced({name}={getattr(self, name)!r})"


@dataclass(frozen=True)
class AllAtOnce(Arrivals):
    """All jobs arrive together, at the second `at` (0 or more): a burst, or a nightly batch."""

    at: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", non_negative("at", self.at, "seconds"))

    def times(self, uniforms: Floats) -> Floats:
        """The same time for each job, in seconds; only the number of `uniforms` counts."""
        return np.full(len(uniforms), self.at)


@dataclass(frozen=True, repr=False, init=False)
class Times(Arrivals):
    """Jobs arrive at given times, such as those of a log.

    Parameters
    ----------
    at
        One or more times in seconds, each 0 or more, in any order: a sequence, a numpy array or a
        pandas Series. Kept as a sorted tuple.
    """

    at: tuple[float, ...]

    def __init__(self, at: Sequence[float] | Floats) -> None:
        times = np.sort(non_negative_numbers("at", at, "seconds"))
        object.__setattr__(self, "at", tuple(times.tolist()))

    @property
    def count(self) -> int:
        """How many jobs there are: one for each given time."""
        return len(self.at)

    def times(self, uniforms: Floats) -> Floats:
        """The first given times, one for each uniform, in seconds.

        Raises
        ------
        ValueError
            If there are more jobs than given times.
        """
        if len(uniforms) > len(self.at):
            raise ValueError(
                f"the arrivals give {len(self.at)} times, too few for {len(uniforms)} jobs."
            )
        return np.array(self.at[: len(uniforms)])

    def __repr__(self) -> str:
        if len(self.at) <= 5:
            return f"Times({list(self.at)})"
        return f"Times({len(self.at)} jobs, from {self.at[0]:g} to {self.at[-1]:g} s)"
