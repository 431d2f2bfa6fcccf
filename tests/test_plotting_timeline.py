"""The timeline of one job: every delivery, lease, effect, crash and ack is where it happened."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.patches import Rectangle
from runs import run

import simqueue as sq
from simqueue.plotting.timeline_marks import BARS, BESIDE, POINTS


def bars(drawing: Any, kind: str) -> list[tuple[float, float, int]]:
    """The bars of a kind: from, to (s), and row; row 0 is the queue."""
    (ax,) = drawing.axes
    return [
        (each.get_x(), each.get_x() + each.get_width(), round(each.get_y() + 0.15))
        for each in ax.patches
        if isinstance(each, Rectangle) and each.get_label() == kind
    ]


def points(drawing: Any, kind: str) -> list[tuple[float, int]]:
    """The signs of a kind: time (s) and row."""
    (ax,) = drawing.axes
    return [
        (float(each.get_xdata()[0]), int(each.get_ydata()[0]))
        for each in ax.lines
        if each.get_label() == kind
    ]


def leases(drawing: Any) -> list[tuple[float, float]]:
    """The lease lines, from and to (s)."""
    (ax,) = drawing.axes
    return [tuple(each.get_xdata()) for each in ax.lines if each.get_label() == "lease"]


def lanes(drawing: Any) -> list[str]:
    """The names of the lanes, from the top."""
    return [text.get_text() for text in drawing.axes[0].get_yticklabels()]


def legend(drawing: Any) -> set[str]:
    """What the legend explains."""
    (found,) = drawing.legends
    return {text.get_text() for text in found.get_texts()}


def test_one_slow_job_on_three_workers() -> None:
    """S = 90, V = 30: three bars, two leases that ran out, three charges, one ack that counts."""
    drawing = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes"))
    assert lanes(drawing) == ["queue", "worker 1", "worker 2", "worker 3"]
    assert bars(drawing, "handler at work") == [(0, 90, 1), (30, 120, 2), (60, 150, 3)]
    assert leases(drawing) == [(0, 30), (30, 60), (60, 90)]
    assert points(drawing, "lease runs out") == [(30, 1), (60, 2)]
    assert points(drawing, "first effect") == [(90, 1)]
    assert points(drawing, "duplicate effect") == [(120, 2), (150, 3)]
    assert points(drawing, "ack accepted") == [(90, 1)]
    assert points(drawing, "ack ignored") == [(120, 2), (150, 3)]
    assert points(drawing, "settled: acked") == [(90, 0)]


def test_redeliveries_are_arrows_from_the_lease_to_the_next_bar() -> None:
    """An arrow starts where a lease ran out and ends where the next delivery begins."""
    (ax,) = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes")).axes
    arrows = [each for each in ax.texts if getattr(each, "arrow_patch", None) is not None]
    assert [(each.xyann[0], each.xy[0]) for each in arrows] == [(30, 30), (60, 60)]


def test_crash_ends_the_bar_and_the_lease_runs_on() -> None:
    """A crash at 12 s: the bar ends there with its own hatch, the job comes back at 30 s."""
    drawing = sq.plot.timeline(run(20, 2, lease=30, crash=sq.Crash(at=[(1, 12)])))
    assert bars(drawing, "handler at work, dies") == [(0, 12, 1)]
    assert points(drawing, "worker crashes") == [(12, 1)]
    assert leases(drawing)[0] == (0, 30)
    assert bars(drawing, "handler at work") == [(30, 50, 2)]
    assert points(drawing, "first effect") == [(50, 2)]


@pytest.mark.parametrize(("work", "aside"), [(20, True), (200, False)])
def test_a_crash_does_not_cover_the_number_of_an_effect(work: float, aside: bool) -> None:
    """Right after a charge its sign stands beside the number; elsewhere it stays at its time."""
    if aside:
        faults = [sq.faults.At(step="payments.charge", what="crash", when="after")]
        drawing = sq.plot.timeline(run(work, 2, lease=300, faults=faults))
    else:
        drawing = sq.plot.timeline(run(work, 2, lease=300, crash=sq.Crash(at=[(1, 120)])))
    (ax,) = drawing.axes
    (crash,) = [each for each in ax.lines if each.get_label() == "worker crashes"]
    time, row = points(drawing, "worker crashes")[0]
    assert (time, row) == (20 if aside else 120, 1)
    drawn = crash.get_transform().transform((time, 0))[0]
    moved = (drawn - ax.transData.transform((time, 0))[0]) * 72 / drawing.dpi
    assert moved == pytest.approx(BESIDE if aside else 0, abs=0.01)


def test_refused_acks_failures_and_dead_letters_have_their_own_signs() -> None:
    """Refused acks are drawn, and the dead-letter queue is where the job ends."""
    drawing = sq.plot.timeline(run(40, 1, lease=30, late_ack="unexpired", max_receives=2))
    assert points(drawing, "ack refused") == [(40, 1), (80, 1)]
    assert points(drawing, "settled: dead-lettered") == [(70, 0)]
    assert "dead-lettered at 70 s" in [text.get_text() for text in drawing.axes[0].texts]


def test_failed_attempts_are_hatched() -> None:
    """A handler that raises leaves a hatched bar, and its nack ends the lease."""

    async def fails_once(job: sq.Job, ctx: Any) -> None:
        await ctx.work()
        if ctx.attempt == 1:
            raise sq.Retry("not yet")

    drawing = sq.plot.timeline(run(10, 1, lease=30, retry_delay=5, handler=fails_once))
    assert bars(drawing, "handler at work, fails") == [(0, 10, 1)]
    assert leases(drawing)[0] == (0, 10)
    assert bars(drawing, "handler at work") == [(15, 25, 1)]


def test_lost_acks_are_drawn() -> None:
    """An ack that never arrived has its own sign."""
    drawing = sq.plot.timeline(
        run(5, 1, lease=30, network=sq.Network(ack_lost=1.0), horizon=40), job=0
    )
    assert points(drawing, "ack lost") == [(5, 1), (35, 1)]


def test_waiting_is_drawn_in_queue_and_buffer() -> None:
    """Two jobs on one worker: the second waits in the queue, or in the buffer of a prefetcher."""
    plain = sq.plot.timeline(run(10, 1, lease=30, jobs=2), job=1)
    assert bars(plain, "waits in the queue") == [(0, 10, 0)]
    assert bars(plain, "waits in the worker's buffer") == []
    eager = sq.plot.timeline(run(10, 1, lease=30, jobs=2, prefetch=2), job=1)
    assert bars(eager, "waits in the worker's buffer") == [(0, 10, 1)]
    assert bars(eager, "handler at work") == [(10, 20, 1)]


def test_a_run_that_was_cut_shows_what_still_runs() -> None:
    """At a horizon of 50 s a job of 90 s is still at work: its bar ends with the run."""
    drawing = sq.plot.timeline(run(90, 1, lease=100, horizon=50))
    assert bars(drawing, "handler still at work") == [(0, 50, 1)]
    assert drawing.alt_text.endswith("It was not settled when the run ended.")


def test_one_worker_with_two_deliveries_at_once_has_two_lanes() -> None:
    """With two slots, a worker that holds the job twice has a lane for each."""
    drawing = sq.plot.timeline(run(50, 1, concurrency=2, lease=30, late_ack="deletes"))
    assert lanes(drawing) == ["queue", "worker 1", "worker 1"]


def test_many_deliveries_are_cut_and_counted() -> None:
    """Only `most` deliveries are drawn; title and text say how many there are."""
    result = run(90, 3, lease=30, late_ack="deletes")
    drawing = sq.plot.timeline(result, most=2)
    assert len(bars(drawing, "handler at work")) == 2
    assert "the first 2 are shown" in drawing.axes[0].get_title(loc="left")
    assert "1 more deliveries are not shown" in drawing.alt_text


def test_title_counts_deliveries_and_effects() -> None:
    """The title says at a glance what happened."""
    drawing = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes"))
    assert drawing.axes[0].get_title(loc="left") == "Job 0: 3 deliveries, 3 charges"
    once = sq.plot.timeline(run(5, lease=30))
    assert once.axes[0].get_title(loc="left") == "Job 0: 1 delivery, 1 charge"


def test_legend_explains_what_was_drawn_and_nothing_else() -> None:
    """Every kind of sign in the picture has its line in the legend."""
    drawing = sq.plot.timeline(run(5, lease=30))
    assert legend(drawing) == {
        "handler at work",
        "lease",
        "published",
        "ack accepted",
        "first effect",
    }


def test_no_two_signs_look_alike_without_colour() -> None:
    """Markers differ in shape or filling, bars in hatch or outline."""
    shapes = {(style["marker"], style.get("markerfacecolor")) for style in POINTS.values()}
    settled = 1  # "settled: acked" is an accepted ack, seen from the queue
    assert len(shapes) == len(POINTS) - settled
    outlines = {(style.get("hatch"), style.get("linestyle")) for style in BARS.values()}
    assert len(outlines) == len(BARS)


def test_time_axis_has_its_unit() -> None:
    """The x axis is in seconds, from the publish to the end."""
    (ax,) = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes")).axes
    assert ax.get_xlabel() == "time (seconds)"
    low, high = ax.get_xlim()
    assert low < 0
    assert high > 150


def test_alt_text_tells_the_story() -> None:
    """Deliveries, leases, effects and acks with their times, in sentences."""
    text = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes")).alt_text
    assert "Delivery 2 to worker 2 at 30 s, leased until 60 s" in text
    assert "charge 2 at 120 s (duplicate)" in text
    assert text.endswith("The job was acked at 90 s.")


def test_every_delivery_is_named_where_there_is_room() -> None:
    """Long bars carry words; short ones in a row at least their number."""
    (ax,) = sq.plot.timeline(run(90, 3, lease=30, late_ack="deletes")).axes
    assert "delivery 1: finished, ack accepted" in [text.get_text() for text in ax.texts]
    many = run(1, lease=0.5, late_ack="unexpired", max_receives=20)
    (ax,) = sq.plot.timeline(many).axes
    assert {"1", "20"} <= {text.get_text() for text in ax.texts}


@pytest.mark.parametrize("job", [-1, 1, 1.5, "x"])
def test_jobs_that_there_are_not_are_refused(job: Any) -> None:
    """The sentence names the job and the range."""
    with pytest.raises(ValueError, match="job must be a whole number from 0 to 0"):
        sq.plot.timeline(run(5), job=job)


def test_unpublished_jobs_have_no_timeline() -> None:
    """A job after the horizon is refused in one sentence."""
    result = run(1, jobs=2, arrivals=sq.EvenlySpaced(interval=100), horizon=50)
    with pytest.raises(ValueError, match="job 1 was not published before the horizon"):
        sq.plot.timeline(result, job=1)
