"""Faults drawn at random: all kinds, at whole seconds, so that they often meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import simqueue as sq

STEPS = ("work", "payments.charge", "store.claim", "store.complete", "locks.acquire", "extend",
         "database.insert", "database.commit", "mailer.send")  # fmt: skip

SECONDS = st.sampled_from([1, 2, 5, 7.25, 10, 20, 30])
MOMENTS = st.integers(0, 120)
CHANCES = st.sampled_from([0.05, 0.3, 0.6])


def seldom(values: st.SearchStrategy[Any], off: Any = None) -> st.SearchStrategy[Any]:
    """A knob that is off in two scenarios of three."""
    return st.integers(0, 2).flatmap(lambda n: values if n == 2 else st.just(off))


@st.composite
def crashes(draw: st.DrawFn, count: int) -> sq.Crash:
    """Workers die in any of the ways there are."""
    kills = draw(st.sampled_from(["process", "process", "machine", "slot"]))
    at = st.lists(st.tuples(st.integers(1, count), MOMENTS), max_size=3)
    return sq.Crash(
        kills=kills,
        mean_time_between=draw(seldom(st.sampled_from([10, 50]))),
        chance=draw(seldom(CHANCES, 0.0)),
        after=draw(seldom(st.sampled_from([0, 1, 5, 10]))),
        jobs=draw(st.none() | st.lists(st.integers(0, 9), max_size=3)),
        at=draw(at) if kills != "slot" else (),
        restart_after=draw(SECONDS),
    )


@st.composite
def networks(draw: st.DrawFn) -> sq.Network:
    """Anything can get lost."""
    return sq.Network(
        ack_lost=draw(seldom(CHANCES, 0.0)),
        delivery_lost=draw(seldom(CHANCES, 0.0)),
        response_lost=draw(seldom(CHANCES, 0.0)),
        publish_response_lost=draw(seldom(CHANCES, 0.0)),
        resend_after=draw(st.sampled_from([0, 1, 5, 10])),
    )


@st.composite
def windows(draw: st.DrawFn) -> tuple[float, float]:
    """From, to."""
    start = draw(MOMENTS)
    return start, start + draw(st.sampled_from([10, 30, 100]))


@st.composite
def scripted(draw: st.DrawFn) -> sq.faults.At:
    """One fault at one step."""
    return sq.faults.At(
        step=draw(st.sampled_from([*STEPS, "ack", "ack", "relay.send"])),
        what=draw(st.sampled_from(["crash", "pause", "response lost", "ack lost"])),
        when=draw(st.sampled_from(["before", "after"])),
        job=draw(st.integers(0, 5)),
        turn=draw(st.none() | st.integers(1, 3)),
        seconds=draw(SECONDS),
    )


@st.composite
def faults(draw: st.DrawFn, count: int, *, sweeps: bool = False) -> list[sq.faults.Fault]:
    """None to three more faults, of any kind, for `count` workers.

    `sweeps`: somebody looks for leases that ran out, and may die too.
    """
    worker = st.integers(1, count)
    service = st.sampled_from(["payments", "payments", "store", "mailer", "locks", "database"])
    pauses = st.builds(
        sq.Pause,
        seconds=SECONDS,
        mean_time_between=seldom(st.sampled_from([10, 50])),
        at=st.lists(st.tuples(worker, MOMENTS), max_size=3),
    )
    deploys = st.builds(
        sq.Deploy,
        at=MOMENTS,
        every=st.sampled_from([0, 5, 20]),
        grace=st.sampled_from([0, 5, 30]),
        push_back=st.booleans(),
        restart_after=SECONDS,
    )
    kinds = st.one_of(
        pauses,
        deploys,
        st.builds(sq.Partition, worker=worker, window=windows()),
        st.builds(sq.Outage, service=service, window=windows(), timeout=st.sampled_from([0, 5])),
        st.builds(sq.Slowness, service=service, window=windows(), seconds=SECONDS),
        crashes(count),
        networks(),
        scripted(),
        st.builds(Redrive, at=MOMENTS),
        *([st.builds(sq.RescuerDown, window=windows())] if sweeps else []),
    )
    number = draw(st.integers(0, 3))
    return draw(st.lists(kinds, min_size=number, max_size=number))


@dataclass(frozen=True)
class Redrive(sq.faults.Fault):
    """Not a fault: somebody puts all dead letters back into the queue, `at` so many seconds."""

    at: float

    def install(self, world: Any) -> None:
        """Set the time."""
        world.clock.at(self.at, lambda _: world.queue.redrive())
