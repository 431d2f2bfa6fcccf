"""The tables and figures of a run, against runs worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from runs import run

import simqueue as sq
from simqueue.figures import DESCRIPTIONS
from simqueue.model.ledger import EVENT_NAMES, Event

THREE_TIMES = {"work": 90, "workers": 3, "lease": 30, "late_ack": "deletes"}


def test_figures_of_a_job_that_runs_three_times():
    """S = 90, V = 30: two redeliveries, two duplicate executions, two duplicate effects."""
    figures = run(**THREE_TIMES).figures
    assert figures["jobs"] == 1
    assert figures["redeliveries"] == 2
    assert figures["duplicate_executions"] == 2
    assert figures["duplicate_effects"] == 2
    assert figures["duplicate_delivery_rate"] == 1
    assert figures["duplicate_effect_rate"] == 1
    assert figures["extra_effects"] == 2
    assert figures["deliveries_per_job"] == 3
    assert figures["wasted_work"] == pytest.approx(2 / 3)
    assert figures["time_to_effect_p50"] == 90
    assert figures["utilisation"] == pytest.approx(3 * 90 / (3 * 150))
    assert (figures["lost_rate"], figures["dead_letter_rate"]) == (0, 0)
    assert (figures["wait_mean"], figures["unfinished_rate"]) == (0, 0)


def test_every_figure_is_described_and_every_description_has_its_figure():
    """Neither can be forgotten."""
    assert list(run().figures) == list(DESCRIPTIONS)


def test_every_event_has_a_number_of_its_own():
    """Two with one number would be one in every table."""
    names = [name for name in vars(Event) if name.isupper()]
    assert len(EVENT_NAMES) == len(names)


def test_summary_is_the_figures_as_a_series():
    """Under the same names."""
    result = run(**THREE_TIMES)
    assert isinstance(result.summary(), pd.Series)
    assert result.summary()["duplicate_effects"] == 2


def test_the_three_counts_differ_where_they_should():
    """Buffered too long: redelivered, not executed twice; claimed: executed, no second effect."""
    claimed = run(
        5, lease=30, max_receives=3, handler=sq.handlers.claim, network=sq.Network(ack_lost=1)
    ).figures
    assert claimed["redeliveries"] == 2
    assert claimed["duplicate_executions"] == 2
    assert claimed["duplicate_effects"] == 0

    async def gives_up_at_once(job, ctx):
        if ctx.attempt > 1:
            return
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)

    shed = run(50, workers=2, lease=30, late_ack="deletes", handler=gives_up_at_once).figures
    assert (shed["redeliveries"], shed["duplicate_effects"]) == (1, 0)


def test_a_redelivery_that_is_never_started_is_no_execution():
    """The second copy lies in the buffer of a worker that dies."""
    result = run(
        sq.Recorded([50, 50]),
        jobs=2,
        workers=1,
        prefetch=4,
        lease=30,
        late_ack="deletes",
        crash=sq.Crash(at=[(1, 55)], restart_after=1_000),
        horizon=60,
    )
    assert result.figures["redeliveries"] == 2
    assert result.figures["duplicate_executions"] == 0
    assert (result.deliveries.outcome == "unstarted").sum() == 2


def test_lost_means_acked_without_effect():
    """A handler that returns too early loses the job; a dead-lettered job is not lost."""

    async def forgets(job, ctx):
        await ctx.work()

    assert run(handler=forgets).figures["lost_rate"] == 1

    async def fails(job, ctx):
        raise sq.Retry("no")

    dead = run(handler=fails, max_receives=2).figures
    assert (dead["lost_rate"], dead["dead_letter_rate"]) == (0, 1)


def test_effects_of_different_kinds_are_not_each_others_duplicates():
    """A charge and an e-mail of one job are one effect each."""

    async def charges_and_mails(job, ctx):
        ctx.effect("charge")
        ctx.effect("e-mail")

    result = run(handler=charges_and_mails)
    assert result.jobs.effects[0] == 2
    assert result.figures["duplicate_effects"] == 0
    assert result.effects.effect.tolist() == ["charge", "e-mail"]


def test_warmup_leaves_early_jobs_out_of_the_figures_but_not_out_of_the_tables():
    """Only jobs that arrive at or after it count."""
    result = run(sq.Recorded([10, 1]), jobs=None, arrivals=sq.Times([0, 20]), warmup=15)
    assert result.figures["jobs"] == 1
    assert result.figures["time_to_effect_p50"] == 1
    assert len(result.jobs) == 2


def test_figures_without_anything_to_average_are_nan():
    """No crash, so no recovery; no effect, so no time to it."""

    async def nothing(job, ctx):
        pass

    figures = run(handler=nothing).figures
    assert math.isnan(figures["recovery_mean"])
    assert math.isnan(figures["time_to_effect_p50"])


def test_recovery_is_zero_where_the_next_delivery_was_already_under_way():
    """Work 50 on a lease of 30: the copy starts at 30, the first worker dies at 45."""
    result = run(
        50, workers=2, lease=30, late_ack="deletes", crash=sq.Crash(at=[(1, 45)], restart_after=1)
    )
    assert result.figures["recovery_mean"] == 0


def test_the_table_of_deliveries():
    """Who, when, until when, how it ended, what became of the ack."""
    result = run(40, workers=2, lease=30, late_ack="latest_receipt", max_receives=2)
    table = result.deliveries
    assert table.attempt.tolist() == [1, 2]
    assert table.worker.tolist() == [1, 2]
    assert table.received.tolist() == table.started.tolist() == [0, 30]
    assert table.lease_ends.tolist() == table.expired.tolist() == [30, 60]
    assert table.ended.tolist() == table.acked.tolist() == [40, 70]
    assert table.outcome.tolist() == ["finished", "finished"]
    assert table.ack.tolist() == ["ignored", "ignored"]


def test_lease_ends_shows_the_last_extension():
    """Extended at 10 and 20 by 30 s: it ends at 50."""

    async def beats(job, ctx):
        for _ in range(2):
            await ctx.sleep(10)
            await ctx.extend(30)

    assert run(handler=beats, lease=30).deliveries.lease_ends.tolist() == [50]


def test_the_table_of_effects_counts_repeats():
    """All above 0 are duplicates."""
    assert run(**THREE_TIMES).effects["repeat"].tolist() == [0, 1, 2]


def test_the_table_of_jobs():
    """One row for each, with what became of it."""
    result = run(10, jobs=3, arrivals=sq.EvenlySpaced(interval=100), horizon=205)
    assert result.jobs.outcome.tolist() == ["acked", "acked", "unfinished"]
    assert result.jobs.settled.tolist()[:2] == [10, 110]
    cut = run(10, jobs=3, arrivals=sq.EvenlySpaced(interval=100), horizon=150)
    assert cut.jobs.outcome.tolist() == ["acked", "acked", "unpublished"]


def test_events_are_in_words():
    """Until when, and details, in their own columns."""
    events = run(10, lease=30).events.set_index("event")
    assert events.until["received"] == 30
    assert events.detail["effect"] == "charge"
    assert events.detail["acked"] == "was in_flight"


def test_timeseries_counts_messages_and_slots():
    """Three jobs at once, one worker of 10 s: depth 2, 1, 0; always as many as published."""
    series = run(10, jobs=3).timeseries
    assert series.index.tolist() == [0, 10, 20, 30]
    assert series.visible.tolist() == [2, 1, 0, 0]
    assert series.in_flight.tolist() == [1, 1, 1, 0]
    assert series.acked.tolist() == [0, 1, 2, 3]
    assert series.busy.tolist() == [1, 1, 1, 0]
    assert series.oldest_age.tolist() == [0, 10, 20, 0]


@pytest.mark.parametrize("late_ack", ["deletes", "in_flight_only", "latest_receipt", "unexpired"])
def test_published_messages_are_always_in_one_of_the_states(late_ack):
    """Conservation: delayed + visible + in flight + acked + dead-lettered = published."""
    result = run(
        sq.LogNormal(median=5, p99=60),
        workers=5,
        jobs=500,
        arrivals=sq.Poisson(0.5),
        lease=15,
        late_ack=late_ack,
        max_receives=4,
        retry_delay=7,
        crash=sq.Crash(mean_time_between=60, restart_after=10),
        network=sq.Network(ack_lost=0.1),
        handler=sq.handlers.claim,
    )
    series = result.timeseries
    states = series[["delayed", "visible", "in_flight", "acked", "dead_lettered"]]
    published = np.searchsorted(np.sort(result.jobs.published), series.index, side="right")
    assert (states.sum(axis=1).to_numpy() == published).all()
    assert (states.to_numpy() >= 0).all()
    assert (series.delayed > 0).any()
    assert series.busy.iloc[-1] == 0


def test_the_oldest_age_is_that_of_the_oldest_unsettled_job():
    """Job 0 is stuck behind nothing but its own length; job 1 comes and goes."""
    result = run(
        sq.Recorded([100, 5]), jobs=None, workers=2, arrivals=sq.Times([0, 10]), lease=None
    )
    assert result.timeseries.oldest_age.to_dict() == {0: 0, 10: 10, 15: 15, 100: 0}


def test_a_run_with_a_horizon_lasts_until_it():
    """One job of 90 s, cut at 50 s: 50 busy seconds of 50."""
    result = run(90, lease=None, horizon=50)
    assert result.duration == 50
    assert result.figures["utilisation"] == 1


def test_a_result_tells_its_three_counts():
    """At a glance."""
    assert repr(run(**THREE_TIMES)) == (
        "<Result of 1 jobs, seed 0: 2 redeliveries, 2 duplicate executions, 2 duplicate effects>"
    )
