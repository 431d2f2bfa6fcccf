"""Every knob of the lease queue, one at a time, against results worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from runs import received, run, settled, starts

import simqueue as sq
from simqueue import backoff


async def failing(job, ctx):
    """Work, then fail."""
    await ctx.work()
    raise sq.Retry("not today")


# When the end of a lease is noticed.


@pytest.mark.parametrize(
    ("phase", "again"), [(0, 100), (50, 50), (20, 120), (30, 30), (29, 129), (99, 99)]
)
def test_a_sweep_notices_a_lease_at_its_next_look(phase, again):
    """F4: the next start is at the first look at or after V."""
    result = run(
        1_000, workers=2, lease=30, late_ack="deletes", horizon=200,
        sweep_period=100, sweep_phase=phase,
    )  # fmt: skip
    assert received(result)[1] == again


def test_a_sweep_ends_at_most_a_batch_at_each_look():
    """F4: batch B and period P: restored at most B / P per second, the oldest first."""
    result = run(
        1_000, jobs=5, workers=10, lease=30, late_ack="deletes", horizon=71,
        sweep_period=10, sweep_batch=2,
    )  # fmt: skip
    second = result.deliveries[result.deliveries.attempt == 2]
    assert second.received.tolist() == [30, 30, 40, 40, 50]
    assert second.job.tolist() == [0, 1, 2, 3, 4]


def test_a_sweep_passes_over_what_was_acked_or_extended():
    """Acked at 25, a lease of 20 looked at every 30 s is never ended."""
    assert received(run(25, workers=2, lease=20, sweep_period=30, late_ack="deletes")) == [0]


@pytest.mark.parametrize(("crash_at", "back_at"), [(1, 60), (29, 60), (31, 60), (44, 60), (46, 90)])
def test_two_passes_need_a_mark_before_the_end(crash_at, back_at):
    """BullMQ: lock 30 s, renewed every 15, looks every 30.

    The job is back at the first look that finds the lock gone and the mark of the look before. The
    look at 0 comes before the receive at 0, and marks nothing.
    """
    result = run(
        100, workers=2, lease=30, renew_every=15, late_ack="unexpired", max_receives=3,
        sweep_period=30, two_passes=True, crash=sq.Crash(at=[(1, crash_at)], restart_after=1),
    )  # fmt: skip
    assert received(result)[1] == back_at


def test_a_renewed_job_is_not_ended_by_two_passes():
    """Each renewal takes the mark away."""
    result = run(
        500, workers=2, lease=30, renew_every=15, sweep_period=30, two_passes=True,
        late_ack="unexpired",
    )  # fmt: skip
    assert received(result) == [0]


# When the lease starts, and who renews it.


def test_a_lease_from_the_start_does_not_run_in_the_buffer():
    """F8 with the other clock: all ten acks count."""
    for lease_from, dead in (("start", 0), ("hand_over", 8)):
        result = run(
            10, jobs=10, prefetch=10, lease=25, lease_from=lease_from, late_ack="unexpired",
            max_receives=1,
        )  # fmt: skip
        assert (result.jobs.outcome == "dead-lettered").sum() == dead
        if lease_from == "start":
            assert (result.deliveries.lease_ends - result.deliveries.started).tolist() == [25] * 10


def test_a_client_library_renews_until_the_handler_is_done():
    """S = 100, V = 30, renewed every 10 s: one delivery; the lease stood at 120 when it ended."""
    result = run(100, workers=2, lease=30, renew_every=10, late_ack="unexpired")
    assert received(result) == [0]
    assert result.deliveries.lease_ends[0] == 90 + 30


def test_a_cap_on_renewal_lets_long_jobs_lapse():
    """Renewed until 60 s after the start: the last lease ends at 90."""
    result = run(
        100, workers=2, lease=30, renew_every=10, renew_for=60, late_ack="deletes", horizon=95
    )
    assert received(result) == [0, 90]


def test_renewal_at_longer_intervals_than_the_lease_comes_too_late():
    """Every job longer than the lease lapses at its end."""
    result = run(100, workers=2, lease=30, renew_every=45, late_ack="deletes")
    assert received(result) == [0, 30, 60, 90][: len(received(result))]
    assert len(received(result)) == 2


def test_renewal_dies_with_its_worker():
    """F6: redelivery at the last heartbeat + V."""
    result = run(
        100, workers=2, lease=30, renew_every=10, late_ack="deletes",
        crash=sq.Crash(at=[(1, 25)], restart_after=1),
    )  # fmt: skip
    assert received(result)[1] == 20 + 30


@pytest.mark.parametrize(("seconds", "share"), [(10, 0), (20, 1 / 3), (25, 2 / 3), (31, 1)])
def test_a_pause_lapses_a_renewed_lease_as_often_as_it_must(seconds, share):
    """F5: V = 30, renewed every 15, one pause of p at random: P(lapse) = clamp((p-15)/15, 0, 1)."""
    moments = np.arange(300.25, 315, 0.5)
    lapsed = [
        len(
            received(
                run(
                    1_000,
                    workers=2,
                    lease=30,
                    renew_every=15,
                    late_ack="deletes",
                    horizon=400,
                    faults=[sq.Pause(seconds=seconds, at=[(1, float(moment))])],
                )
            )
        )
        - 1
        for moment in moments
    ]
    assert np.mean(lapsed) == pytest.approx(share, abs=1 / len(moments) + 1e-9)


# What a worker's death means.


def test_requeue_at_once_when_the_connection_is_lost():
    """RabbitMQ: no lease; what the dead worker held is visible when the broker notices."""
    for after in (0, 60):
        result = run(
            50, workers=2, lease=None, on_disconnect="requeue", disconnect_after=after,
            crash=sq.Crash(at=[(1, 20)], restart_after=1_000),
        )  # fmt: skip
        assert starts(result) == [0, 20 + after]
        assert result.deliveries.worker.tolist() == [1, 2]


def test_requeue_brings_back_what_the_worker_does_not_know_of():
    """A delivery that was lost on its way, and one whose ack was, are unsettled all the same."""
    lost_on_its_way = run(
        10, lease=None, on_disconnect="requeue", horizon=200,
        network=sq.Network(delivery_lost=0.999), crash=sq.Crash(at=[(1, 20)], restart_after=1),
    )  # fmt: skip
    assert received(lost_on_its_way)[:2] == [0, 21]
    lost_ack = run(
        10, lease=None, on_disconnect="requeue", crash=sq.Crash(at=[(1, 20)], restart_after=1),
        faults=[sq.faults.At(step="ack", what="ack lost")],
    )  # fmt: skip
    assert starts(lost_ack) == [0, 21]


def test_requeue_releases_the_whole_buffer():
    """Running and waiting alike."""
    result = run(
        50, jobs=3, workers=1, prefetch=3, lease=None, on_disconnect="requeue",
        crash=sq.Crash(at=[(1, 20)], restart_after=1),
    )  # fmt: skip
    assert (result.deliveries.received == 21).sum() == 3


def test_ack_on_receive_loses_what_the_worker_holds():
    """At most once: one effect or none, never two."""
    result = run(
        10, jobs=4, workers=1, prefetch=math.inf, ack_when="received",
        crash=sq.Crash(at=[(1, 15)], restart_after=1),
    )  # fmt: skip
    assert result.jobs.outcome.tolist() == ["acked", "lost", "lost", "lost"]
    assert result.figures["lost_rate"] == 0.75
    assert result.figures["redeliveries"] == 0


# What counts as an attempt.


@pytest.mark.parametrize(
    ("counts", "executions"), [(("receive",), 1), (("failure",), 30), (("expiry",), 1)]
)
def test_a_job_that_kills_its_worker_is_stopped_only_if_that_counts(counts, executions):
    """Out of memory 900 s into each run, lease 4 h, at most one attempt, for five days."""
    result = run(
        3_600, lease=14_400, max_receives=1, counts=counts, horizon=432_000,
        crash=sq.Crash(after=900, restart_after=10),
    )  # fmt: skip
    assert len(starts(result)) == executions
    assert result.jobs.outcome[0] == ("unfinished" if executions > 1 else "dead-lettered")


@pytest.mark.parametrize(("counts", "dead"), [(("failure",), True), (("disconnect",), False)])
def test_failures_and_disconnects_are_counted_apart(counts, dead):
    """A handler that raises uses up failures, not disconnects."""
    result = run(
        10, lease=None, max_receives=3, counts=counts, handler=failing, retry_delay=5, horizon=300
    )
    assert (result.jobs.outcome[0] == "dead-lettered") == dead
    assert len(starts(result)) == (3 if dead else 20)


def test_an_exhausted_message_can_be_dropped():
    """No dead-letter queue: it is gone."""
    result = run(1, lease=30, max_receives=2, exhausted="drop", handler=failing)
    assert result.jobs.outcome[0] == "lost"
    assert result.figures["lost_rate"] == 1


# When a failed message comes back.


def test_a_backoff_rule_spaces_the_retries():
    """1, 2, 4, 8 s after each failure."""
    result = run(
        0, lease=None, max_receives=5, handler=failing, retry_delay=backoff.Exponential(base=1)
    )
    assert received(result) == [0, 1, 3, 7, 15]


def test_any_function_of_attempt_previous_and_rng_is_a_backoff_rule():
    """It hears how many failures there were, and what the last delay was."""
    heard = []

    def rule(attempt, previous, rng):
        heard.append((attempt, previous))
        return attempt * 10.0

    assert received(run(0, lease=None, max_receives=4, handler=failing, retry_delay=rule)) == [
        0,
        10,
        30,
        60,
    ]
    assert heard == [(1, 0), (2, 10), (3, 20)]


def test_the_jitter_of_a_job_does_not_depend_on_other_jobs():
    """Draws belong to (job, attempt): with more jobs around, job 0 waits just as long."""
    options = {
        "lease": None,
        "max_receives": 4,
        "handler": failing,
        "retry_delay": backoff.FullJitter(base=5),
    }
    alone = received(run(0, workers=9, **options))
    crowd = received(run(0, workers=9, jobs=7, **options))
    assert alone == crowd
    assert len(set(np.diff(alone))) == 3


def test_a_handler_can_ask_for_its_own_delay():
    """`Retry(after=...)` goes before the broker's rule."""

    async def asks(job, ctx):
        raise sq.Retry("rate limit", after=42)

    assert received(run(lease=300, max_receives=3, handler=asks)) == [0, 42, 84]


# Who is next.


def test_groups_wait_for_their_first_job_and_not_for_each_other():
    """Two groups, jobs 0 2 4 and 1 3: never two of a group at once, each in order."""
    result = run(10, jobs=5, workers=5, groups=2, ordering="group")
    table = result.deliveries
    assert table.received.tolist() == [0, 0, 10, 10, 20]
    assert table.job.tolist() == [0, 1, 2, 3, 4]


def test_a_group_waits_for_a_crashed_head():
    """Job 0 comes back when its lease ends; only then does its group go on."""
    result = run(
        10, jobs=4, workers=2, groups=2, ordering="group", lease=30,
        crash=sq.Crash(at=[(1, 5)], restart_after=1),
    )  # fmt: skip
    table = result.deliveries
    assert table[table.job % 2 == 0][["job", "received"]].values.tolist() == [
        [0, 0], [0, 30], [2, 40],
    ]  # fmt: skip
    assert table[table.job % 2 == 1].received.tolist() == [0, 10]


def test_a_dead_lettered_head_lets_its_group_go_on():
    """A poison message blocks its group until its attempts are used up, and no longer."""

    async def poison(job, ctx):
        await ctx.work()
        if job.id == 0:
            raise sq.Retry("never")

    result = run(
        1, jobs=3, workers=3, ordering="fifo", lease=None, max_receives=3, handler=poison,
        retry_delay=10,
    )  # fmt: skip
    assert result.jobs.outcome.tolist() == ["dead-lettered", "acked", "acked"]
    assert starts(result, job=1) == [23]


def test_fifo_is_one_group():
    """Strictly one after the other, however many workers there are."""
    result = run(10, jobs=3, workers=3, ordering="fifo")
    assert result.deliveries.started.tolist() == [0, 10, 20]


# Batches.


def test_the_leases_of_a_batch_start_together():
    """Ten of 10 s in one receive, lease 30: the first three acks count."""
    result = run(10, jobs=10, batch=10, lease=30, late_ack="unexpired", max_receives=1, horizon=101)
    assert (result.deliveries.ack == "accepted").sum() == 3


def test_a_batch_is_what_is_there_at_one_instant():
    """Jobs that come while a batch is at work wait for the next receive."""
    result = run(10, jobs=None, arrivals=sq.Times([0, 0, 1, 2, 3]), batch=10, lease=None)
    assert result.deliveries.received.tolist() == [0, 0, 20, 20, 20]


@pytest.mark.parametrize(("ack_batch", "executions", "dead"), [("whole", 30, 10), ("each", 12, 1)])
def test_one_bad_job_in_a_batch(ack_batch, executions, dead):
    """F11: b = 10, r = 3: whole b*r executions and b dead; each (b-1)+r executions and 1 dead."""

    async def one_is_bad(job, ctx):
        await ctx.work()
        if job.id == 3:
            raise sq.Retry("bad record")
        await ctx.payments.charge(job.customer, job.amount)

    result = run(
        1, jobs=10, batch=10, ack_batch=ack_batch, lease=60, max_receives=3, handler=one_is_bad
    )
    assert result.jobs.executions.sum() == executions
    assert (result.jobs.outcome == "dead-lettered").sum() == dead


def test_a_crash_in_a_batch_takes_what_was_not_acked_yet():
    """Acked one by one, two are done at 25; acked as a whole, none is."""
    for ack_batch, again in (("each", 2), ("whole", 4)):
        result = run(
            10, jobs=4, batch=4, ack_batch=ack_batch, lease=100,
            crash=sq.Crash(at=[(1, 25)], restart_after=1),
        )  # fmt: skip
        assert (result.jobs.deliveries == 2).sum() == again


# What happens between producer and queue.


def test_a_resent_message_is_a_second_message_of_the_job():
    """INC-20: a reply lost with probability q, sent again until it is heard: q/(1-q) duplicates."""
    q = 0.2
    result = run(
        0, jobs=20_000, workers=5, arrivals=sq.Poisson(100),
        network=sq.Network(publish_response_lost=q, resend_after=5),
    )  # fmt: skip
    copies = (result.events.event == "published").sum() - 20_000
    assert copies / 20_000 == pytest.approx(q / (1 - q), rel=0.03)
    assert result.figures["duplicate_effects"] == copies


@pytest.mark.parametrize(
    ("resend_after", "refreshes", "stored"),
    [(13, False, 1), (121, False, 5), (50, False, 2), (50, True, 1), (120, False, 5)],
)
def test_a_dedupe_window_swallows_what_is_sent_again_inside_it(resend_after, refreshes, stored):
    """Five sends of one key; window 120 s, counted from the one that was stored, or from each."""
    lost = {"publish_response_lost": 0.999_999}
    result = run(
        0, dedupe_window=120, dedupe_refreshes=refreshes, horizon=4.5 * resend_after,
        network=sq.Network(resend_after=resend_after, **lost),
    )  # fmt: skip
    assert (result.events.event == "published").sum() == 5
    assert (result.events.event == "deduplicated").sum() == 5 - stored
    assert result.jobs.deliveries[0] == stored


def test_a_broker_can_make_copies_of_its_own():
    """With its probability, of each message once."""
    result = run(0, jobs=20_000, workers=5, arrivals=sq.Poisson(100), own_duplicates=0.1)
    assert result.figures["duplicate_delivery_rate"] == pytest.approx(0.1, rel=0.05)


def test_a_delayed_message_becomes_visible_later():
    """Delivered 15 s after it was published."""
    result = run(1, delay=15)
    assert received(result) == [15]
    assert result.timeseries.delayed.to_dict()[0] == 1


def test_retention_ends_a_message_wherever_it_is():
    """Failing for ever, it is gone 100 s after its publish; so is one that nobody takes."""
    result = run(1, lease=30, handler=failing, retention=100)
    assert received(result) == [0, 30, 60, 90]
    assert settled(result) == 100
    assert result.jobs.outcome[0] == "expired"
    waiting = run(500, jobs=2, lease=None, retention=100)
    assert waiting.jobs.outcome.tolist() == ["expired", "expired"]
    assert waiting.deliveries.ack.tolist() == ["ignored"]


def test_redrive_puts_dead_letters_back_with_a_clean_slate():
    """Dead after two failures; redriven at 100, when the cause is mended; done."""

    class Redrive(sq.faults.Fault):
        def install(self, world):
            world.clock.at(100, lambda _: world.queue.redrive())

    async def mended_later(job, ctx):
        if ctx.now < 100:
            raise sq.Retry("not yet")
        await ctx.payments.charge(job.customer, job.amount)

    result = run(lease=30, max_receives=2, handler=mended_later, faults=[Redrive()])
    assert received(result) == [0, 30, 100]
    assert result.jobs.outcome[0] == "acked"
    assert result.figures["dead_letter_rate"] == 0
    assert result.timeseries.dead_lettered.to_dict() == {0: 0, 30: 0, 60: 1, 100: 0}


def test_an_extension_twice_at_one_instant_is_fine():
    """Both say the same."""

    async def eager(job, ctx):
        await ctx.extend(50)
        await ctx.extend(50)
        await ctx.sleep(45)

    assert received(run(handler=eager, lease=30, workers=2)) == [0]
