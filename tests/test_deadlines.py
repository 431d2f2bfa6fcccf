"""Deadlines come out by their time, whatever the order in which they went in."""

from __future__ import annotations

import math
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from simqueue.model.deadlines import Deadlines


class Lease:
    """As much of a delivery as deadlines look at."""

    def __init__(self, ends: float) -> None:
        self.lease_ends = ends
        self.held = True
        self.message = SimpleNamespace(is_held_by=lambda lease: lease.held)


steps = st.lists(st.tuples(st.sampled_from(["push", "take", "ack", "extend"]), st.integers(0, 20)))


@given(steps)
def test_what_comes_out_is_what_a_plain_list_would_give(script):
    """Held, unextended since, ended by now; in the order of their ends, each once."""
    deadlines, leases = Deadlines(), []
    for what, number in script:
        if what == "push":
            leases.append(Lease(number))
            deadlines.push(leases[-1])
        elif what == "take":
            out = deadlines.take_ended(number)
            expected = sorted((x for x in leases if x.held and x.lease_ends <= number), key=ends_of)
            assert (
                sorted(map(ends_of, out))
                == [ends_of(x) for x in out]
                == list(map(ends_of, expected))
            )
            assert set(out) == set(expected)
            leases = [x for x in leases if x not in out]
        elif leases and what == "ack":
            leases.pop(number % len(leases)).held = False
        elif leases:
            lease = leases[number % len(leases)]
            lease.lease_ends = number
            deadlines.push(lease)


def ends_of(lease: Lease) -> float:
    """When it ends."""
    return lease.lease_ends


def test_at_most_so_many_come_out_at_once():
    """The others wait for the next time."""
    deadlines = Deadlines()
    for ends in (3, 1, 2):
        deadlines.push(Lease(ends))
    assert [x.lease_ends for x in deadlines.take_ended(9, most=2)] == [1, 2]
    assert deadlines.next_end() == 3


def test_there_is_no_end_of_none():
    """Infinity, and an empty list."""
    assert Deadlines().next_end() == math.inf
    assert Deadlines().take_ended(1e9) == []
