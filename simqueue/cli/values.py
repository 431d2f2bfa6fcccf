"""Lists of values as one types them: `30,60,90` or `5:125:5`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

MOST_VALUES = 10_000
HOW_TO_WRITE = "values such as 30,60,90 or first:last:step such as 5:125:5"


def values_in(
    option: str, text: str, read: Callable[[str], Any], separator: str = ","
) -> list[Any]:
    """Return the values that `text` lists, each as `read` understands it.

    ``5:20:5`` gives 5, 10, 15 and 20: the last value is included if a step lands on it. Decimal
    steps are exact. Otherwise the text is cut at each `separator`. ValueError, naming `option`, if
    there is nothing to read.
    """
    words = [word.strip() for word in text.split(separator)]
    if len(words) == 1 and text.count(":") == 2:
        words = _range(option, text)
    if not all(words):
        raise ValueError(f"{option} must be {HOW_TO_WRITE}, not {text!r}.")
    return [read(word) for word in words]


def _range(option: str, text: str) -> list[str]:
    try:
        first, last, step = (Decimal(part.strip()) for part in text.split(":"))
        count = int((last - first) / step) + 1 if step else 0
    except (InvalidOperation, ValueError, OverflowError):
        count = 0
    if not 1 <= count <= MOST_VALUES:
        raise ValueError(
            f"{option} must be first:last:step, with 1 to {MOST_VALUES:,} steps from first to "
            f"last, not {text!r}."
        )
    return [f"{first + number * step:f}" for number in range(count)]
