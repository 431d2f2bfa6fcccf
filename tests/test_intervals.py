"""Student's t, against printed tables."""

from __future__ import annotations

import math

import pytest

from simqueue.intervals import interval, student_t_quantile


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
