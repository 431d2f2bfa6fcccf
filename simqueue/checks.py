"""One clear sentence for every wrong parameter: its name, its value, and what is allowed."""

from __future__ import annotations

import math
import reprlib
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray


def fail(name: str, value: Any, allowed: str) -> ValueError:
    """The error that says parameter `name` got `value` although only `allowed` is possible."""
    return ValueError(f"{name} must be {allowed}, not {value!r}.")


def number(name: str, value: Any, allowed: str = "a finite number") -> float:
    """`value` as a float if it is a finite real number; otherwise ValueError."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise fail(name, value, allowed)
    return float(value)


def positive(name: str, value: Any, unit: str = "") -> float:
    """`value` as a float if it is finite and above zero; otherwise ValueError."""
    allowed = f"a number {unit and f'of {unit} '}above 0"
    if number(name, value, allowed) <= 0:
        raise fail(name, value, allowed)
    return float(value)


def non_negative(name: str, value: Any, unit: str = "") -> float:
    """`value` as a float if it is finite and at least zero; otherwise ValueError."""
    allowed = f"a number {unit and f'of {unit} '}of 0 or more"
    if number(name, value, allowed) < 0:
        raise fail(name, value, allowed)
    return float(value)


def between(name: str, value: Any, low: float, high: float, unit: str = "") -> float:
    """`value` as a float if low <= value <= high; otherwise ValueError."""
    allowed = f"a number {unit and f'of {unit} '}from {low:g} to {high:g}"
    if not low <= number(name, value, allowed) <= high:
        raise fail(name, value, allowed)
    return float(value)


def probability(name: str, value: Any) -> float:
    """`value` as a float if it is a probability, 0 to 1 inclusive; otherwise ValueError."""
    return between(name, value, 0, 1)


def whole(name: str, value: Any, low: int = 0, high: int | None = None) -> int:
    """`value` as an int if it is a whole number from `low` to `high` (no limit if None)."""
    allowed = (
        f"a whole number of {low} or more"
        if high is None
        else f"a whole number from {low} to {high}"
    )
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise fail(name, value, allowed)
    if int(value) < low or (high is not None and int(value) > high):
        raise fail(name, value, allowed)
    return int(value)


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """`value` if it is among the `allowed` words; otherwise ValueError listing them."""
    if value not in allowed:
        raise fail(name, value, "one of " + ", ".join(repr(word) for word in allowed))
    return str(value)


def non_negative_numbers(name: str, values: Any, unit: str = "") -> NDArray[np.float64]:
    """`values` (a sequence or array) as a flat float array of one or more finite numbers >= 0.

    Otherwise ValueError, which names the first wrong value and its place, counted from 0.
    """
    allowed = f"a flat sequence of one or more numbers {unit and f'of {unit}, '}each 0 or more"
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal length
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be {allowed}, not {reprlib.repr(values)}.")
    numbers = array.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if wrong.size:
        place = int(wrong[0])
        raise fail(f"{name}[{place}]", array[place].item(), "a finite number of 0 or more")
    return numbers
