"""The replay: the state at a moment, winding back and forth, the controls, and what is shown."""

from __future__ import annotations

import html
import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import run
from scenarios_at_random import scenarios

import simqueue as sq
from simqueue.model.ledger import Event
from simqueue.model.message import STATE_NAMES
from simqueue.widgets import replay_picture, replay_tape
from simqueue.widgets.replay_parts import DEAD, GIVEN_BACK, HOLDS, PAUSED, RAN_OUT
from simqueue.widgets.replay_state import State
from simqueue.widgets.replay_tape import Tape

CRASH = sq.Crash(at=[(1, 10)], restart_after=5)


def twice(**options):
    """A job of 40 s under a lease of 30 s, with two workers: both work on it from 30 s on."""
    return run(40, workers=2, **({"lease": 30, "late_ack": "deletes"} | options))


def at(result, time):
    """The state after all that happened up to `time`."""
    tape = Tape(result)
    return tape.state(tape.place_at(time))


def held(state, worker=1):
    """The only delivery in `worker`."""
    (found,) = state.workers[worker].held.values()
    return found


def shown(widget):
    """All that the widget shows, as text."""
    return html.unescape(" ".join(str(getattr(each, "value", "")) for each in widget.children))


def status(widget):
    """The line that is read out."""
    return re.sub("<[^>]*>", "", re.findall(r'<p role="status".*?</p>', shown(widget))[0])


# The state at a moment.


def test_a_second_delivery_starts_while_the_first_is_at_work():
    """At 30 s worker 1 has lost its lease and works on; worker 2 has the job until 60 s."""
    state = at(twice(), 30)
    first, second = held(state, 1), held(state, 2)
    assert (first.link, first.link_since, first.is_at_work) == (RAN_OUT, 30, True)
    assert (second.link, second.lease_ends, second.attempt) == (HOLDS, 60, 2)
    assert [each.number for each in state.running(0)] == [0, 1]
    assert state.counts["in_flight"] == 1
    assert state.effects == []


def test_both_effects_are_there_at_the_end_and_the_second_is_a_repeat():
    """Charged at 40 s and again at 70 s."""
    effects = at(twice(), 70).effects
    assert [(each.time, each.repeat, each.worker) for each in effects] == [(40, 0, 1), (70, 1, 2)]


def test_a_message_whose_worker_died_is_an_orphan_until_its_lease_ends():
    """The worker dies at 10 s: nobody works on the job, which is hidden until 30 s."""
    result = run(20, workers=1, lease=30, crash=CRASH)
    state = at(result, 12)
    assert state.workers[1].status == DEAD
    assert state.workers[1].held == {}
    assert [(each.job, each.lease_ends) for each in state.orphans.values()] == [(0, 30)]
    assert state.counts["in_flight"] == 1
    assert at(result, 30).orphans == {}


def test_a_message_whose_ack_was_lost_is_an_orphan():
    """The worker is idle, and the queue still waits for the lease to end."""
    result = run(5, lease=30, max_receives=1, network=sq.Network(ack_lost=0.999))
    assert [each.job for each in at(result, 10).orphans.values()] == [0]
    assert at(result, 30).dead == {0: 1}


def test_an_extended_lease_runs_down_anew():
    """The client renews at 10 s: the bar starts again from there."""
    state = at(run(25, lease=15, renew_every=10), 12)
    assert (held(state).lease_since, held(state).lease_ends) == (10, 25)


def test_what_waits_in_a_buffer_is_not_at_work_and_dies_with_its_worker():
    """Of two jobs in one process, one waits; the crash takes both."""
    result = run(20, jobs=2, prefetch=2, lease=60, crash=CRASH)
    assert [each.is_at_work for each in at(result, 5).workers[1].held.values()] == [True, False]
    state = at(result, 10)
    assert state.workers[1].held == {}
    assert len(state.orphans) == 2


def test_a_worker_that_stands_still_is_shown_so_until_it_goes_on():
    """Paused from 5 to 15 s, and then as before."""
    result = run(20, faults=[sq.Pause(at=[(1, 5)], seconds=10)])
    assert (at(result, 6).workers[1].status, at(result, 6).workers[1].until) == (PAUSED, 15)
    assert at(result, 15).workers[1].status != PAUSED


def test_a_delivery_that_was_given_back_waits_for_its_retry():
    """The claim is taken: the second delivery gives the job back, delayed."""
    result = twice(handler=sq.handlers.claim, retry_delay=5)
    state = at(result, 31)
    assert state.delayed == {0: 1}
    assert state.workers[2].held == {}
    assert GIVEN_BACK not in {each.link for each in state.running(0)}


def test_rows_of_the_store_follow_claim_and_record():
    """Processing from the claim on, completed with the record: what the handler wrote."""
    result = run(10, handler=sq.handlers.claim, lease=30)
    assert {job: row.status for job, row in at(result, 5).store(5).items()} == {0: "processing"}
    assert {job: row.status for job, row in at(result, 10).store(10).items()} == {0: "completed"}


def test_rows_of_the_store_go_with_time():
    """With a time to live of 8 s, a claim made at 0 is gone at 8."""
    store = sq.services.Store(ttl=8)
    result = run(20, handler=sq.handlers.claim, lease=30, store=store)
    assert set(at(result, 7).store(7.9)) == {0}
    assert at(result, 8).store(8) == {}


def test_the_sweeper_sets_a_row_to_failed():
    """The owner dies at 10 s; a minute after the claim the sweeper gives the row up."""
    store = sq.services.Store(sweep_after=50, sweep_every=60)
    result = run(20, handler=sq.handlers.claim, lease=100, store=store, crash=CRASH)
    assert at(result, 59).rows[0].status == "processing"
    assert at(result, 60).rows[0].status == "failed"
    limited = sq.services.Store(sweep_after=50, sweep_every=60, ttl=80)
    result = run(20, handler=sq.handlers.claim, lease=100, store=limited, crash=CRASH)
    assert at(result, 60).store(79.9)[0].status == "failed"
    assert at(result, 60).store(80) == {}
    assert "the sweeper finds the claim stale" in sq.story.story(result, 0)


@settings(max_examples=60, deadline=None)
@given(scenario=scenarios(), seed=st.integers(0, 2**32))
def test_counts_are_those_of_the_time_series(scenario, seed):
    """In any run, at each instant: as many messages in each state as `timeseries` says."""
    result = sq.simulate(scenario, seed)
    tape = Tape(result)
    for time, row in result.timeseries.iterrows():
        state = tape.state(tape.place_at(time))
        for name in STATE_NAMES:
            assert state.counts[name] == row[name], (time, name)
        assert state.counts["deduplicated"] == row.deduplicated, time
        running = [h for w in state.workers.values() for h in w.held.values() if h.is_at_work]
        assert len(running) == row.busy
        assert sum(state.visible.values()) == state.counts["visible"]
        assert sum(state.delayed.values()) == state.counts["delayed"]


# Winding.


def picture_of(state, now):
    """All that is drawn, as text."""
    layout = replay_picture.Layout(workers=dict.fromkeys(state.workers, 2), rows=True)
    return replay_picture.svg(state, now, layout)


@pytest.mark.parametrize("spacing", [1, 7, 500])
def test_going_back_gives_what_was_there_before(spacing, monkeypatch):
    """In any order of moves the state is that of a tape wound there from the start."""
    monkeypatch.setattr(replay_tape, "FEWEST_BETWEEN", spacing)
    monkeypatch.setattr(replay_tape, "CHECKPOINTS", 10_000)
    crash = sq.Crash(mean_time_between=40, restart_after=5)
    result = run(
        sq.Exponential(20), workers=3, jobs=20, crash=crash, lease=20, max_receives=3,
        handler=sq.handlers.reclaim,
    )  # fmt: skip
    tape = Tape(result)
    for place in (tape.length, 40, 41, 39, 0, 80, 14, tape.length // 2, 1):
        now = tape.time(place)
        assert picture_of(tape.state(place), now) == picture_of(Tape(result).state(place), now)


def test_a_place_is_a_number_of_events_and_an_instant_is_whole():
    """At a time, all of that instant has happened; by places, one after the other."""
    tape = Tape(twice())
    assert tape.place_at(-1) == 0
    assert [tape.row(place).event for place in range(1, tape.place_at(0) + 1)] == [
        Event.PUBLISHED,
        Event.RECEIVED,
        Event.STARTED,
    ]
    assert tape.time(tape.place_at(35)) == 30


@pytest.mark.parametrize(
    ("options", "time", "event"),
    [
        ({}, 30, Event.STARTED),
        ({"lease": 50, "crash": sq.Crash(at=[(1, 5)], restart_after=1)}, 5, Event.WORKER_CRASHED),
        ({"lease": 50}, 40, Event.ACKED),
    ],
)
def test_the_key_moment_is_the_one_that_says_most(options, time, event):
    """A job that runs twice at once, or a crash, or the end."""
    tape = Tape(twice(**options))
    row = tape.row(tape.telling)
    assert (row.time, row.event) == (time, event)


def test_the_key_moment_without_overlap_is_the_second_effect():
    """The ack is lost, and the job is charged again when the lease has ended."""
    result = run(5, lease=30, max_receives=2, network=sq.Network(ack_lost=0.999))
    tape = Tape(result)
    row = tape.row(tape.telling)
    assert (row.time, row.event) == (35, Event.EFFECT)


def test_a_run_with_too_many_events_is_refused_and_a_shorter_one_is_not(monkeypatch):
    """The sentence says how many there are; with an earlier end they can be watched."""
    monkeypatch.setattr(replay_tape, "MOST_EVENTS", 10)
    with pytest.raises(ValueError, match=r"at most 10 events, and this run has 13: .*`until`"):
        sq.widgets.replay(twice())
    assert sq.widgets.replay(twice(), until=29).tape.end == 29


# The controls.


def test_next_and_back_go_event_by_event():
    """Each press of Next tells one event more, of several at one instant too; Back undoes it."""
    widget = sq.widgets.replay(twice())
    widget.go_to(29)
    told = []
    for _ in range(4):
        widget.forward.click()
        told.append((widget.time, status(widget)))
    assert told == [
        (30, "At 30 s. Job 0: lease of delivery 1 runs out; worker 1 isn't told."),
        (30, "At 30 s. Job 0: visible again: anyone may take it."),
        (30, "At 30 s. Job 0: worker 2 gets delivery 2, hidden from others until 60 s."),
        (30, "At 30 s. Job 0: worker 2 starts delivery 2; 1 is still running."),
    ]
    widget.back.click()
    assert status(widget) == told[2][1]
    for _ in range(30):
        widget.back.click()
    assert (widget.time, widget.place) == (0, 0)
    for _ in range(30):
        widget.forward.click()
    assert (widget.time, widget.place) == (70, widget.tape.length)


def test_the_slider_goes_to_a_time_and_follows():
    """It moves the moment; and where buttons move the moment, the slider comes along."""
    widget = sq.widgets.replay(twice())
    widget.slider.value = 45
    assert widget.time == 45
    assert "at work for 15.0 s" in shown(widget)
    widget.key_moment.click()
    assert widget.slider.value == 30
    assert "RUNS TWICE AT ONCE" in shown(widget)


def test_time_goes_by_with_the_frames_of_the_browser():
    """25 frames of 40 ms are a second, at 5 s of the run for each; lost frames are made up for."""
    widget = sq.widgets.replay(twice())
    widget.speed.value = 5
    widget.button.click()
    assert widget.is_playing
    assert widget.button.description == "Pause"
    widget._timer.value = 25
    assert math.isclose(widget.time, 5)
    widget._timer.value = 26
    assert math.isclose(widget.time, 5.2)
    widget.button.click()
    widget._timer.value = 51
    assert math.isclose(widget.time, 5.2)
    assert widget.button.description == "Play"


def test_playing_stops_at_the_end_and_begins_again():
    """At the end it pauses by itself; Play then starts from 0."""
    widget = sq.widgets.replay(twice())
    widget.play()
    widget._timer.value = 10**6
    assert (widget.is_playing, widget.time) == (False, 70)
    widget.play()
    assert (widget.is_playing, widget.time) == (True, 0)


def test_while_it_plays_nothing_is_read_out():
    """A screen reader is told of steps, and not of each of ten frames a second."""
    widget = sq.widgets.replay(twice())
    assert 'aria-live="polite"' in shown(widget)
    widget.play()
    assert 'aria-live="off"' in shown(widget)


def test_following_a_job_tells_only_its_events():
    """With `job=1` Next goes from event to event of that job."""
    result = run(10, workers=2, jobs=2, lease=30)
    widget = sq.widgets.replay(result, job=1)
    seen = set()
    for _ in range(20):
        widget.forward.click()
        seen |= set(re.findall(r"Job (\d)", widget.children[4].value))
    assert seen == {"1"}
    assert widget.time == 10


def test_what_is_about_a_worker_is_told_too():
    """Crash and restart have sentences of their own."""
    widget = sq.widgets.replay(run(20, lease=30, crash=CRASH))
    widget.go_to(15)
    assert "Worker 1 crashes, with all that it holds." in shown(widget)
    assert "Worker 1 is back, as a fresh process." in shown(widget)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"job": 5}, "job must be a whole number from 0 to 0, not 5"),
        ({"until": -1}, "until must be"),
        ({"until": math.nan}, "until must be"),
    ],
)
def test_what_is_not_possible_is_said(options, said):
    """A job that was not there, an end before the beginning."""
    with pytest.raises(ValueError, match=said):
        sq.widgets.replay(twice(), **options)


# The picture.


def test_the_picture_says_in_words_all_that_it_shows():
    """Its label names the time, the queue, both deliveries and leases, and what runs twice."""
    widget = sq.widgets.replay(twice())
    widget.go_to(35)
    root = ET.fromstring(widget.children[3].value)
    assert root.get("role") == "img"
    assert root.get("aria-label") == (
        "The system at 35 s. Queue: none visible, none delayed. "
        "Worker 1: job 0, delivery 1, at work for 35.0 s, LEASE OVER for 5.0 s. "
        "Worker 2: job 0, delivery 2, at work for 5.0 s, lease: 25.0 s left. "
        "Job 0 runs 2 times at once. Effects: 0, of which duplicates: 0. "
        "Dead-letter queue: none."
    )


def test_without_colour_the_picture_says_the_same():
    """A lease that is over, a dead worker and a duplicate have words, not only colours."""
    widget = sq.widgets.replay(twice(crash=sq.Crash(at=[(2, 65)], restart_after=9)))
    text = " ".join(ET.fromstring(widget._repr_mimebundle_()["image/svg+xml"]).itertext())
    assert "RUNS TWICE AT ONCE" in text
    assert "LEASE OVER" in text
    widget.go_to(66)
    assert "DEAD" in shown(widget)
    widget = sq.widgets.replay(twice())
    widget.go_to(70)
    assert "charge no. 2, DUPLICATE at 70.0 s" in shown(widget)


def test_nothing_jumps():
    """The picture has one size through the whole replay, and the list of events has one height."""
    crash = sq.Crash(mean_time_between=40, restart_after=5)
    result = run(
        sq.Exponential(20), workers=9, jobs=40, crash=crash, lease=10, max_receives=2, prefetch=3,
        concurrency=2,
    )  # fmt: skip
    widget = sq.widgets.replay(result)
    sizes, lines = set(), set()
    for step in range(40):
        widget.go_to(widget.tape.end * step / 39)
        root = ET.fromstring(widget.children[3].value)
        sizes.add((root.get("width"), root.get("height")))
        lines.add(widget.children[4].value.count("height: 1.5em"))
    assert len(sizes) == 1
    assert lines == {6}
    height = int(sizes.pop()[1])
    tops = [float(each.get("y")) for each in root.iter() if each.tag.endswith("text")]
    assert max(tops) < height


def test_of_many_messages_some_are_drawn_and_the_rest_is_a_number():
    """Twelve places in the queue: of 30 waiting jobs eleven are drawn, and 19 are told."""
    widget = sq.widgets.replay(run(10, jobs=31, lease=400))
    widget.go_to(1)
    assert "visible: 30" in shown(widget)
    assert ">+19<" in shown(widget)


def test_of_many_workers_those_are_drawn_that_matter():
    """Six of forty, among them the two that work on the job at once; the rest is a number."""
    result = run(
        sq.Exponential(20), workers=40, jobs=60, lease=30, late_ack="deletes",
        arrivals=sq.Poisson(rate=2),
    )  # fmt: skip
    widget = sq.widgets.replay(result)
    widget.go_to_key_moment()
    text = widget.children[3].value
    assert "and 34 more workers" in text
    assert text.count("RUNS TWICE AT ONCE") == 2


def test_without_a_kernel_a_picture_of_the_key_moment_stands_there():
    """A page without a kernel gets an image and words; a running notebook the widget itself."""
    bundle = sq.widgets.replay(twice())._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "RUNS TWICE AT ONCE" in bundle["image/svg+xml"]
    assert bundle["text/plain"].startswith("The system at 30 s. Queue:")
    assert bundle["text/plain"].endswith("Job 0: worker 2 starts delivery 2; 1 is still running.")


def test_text_in_the_picture_is_escaped():
    """A failure's own words may hold anything."""

    async def breaks(job, ctx):
        raise ValueError("<b>&")

    widget = sq.widgets.replay(run(handler=breaks, max_receives=1, lease=5))
    widget.go_to(0)
    assert "<b>&'" not in widget.children[4].value
    assert "&lt;b&gt;&amp;" in widget.children[4].value


def test_a_log_is_replayed_too():
    """Polls instead of leases, partitions that move: as the ledger tells it."""
    scenario = sq.Scenario(
        arrivals=sq.EvenlySpaced(interval=1), jobs=10, work=sq.Fixed(2), handler=sq.handlers.naive,
        workers=sq.Workers(count=2, crash=sq.Crash(at=[(1, 5)], restart_after=60)),
        broker=sq.brokers.kafka(partitions=2), horizon=200,
    )  # fmt: skip
    widget = sq.widgets.replay(sq.simulate(scenario, seed=1))
    widget.go_to(6)
    assert "DEAD" in shown(widget)
    widget.go_to(60)  # the group has noticed, and left it out
    assert "DEAD" in shown(widget)
    widget.go_to(200)
    assert isinstance(widget.tape.state(widget.place), State)
    assert widget.tape.state(widget.place).counts["in_flight"] == 0
