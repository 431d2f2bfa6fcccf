"""The laws can fail: the model is broken in many ways, and each break is caught.

mutation                                          caught by
------------------------------------------------  -----------------------
an expired lease is not restored                  visible_on_time
an ack by an old receipt is accepted              late_acks
attempts are counted from 0                       attempts
one receive more than the limit                   attempts
the lease runs from the wrong clock               leases
a lease ends a second early                       leases
a lease is never noticed to have ended            all_leases_end
an expiry comes before an ack at a tie            ties
a receive comes before an expiry at a tie         ties
a nack is heard after the lease ran out           one_state_after_another
a retry comes at once                             visible_on_time
an extension is added to the lease                leases
the dedupe window never ends                      dedupe
last in, first out                                order
a group does not wait                             order
a message comes back and nobody is told           nobody_idles
a message is restored twice                       conservation
a crash lets the handler go on                    standing_still
a paused worker works on                          standing_still
a partition lets acks through                     standing_still
a lost ack arrives                                deliveries
an effect is recorded twice                       deliveries
one more than the prefetch                        capacity
a batch takes more while it is at work            capacity
an idle worker dies of nothing                    nothing_of_what_is_off
two transactions insert one key                   promises
duplicates are counted with the first             figures
a swallowed message stays visible                 levels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import laws_of_figures
import laws_of_messages
import laws_of_workers
import mutations as m
import pytest
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


class Mutation(NamedTuple):
    """One way to break the model, the run that shows it, and the law that catches it."""

    what: str
    mutate: Callable[[pytest.MonkeyPatch], None]
    shown_by: sq.Scenario
    caught_by: Callable[[Run], None]


M, W = laws_of_messages, laws_of_workers
FIGURES, LEVELS = laws_of_figures.LAWS

MUTATIONS = (
    Mutation("an expired lease is not restored", m.forget_to_restore, CRASHED, M.visible_on_time),
    Mutation("an ack by an old receipt is accepted", m.accept_old_receipts, SLOW, M.late_acks),
    Mutation("attempts are counted from 0", m.count_from_zero, QUEUED, M.attempts),
    Mutation("one receive more than the limit", m.allow_one_more, POISON, M.attempts),
    Mutation("the lease runs from the wrong clock", m.start_the_lease_late, BUFFERED, M.leases),
    Mutation("a lease ends a second early", m.end_leases_early, SLOW, M.leases),
    Mutation("a lease is never noticed to have ended", m.end_no_lease, CRASHED, M.all_leases_end),
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
    Mutation("an extension is added to the lease", m.add_extensions, RENEWED, M.leases),
    Mutation("the dedupe window never ends", m.never_forget_keys, RESENT, M.dedupe),
    Mutation("last in, first out", m.take_the_last, QUEUED, M.order),
    Mutation("a group does not wait", m.let_groups_go_on, GROUPED, M.order),
    Mutation("a message comes back and nobody is told", m.tell_nobody, SLOW, W.nobody_idles),
    Mutation("a message is restored twice", m.restore_twice, SLOW, M.conservation),
    Mutation("a crash lets the handler go on", m.let_the_dead_work, CRASHED, W.standing_still),
    Mutation("a paused worker works on", m.let_the_paused_work, PAUSED, W.standing_still),
    Mutation("a partition lets acks through", m.let_acks_through, CUT_OFF, W.standing_still),
    Mutation("a lost ack arrives", m.let_lost_acks_arrive, ACK_LOST, W.deliveries),
    Mutation("an effect is recorded twice", m.record_effects_twice, QUEUED, W.deliveries),
    Mutation("one more than the prefetch", m.prefetch_one_more, CROWDED, W.capacity),
    Mutation("a batch takes more while it is at work", m.keep_batches_open, BATCHED, W.capacity),
    Mutation("an idle worker dies of nothing", m.die_of_nothing, QUEUED, W.nothing_of_what_is_off),
    Mutation("two transactions insert one key", m.insert_without_locks, COPIED, W.promises),
    Mutation("duplicates are counted with the first", m.count_the_first_too, SLOW, FIGURES),
    Mutation("a swallowed message stays visible", m.keep_the_swallowed, RESENT, LEVELS),
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
