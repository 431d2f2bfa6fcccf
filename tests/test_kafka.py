"""Kafka's consumer groups, fact by fact, against results worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import pytest
from runs import received, settled, starts, story

import simqueue as sq
from simqueue.faults import At, Fault, Partition
from simqueue.kinds import make
from simqueue.model.progress import NeverSettles
from simqueue.producers import Producers, Resend
from simqueue.story import story as tell

BROKER = {field.name for field in dataclasses.fields(sq.brokers.kafka)}
TEAM = {field.name for field in dataclasses.fields(sq.Workers)} - {"count"}


def scenario(work: Any = 1.0, workers: int = 1, **options: Any) -> sq.Scenario:
    """Jobs at 0, one of them unless said, on a group that does not wait for its first members."""
    broker = {name: options.pop(name) for name in BROKER & set(options)}
    team = {name: options.pop(name) for name in TEAM & set(options)}
    parts: dict[str, Any] = {
        "arrivals": sq.AllAtOnce(),
        "jobs": None if isinstance(options.get("arrivals"), sq.Times) else 1,
        "handler": sq.handlers.naive,
        "work": work if isinstance(work, sq.Distribution) else sq.Fixed(work),
        "workers": sq.Workers(count=workers, **team),
        "broker": sq.brokers.kafka(**{"initial_rebalance_delay": 0, **broker}),
    }
    return sq.Scenario(**(parts | options))


def run(work: Any = 1.0, workers: int = 1, seed: int = 0, **options: Any) -> sq.Result:
    """Simulate `scenario`."""
    return sq.simulate(scenario(work, workers, **options), seed)


def done_by(result: sq.Result, worker: int) -> list[int]:
    """The jobs that `worker` started, in order."""
    table = result.deliveries.dropna(subset="started").sort_values("started", kind="stable")
    return table.job[table.worker == worker].tolist()


def times_of(result: sq.Result, event: str) -> list[float]:
    """When `event` happened, in seconds."""
    return result.events.time[result.events.event == event].tolist()


def executions(result: sq.Result) -> list[int]:
    """How often each job was run."""
    return result.jobs.executions.tolist()


@dataclass(frozen=True, kw_only=True)
class Late(Fault):
    """Worker `worker` is started only `at` so many seconds."""

    worker: int
    at: float

    def install(self, world):
        """Hold it back from the start."""
        worker = world.worker(self.worker, "late.worker")
        worker.stop_asking(self, lasting=True)
        world.clock.at(self.at, lambda _: worker.go_on(self))


def failing_until(attempt: int, job: int = 0):
    """A handler that fails on `job` before this `attempt`."""

    async def handler(each, ctx):
        await ctx.work()
        if each.id == job and ctx.attempt < attempt:
            raise sq.Retry("not yet")
        await ctx.payments.charge(each.customer, each.amount)

    return handler


# Partitions.


def test_jobs_go_to_partitions_in_turn():
    """Job k is in partition k mod 2; each partition has one consumer, who keeps its order."""
    result = run(jobs=6, workers=2, partitions=2)
    assert done_by(result, 1) == [0, 2, 4]
    assert done_by(result, 2) == [1, 3, 5]


def test_the_jobs_of_a_group_share_a_partition():
    """Groups 0, 1, 2 in turn on two partitions: groups 0 and 2 in the first."""
    result = run(jobs=6, workers=2, partitions=2, groups=3, partition_by="group")
    assert done_by(result, 1) == [0, 2, 3, 5]
    assert done_by(result, 2) == [1, 4]


def test_partitions_are_dealt_out_in_ranges():
    """Five for two members: three and two."""
    result = run(jobs=5, workers=2, partitions=5)
    assert [sorted(done_by(result, worker)) for worker in (1, 2)] == [[0, 1, 2], [3, 4]]


def test_more_members_than_partitions_are_idle():
    """The third worker gets nothing, and nothing is done at the same time."""
    result = run(jobs=4, workers=3, partitions=1)
    assert done_by(result, 1) == [0, 1, 2, 3]
    assert [starts(result, job)[0] for job in range(4)] == [0, 1, 2, 3]


# Polls.


def test_a_poll_returns_at_most_max_poll_records():
    """Two at a time, and the next two when both are done."""
    result = run(jobs=5, max_poll_records=2)
    assert result.deliveries.received.tolist() == [0, 0, 2, 2, 4]


@pytest.mark.parametrize(("most", "order"), [(500, [0, 2, 1, 3]), (1, [0, 1, 2, 3])])
def test_polls_take_one_partition_after_the_other(most, order):
    """One large poll empties partition 0 first; small ones take partitions in turn."""
    assert done_by(run(jobs=4, partitions=2, max_poll_records=most), 1) == order


def test_an_idle_consumer_polls_all_the_time():
    """What comes is read at once."""
    result = run(arrivals=sq.Times([5, 7.5]))
    assert result.deliveries.received.tolist() == [5, 7.5]


# Joining.


@pytest.mark.parametrize(("workers", "first"), [(1, 3), (2, 6), (3, 6)])
def test_the_first_rebalance_waits_for_members(workers, first):
    """3 s for an empty group; 3 s more as somebody joined meanwhile."""
    assert starts(run(workers=workers, initial_rebalance_delay=3)) == [first]


def test_a_later_member_shares_from_its_joining_on():
    """It joins at 10; the other one hears of it at its heartbeat at 12."""
    result = run(
        arrivals=sq.Times([11, 11, 12.5, 12.5]), workers=2, partitions=2, commit="after",
        faults=[Late(worker=2, at=10)],
    )  # fmt: skip
    assert done_by(result, 1) == [0, 1, 2]
    assert done_by(result, 2) == [3]
    assert starts(result, 1) == [12]  # its poll took job 0 only until told: job 1 came along


def test_a_group_that_was_left_by_all_waits_again():
    """Restarted at 15, with nobody else: its partitions at 18."""
    result = run(
        arrivals=sq.Times([12]), initial_rebalance_delay=3,
        faults=[sq.Deploy(at=10, restart_after=5)],
    )  # fmt: skip
    assert starts(result) == [18]


def test_only_the_first_generation_waits_longer_as_members_come():
    """Both restarted at 15, in a group that is empty and not new: 3 s, not 6."""
    result = run(
        arrivals=sq.Times([12]), workers=2, initial_rebalance_delay=3,
        faults=[sq.Deploy(at=10, restart_after=5)],
    )  # fmt: skip
    assert starts(result) == [18]


# Dying, and being missed.


@pytest.mark.parametrize(
    ("crash_at", "timeout", "again"), [(8.9, 45, 51), (9, 45, 54), (10, 45, 54), (10, 10, 21)]
)
def test_a_crash_is_noticed_a_session_timeout_after_the_last_heartbeat(crash_at, timeout, again):
    """Heartbeats at 0, 3, 6, …; the other member hears of the rebalance at its next one."""
    result = run(
        20, workers=2, commit="after", session_timeout=timeout,
        crash=sq.Crash(at=[(1, crash_at)], restart_after=1_000),
    )  # fmt: skip
    assert starts(result) == [0, again]


def test_a_process_that_is_back_soon_waits_for_its_former_self_to_be_missed():
    """A new member at 11; the old one does not join, and is removed at 9 + 45."""
    result = run(20, commit="after", crash=sq.Crash(at=[(1, 10)], restart_after=1))
    assert starts(result) == [0, 54]


def test_a_static_member_takes_its_old_place():
    """The same at 11, with a group.instance.id: no rebalance."""
    result = run(
        20, commit="after", group_instance_id=True, crash=sq.Crash(at=[(1, 10)], restart_after=1)
    )
    assert starts(result) == [0, 11]
    assert len(times_of(result, "rebalanced")) == 1


def test_a_static_member_that_stays_away_is_missed_like_any_other():
    """Back only at 110: the other one has the job at 54."""
    result = run(
        20, workers=2, commit="after", group_instance_id=True,
        crash=sq.Crash(at=[(1, 10)], restart_after=100),
    )  # fmt: skip
    assert starts(result) == [0, 54]


@pytest.mark.parametrize(("static", "start"), [(False, 12), (True, 54)])
def test_a_clean_close_leaves_at_once_unless_static(static, start):
    """Closed at 10: the other one hears at 12; a static member is missed at 9 + 45."""
    result = run(
        arrivals=sq.Times([11]), workers=2, group_instance_id=static,
        faults=[sq.Deploy(at=10, every=1_000, restart_after=2_000)],
    )  # fmt: skip
    assert starts(result) == [start]
    assert done_by(result, 2) == [0]


def test_a_deploy_lets_the_batch_finish_before_it_leaves():
    """Told at 10, done at 20, left at 20: job 1 goes on with worker 2 at its heartbeat at 21."""
    result = run(
        20, arrivals=sq.Times([0, 15]), workers=2, commit="after",
        faults=[sq.Deploy(at=10, every=1_000, grace=30, restart_after=2_000)],
    )  # fmt: skip
    assert executions(result) == [1, 1]
    assert starts(result, 1) == [21]
    assert done_by(result, 2) == [1]


def test_a_deploy_that_kills_is_noticed_as_a_crash_is():
    """Grace over at 15, in the middle of the job; last heartbeat at 15: again at 60."""
    result = run(
        20, workers=2, commit="after",
        faults=[sq.Deploy(at=10, every=1_000, grace=5, restart_after=2_000)],
    )  # fmt: skip
    assert starts(result) == [0, 60]


def test_the_coordinator_waits_for_a_join_no_longer_than_a_poll_may_take():
    """Worker 1 dies at 10 unnoticed; the rebalance that begins at 20 goes on without it at 320."""
    result = run(
        20, workers=2, commit="after", session_timeout=1_800, faults=[Late(worker=2, at=20)],
        crash=sq.Crash(at=[(1, 10)], restart_after=5_000), horizon=1_000,
    )  # fmt: skip
    assert starts(result) == [0, 320]


def test_a_crash_is_not_an_attempt():
    """A job that kills its worker kills it again and again: Kafka counts nothing."""
    result = run(
        10, commit="after", max_attempts=2, group_instance_id=True, horizon=59,
        crash=sq.Crash(after=5, jobs=[0], restart_after=1),
    )  # fmt: skip
    assert starts(result) == [0, 6, 12, 18, 24, 30, 36, 42, 48, 54]


# Polling too seldom.


def test_a_consumer_that_polls_too_seldom_leaves_by_itself():
    """Three records of 150 s in one poll: the third is running at 300 and is run again there."""
    result = run(150, jobs=3, workers=2, commit="after")
    assert executions(result) == [1, 1, 2]
    assert result.deliveries[["worker", "started"]][3:].to_numpy().tolist() == [[2, 300]]
    assert result.deliveries.ack.tolist()[2:] == ["refused", "accepted"]


@pytest.mark.parametrize(("work", "again"), [(0.6, 0), (0.601, 500)])
def test_the_time_for_a_record_is_the_interval_over_the_batch(work, again):
    """500 records in 300 s: 0.6 s for each. One millisecond more, and none is committed."""
    result = run(work, jobs=500, workers=2, commit="after_batch", horizon=500)
    assert result.figures["redeliveries"] == again


def test_a_handler_that_polls_itself_stays_a_member():
    """7 minutes with a poll in between, and 5 minutes allowed."""

    async def patient(job, ctx):
        await ctx.work(0.5)
        await ctx.extend(1)
        await ctx.work(0.5)

    assert starts(run(420, workers=2, commit="after", handler=patient)) == [0]


def test_a_handler_learns_that_its_partition_is_gone():
    """It polls only at 400: out since 300."""

    async def late(job, ctx):
        await ctx.work(400 / 420)
        await ctx.extend(1)

    result = run(420, workers=2, commit="after", handler=late, horizon=450)
    assert "LeaseLost" in " ".join(result.events.detail)


# Standing still, and being cut off.


def test_a_paused_process_sends_no_heartbeats():
    """Paused from 5 to 65: missed at 3 + 45; its commit at 65 is refused; the charge is double."""
    result = run(20, workers=2, commit="after", faults=[sq.Pause(seconds=60, at=[(1, 5)])])
    assert starts(result) == [0, 48]
    assert result.deliveries.ack.tolist() == ["refused", "accepted"]
    assert result.figures["duplicate_effects"] == 1


def test_a_pause_within_the_session_timeout_is_not_noticed():
    """Paused from 5 to 25."""
    result = run(20, workers=2, commit="after", faults=[sq.Pause(seconds=20, at=[(1, 5)])])
    assert starts(result) == [0]
    assert settled(result) == 25
    assert times_of(result, "left group") == []


def test_heartbeats_begin_anew_after_a_pause():
    """Paused from 5 to 25: one at 25, one at 28; dead at 29, missed at 73, heard of at 75."""
    result = run(
        100, workers=2, commit="after", faults=[sq.Pause(seconds=20, at=[(1, 5)])],
        crash=sq.Crash(at=[(1, 29)], restart_after=5_000),
    )  # fmt: skip
    assert starts(result) == [0, 75]


@pytest.mark.parametrize("options", [{"on_failure": "skip"}, {"max_attempts": 1}])
def test_what_a_zombie_fails_at_is_the_new_owners_business(options):
    """Out since 48, it fails at 65; worker 2 has the record by then, and is done with it at 68."""
    result = run(
        20, workers=2, commit="after", dead_letter=True, handler=failing_until(2),
        faults=[sq.Pause(seconds=60, at=[(1, 5)])], **options,
    )  # fmt: skip
    assert starts(result) == [0, 48]
    assert result.jobs.outcome.tolist() == ["acked"]
    assert times_of(result, "skipped") == []


def test_what_a_zombie_fails_at_is_no_attempt():
    """It fails at 65, worker 2 at 68: one of two attempts.

    Worker 1 has the partition back at 68, and tries at once: it knows of no delay.
    """
    result = run(
        20, workers=2, commit="after", max_attempts=2, dead_letter=True, retry_delay=10,
        handler=failing_until(3), faults=[sq.Pause(seconds=60, at=[(1, 5)])],
    )  # fmt: skip
    assert starts(result) == [0, 48, 68]
    assert result.jobs.outcome.tolist() == ["acked"]


def test_a_consumer_that_is_cut_off_is_missed_and_joins_again():
    """Cut off from 5 to 100: worker 2 has the job at 48; at 101 worker 1 is a member again."""
    result = run(
        20, arrivals=sq.Times([0, 110]), workers=2, commit="after",
        faults=[Partition(worker=1, window=(5, 100))],
    )  # fmt: skip
    assert starts(result) == [0, 48]
    assert result.deliveries.ack.tolist()[0] == "lost"
    assert done_by(result, 1) == [0, 1]


def test_a_commit_that_could_not_be_sent_is_sent_later():
    """Done at 20, cut off from 5 to 30, still a member: committed at 30."""
    result = run(20, workers=2, commit="after", faults=[Partition(worker=1, window=(5, 30))])
    assert starts(result) == [0]
    assert settled(result) == 30


def test_a_tick_that_cannot_be_sent_waits_for_the_network():
    """Done at 3, cut off from 2 to 30: the first tick after that is at 35."""
    result = run(3, workers=2, commit="stored", faults=[Partition(worker=1, window=(2, 30))])
    assert settled(result) == 35
    assert times_of(result, "ack lost") == []


# When commits are made.


@pytest.mark.parametrize(
    ("commit", "at"),
    [
        ("auto", [8, 8, 13]),
        ("after", [4, 8, 12]),
        ("after_batch", [4, 8, 12]),
        ("before", [0, 4, 8]),
        ("background", [5, 5, 10]),
        ("stored", [5, 10, 15]),
    ],
)
def test_when_each_way_commits(commit, at):
    """Three records of 4 s, a poll for each; committed every 5 s, or inside the first poll later.

    The poll at 8 is the first after 5, and the next time is 13, when the consumer waits and polls.
    """
    result = run(4, jobs=3, max_poll_records=1, commit=commit)
    assert [settled(result, job) for job in range(3)] == at


def test_a_consumer_that_waits_commits_in_its_polls_every_five_seconds():
    """At 5, 10, 15, …, also if there was nothing to commit before."""
    assert settled(run(arrivals=sq.Times([12]))) == 15


def test_a_batch_is_committed_as_a_whole():
    """One poll, three records, one commit."""
    result = run(4, jobs=3, commit="after_batch")
    assert [settled(result, job) for job in range(3)] == [12, 12, 12]


@pytest.mark.parametrize("commit", ["auto", "background", "stored"])
def test_a_clean_close_commits(commit):
    """Done at 1, closed at 2."""
    assert settled(run(commit=commit, faults=[sq.Deploy(at=2)])) == 2


@pytest.mark.parametrize(
    ("commit", "lost", "again"),
    [
        ("auto", [], [0, 1, 2]),
        ("after", [], [2]),
        ("after_batch", [], [0, 1, 2]),
        ("before", [2, 3], []),
        ("background", [2, 3], []),
        ("stored", [], [1, 2]),
    ],
)
def test_what_a_crash_loses_and_what_it_doubles(commit, lost, again):
    """One poll of four records of 4 s, dead at 9: two are done, the third is running.

    The tick at 5 has committed all four ("background") or the one that was done ("stored").
    """
    result = run(4, jobs=4, commit=commit, crash=sq.Crash(at=[(1, 9)], restart_after=1))
    effects = result.jobs.effects
    assert effects.index[effects == 0].tolist() == lost
    counts = result.jobs.executions
    assert counts.index[counts > 1].tolist() == again


def test_a_lost_commit_is_made_good_by_the_next_one():
    """Offsets are cumulative: the commit of job 2 covers job 1."""
    result = run(jobs=3, commit="after", faults=[At(step="ack", what="ack lost", job=1)])
    assert [settled(result, job) for job in range(3)] == [1, 3, 3]


def test_a_lost_commit_at_the_end_is_open_until_the_next_rebalance():
    """Nothing comes after it: the group does not know that job 0 is done, and does it again."""
    lost = At(step="ack", what="ack lost", job=0)
    alone = run(commit="before", faults=[lost])
    assert alone.jobs.outcome.tolist() == ["unfinished"]
    crashed = run(commit="before", faults=[lost], crash=sq.Crash(at=[(1, 10)], restart_after=1))
    assert executions(crashed) == [2]


def test_a_crash_between_effect_and_commit_doubles_the_effect():
    """The commit is the ack of a log."""
    result = run(commit="after", faults=[At(step="ack", what="crash", job=0, seconds=1)])
    assert result.figures["duplicate_effects"] == 1
    assert starts(result) == [0, 45]


# Threads.


@pytest.mark.parametrize(
    ("commit", "lost"), [("auto", 3), ("background", 3), ("stored", 0), ("after", 0)]
)
def test_hand_off_with_automatic_commits_loses_in_silence(commit, lost):
    """Three records of 20 s in three threads; polls go on and commit at 5; dead at 10."""
    result = run(
        20, jobs=3, concurrency=3, commit=commit, crash=sq.Crash(at=[(1, 10)], restart_after=1)
    )
    assert (result.jobs.effects == 0).sum() == lost
    assert result.figures["lost_rate"] == lost / 3


def test_threads_commit_up_to_the_first_record_that_is_not_done():
    """Job 2 is done at 1, job 0 at 2, job 1 at 10: an offset can't say that."""
    result = run(sq.Recorded([2, 10, 1]), jobs=3, concurrency=3, commit="after")
    assert [settled(result, job) for job in range(3)] == [2, 10, 10]


def test_threads_do_the_records_of_a_partition_at_once():
    """The order of a partition is gone."""
    result = run(10, jobs=4, concurrency=2, commit="after")
    assert [starts(result, job)[0] for job in range(4)] == [0, 0, 10, 10]


# Who may commit.


def test_without_fencing_a_commit_of_who_is_out_counts():
    """Out since 300, and done at 420: the group believes it."""
    result = run(420, workers=2, commit="after", fenced=False)
    assert settled(result) == 420
    assert starts(result) == [0, 300]


# Giving partitions up.


def handed_over(**options):
    """40 partitions with a record of 11 to 50 s each, all running; a second member comes at 12.

    One is done by then; 39 have 1 to 38 s to go, or are done at 12 exactly.
    """
    return run(
        sq.Recorded(range(11, 51)), jobs=40, partitions=40, workers=2, concurrency=40,
        commit="after", faults=[Late(worker=2, at=12)], **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "doubled"),
    [
        ({"on_revoke": "drop"}, 38),
        ({"on_revoke": "drain", "drain_limit": 0}, 38),
        ({"on_revoke": "drain", "drain_limit": 20}, 18),
        ({"on_revoke": "drain", "drain_limit": 20, "fence_first": True}, 38),
        ({"on_revoke": "drain"}, 0),
    ],
)
def test_inc_61_what_is_handed_over_while_it_runs_is_doubled(options, doubled):
    """Share doubled: all that is in flight; with a drain limit D, P(U > D); fenced first, all."""
    result = handed_over(**options)
    assert (result.jobs.executions > 1).sum() == doubled


def test_a_thread_that_dies_alone_is_a_record_that_failed():
    """A child process killed at 5; its parent tries the record again, and is a member all along."""
    result = run(
        10, commit="after", retry_delay=1, faults=[sq.Crash(after=5, jobs=[0], kills="slot")],
        max_attempts=2,
    )  # fmt: skip
    assert starts(result) == [0, 6]
    assert settled(result) == 11
    assert times_of(result, "left group") == []


def test_draining_delays_the_rebalance():
    """It is over when the limit is, or the last record."""
    assert times_of(handed_over(on_revoke="drain", drain_limit=20), "rebalanced") == [0, 32]
    assert times_of(handed_over(on_revoke="drain"), "rebalanced") == [0, 50]


def test_what_was_polled_and_not_begun_is_dropped_or_kept():
    """Three records of 10 s; the second member joins at 12, and worker 1 goes on as it hears.

    Dropped: job 2 is run once, by the new assignment. Kept: also by who has lost it.
    """
    for on_revoke, counts in (("drop", [1, 2, 1]), ("keep", [1, 2, 2])):
        result = run(
            10, jobs=3, workers=2, commit="after", rejoin="background", on_revoke=on_revoke,
            fenced=False, faults=[Late(worker=2, at=12)],
        )  # fmt: skip
        assert executions(result) == counts


# Records that fail.


def test_a_failing_record_stops_its_partition():
    """Tried at 0, 11 and 22; what is behind it waits; the other partition does not."""
    result = run(jobs=4, partitions=2, retry_delay=10, commit="after", handler=failing_until(3))
    assert starts(result, 0) == [0, 11, 22]
    assert starts(result, 1) == [1]
    assert starts(result, 3) == [2]
    assert starts(result, 2) == [23]


def test_a_handler_may_say_when_it_wants_to_be_tried_again():
    """After 7 s."""

    async def handler(job, ctx):
        await ctx.work()
        if ctx.attempt == 1:
            raise sq.Retry("later", after=7)

    assert starts(run(retry_delay=10, handler=handler)) == [0, 8]


def test_a_record_that_always_fails_blocks_for_ever():
    """Head of line: nothing in the broker counts, nothing gives up."""
    with pytest.raises(NeverSettles):
        run(jobs=2, retry_delay=1, handler=failing_until(10**9))
    result = run(jobs=2, retry_delay=1, handler=failing_until(10**9), horizon=1_000)
    assert result.jobs.executions.tolist() == [500, 0]


def test_a_skipped_record_is_committed_and_lost():
    """The next commit covers it."""
    result = run(jobs=3, on_failure="skip", commit="after", handler=failing_until(9))
    assert [starts(result, job) for job in range(3)] == [[0], [1], [2]]
    assert result.figures["lost_rate"] == pytest.approx(1 / 3)
    assert settled(result, 0) == 1


@pytest.mark.parametrize(("dead_letter", "outcome"), [(True, "dead-lettered"), (False, "acked")])
def test_attempts_are_the_consumers_business(dead_letter, outcome):
    """Three of them, then the dead-letter topic or nothing; the partition goes on at 23."""
    result = run(
        jobs=2, retry_delay=10, max_attempts=3, dead_letter=dead_letter, commit="after",
        handler=failing_until(9),
    )  # fmt: skip
    assert starts(result, 0) == [0, 11, 22]
    assert starts(result, 1) == [23]
    assert result.jobs.outcome[0] == outcome


def test_a_retry_topic_blocks_nobody():
    """Job 0 comes again after its delay, behind what was there."""
    result = run(
        jobs=3, on_failure="retry_topic", retry_delay=10, commit="after", handler=failing_until(2)
    )
    assert starts(result, 0) == [0, 11]
    assert [starts(result, job) for job in (1, 2)] == [[1], [2]]
    assert settled(result, 0) == 12


def test_a_retry_topic_may_end_in_the_dead_letter_topic():
    """After its second attempt."""
    result = run(
        jobs=1, on_failure="retry_topic", retry_delay=10, max_attempts=2, dead_letter=True,
        commit="after", handler=failing_until(9),
    )  # fmt: skip
    assert starts(result) == [0, 11]
    assert result.jobs.outcome[0] == "dead-lettered"


def test_what_is_tried_again_though_committed_is_lost_by_a_crash():
    """Committed before it was begun: the retry lives in the process only."""
    kept = run(commit="before", retry_delay=10, handler=failing_until(2))
    assert starts(kept) == [0, 11]
    assert settled(kept) == 12
    lost = run(
        commit="before", retry_delay=10, handler=failing_until(2),
        crash=sq.Crash(at=[(1, 5)], restart_after=1),
    )  # fmt: skip
    assert starts(lost) == [0]
    assert lost.figures["lost_rate"] == 1


def test_what_is_tried_again_though_committed_is_committed_when_it_dies():
    """Read again at 11 and dead at 11.5: nobody will do it, and nobody knows."""
    result = run(
        commit="before", retry_delay=10, handler=failing_until(2),
        crash=sq.Crash(at=[(1, 11.5)], restart_after=1),
    )  # fmt: skip
    assert starts(result) == [0, 11]
    assert result.jobs.outcome.tolist() == ["acked"]
    assert result.figures["lost_rate"] == 1


def test_auto_commit_does_not_pass_a_record_that_is_to_be_tried_again():
    """Failed at 1, and again at 11; the commit at 5 covers nothing; dead at 7: nothing is lost."""
    result = run(
        jobs=2, retry_delay=10, handler=failing_until(2),
        crash=sq.Crash(at=[(1, 7)], restart_after=1),
    )  # fmt: skip
    assert starts(result) == [0, 51]
    assert result.jobs.effects.tolist() == [1, 1]


def test_dead_letters_can_be_sent_again():
    """Two attempts, at 0 and 1; redriven at 100: a new record, and two attempts again."""

    class Redrive(Fault):
        def install(self, world):
            world.clock.at(100, lambda _: world.queue.redrive())

    result = run(
        max_attempts=2, dead_letter=True, commit="after", handler=failing_until(4),
        faults=[Redrive()],
    )  # fmt: skip
    assert starts(result) == [0, 1, 100, 101]
    assert result.jobs.outcome[0] == "acked"


def test_retention_deletes_what_nobody_has_read():
    """Ten seconds: job 1 is gone before its turn."""
    result = run(20, jobs=2, max_poll_records=1, retention=10, commit="after")
    assert executions(result) == [1, 0]
    assert result.jobs.outcome[1] == "expired"


# Producers.


def test_inc_20_resends_are_second_records_unless_the_producer_is_idempotent():
    """As many extra records as replies were lost, q / (1 - q) for each message; or none."""
    count, q = 20_000, 0.00641
    network = sq.Network(publish_response_lost=q)
    plain = run(0, jobs=count, enable_idempotence=False, network=network)
    resends = len(times_of(plain, "publish response lost"))
    assert plain.figures["duplicate_executions"] == resends
    mean = count * q / (1 - q)
    assert abs(resends - mean) < 4 * math.sqrt(mean)
    idempotent = run(0, jobs=count, network=network)
    assert len(times_of(idempotent, "deduplicated")) == resends
    assert idempotent.figures["duplicate_executions"] == 0


def test_the_idempotent_producer_knows_only_its_own_resends():
    """A sender that sends a job again after 10 s makes a second record."""
    sender = Producers(resend=Resend(every=10, most=3))
    result = run(15, commit="after", producers=sender)
    assert len(times_of(result, "published")) == 2
    assert executions(result) == [2]


# Incidents.


def test_inc_58_a_message_of_seven_minutes_goes_round_for_ever():
    """Starts at 0, 300, 420: out at 300, refused at 420, and the rejoining takes it back.

    That is how clients do it that join in the background, those of the reports. The later job of
    the partition is never begun.
    """
    result = run(420, jobs=2, workers=2, commit="after", rejoin="background", horizon=5_000)
    assert starts(result)[:4] == [0, 300, 420, 720]
    assert "accepted" not in result.deliveries.ack.tolist()
    assert starts(result, 1) == []
    assert result.figures["unfinished_rate"] == 1


def test_inc_58_as_a_client_that_joins_in_poll_does_it():
    """The rebalance of 420 waits for the other one, who leaves at 600: every 300 s."""
    result = run(420, workers=2, commit="after", horizon=1_600)
    assert starts(result) == [0, 300, 600, 900, 1_200, 1_500]
    assert "accepted" not in result.deliveries.ack.tolist()


@pytest.mark.parametrize("rejoin", ["poll", "background"])
def test_inc_58_after_the_fix(rejoin):
    """Ten minutes allowed: one execution of each."""
    result = run(420, jobs=2, workers=2, commit="after", rejoin=rejoin, max_poll_interval=600,
                 max_poll_records=1)  # fmt: skip
    assert executions(result) == [1, 1]


@pytest.mark.parametrize(("records", "lost"), [(1, 1), (3, 3)])
def test_inc_59_a_commit_on_delivery_loses_what_is_at_work(records, lost):
    """S = 20, committed at 5, dead at 10: one, or the whole batch."""
    result = run(
        20, jobs=3, commit="background", max_poll_records=records,
        crash=sq.Crash(at=[(1, 10)], restart_after=1),
    )  # fmt: skip
    assert (result.jobs.effects == 0).sum() == lost
    assert result.figures["duplicate_executions"] == 0


def test_inc_59_doubles_what_was_done_since_the_last_tick():
    """1.1 s each, dead at 8.5: five were handed over by 5, seven are done."""
    result = run(
        1.1, jobs=10, commit="background", max_poll_records=1,
        crash=sq.Crash(at=[(1, 8.5)], restart_after=1),
    )  # fmt: skip
    assert result.jobs.index[result.jobs.effects == 2].tolist() == [5, 6]
    assert (result.jobs.effects == 0).sum() == 0


def test_inc_59_after_the_fix():
    """Stored when done: nothing lost, the one at work is run again."""
    result = run(20, commit="stored", crash=sq.Crash(at=[(1, 10)], restart_after=1))
    assert executions(result) == [2]
    assert result.jobs.effects.tolist() == [1]


def with_a_stale_committer(joins: float, **options: Any) -> sq.Result:
    """Three members of one partition, the third from `joins` on, in seconds.

    Worker 1 polls records 0 to 9 and stands still from 2.5 to 33.1. It is missed at 2.4 + 10.05,
    and worker 2 hears at 12.6: it commits 3 at 13.6, so 22 at 32.6, 23 at 33.6, 24 at 34.6. Worker
    1 is back and commits its old batch: 3 at 33.1, 4 at 34.1, …, 10 at 40.1.
    """
    return run(
        jobs=100, workers=3, commit="after", rejoin="background", max_poll_records=10,
        heartbeat_interval=0.2, session_timeout=10.05, horizon=40,
        faults=[sq.Pause(seconds=30.6, at=[(1, 2.5)]), Late(worker=3, at=joins)], **options,
    )  # fmt: skip


def resumed_at(joins: float, **options: Any) -> int:
    """Where in the log the partition's owner goes on after the third member has joined."""
    deliveries = with_a_stale_committer(joins, **options).deliveries
    later = deliveries[(deliveries.received > joins) & (deliveries.worker < 3)]
    return int(later.job.iloc[0])


def test_inc_85_a_stale_commit_takes_back_what_was_committed():
    """22 at 32.6, 3 at 33.1, 23 at 33.6, 4 at 34.1."""
    acked = with_a_stale_committer(39, fenced=False).timeseries.acked
    assert [int(acked.asof(time)) for time in (33.0, 33.5, 34.0, 34.5)] == [22, 3, 23, 4]


def test_inc_85_an_unfenced_commit_sets_the_group_back():
    """Half of the time the stale one has written last. The third one joins at any moment."""
    places = [resumed_at(joins, fenced=False) for joins in JOINS]
    assert places == [3, 3, 23, 23]


def test_inc_85_fenced_by_generation_no_offset_goes_back():
    """The stale commit at 33.1 is refused; whoever goes on begins at the newest commit or later."""
    assert min(resumed_at(joins) for joins in JOINS) >= 22


JOINS = (33.15, 33.35, 33.75, 33.95)
"""Heard of at 33.2 and 33.4, when the stale commit was the last one, and at 33.8 and 34.0."""


# The rest.


def test_the_same_seed_gives_the_same_events():
    """With everything going on at once."""
    options: dict[str, Any] = {
        "jobs": 60, "partitions": 4, "workers": 3, "arrivals": sq.Poisson(rate=1),
        "crash": sq.Crash(mean_time_between=20, restart_after=3), "session_timeout": 6,
        "faults": [sq.Pause(seconds=8, mean_time_between=30), sq.Deploy(at=20, every=5)],
    }  # fmt: skip
    work = sq.Exponential(mean=2)
    assert story(run(work, seed=3, **options)) == story(run(work, seed=3, **options))
    assert story(run(work, seed=3, **options)) != story(run(work, seed=4, **options))


@pytest.mark.parametrize("commit", ["auto", "after", "before", "background", "stored"])
@pytest.mark.parametrize("fenced", [True, False])
def test_no_record_appears_or_disappears(commit, fenced):
    """At every instant the messages of all states add up to those that were published."""
    result = run(
        sq.Exponential(mean=2), jobs=80, partitions=3, workers=3, concurrency=2, commit=commit,
        arrivals=sq.Poisson(rate=1), session_timeout=6, max_poll_interval=10, fenced=fenced,
        enable_idempotence=False, retention=60, max_attempts=2, dead_letter=True, retry_delay=1,
        handler=failing_until(2, job=5), crash=sq.Crash(mean_time_between=20, restart_after=3),
        network=sq.Network(ack_lost=0.1, publish_response_lost=0.1), horizon=500,
        faults=[sq.Pause(seconds=8, mean_time_between=30), Partition(worker=1, window=(20, 40))],
    )  # fmt: skip
    table = result.timeseries.drop(columns=["busy", "oldest_age"])
    assert (table >= 0).all(axis=None)
    published = result.events.time[result.events.event == "published"]
    expected = [int((published <= time).sum()) for time in table.index]
    assert table.sum(axis=1).tolist() == expected


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"partitions": 0}, "broker.partitions must be a whole number of 1 or more"),
        ({"session_timeout": 5}, "broker.session_timeout must be .* from 6 to 1800, not 5"),
        ({"heartbeat_interval": 45}, "broker.heartbeat_interval must be below the session_timeout"),
        ({"commit": "never"}, "broker.commit must be one of 'auto', 'after'"),
        ({"rejoin": "now"}, "broker.rejoin must be one of 'poll', 'background'"),
        ({"fenced": 1}, "broker.fenced must be True or False, not 1"),
        ({"max_attempts": 0}, "broker.max_attempts must be a whole number of 1 or more"),
        ({"drain_limit": -1}, "broker.drain_limit must be a number of seconds of 0 or more"),
        ({"prefetch": 5}, "workers.prefetch must be None with a log: max_poll_records says"),
        ({"batch": 5}, "workers.batch must be None with a log: max_poll_records says"),
        ({"throttled": True}, "workers.throttled must be False with a log"),
        ({"concurrency": 2, "commit": "after_batch"}, "workers.concurrency must be 1 with commit"),
        ({"network": sq.Network(delivery_lost=0.1)}, "network.delivery_lost must be 0 with a log"),
        (
            {"faults": [sq.Deploy(at=1, push_back=True)]},
            "deploy.push_back must be False with a log",
        ),
        ({"producers": Producers(due_after=5)}, "producers.due_after must be 0 with a log"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(options, words):
    """With the parameter, its value and what is allowed."""
    with pytest.raises(ValueError, match=words):
        scenario(**options)


def test_scenario_files_know_it():
    """By the name of kafka."""
    assert make("broker", "kafka", {"commit": "after"}) == sq.brokers.kafka(commit="after")


def test_defaults_are_kafkas():
    """In seconds."""
    broker = sq.brokers.kafka()
    assert (broker.session_timeout, broker.heartbeat_interval) == (45, 3)
    assert (broker.max_poll_interval, broker.max_poll_records) == (300, 500)
    assert (broker.commit, broker.auto_commit_interval) == ("auto", 5)
    assert (broker.initial_rebalance_delay, broker.enable_idempotence) == (3, True)


def test_every_fact_names_its_test_or_the_reason_why_there_is_none():
    """And the test is here."""
    facts = sq.brokers.kafka().facts()
    assert len(facts) == len({fact.what for fact in facts})
    for fact in facts:
        assert all((fact.what, fact.value, fact.source))
        assert bool(fact.test) != bool(fact.left_out)
        assert not fact.test or fact.test in globals()


def test_the_story_of_a_job_is_told_in_a_logs_words():
    """No message is deleted, and no lease runs out."""
    result = run(420, workers=2, commit="after", horizon=450)
    text = tell(result, 0)
    assert "partition is taken away" in text
    assert "leaves the group: did not poll in time" in text
    assert "commit refused" in text
    assert "deleted" not in text
    assert received(result) == [0, 300]
