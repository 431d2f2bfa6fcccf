"""The laws can fail: the model is broken in many ways, and each break is caught.

mutation                                     caught by
-------------------------------------------  -----------------------
an expired lease is not restored             visible_on_time
an ack by an old receipt is accepted         late_acks
attempts are counted from 0                  attempts
one receive more than the limit              attempts
the lease runs from the wrong clock          leases
a lease ends a second early                  leases
a lease is never noticed to have ended       all_leases_end
an expiry comes before an ack at a tie       ties
a receive comes before an expiry at a tie    ties
a nack is heard after the lease ran out      one_state_after_another
a retry comes at once                        visible_on_time
an extension is added to the lease           lengths
the dedupe window never ends                 dedupe
last in, first out                           order
a group does not wait                        order
a message comes back and nobody is told      nobody_idles
a message is restored twice                  conservation
a crash lets the handler go on               standing_still
a paused worker works on                     standing_still
a partition lets acks through                standing_still
a lost ack arrives                           deliveries
an effect is recorded twice                  deliveries
one more than the prefetch                   capacity
a batch takes more while it is at work       capacity
an idle worker dies of nothing               nothing_of_what_is_off
two transactions insert one key              promises
duplicates are counted with the first        figures
a swallowed message stays visible            levels
one stall more than the limit                stalls
old stalls are not forgotten                 stalls
a dead letter leaves the retention line      retention
a redriven dead letter dies by its old time  retention
a replay forgets what was acked              replay
a dead process has a heartbeat               heartbeats_of_processes
nobody renews                                renewals
a lease grows beyond its cap                 lengths
a dead letter keeps its key for ever         dedupe
a group goes on within a batch               order
a poller looks once too late                 visible_on_time
a late nack takes from another               one_state_after_another
an ack is late only once noticed             late_acks
a rescuer looks that is down                 leases
who boots looks again too soon               leases
a sender does not hear that it is done       resends
a worker takes between its polls             taking
a worker is given what it holds              taking
one more is in flight than may be            taking
a job starts before it is due                not_before_due
nobody stops what runs too long              time_limits
a cancelled consumer goes on                 standing_still
a closed connection keeps all                closings
what returns goes to the back                line
a failure is never an ack                    failures
a late nack releases nothing                 failures
a worker remembers what is due               not_before_due
a dead machine is missed at once             disconnects
a renewal comes too late                     renewals
a partition is read from its end on          in_order
a member is missed too late                  leaving
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import laws_of_figures
import laws_of_handlers
import laws_of_leases
import laws_of_messages
import laws_of_order
import laws_of_producers
import laws_of_silence
import laws_of_the_log
import laws_of_workers
import mutations as m
import mutations_of_knobs as k
import pytest
from faults_at_random import Redrive
from reenactment import Run, observe
from runs import scenario

import simqueue as sq


async def failing(job, ctx):
    """Work, then fail."""
    await ctx.work()
    raise sq.Retry("not today")


# The scenarios, as small as they can be. What they show unbroken is tested elsewhere.

SLOW = scenario(40, workers=2, lease=30, horizon=200)
"""Longer than the lease: expired at 30, received again, an old receipt at 40."""

POISON = scenario(1, workers=2, lease=30, max_receives=3, handler=failing)
AT_THE_END = scenario(30, workers=2, lease=30)
"""Done at the very instant at which the lease ends."""

TWO_AT_30 = scenario(
    sq.Recorded([100, 30, 1]), jobs=3, workers=2, lease=30, horizon=60, returns_to="front"
)
"""At 30 job 0 expires, and worker 2 asks for the next."""

BUFFERED = scenario(10, jobs=5, prefetch=5, lease=25, late_ack="unexpired", horizon=100)
RETRIED = scenario(1, lease=60, max_receives=3, retry_delay=20, handler=failing)
RENEWED = scenario(100, workers=2, lease=30, renew_every=10)
RESENT = scenario(
    0, dedupe_window=10, horizon=100,
    network=sq.Network(publish_response_lost=0.999, resend_after=6),
)  # fmt: skip
LATE = scenario(40, workers=1, lease=30, retry_delay=15, horizon=100, handler=failing)
"""Fails at 40, when the lease is over and the message visible."""

QUEUED = scenario(5, jobs=4)
CROWDED = scenario(5, jobs=4, prefetch=2)
GROUPED = scenario(10, jobs=4, groups=2, workers=4, ordering="group")
CRASHED = scenario(10, lease=30, crash=sq.Crash(at=[(1, 5)], restart_after=20))
PAUSED = scenario(10, lease=90, faults=[sq.Pause(seconds=60, at=[(1, 5)])])
CUT_OFF = scenario(10, workers=2, lease=30, faults=[sq.Partition(worker=1, window=(5, 20))])
ACK_LOST = scenario(10, lease=30, horizon=50, network=sq.Network(ack_lost=0.999))
BATCHED = scenario(10, arrivals=sq.Times([0, 1, 2]), jobs=None, batch=3)
COPIED = scenario(
    1, workers=2, own_duplicates=0.999, handler=sq.handlers.one_transaction,
    database=sq.services.Database(latency=1),
)  # fmt: skip


KEPT = scenario(100, workers=2, lease=30, renew_every=10, horizon=200)

# The same for the knobs that some real broker needs.

ORPHAN = {"crash": sq.Crash(at=[(1, 5)], restart_after=25), "horizon": 150}
"""A worker that is dead from 5 to 30."""

STALLED = scenario(100, workers=3, lease=10, max_stalls=1, horizon=60)
STALLED_APART = scenario(
    100, workers=3, lease=10, max_stalls=1, stalls_within=15, retry_delay=30, retry_on=["expiry"],
    horizon=70,
)  # fmt: skip
"""Stalls at 10 and at 50."""

FAILED = {"handler": failing, "max_receives": 1, "retry_delay": 0, "lease": None, "horizon": 80}
REDRIVEN_OLD = scenario(
    sq.Recorded([1, 3]), arrivals=sq.Times([0, 10]), jobs=None, retention=30,
    faults=[Redrive(at=38)], **FAILED,
)  # fmt: skip
"""At 40, when job 1 is too old, it runs once more."""

REDRIVEN_DEAD = scenario(1, dead_letter_retention=20, faults=[Redrive(at=10)], **FAILED)
REPLAYED = scenario(
    5, jobs=3, ordering="replay", lease=20, horizon=60,
    faults=[sq.faults.At(step="ack", what="ack lost")],
)  # fmt: skip
PROCESS = scenario(
    30, jobs=2, lease=40, renew_every=10, renew_what="process", horizon=60,
    crash=sq.Crash(at=[(1, 5)], restart_after=3),
)  # fmt: skip
CAPPED = scenario(100, workers=2, lease=20, renew_every=10, lease_cap=50, horizon=150)
SENT_AGAIN = scenario(1, producers=sq.Producers(resend=sq.Resend(every=10, most=3)), horizon=60)
SENT_AFTER_DEATH = scenario(
    1, dedupe_after=5, producers=sq.Producers(resend=sq.Resend(every=20, most=2)), **FAILED
)
GROUP_BATCHES = scenario(
    sq.Recorded([1, 10, 1, 1]), jobs=4, workers=2, concurrency=2, batch=2, ordering="group",
    group_batches=True, lease=60, horizon=60,
)  # fmt: skip
POLLED = scenario(1, delay=5, poll_delayed=10, horizon=60)
NACKED_LATE = scenario(40, workers=2, lease=30, retry_delay=15, horizon=100, handler=failing)
SWEPT = scenario(40, lease=30, sweep_period=100, late_ack="unexpired", horizon=150)
UNRESCUED = scenario(
    10, lease=10, sweep_period=20, faults=[sq.RescuerDown(window=(0, 50))], **ORPHAN
)
BOOTED = scenario(10, lease=10, sweep_at_boot=100, **ORPHAN)
AT_POLLS = scenario(1, jobs=2, poll_every=10, poll_phases=[3], horizon=60)
HELD_ONCE = scenario(40, concurrency=2, lease=10, holds_once=True, horizon=60)
LIMITED = scenario(5, jobs=3, workers=3, most_in_flight=1, horizon=60)
EARLY = scenario(
    1, due_held_by="worker", lease=60, producers=sq.Producers(due_after=20), horizon=60
)
TOO_LONG = scenario(30, time_limit=10, lease=60, horizon=60)
CANCELLED = scenario(40, jobs=3, workers=2, lease=10, on_expiry="cancel", horizon=60)
CLOSED = scenario(
    40, jobs=3, prefetch=3, lease=20, on_expiry="close", on_disconnect="requeue", horizon=60
)
IN_FRONT = scenario(
    sq.Recorded([40, 5, 5, 5]),
    jobs=4,
    lease=30,
    returns_to="front",
    late_ack="ignored",
    horizon=100,
)
SWALLOWED = scenario(
    5,
    handler=sq.handlers.naive,
    lease=30,
    on_failure="ack",
    horizon=60,
    faults=[sq.faults.At(step="payments.charge", what="response lost")],
)
RELEASED = scenario(
    40, workers=2, lease=30, retry_delay=15, horizon=100, handler=failing, late_nack="releases"
)
FORGOTTEN = scenario(
    40, jobs=1, workers=1, lease=20, on_expiry="close", on_disconnect="requeue", horizon=90,
    due_held_by="worker", forgets_due=True, producers=sq.Producers(due_after=50),
)  # fmt: skip
SILENT = scenario(
    40, workers=2, lease=None, on_disconnect="requeue", disconnect_after=2, silence_after=30,
    crash=sq.Crash(at=[(1, 5)], restart_after=60, kills="machine"), horizon=90,
)  # fmt: skip
JITTERED = scenario(100, lease=60, renew_every=10, renew_jitter=0.5, horizon=90)
ON_A_LOG = scenario(
    1, arrivals=sq.Times([0, 1, 10]), jobs=None, horizon=60, broker=sq.brokers.kafka(commit="after")
)
MEMBER_LOST = scenario(
    40, workers=2, horizon=60, crash=sq.Crash(at=[(1, 10)], restart_after=5),
    broker=sq.brokers.kafka(session_timeout=20),
)  # fmt: skip


class Mutation(NamedTuple):
    """One way to break the model, the run that shows it, and the law that catches it."""

    what: str
    mutate: Callable[[pytest.MonkeyPatch], None]
    shown_by: sq.Scenario
    caught_by: Callable[[Run], None]


M, W, L = laws_of_messages, laws_of_workers, laws_of_leases
A, P, K = laws_of_order, laws_of_producers, laws_of_the_log
H, S = laws_of_handlers, laws_of_silence
FIGURES, SETTLED, LEVELS = laws_of_figures.LAWS

MUTATIONS = (
    Mutation("an expired lease is not restored", m.forget_to_restore, CRASHED, M.visible_on_time),
    Mutation("an ack by an old receipt is accepted", m.accept_old_receipts, SLOW, M.late_acks),
    Mutation("attempts are counted from 0", m.count_from_zero, QUEUED, A.attempts),
    Mutation("one receive more than the limit", m.allow_one_more, POISON, A.attempts),
    Mutation("the lease runs from the wrong clock", m.start_the_lease_late, BUFFERED, L.leases),
    Mutation("a lease ends a second early", m.end_leases_early, SLOW, L.leases),
    Mutation("a lease is never noticed to have ended", m.end_no_lease, CRASHED, L.all_leases_end),
    Mutation("an expiry comes before an ack at a tie", m.expire_before_acks, AT_THE_END, M.ties),
    Mutation(
        "a receive comes before an expiry at a tie", m.receive_before_expiries, TWO_AT_30, M.ties
    ),
    Mutation(
        "a nack is heard after the lease ran out",
        m.hear_late_nacks,
        LATE,
        M.one_state_after_another,
    ),
    Mutation("a retry comes at once", m.retry_at_once, RETRIED, M.visible_on_time),
    Mutation("an extension is added to the lease", m.add_extensions, RENEWED, L.lengths),
    Mutation("the dedupe window never ends", m.never_forget_keys, RESENT, M.dedupe),
    Mutation("last in, first out", m.take_the_last, QUEUED, A.order),
    Mutation("a group does not wait", m.let_groups_go_on, GROUPED, A.order),
    Mutation("a message comes back and nobody is told", m.tell_nobody, SLOW, W.nobody_idles),
    Mutation("a message is restored twice", m.restore_twice, SLOW, M.conservation),
    Mutation("a crash lets the handler go on", m.let_the_dead_work, CRASHED, W.standing_still),
    Mutation("a paused worker works on", m.let_the_paused_work, PAUSED, W.standing_still),
    Mutation("a partition lets acks through", m.let_acks_through, CUT_OFF, W.standing_still),
    Mutation("a lost ack arrives", m.let_lost_acks_arrive, ACK_LOST, W.deliveries),
    Mutation("an effect is recorded twice", m.record_effects_twice, QUEUED, W.deliveries),
    Mutation("one more than the prefetch", m.prefetch_one_more, CROWDED, W.capacity),
    Mutation("a batch takes more while it is at work", m.keep_batches_open, BATCHED, W.capacity),
    Mutation("an idle worker dies of nothing", m.die_of_nothing, QUEUED, S.nothing_of_what_is_off),
    Mutation("two transactions insert one key", m.insert_without_locks, COPIED, H.promises),
    Mutation("duplicates are counted with the first", m.count_the_first_too, SLOW, FIGURES),
    Mutation("a swallowed message stays visible", m.keep_the_swallowed, RESENT, LEVELS),
    Mutation("one stall more than the limit", k.allow_one_more_stall, STALLED, A.stalls),
    Mutation("old stalls are not forgotten", k.remember_stalls_for_ever, STALLED_APART, A.stalls),
    Mutation(
        "a dead letter leaves the retention line",
        k.forget_the_retention_of_the_dead,
        REDRIVEN_OLD,
        M.retention,
    ),
    Mutation(
        "a redriven dead letter dies by its old time",
        k.count_from_the_first_death,
        REDRIVEN_DEAD,
        M.retention,
    ),
    Mutation("a replay forgets what was acked", k.replay_only_what_is_out, REPLAYED, A.replay),
    Mutation(
        "a dead process has a heartbeat", k.beat_for_the_dead, PROCESS, L.heartbeats_of_processes
    ),
    Mutation("nobody renews", k.forget_to_renew, KEPT, L.renewals),
    Mutation("a lease grows beyond its cap", k.lift_the_cap, CAPPED, L.lengths),
    Mutation(
        "a dead letter keeps its key for ever",
        k.know_dead_letters_for_ever,
        SENT_AFTER_DEATH,
        M.dedupe,
    ),
    Mutation("a group goes on within a batch", k.free_groups_early, GROUP_BATCHES, A.order),
    Mutation("a poller looks once too late", k.look_once_too_late, POLLED, M.visible_on_time),
    Mutation(
        "a late nack takes from another", k.hear_every_nack, NACKED_LATE, M.one_state_after_another
    ),
    Mutation("an ack is late only once noticed", k.forgive_until_noticed, SWEPT, M.late_acks),
    Mutation("a rescuer looks that is down", k.look_all_the_same, UNRESCUED, L.leases),
    Mutation("who boots looks again too soon", k.look_at_every_boot, BOOTED, L.leases),
    Mutation("a sender does not hear that it is done", k.hear_no_answer, SENT_AGAIN, P.resends),
    Mutation("a worker takes between its polls", k.take_between_polls, AT_POLLS, W.taking),
    Mutation("a worker is given what it holds", k.hold_twice, HELD_ONCE, W.taking),
    Mutation("one more is in flight than may be", k.send_one_more, LIMITED, W.taking),
    Mutation("a job starts before it is due", k.start_before_due, EARLY, H.not_before_due),
    Mutation("nobody stops what runs too long", k.limit_no_time, TOO_LONG, H.time_limits),
    Mutation("a cancelled consumer goes on", k.go_on_asking, CANCELLED, W.standing_still),
    Mutation("a closed connection keeps all", k.keep_what_was_sent, CLOSED, L.closings),
    Mutation("what returns goes to the back", k.return_to_the_back, IN_FRONT, A.line),
    Mutation("a failure is never an ack", k.fail_all_the_same, SWALLOWED, H.failures),
    Mutation("a late nack releases nothing", k.hear_no_late_nack, RELEASED, H.failures),
    Mutation("a worker remembers what is due", k.remember_what_is_due, FORGOTTEN, H.not_before_due),
    Mutation("a dead machine is missed at once", k.notice_at_once, SILENT, W.disconnects),
    Mutation("a renewal comes too late", k.renew_by_the_clock, JITTERED, L.renewals),
    Mutation("a partition is read from its end on", k.begin_at_the_end, ON_A_LOG, K.in_order),
    Mutation("a member is missed too late", k.miss_members_late, MEMBER_LOST, K.leaving),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.what)
def test_each_mutation_is_caught(mutation, monkeypatch):
    """The law holds as long as nothing is broken, and fails once this is."""
    mutation.caught_by(observe(mutation.shown_by))
    mutation.mutate(monkeypatch)
    with pytest.raises(AssertionError):
        mutation.caught_by(observe(mutation.shown_by))


def test_the_table_above_lists_the_mutations():
    """One line for each: what is broken, and what catches it."""
    lines = (__doc__ or "").splitlines()[4:]
    listed = [tuple(line.rsplit(maxsplit=1)) for line in lines]
    assert [(what.strip(), law) for what, law in listed] == [
        (mutation.what, mutation.caught_by.__name__) for mutation in MUTATIONS
    ]
