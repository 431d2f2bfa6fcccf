"""Which of two rules of backoff needs less, at how many clients: the study's claims, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from simqueue import checks
from simqueue.intervals import Interval
from simqueue.studies.aws_backoff import Measured

FIGURES = ("time", "calls")
Verdict = Literal["less", "more", "undecided"]


def compare(one: Interval, other: Interval) -> Verdict:
    """Say whether `one` is less or more than `other`; undecided where chance may explain it.

    The half-width of a difference of independent means is the root of the sum of their squares.
    """
    difference = one.mean - other.mean
    if abs(difference) <= math.hypot(one.half_width, other.half_width):
        return "undecided"
    return "less" if difference < 0 else "more"


def verdicts(one: Sequence[Measured], other: Sequence[Measured], figure: str) -> list[Verdict]:
    """Compare two rules by "time" or "calls", at each number of clients."""
    checks.one_of("figure", figure, FIGURES)
    return [
        compare(getattr(mine, figure), getattr(its, figure))
        for mine, its in zip(one, other, strict=True)
    ]


def reversal(clients: Sequence[int], found: Sequence[Verdict]) -> tuple[int, int] | None:
    """Between which numbers of clients the verdict turns for good; None if it never does.

    The last number with the first clear verdict, and the first from which on only the opposite is
    found. What is undecided in between is neither.
    """
    clear = [(number, verdict) for number, verdict in zip(clients, found, strict=True)
             if verdict != "undecided"]  # fmt: skip
    if not clear or clear[0][1] == clear[-1][1]:
        return None
    before = [number for number, verdict in clear if verdict != clear[-1][1]]
    after = [number for number, _ in clear if number > before[-1]]
    return before[-1], after[0]
