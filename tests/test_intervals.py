"""Student's t, against printed tables."""

from __future__ import annotations

import math

import pytest

from simqueue.intervals import interval, student_t_quantile, two_groups


@pytest.mark.parametrize(
    ("probability", "degrees", "expected"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 9, 2.2622),
        (0.975, 19, 2.0930),
        (0.9995, 4, 8.6103),
        (0.9995, 19, 3.8834),
        (0.975, 120, 1.9799),
    ],
)
def test_quantiles_of_students_t(probability, degrees, expected):
    """To the digits of the tables, for odd and even degrees of freedom."""
    assert student_t_quantile(probability, degrees) == pytest.approx(expected, abs=5e-5)


def test_interval_of_three_values():
    """1, 2, 3: mean 2, standard deviation 1, half-width 4.3027 / sqrt(3)."""
    found = interval([1, 2, 3])
    assert found.mean == 2
    assert found.half_width == pytest.approx(4.3027 / math.sqrt(3), abs=1e-4)
    assert found.low < 0 < found.high
    assert 2 in found
    assert 5 not in found


def test_one_value_has_no_interval():
    """Infinitely wide, and said so."""
    assert interval([5]).half_width == math.inf


def test_nan_is_left_out():
    """A run without crashes says nothing of recovery."""
    found = interval([1, math.nan, 3])
    assert (found.mean, found.replications) == (2, 2)
    assert math.isnan(interval([math.nan]).mean)


def test_values_that_fall_into_two_groups_are_told_apart():
    """Six of 24 runs recover, 18 never do: one mean would describe none of them."""
    low, high = two_groups([0.0] * 18 + [40.0, 39, 41, 40, 38, 42])
    assert (len(low), len(high)) == (18, 6)


@pytest.mark.parametrize("values", [[], [1, 1, 1, 1], [1, 2, 3, 4, 5], [1, 1.1, 1.2, 9]])
def test_one_group_stays_one(values):
    """Spread out, all the same, or with a single outlier."""
    assert two_groups(values) is None
