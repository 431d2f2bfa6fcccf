"""The story of a job: a line for each event, in words that say what it meant."""

from __future__ import annotations

import pytest
from runs import run

import simqueue as sq
from simqueue.model.ledger import EVENT_NAMES, Event, Ledger
from simqueue.story import story


def test_a_job_that_outlasts_its_lease():
    """Who had it, until when, who was told what, and how it ended: to the letter."""
    result = run(40, workers=2, lease=30, late_ack="deletes")
    assert story(result, 0).splitlines() == [
        "Job 0",
        "   0 s            published: the job is in the queue",
        "   0 s  worker 1  gets delivery 1, hidden from others until 30 s",
        "   0 s  worker 1  starts delivery 1",
        "  30 s            lease of delivery 1 runs out; worker 1 isn't told",
        "  30 s            visible again: anyone may take it",
        "  30 s  worker 2  gets delivery 2, hidden from others until 60 s",
        "  30 s  worker 2  starts delivery 2; 1 is still running",
        "  40 s  worker 1  EFFECT: charge",
        "  40 s  worker 1  is done with delivery 1, and acks it",
        "  40 s  worker 1  ack accepted: the message is deleted",
        "  70 s  worker 2  EFFECT: charge, for the 2nd time!",
        "  70 s  worker 2  is done with delivery 2, and acks it",
        "  70 s  worker 2  ack ignored: too late, and the worker is not told",
        "Settled by an ack at 40 s: 2 deliveries, 2 effects (1 too many).",
    ]


def test_there_is_a_line_for_each_event():
    """As many lines as the ledger has rows about the job, in a run with faults of every kind."""
    crash = sq.Crash(mean_time_between=40, restart_after=5)
    result = run(
        sq.Exponential(20), workers=4, jobs=40, crash=crash, lease=30, max_receives=4,
        late_ack="unexpired", network=sq.Network(ack_lost=0.2), handler=sq.handlers.claim,
    )  # fmt: skip
    events = result.events
    for job in range(40):
        lines = story(result, job).splitlines()
        assert len(lines) == (events.job == job).sum() + 2


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"workers": 2, "late_ack": "unexpired", "max_receives": 2}, "ack refused: too late, and"),
        ({"workers": 2, "max_receives": 2}, "out of attempts: moved to the dead-letter queue"),
        ({"network": sq.Network(ack_lost=0.9)}, "ack lost on its way; the worker thinks it arriv"),
        ({"crash": sq.Crash(at=[(1, 5)])}, "worker 1  crashes in the middle of delivery 1"),
        ({"lease": None}, "gets delivery 1, hidden from others\n"),
        ({"late_ack": "deletes"}, "ack accepted: the message is deleted, though back in the queue"),
        (
            {"workers": 2, "max_receives": 2, "exhausted": "drop"},
            "out of attempts: dropped, nobody",
        ),
        (
            {"ack_when": "received", "crash": sq.Crash(at=[(1, 5)])},
            "worker 1  lost with its worker: the broker keeps no copy",
        ),
        (
            {"ack_when": "received", "crash": sq.Crash(at=[(1, 5)])},
            "Lost at 5 s: 1 delivery, 0 eff",
        ),
        (
            {"retention": 20, "max_receives": 1},
            "  20 s            too old: its retention ends, the",
        ),
        ({"retention": 20}, "Expired at 20 s: 1 delivery, 1 effect."),
        ({"delay": 7}, "   0 s            published, to become visible later"),
        ({"delay": 7}, "   7 s            visible now: anyone may take it"),
        ({"own_duplicates": 1.0}, "published again: a second message for the same job"),
        (
            {"network": sq.Network(publish_response_lost=0.9), "dedupe_window": 1e6, "seed": 2},
            "the producer hears no reply: it sends again",
        ),
        (
            {"network": sq.Network(publish_response_lost=0.9), "dedupe_window": 1e6, "seed": 2},
            "swallowed: the broker knows this key already",
        ),
        (
            {"network": sq.Network(response_lost=1.0), "max_receives": 1},
            "no answer from work: perhaps it was done",
        ),
        (
            {"faults": [sq.Outage(service="payments", window=(30, 50))], "max_receives": 1},
            "worker 1  payments.charge fails: the service is down",
        ),
        (
            {"faults": [sq.Pause(seconds=9, at=[(1, 5)])]},
            "stands still until 14 s, and doesn't know",
        ),
        ({"faults": [sq.Pause(seconds=9, at=[(1, 5)])]}, "goes on as if nothing had happened"),
        (
            {"faults": [sq.Deploy(at=5, grace=60)]},
            "worker 1  is to be replaced, and has until 65 s to finish",
        ),
        (
            {"faults": [sq.Partition(worker=1, window=(5, 15))]},
            "worker 1  is cut off from the broker until 15 s",
        ),
        ({"horizon": 20}, "Not settled when the run ended, at 20 s: 1 delivery, 0 effects."),
        ({"arrivals": sq.AllAtOnce(50), "horizon": 20}, "Not published by the time the run ended."),
    ],
)
def test_what_can_happen_is_said_in_words(options, line):
    """Each fault, and each ending, has its own words."""
    assert line in story(run(40, **{"lease": 30, **options}), 0)


def test_an_event_without_words_has_its_name(monkeypatch):
    """The story of a ledger that knows more than the story does is complete all the same."""
    ledger = Ledger()
    ledger.record(0, Event.PUBLISHED, 0)
    ledger.record(1, 999, 0)
    monkeypatch.setitem(EVENT_NAMES, 999, "something new")
    assert "  1 s    something new" in story(sq.Result(run(1).scenario, 0, ledger.close()), 0)


def test_handlers_may_fail_extend_and_give_back():
    """A handler's own acts are part of the story."""

    async def fails(job, ctx):
        await ctx.extend(60)
        raise RuntimeError("no money")

    told = story(run(1, lease=30, retry_delay=5, max_receives=2, handler=fails), 0)
    assert "worker 1  extends the lease of delivery 1 until 60 s" in told
    assert "worker 1  delivery 1 failed: RuntimeError('no money')" in told
    assert "worker 1  gives delivery 1 back, to be visible at 5 s" in told


def test_a_delivery_that_dies_in_a_buffer_is_not_forgotten():
    """Prefetched, never started, gone with its worker."""
    crash = sq.Crash(at=[(1, 10)], restart_after=5)
    told = story(run(20, jobs=2, prefetch=2, crash=crash, lease=100), 1)
    assert "  10 s  worker 1  crashes with delivery 1 unstarted in its buffer" in told
    assert "crashes" not in told.split("buffer")[1]


def test_a_job_that_is_not_there_is_refused():
    """Jobs are counted from 0."""
    with pytest.raises(ValueError, match="job must be a whole number from 0 to 0, not 1"):
        story(run(1), 1)
