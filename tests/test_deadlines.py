"""Deadlines come out by their time, whatever the order in which they went in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simqueue.model.deadlines import Deadlines


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20))))
def test_first_is_always_the_earliest_of_those_that_are_in(steps):
    """Against a plain sorted list; equal times in the order in which they came."""
    deadlines, plain = Deadlines(), []
    for n, (take, ends) in enumerate(steps):
        if take and plain:
            plain.sort(key=lambda pair: pair[0])
            assert deadlines.first()[0::2] == plain.pop(0)
            deadlines.pop()
        else:
            deadlines.push(ends, n)
            plain.append((ends, n))
        assert len(deadlines) == len(plain)


def test_there_is_no_first_of_none():
    """IndexError, as of an empty list."""
    with pytest.raises(IndexError):
        Deadlines().first()
