"""Knobs that some real broker needs: each shown by one run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq


def events(result, *kinds):
    """(time, event, job) of the rows that say one of `kinds`."""
    rows = result.events[result.events.event.isin(kinds)]
    return [(row.time, row.event, row.job) for row in rows.itertuples()]


async def fails(job, ctx):
    """Work, and then raise what is not a Retry."""
    await ctx.work()
    raise RuntimeError("no")


async def retries(job, ctx):
    """Work, and then ask for another attempt."""
    await ctx.work()
    raise sq.Retry("later")


# Leases: their limit, and who notices that they ran out.


async def extends_twice(job, ctx):
    """Extend the lease to 30 s after the receive, then to more."""
    await ctx.sleep(20)
    await ctx.extend(10)
    await ctx.sleep(5)
    try:
        await ctx.extend(6)
    except sq.LeaseLimit:
        await ctx.mailer.send(job.customer, "sorry")
    await ctx.sleep(10)


def test_a_lease_is_not_extended_beyond_its_cap():
    """Cap 30: at 20 s ten more are fine, at 25 s six more are refused and nothing changes."""
    result = run(handler=extends_twice, workers=2, lease=20, lease_cap=30, late_ack="deletes")
    assert [row.until for row in result.events.itertuples() if row.event == "extended"] == [30]
    assert events(result, "effect") == [(25, "effect", 0)]
    assert starts(result) == [0, 30]


def test_the_heartbeat_stops_at_the_cap():
    """Every 10 s by 20 s up to 50 s: the beats at 10, 20 and 30 are fine, that at 40 is refused."""
    result = run(100, workers=2, lease=20, renew_every=10, lease_cap=50, late_ack="deletes")
    assert starts(result) == [0, 50]


def test_who_starts_looks_for_what_the_dead_left():
    """Dies at 5, its lease ends at 14: the start at 15 finds its job; nobody looked before."""
    crash = sq.Crash(at=[(1, 5)], restart_after=10)
    result = run(20, workers=2, crash=crash, lease=10, sweep_at_boot=0, renew_every=2)
    assert starts(result) == [0, 15]


def test_a_start_soon_after_another_look_does_not_look():
    """Spacing 60: the look at 0 covers the start at 12; the one at 80 looks."""
    crash = sq.Crash(at=[(1, 5), (1, 13)], restart_after=7)
    early = run(20, crash=crash, lease=4, sweep_at_boot=60, renew_every=2, horizon=200)
    assert starts(early) == [0]
    late = sq.Crash(at=[(1, 5), (1, 73)], restart_after=7)
    result = run(20, crash=late, lease=4, sweep_at_boot=60, renew_every=2, horizon=200)
    assert starts(result) == [0, 80]


def test_no_sweep_while_the_rescuer_is_down():
    """Lease 5, a sweep every 10: those at 10, 20 and 30 do not happen, and the job waits for 40."""
    down = sq.RescuerDown(window=(10, 40))
    crash = sq.Crash(at=[(1, 1)])
    result = run(2, crash=crash, lease=5, sweep_period=10, faults=[down])
    assert starts(result) == [0, 40]


def test_a_rescuer_that_is_down_for_good_rescues_nothing():
    """The run ends with the job in flight for ever."""
    down = sq.RescuerDown(window=(6, math.inf))
    result = run(2, crash=sq.Crash(at=[(1, 1)]), lease=5, sweep_period=10, faults=[down])
    assert starts(result) == [0]
    assert result.jobs.outcome[0] == "unfinished"


def test_leases_that_end_by_themselves_have_no_rescuer():
    """One clear sentence."""
    with pytest.raises(ValueError, match="without a sweep"):
        run(2, lease=5, faults=[sq.RescuerDown(window=(6, 7))])


# What the end of a lease means.


def test_a_lease_that_ran_out_may_mean_that_the_job_failed():
    """It is in the dead-letter queue at 5, though its worker charges at 8: recorded as failed."""
    result = run(8, workers=2, lease=5, on_expiry="dead_letter")
    assert starts(result) == [0]
    assert events(result, "dead lettered", "effect") == [(5, "dead lettered", 0), (8, "effect", 0)]
    assert result.jobs.outcome[0] == "dead-lettered"


def test_an_ack_may_overrule_the_record_of_a_failure():
    """The late ack at 8 makes a success of it, and nothing is in the dead-letter queue."""
    result = run(8, lease=5, on_expiry="dead_letter", late_ack="overrides")
    assert result.jobs.outcome[0] == "acked"
    assert result.figures["dead_letter_rate"] == 0
    assert settled(result) == 8


def test_a_closed_connection_brings_back_all_that_its_worker_holds():
    """The first job's lease ends at 5: all three come back, and another worker runs those two."""
    result = run(
        7, workers=2, jobs=3, lease=5, on_expiry="close", on_disconnect="requeue",
        late_ack="unexpired", prefetch=3, horizon=6,
    )  # fmt: skip
    assert [received(result, job) for job in range(3)] == [[0, 5], [0, 5], [0, 5]]
    assert events(result, "connection closed") == [(5, "connection closed", -1)]
    assert starts(result, 0) == [0, 5]


def test_a_cancelled_consumer_gets_nothing_more():
    """One worker: its lease ends at 5, the job of 7 s is done at 7, the next one is never taken."""
    options = {"jobs": 2, "lease": 5, "on_expiry": "cancel", "late_ack": "deletes"}
    result = run(7, horizon=100, **options)
    assert (starts(result, 0), starts(result, 1)) == ([0], [])
    result = run(7, horizon=100, resubscribe_after=20, **options)
    assert (starts(result, 0), starts(result, 1)) == ([0], [25])


# Renewal.


def test_what_waits_in_a_buffer_can_be_renewed_too():
    """Two jobs of 8 s, lease 5, renewed every 2: unless it is renewed too, the second lapses."""
    options = {"jobs": 2, "prefetch": 2, "lease": 5, "renew_every": 2}
    assert received(run(8, late_ack="deletes", **options), 1) == [0, 8]
    assert received(run(8, renew_what="held", **options), 1) == [0]


def test_the_limit_of_renewal_counts_from_the_start_of_the_handler():
    """Renewed for 6 s from its start at 8: the last beat is at 14, and the lease ends at 19."""
    options = {"jobs": 2, "prefetch": 2, "workers": 1, "renew_what": "held", "renew_for": 6}
    result = run(20, lease=5, renew_every=2, handler=_first_is_short, late_ack="deletes", **options)
    assert received(result, 1) == [0, 19]


async def _first_is_short(job, ctx):
    """8 s, and then 20 s."""
    await ctx.sleep(20 if job.id else 8)


def test_one_heartbeat_serves_all_that_a_process_holds():
    """Beats at 0, 10, 20; dead at 29: what was taken at 28 is back at 20 + 15, as is the other."""
    result = run(
        100, jobs=2, concurrency=2, workers=1, lease=15, renew_every=10, renew_what="process",
        arrivals=sq.Times([1, 28]), crash=sq.Crash(at=[(1, 29)]),
        horizon=60,
    )  # fmt: skip
    assert (received(result, 0), received(result, 1)) == ([1, 35], [28, 35])


def test_heartbeats_go_on_from_a_start_at_any_time():
    """Back at a time that is no whole number: a beat every 10 s from then on, each at its time."""
    crash = sq.Crash(at=[(1, 1)], restart_after=2.123457)
    result = run(100, lease=15, renew_every=10, renew_what="process", sweep_period=1, crash=crash)
    extended = result.events[result.events.event == "extended"].time
    assert extended.tolist() == [pytest.approx(3.123457 + 10 * n) for n in range(2, 12)]


def test_a_process_looks_dead_until_its_first_heartbeat():
    """The first beat is 4 s after the start: a sweep at 3 takes the job away, one at 5 does not."""
    options = {
        "workers": 2, "lease": 60, "renew_every": 10, "renew_what": "process",
        "first_heartbeat": 4, "sweep_period": 100, "late_ack": "deletes",
    }  # fmt: skip
    assert starts(run(8, sweep_phase=3, **options)) == [0, 3]
    assert starts(run(8, sweep_phase=5, **options)) == [0]


# Acks and nacks.


def test_an_ack_at_the_start_loses_what_runs_and_keeps_what_waits():
    """Dead at 5: the job that runs is lost, the one in the buffer comes back."""
    result = run(10, jobs=2, prefetch=2, ack_when="started", lease=30, crash=sq.Crash(at=[(1, 5)]))
    assert result.jobs.outcome.tolist() == ["lost", "acked"]
    assert received(result, 1) == [0, 30]


@pytest.mark.parametrize("ack_when", ["started", "received"])
def test_an_early_ack_leaves_nothing_that_could_get_lost(ack_when):
    """Every later ack would be lost: there is none."""
    result = run(5, ack_when=ack_when, network=sq.Network(ack_lost=1.0))
    assert settled(result) == 5


def test_what_is_acked_at_its_start_has_no_lease_left():
    """A job of 50 s with a lease of 30 s runs once."""
    assert starts(run(50, workers=2, ack_when="started", lease=30)) == [0]


def test_a_late_ack_may_be_refused_only_once_somebody_has_received_the_message():
    """One worker, 8 s, lease 5: nobody else has it. Two: each is refused, and it never ends."""
    alone = run(8, lease=5, late_ack="latest_or_refused")
    assert (starts(alone), settled(alone)) == ([0], 8)
    both = run(8, workers=2, lease=5, late_ack="latest_or_refused", horizon=30)
    assert len(events(both, "ack refused")) >= 2
    assert both.jobs.outcome[0] != "acked"


def test_a_lock_that_ran_out_is_gone_though_no_sweep_has_noticed():
    """Lease 5, sweep at 100: the ack at 8 is refused; a broker that tells nobody would take it."""
    refused = run(8, lease=5, sweep_period=100, late_ack="unexpired", horizon=50)
    assert events(refused, "ack refused") == [(8, "ack refused", 0)]
    assert settled(run(8, lease=5, sweep_period=100, late_ack="in_flight_only")) == 8


def test_a_lock_that_ran_out_unnoticed_is_not_renewed():
    """A pause past the end of the lock: the renewal comes too late, and the sweep takes the job."""
    pause = sq.Pause(seconds=10, at=[(1, 1)])
    result = run(
        30, workers=2, lease=5, renew_every=2, sweep_period=20, late_ack="unexpired",
        faults=[pause], horizon=25,
    )  # fmt: skip
    assert starts(result) == [0, 20]


def test_a_late_nack_may_release_a_message_that_another_holds():
    """Lease 10, both fail after 12 s: at 12 the first gives back what the second holds since 10."""
    options = {"work": 12, "workers": 3, "handler": fails, "retry_delay": 0, "lease": 10}
    assert starts(run(horizon=13, **options)) == [0, 10]
    assert starts(run(horizon=13, late_nack="releases", **options)) == [0, 10, 12]


@pytest.mark.parametrize(
    ("on_failure", "state"), [("ack", "acked"), ("dead_letter", "dead-lettered")]
)
def test_an_exception_may_mean_that_the_job_is_done_or_given_up(on_failure, state):
    """At its first failure; but a Retry is another attempt."""
    options = {"on_failure": on_failure, "retry_delay": 1, "max_receives": 3, "lease": 30}
    result = run(2, handler=fails, **options)
    assert (starts(result), result.jobs.outcome[0]) == ([0], state)
    assert starts(run(2, handler=retries, **options)) == [0, 3, 6]


def test_the_retry_delay_may_also_follow_an_expiry():
    """Lease 5, then 10 s, then 20 s of delay."""
    delays = sq.backoff.Exponential(base=10, factor=2, cap=600)
    options = {"lease": 5, "retry_delay": delays, "late_ack": "unexpired", "horizon": 46}
    assert received(run(8, **options)) == [0, 8, 16, 24, 32, 40]
    assert received(run(8, retry_on=["failure", "expiry"], **options)) == [0, 15, 40]


# Workers that die, wholly or in part.


@pytest.mark.parametrize(
    ("on_slot_lost", "begun", "state"),
    [("wait", [0, 20], "unfinished"), ("ack", [0], "acked"), ("return", [0, 3], "dead-lettered")],
)
def test_what_a_process_says_when_a_slot_of_it_dies(on_slot_lost, begun, state):
    """Killed at 3 s of each attempt: it waits for its lease, is acked, or comes back at once."""
    crash = sq.Crash(after=3, kills="slot")
    result = run(
        5, lease=20, on_slot_lost=on_slot_lost, crash=crash, max_receives=2, exhaustion="receive",
        horizon=22,
    )  # fmt: skip
    assert starts(result) == begun
    assert result.jobs.outcome[0] == state
    assert not events(result, "worker crashed")


def test_the_neighbours_of_a_slot_that_dies_live_on():
    """Two slots: the first job kills its own at 3 s, the second is done at 5."""
    crash = sq.Crash(after=3, jobs=[0], kills="slot")
    result = run(5, jobs=2, concurrency=2, on_slot_lost="ack", crash=crash)
    assert settled(result, 1) == 5
    assert result.jobs.effects.tolist() == [0, 1]


def test_a_machine_that_dies_closes_no_connection():
    """The process's death is noticed at once, the machine's after 60 s of silence."""
    options = {"lease": None, "on_disconnect": "requeue", "silence_after": 60}
    at = {"at": [(1, 3)]}
    assert starts(run(5, crash=sq.Crash(**at), **options)) == [0, 3]
    assert starts(run(5, crash=sq.Crash(kills="machine", **at), **options)) == [0, 63]


def test_a_worker_that_is_cut_off_is_noticed_after_the_silence_or_when_it_is_back():
    """Cut off at 3: after 60 s another worker has its job; back at 20, it connects anew then."""
    options = {"workers": 2, "lease": None, "on_disconnect": "requeue", "silence_after": 60}
    long = sq.Partition(worker=1, window=(3, 500))
    assert starts(run(5, faults=[long], **options)) == [0, 63]
    short = sq.Partition(worker=1, window=(3, 20))
    assert starts(run(5, faults=[short], **options)) == [0, 20]


# Two limits, apart.


def test_stalls_are_counted_apart_from_failures():
    """One stall is allowed: at the second the job is given up, whatever its attempts."""
    options = {"lease": 5, "counts": ["failure"], "max_receives": 9, "stalls": ["expiry"]}
    result = run(100, workers=9, max_stalls=1, late_ack="unexpired", **options)
    assert starts(result) == [0, 5]
    assert events(result, "dead lettered") == [(10, "dead lettered", 0)]


def test_a_stall_too_many_may_be_noticed_only_when_somebody_asks():
    """Two workers, both busy for 100 s: the message is back at 10, and given up at 100."""
    options = {"lease": 5, "counts": ["failure"], "max_receives": 9, "late_ack": "unexpired"}
    result = run(100, workers=2, max_stalls=1, stalls_noticed="receive", **options)
    assert starts(result) == [0, 5]
    assert events(result, "dead lettered") == [(100, "dead lettered", 0)]


def test_only_recent_stalls_count():
    """Dead 3 s into each run, back after 10: three within 30 s are too many, not within 12 s."""
    options = {"lease": None, "on_disconnect": "requeue", "stalls": ["disconnect"], "horizon": 60}
    options |= {"crash": sq.Crash(after=3, restart_after=10)}
    assert starts(run(5, max_stalls=2, stalls_within=30, **options)) == [0, 13, 26]
    assert starts(run(5, max_stalls=2, stalls_within=12, **options)) == [0, 13, 26, 39, 52]


# The line.


def test_one_receive_may_bring_several_of_a_group():
    """Group 0 has jobs 0, 2, 4: a batch of three has them all; without, only the first of each."""
    options = {"jobs": 6, "groups": 2, "ordering": "group", "batch": 3, "workers": 1}
    assert [received(run(1, **options), job)[0] for job in range(6)] == [0, 0, 2, 2, 4, 4]
    together = run(1, group_batches=True, **options)
    assert [received(together, job)[0] for job in range(6)] == [0, 3, 0, 3, 0, 3]


def test_a_group_waits_until_all_of_its_batch_is_done():
    """Four of one group, batches of two: the second pair starts when the first is acked."""
    options = {"jobs": 4, "ordering": "fifo", "batch": 2, "workers": 2, "group_batches": True}
    result = run(3, ack_batch="whole", **options)
    assert [received(result, job)[0] for job in range(4)] == [0, 0, 6, 6]


def test_a_group_comes_back_in_its_old_order():
    """Both of a batch fail, the second first: they are delivered again as they were."""
    options = {"jobs": 2, "ordering": "fifo", "batch": 2, "concurrency": 2, "group_batches": True}
    result = run(handler=_second_fails_first, lease=None, max_receives=2, retry_delay=1, **options)
    assert [received(result, 0)[1], received(result, 1)[1]] == [3, 3]
    order = [row.job for row in result.events.itertuples() if row.event == "received"]
    assert order == [0, 1, 0, 1]


async def _second_fails_first(job, ctx):
    """The second after 1 s, the first after 2 s."""
    await ctx.sleep(2 - job.id)
    raise RuntimeError("no")


def test_nothing_is_handed_over_while_too_much_is_out():
    """Five jobs, three workers, two at most in flight: a new pair every second."""
    result = run(1, jobs=5, workers=3, most_in_flight=2)
    assert [received(result, job)[0] for job in range(5)] == [0, 0, 1, 1, 2]


def test_the_largest_batch_is_the_brokers():
    """Ten, say."""
    run(1, batch=10, most_per_receive=10)
    with pytest.raises(ValueError, match=r"workers\.batch must be at most 10"):
        run(1, batch=11, most_per_receive=10)


def test_what_is_delayed_becomes_visible_at_a_poll():
    """A poller looks every 5 s: a retry in 3 s, asked for at 1, is visible at 5."""
    result = run(1, handler=retries, retry_delay=3, poll_delayed=5, max_receives=3)
    assert received(result) == [0, 5, 10]


def test_polls_have_their_own_jitter_and_the_same_in_every_run():
    """Half of the interval more or less: the first one is between 2.5 and 7.5 s, for each seed."""
    first = [
        received(run(1, seed, handler=retries, retry_delay=1, poll_delayed=5, poll_jitter=0.5,
                     max_receives=2))[1]
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert first[0] == first[1]
    assert all(2 <= time <= 7.5 + 7.5 for time in first)


def test_a_job_is_kept_until_it_is_due_by_the_broker_or_by_the_worker():
    """Due at 10: the broker hands it over then; a worker has it from 0 on, and starts it at 10."""
    due = sq.Producers(due_after=10)
    broker = run(1, producers=due)
    assert (received(broker), starts(broker)) == ([10], [10])
    worker = run(1, producers=due, due_held_by="worker")
    assert (received(worker), starts(worker)) == ([0], [10])


def test_the_lease_of_a_job_that_is_not_due_runs():
    """Due at 12, lease 5: three workers have it at 0, 5 and 10, and all run it at 12."""
    due = sq.Producers(due_after=12)
    result = run(
        1, workers=3, producers=due, due_held_by="worker", lease=5, late_ack="in_flight_only"
    )
    assert received(result) == [0, 5, 10]
    assert starts(result) == [12, 12, 12]


def test_jobs_that_are_not_due_take_no_room():
    """One slot: it holds three jobs until they are due, and works on another one meanwhile."""
    due = sq.Producers(due_after=12)
    result = run(1, jobs=3, producers=due, due_held_by="worker", lease=None)
    assert [received(result, job) for job in range(3)] == [[0], [0], [0]]
    assert [starts(result, job) for job in range(3)] == [[12], [13], [14]]


@pytest.mark.parametrize(("forgets", "begun"), [(True, [12]), (False, [12, 12, 12])])
def test_a_worker_whose_connection_is_closed_may_forget_what_is_not_due(forgets, begun):
    """Closed at 5 and 10: the deliveries are at 0, 5 and 10; the last one, or all of them, run."""
    result = run(
        1, workers=1, concurrency=3, producers=sq.Producers(due_after=12), due_held_by="worker",
        lease=5, on_expiry="close", on_disconnect="requeue", late_ack="unexpired",
        forgets_due=forgets,
    )  # fmt: skip
    assert received(result) == [0, 5, 10]
    assert starts(result) == begun


# Copies, and the end.


def test_a_retention_may_go_on_in_the_dead_letter_queue():
    """Dead at 5, retention 20 from the publish: gone at 20, or kept for good."""
    options = {"lease": 5, "max_receives": 1, "retention": 20, "horizon": 50}
    assert run(9, workers=2, **options).jobs.outcome[0] == "dead-lettered"
    gone = run(9, workers=2, retention_of_dead=True, **options)
    assert events(gone, "dead letter expired") == [(20, "dead letter expired", 0)]
    assert gone.jobs.outcome[0] == "expired"
    assert gone.figures["dead_letter_rate"] == 0


def test_a_dead_letter_may_have_a_retention_of_its_own():
    """Dead at 5, and gone 20 s later; the job was settled at 5 all the same."""
    options = {"lease": 5, "max_receives": 1, "dead_letter_retention": 20}
    result = run(9, horizon=100, **options)
    assert events(result, "dead letter expired") == [(25, "dead letter expired", 0)]
    assert settled(result) == 5
    assert not events(run(9, **options), "dead letter expired")


@pytest.mark.parametrize(("after", "times"), [(0, 3), (4, 2), (100, 1)])
def test_a_key_may_be_known_until_its_message_is_settled_and_for_a_while_after(after, times):
    """Published at 0, 2 (swallowed: at work until 3), 5, 10: known until 3 + after."""
    producers = sq.Producers(replicas=4, offsets=[0, 2, 5, 10])
    result = run(3, producers=producers, dedupe_after=after)
    assert len(starts(result)) == times


def test_the_key_of_a_schedule_is_the_same_for_all_its_jobs():
    """Every 5 s, known for 60 s after: one of twelve runs."""
    producers = sq.Producers(dedupe_key="all")
    result = run(
        0.001, jobs=24, arrivals=sq.EvenlySpaced(interval=5), producers=producers, dedupe_after=59.9
    )
    assert [job for job in range(24) if starts(result, job)] == [0, 12]


def test_a_new_key_for_each_send_defeats_the_dedupe():
    """Two replicas: one message with the job's key, two with their own."""
    for key, messages in (("job", 1), ("send", 2)):
        producers = sq.Producers(replicas=2, dedupe_key=key)
        assert len(starts(run(1, producers=producers, dedupe_window=60))) == messages


def test_replicas_publish_the_same_job():
    """Three copies of each, 0.1 s apart: three deliveries of one job, turns 1, 2 and 3."""
    producers = sq.Producers(replicas=3, offsets=[0, 0.1, 0.2])
    result = run(1, jobs=2, workers=6, arrivals=sq.EvenlySpaced(interval=10), producers=producers)
    assert starts(result, 0) == pytest.approx([0, 0.1, 0.2])
    assert starts(result, 1) == pytest.approx([10, 10.1, 10.2])


def test_a_sender_sends_again_until_the_job_is_done():
    """Every 4 s; the job takes 6: sent at 0 and 4, and not at 8."""
    producers = sq.Producers(resend=sq.Resend(every=4, most=5))
    result = run(6, workers=5, producers=producers)
    assert starts(result) == [0, 4]


def test_a_sender_gives_up_in_the_end():
    """Nobody does it: sent at 0, 4 and 8, and given up 15 s after that."""
    resend = sq.Resend(every=4, most=3, patience=15)
    result = run(
        1, handler=fails, producers=sq.Producers(resend=resend), on_failure="dead_letter", workers=3
    )
    assert starts(result) == [0, 4, 8]
    assert events(result, "producer gave up") == [(23, "producer gave up", 0)]


# Workers.


def test_a_worker_is_not_given_what_it_still_holds():
    """One slot, 8 s, lease 5: alone, it would be given its own message again at 5."""
    options = {"prefetch": math.inf, "lease": 5, "late_ack": "deletes"}
    assert received(run(8, **options)) == [0, 5]
    assert received(run(8, holds_once=True, **options)) == [0]
    assert received(run(8, workers=2, holds_once=True, **options)) == [0, 5]


def test_workers_take_messages_at_their_polls_only():
    """Every 5 s, the second from 2 on: jobs of 1.1 s at 0, 0.5 and 3 start at 0, 2 and 5."""
    result = run(
        1.1, jobs=3, workers=2, arrivals=sq.Times([0, 0.5, 3]), poll_every=5, poll_phases=[0, 2]
    )
    assert [starts(result, job) for job in range(3)] == [[0], [2], [5]]


def test_a_limit_that_is_noticed_at_the_receive_is_noticed_at_a_poll():
    """Dead-lettered at 5, when somebody asks."""
    result = run(
        1, handler=fails, retry_delay=0, max_receives=1, exhaustion="receive", poll_every=5
    )
    assert events(result, "dead lettered") == [(5, "dead lettered", 0)]


def test_a_handler_that_runs_for_too_long_is_stopped():
    """After 5 s of 8; its `except` and `finally` run, and it has failed."""
    result = run(8, handler=_tidy, time_limit=5, retry_delay=1, max_receives=2)
    assert events(result, "effect") == [(7, "effect", 0), (15, "effect", 0)]
    assert starts(result) == [0, 8]


async def _tidy(job, ctx):
    """Take 2 s to clean up, whatever happens."""
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except sq.TimeLimit:
        await ctx.sleep(2)
        await ctx.mailer.send(job.customer, "sorry")
        raise


def test_a_handler_in_time_is_left_alone():
    """4.9 s of 5; and one that was stopped while it cleans up is not stopped twice."""
    assert run(4.9, time_limit=5).figures["failures"] == 0


def test_a_pause_delays_the_time_limit():
    """The process stands still from 4 to 14: the handler is stopped at 14."""
    pause = sq.Pause(seconds=10, at=[(1, 4)])
    result = run(20, handler=_tidy, time_limit=5, faults=[pause], lease=None, horizon=17)
    assert [row.time for row in result.events.itertuples() if row.event == "effect"] == [16]


# Knobs that meet.


def test_a_message_that_stalled_too_often_was_in_flight_once_only():
    """Given up at 20, as it comes back: nothing is in flight then, and not less than nothing."""
    result = run(100, workers=3, lease=10, max_stalls=1, horizon=50)
    assert events(result, "dead lettered") == [(20, "dead lettered", 0)]
    assert result.timeseries.in_flight.tolist()[-1] == 0
    assert result.timeseries.in_flight.min() == 0


def test_what_was_replayed_is_acked_once_in_the_end():
    """Job 0's ack is lost: at 20 it comes back, and jobs 1 and 2, acked at 10 and 15, with it."""
    lost = sq.faults.At(step="ack", what="ack lost")
    result = run(5, jobs=3, ordering="replay", lease=20, faults=[lost])
    assert [row[2] for row in events(result, "replayed")] == [1, 2]
    assert result.jobs.outcome.tolist() == ["acked"] * 3
    assert result.jobs.settled.tolist() == [25, 30, 35]
    assert result.timeseries.acked.tolist()[-1] == 3


def test_groups_that_replay_see_their_workers_go():
    """Worker 1 dies at 3; its job is back at 5, as soon as the broker has noticed."""
    options = {"on_disconnect": "requeue", "disconnect_after": 2, "lease": 60}
    crash = sq.Crash(at=[(1, 3)], restart_after=50)
    assert starts(run(10, workers=2, ordering="replay", crash=crash, **options)) == [0, 5]


def test_a_group_that_goes_on_keeps_to_the_limit_of_what_is_in_flight():
    """Job 0's ack is lost at 5; it is in flight until 20, and so job 1 has to wait."""
    lost = sq.faults.At(step="ack", what="ack lost")
    options = {"ordering": "replay", "lease": 20, "most_in_flight": 1, "faults": [lost]}
    result = run(5, jobs=2, workers=2, **options)
    assert (received(result, 0), received(result, 1)) == ([0, 20], [25])


class Redrive(sq.faults.Fault):
    """Put all dead letters back at 10."""

    def install(self, world):
        """Set the time."""
        world.clock.at(10, lambda _: world.queue.redrive())


def test_a_dead_letter_that_is_redriven_has_its_time_anew():
    """Dead at 1, redriven at 10, dead again at 11: gone 20 s after that, not at 21."""
    options = {"lease": None, "max_receives": 1, "dead_letter_retention": 20, "horizon": 60}
    result = run(1, handler=retries, faults=[Redrive()], **options)
    assert events(result, "dead lettered") == [(1, "dead lettered", 0), (11, "dead lettered", 0)]
    assert events(result, "dead letter expired") == [(31, "dead letter expired", 0)]


def test_a_redriven_message_still_has_its_retention():
    """Job 1 is dead as job 0's retention ends at 8; redriven at 10, it is in flight at its own."""
    options = {"arrivals": sq.Times([0, 4]), "jobs": None, "retention": 8, "horizon": 60}
    result = run(
        sq.Recorded([1, 3]), handler=retries, lease=None, max_receives=1, faults=[Redrive()],
        **options,
    )  # fmt: skip
    assert events(result, "dead lettered")[:2] == [(1, "dead lettered", 0), (7, "dead lettered", 1)]
    assert events(result, "message expired") == [(12, "message expired", 1)]


def test_a_poller_finds_what_was_published_for_later():
    """Published for 5, looked for every 10 s; so is what expires and has to wait."""
    assert starts(run(1, delay=5, poll_delayed=10)) == [10]
    options = {"lease": 10, "retry_delay": 4, "retry_on": ("expiry",), "poll_delayed": 8}
    assert starts(run(30, workers=2, late_ack="deletes", **options)) == [0, 16]


def test_the_newest_receipt_is_good_before_a_sweep_as_after_it():
    """The lease ends at 30, the job at 40, and nobody looks before 100: the ack at 40 is taken."""
    result = run(40, lease=30, sweep_period=100, late_ack="latest_or_refused")
    assert settled(result) == 40


@pytest.mark.parametrize("late_ack", ["unexpired", "ignored"])
def test_where_nobody_looks_the_clock_still_counts_for_locks(late_ack):
    """The lock is gone at 30, the job done at 40; only a look at a boot would take it back."""
    result = run(40, lease=30, sweep_at_boot=math.inf, late_ack=late_ack, horizon=100)
    assert bool(events(result, "ack refused")) == (late_ack == "unexpired")


def test_a_redriven_job_is_known_again():
    """Dead at 1, and not known from 6 on; redriven at 10, it is there when 12 sends it again."""
    sends = sq.Producers(replicas=2, offsets=[0, 12])
    options = {"lease": None, "max_receives": 1, "dedupe_after": 5, "horizon": 60}
    result = run(3, handler=retries, producers=sends, faults=[Redrive()], **options)
    assert [row[0] for row in events(result, "deduplicated")] == [12]


def test_a_renewal_of_what_waits_is_no_ack():
    """Both jobs' acks are lost, each once: at their ends, not while the second waits."""
    network = sq.Network(ack_lost=0.999)
    options = {"lease": 30, "renew_every": 5, "renew_what": "held", "prefetch": 2, "horizon": 25}
    result = run(10, jobs=2, network=network, **options)
    assert events(result, "ack lost") == [(10, "ack lost", 0), (20, "ack lost", 1)]


def test_what_is_acked_as_it_starts_has_no_lease_that_starts_with_it():
    """There is nothing left to lease."""
    result = run(10, lease=30, lease_from="start", ack_when="started")
    assert events(result, "lease started") == []
    assert settled(result) == 10


@pytest.mark.parametrize(("late_ack", "word"), [("refused", "acked"), ("unexpired", "ack refused")])
def test_an_ack_between_the_end_of_a_lease_and_the_look(late_ack, word):
    """Late since 30, done at 40, looked for at 60: where the look decides, it is in time."""
    result = run(40, lease=30, sweep_period=60, late_ack=late_ack, horizon=50)
    assert events(result, "acked", "ack refused") == [(40, word, 0)]


def test_an_ack_after_the_look_is_refused():
    """Late since 30, taken back at 60, done at 70."""
    result = run(70, lease=30, sweep_period=60, late_ack="refused", horizon=80)
    assert events(result, "acked", "ack refused") == [(70, "ack refused", 0)]


def test_a_group_waits_for_whoever_has_the_message_now():
    """Job 0 runs twice, from 0 and from 10. The lost ack of the first, at 15, frees nobody."""
    lost = sq.faults.At(step="ack", what="ack lost")
    result = run(15, jobs=2, workers=2, ordering="replay", lease=10, faults=[lost], horizon=24)
    assert received(result, 0)[:2] == [0, 10]
    assert 15 not in received(result, 1)


def test_a_sweep_looks_once_at_one_instant():
    """Both were taken at 20 by a process that looks dead: looks at 20 and 40 end one each."""
    options = {"lease": 30, "renew_every": 10, "renew_what": "process", "first_heartbeat": 100}
    result = run(
        90, jobs=2, concurrency=2, arrivals=sq.AllAtOnce(at=20), sweep_period=20, sweep_batch=1,
        horizon=50, **options,
    )  # fmt: skip
    assert len(events(result, "expired")) <= len({row[0] for row in events(result, "expired")})
    assert [row[0] for row in events(result, "expired")] == [20, 40]


def test_a_slot_that_dies_settles_its_batch_before_anybody_receives():
    """Job 0 is done at 1; at 2 job 1's slot dies: job 0's ack comes before job 1 is taken again."""
    crash = sq.Crash(after=1, jobs=[1], kills="slot")
    options = {"batch": 2, "ack_batch": "whole", "on_slot_lost": "return", "lease": 60}
    work = sq.Recorded([1, 3])
    result = run(work, jobs=2, workers=2, crash=crash, horizon=2.5, **options)
    assert [row[1:] for row in events(result, "acked", "received") if row[0] == 2] == [
        ("acked", 0), ("received", 1),
    ]  # fmt: skip


def test_a_group_waits_for_the_delay_of_the_one_that_came_back():
    """Job 0 expires at 20 and has to wait until 30; job 1, out since 5, comes back, behind it."""
    lost = sq.faults.At(step="ack", what="ack lost")
    options = {"ordering": "replay", "lease": 20, "retry_delay": 10, "retry_on": ("expiry",)}
    work = sq.Recorded([5, 40])
    result = run(work, jobs=2, workers=3, faults=[lost], horizon=34, **options)
    assert received(result, 0) == [0, 30]
    assert received(result, 1) == [5]


def test_what_a_receive_could_not_take_of_a_group_waits_again():
    """Jobs 0 and 1 fill the limit; when job 0 is done, at 1, job 2 has to wait for job 1."""
    options = {"ordering": "group", "group_batches": True, "most_in_flight": 2, "lease": 60}
    work = sq.Recorded([1, 10, 1])
    result = run(work, jobs=3, workers=2, concurrency=3, batch=3, **options)
    assert [received(result, job) for job in range(3)] == [[0], [0], [10]]


def test_a_worker_that_dies_at_its_ack_is_not_done_with_its_group():
    """It dies at 5, before it says anything; job 1 waits for job 0, whose lease ends at 20."""
    dies = sq.faults.At(step="ack", what="crash", seconds=60)
    result = run(5, jobs=2, workers=2, ordering="replay", lease=20, faults=[dies], horizon=30)
    assert (received(result, 0), received(result, 1)) == ([0, 20], [25])


# Renewals that get lost (incident INC-23).


@pytest.mark.parametrize(("lease", "every", "tries"), [(30, 15, 2), (300, 30, 10)])
def test_a_lease_lapses_when_all_of_its_renewals_are_lost(lease, every, tries):
    """None arrives: the lease of 30 s ends at 30, though the worker has sent one and one more."""
    network = sq.Network(renewal_lost=1.0)
    result = run(
        1_000, workers=2, lease=lease, renew_every=every, network=network, horizon=lease + 1,
        late_ack="deletes",
    )  # fmt: skip
    assert received(result) == [0, lease]
    assert tries * every == lease


def test_more_chances_for_each_lease_make_lapses_rare():
    """A tenth is lost. 30 and 15: one chance before the end, 0.1 per lease; 300 and 30: nine."""
    network = sq.Network(renewal_lost=0.1)
    jobs = {"jobs": 300, "workers": 300, "network": network, "late_ack": "unexpired", "horizon": 61}
    few = run(1_000, lease=30, renew_every=15.5, **jobs)
    lapsed = (few.events.event == "expired").sum()
    assert 10 < lapsed < 90  # two leases of 300 jobs, each lost with probability 0.1: about 57
    many = run(1_000, lease=300, renew_every=30, **(jobs | {"horizon": 601}))
    assert (many.events.event == "expired").sum() == 0


def test_a_renewal_that_got_lost_is_not_the_last():
    """Cut off from 12 to 18, the renewal at 15 is lost; that at 30 keeps the lease until 60."""
    cut = sq.Partition(worker=1, window=(12, 18))
    result = run(100, workers=2, lease=35, renew_every=15, faults=[cut])
    assert received(result) == [0]
