"""Two things at once, in exact small runs: what random search found broken."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq
from simqueue.faults import At

# Reasons to take no message, overlapping.


def test_a_worker_that_restarts_in_a_partition_is_still_cut_off():
    """Back at 7, in touch again at 20; and then it takes one job at a time, as before."""
    result = run(
        5, jobs=3, arrivals=sq.Times([8] * 3), lease=100,
        crash=sq.Crash(at=[(1, 6)], restart_after=1),
        faults=[sq.Partition(worker=1, window=(5, 20))],
    )  # fmt: skip
    assert result.deliveries.started.tolist() == [20, 25, 30]


def test_a_pause_that_ends_in_a_partition_does_not_end_it():
    """Nor does the end of a partition end a pause."""
    pause = sq.Pause(seconds=10, at=[(1, 1)])
    cut = sq.Partition(worker=1, window=(5, 20))
    assert starts(run(1, arrivals=sq.Times([2]), jobs=None, faults=[pause, cut])) == [20]
    pause = sq.Pause(seconds=30, at=[(1, 1)])
    assert starts(run(1, arrivals=sq.Times([2]), jobs=None, faults=[pause, cut])) == [31]


def test_a_deploy_does_not_kill_the_process_that_came_after_a_crash():
    """Draining from 10 to 40, dead at 15, back at 16 as a new process, which works on."""
    result = run(
        50, lease=20, late_ack="deletes", crash=sq.Crash(at=[(1, 15)], restart_after=1),
        faults=[sq.Deploy(at=10, grace=30)],
    )  # fmt: skip
    assert result.deliveries.outcome.tolist() == ["crashed", "finished"]


def test_a_process_that_stands_still_at_a_step_takes_no_messages_either():
    """Two slots, one handler stands still from 10 to 70: the job of 20 waits."""
    result = run(
        10, arrivals=sq.Times([0, 20]), jobs=None, concurrency=2, lease=None,
        faults=[At(step="work", what="pause", seconds=60)],
    )  # fmt: skip
    assert received(result, job=1) == [70]


def test_a_process_that_dies_of_its_first_job_asks_for_no_second_one():
    """Two slots, back at 1, dead again in the same instant."""
    result = run(
        1, jobs=4, concurrency=2, lease=None, horizon=1.5,
        faults=[At(step="work", when="before", turn=None, job=job, seconds=1) for job in range(4)],
    )  # fmt: skip
    assert received(result, job=1) == [1]
    assert result.deliveries.received.tolist() == [0, 1]


# Acks and other words to the broker.


@pytest.mark.parametrize("what", ["crash", "ack lost"])
def test_a_renewal_is_not_an_ack(what):
    """A fault at the ack of a renewed job comes when the handler has returned."""
    result = run(25, lease=20, renew_every=10, faults=[At(step="ack", what=what)])
    assert result.deliveries.ended.tolist()[0] == 25
    assert received(result)[1] == 40


def test_a_worker_that_dies_at_one_ack_of_a_batch_says_no_other():
    """Dead at the first of three: all three come back."""
    result = run(
        1, jobs=3, batch=3, ack_batch="whole", lease=30, faults=[At(step="ack", seconds=1)]
    )
    assert result.jobs.deliveries.tolist() == [2, 2, 2]


def test_without_a_lease_there_is_none_to_extend():
    """The message stays with its worker."""

    async def extending(job, ctx):
        await ctx.extend(5)
        await ctx.work()

    for options in ({"lease": None}, {"ack_when": "received"}):
        assert received(run(50, workers=2, handler=extending, **options)) == [0]


# The queue.


def test_a_delayed_message_can_be_sent_again():
    """Each copy has the delay."""
    result = run(
        1, delay=5, horizon=100, workers=9, lease=None,
        network=sq.Network(publish_response_lost=0.999, resend_after=40),
    )  # fmt: skip
    assert received(result) == [5, 45, 85]


def test_leases_that_end_at_one_instant_all_end_before_a_message_is_handed_over():
    """Both expire at 30, and stand in front in their old order: the first one is taken."""
    result = run(
        100, jobs=2, workers=3, lease=30, returns_to="front", late_ack="deletes", horizon=31,
    )  # fmt: skip
    again = result.deliveries[result.deliveries.received == 30]
    assert again.job.tolist() == [0]


def test_what_was_lost_with_its_worker_lets_its_group_go_on():
    """The worker that waits takes the next of the group at once."""
    result = run(
        50, jobs=2, workers=2, ordering="fifo", ack_when="received",
        crash=sq.Crash(at=[(1, 10)], restart_after=1_000),
    )  # fmt: skip
    assert result.deliveries.received.tolist() == [0, 10]


def test_two_passes_never_look_twice_at_one_instant():
    """What is received at a look, at 0 or at 60, is marked by the next one, and ends at 60, 120."""
    result = run(
        1_000, workers=3, lease=5, sweep_period=30, two_passes=True, late_ack="deletes", horizon=91
    )
    assert received(result) == [0, 60]


# Workers with a buffer.


def test_what_waits_in_the_buffer_goes_before_what_comes_with_an_ack():
    """One slot: the ack frees the group's next job, which is not run beside what waited."""
    result = run(
        10, jobs=3, groups=2, prefetch=math.inf, ordering="group", lease=None
    )  # fmt: skip
    assert result.deliveries.job.tolist() == [0, 1, 2]
    assert result.deliveries.started.tolist() == [0, 10, 20]


def test_a_batch_that_is_done_at_once_is_not_the_last():
    """Jobs without work, one a second."""
    result = run(0, jobs=3, arrivals=sq.EvenlySpaced(interval=1), batch=3)
    assert result.deliveries.started.tolist() == [0, 1, 2]


def test_a_batch_at_work_takes_nothing_new_after_a_pause():
    """The job of 3 waits for the batch of 0, although the pause from 1 to 2 is over."""
    result = run(
        10, arrivals=sq.Times([0, 3]), jobs=None, batch=2, lease=None,
        faults=[sq.Pause(seconds=1, at=[(1, 1)])],
    )  # fmt: skip
    assert received(result, job=1) == [10]


@pytest.mark.parametrize("team", [{"prefetch": math.inf}, {"batch": 3_000}])
def test_a_long_buffer_of_jobs_without_work_is_no_deep_recursion(team):
    """Thousands wait for the first one, and are done in one instant."""

    async def first_is_slow(job, ctx):
        await ctx.sleep(1 if job.id == 0 else 0)

    result = run(jobs=3_000, handler=first_is_slow, lease=None, **team)
    assert settled(result, job=2_999) == 1


# The database.


def test_of_two_inserts_under_way_at_once_one_waits_for_the_other():
    """Both are sent before either arrives: the second one finds the row taken."""
    result = run(
        1, workers=2, lease=None, own_duplicates=0.999, handler=sq.handlers.one_transaction,
        database=sq.services.Database(latency=1),
    )  # fmt: skip
    assert result.deliveries.outcome.tolist() == ["finished", "finished"]
    assert result.jobs.effects[0] == 1


def test_two_passes_have_no_batch_limit():
    """A parameter that would do nothing is refused."""
    with pytest.raises(ValueError, match=r"broker\.sweep_batch must be None with two_passes"):
        sq.brokers.generic(sweep_period=30, two_passes=True, sweep_batch=5)
