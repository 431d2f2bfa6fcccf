"""The table of strategies: effects of one job, by strategy and by fault, each cell a scripted run.

The broker ignores a late ack once a newer receipt exists (SQS), the work takes 10 s, the lease 30 s
and a job is dead-lettered after 20 receives. For a second delivery while the first one runs, the
first one stands still for 35 s. D: applied twice or more; DLQ: ends there.
"""

from __future__ import annotations

import inspect
from functools import partial
from pathlib import Path

import pytest
from runs import run, starts

import simqueue as sq
from simqueue import handlers
from simqueue.faults import At

STRATEGIES = {
    "naive": (handlers.naive, {}),
    "lock": (partial(handlers.lock, ttl=100), {}),
    "check then act": (handlers.check_then_act, {}),
    "claim": (handlers.claim, {}),
    "reclaim": (partial(handlers.reclaim, stale_after=100), {}),
    "reclaim, window too short": (partial(handlers.reclaim, stale_after=20), {}),
    "reclaim with key": (partial(handlers.reclaim_with_key, stale_after=100), {}),
    "one transaction": (handlers.one_transaction, {}),
    "outbox": (handlers.outbox, {}),
    "outbox with key": (handlers.outbox, {"database": sq.services.Database(relay_uses_key=True)}),
}

EFFECT = {
    "one transaction": "database.commit",
    "outbox": "database.commit",
    "outbox with key": "database.commit",
}
"""The call after which the effect is there; the charge unless said otherwise."""

CRASH_AFTER_EFFECT, SECOND_DELIVERY, CRASH_BEFORE_EFFECT, ACK_LOST, RESPONSE_LOST = (
    "crash after effect",
    "second delivery while the first runs",
    "crash before effect",
    "ack lost",
    "response lost",
)
FAULTS = (CRASH_AFTER_EFFECT, SECOND_DELIVERY, CRASH_BEFORE_EFFECT, ACK_LOST, RESPONSE_LOST)

TABLE = {
    "naive": ("D", "D", "1", "D", "D"),
    "lock": ("D", "D", "1", "D", "D"),
    "check then act": ("D", "D", "1", "1", "D"),
    "claim": ("1 DLQ", "1", "0 DLQ", "1", "1 DLQ"),
    "reclaim": ("D", "1", "1", "1", "D"),
    "reclaim, window too short": ("D", "D", "1", "1", "D"),
    "reclaim with key": ("1", "1", "1", "1", "1"),
    "one transaction": ("1", "1", "1", "1", "1"),
    "outbox": ("1", "1", "1", "1", "1"),
    "outbox with key": ("1", "1", "1", "1", "1"),
}

CELLS = [
    (name, fault, expected)
    for name, row in TABLE.items()
    for fault, expected in zip(FAULTS, row, strict=True)
]


def outcome(name: str, fault: str) -> str:
    """Run the strategy under the fault, and tell what became of the job."""
    handler, options = STRATEGIES[name]
    call = EFFECT.get(name, "payments.charge")
    faults = {
        CRASH_AFTER_EFFECT: [At(step=call, when="after")],
        SECOND_DELIVERY: [At(step="work", what="pause", when="before", seconds=35)],
        CRASH_BEFORE_EFFECT: [At(step="work", when="after")],
        ACK_LOST: [At(step="ack", what="ack lost")],
        RESPONSE_LOST: [At(step=call, what="response lost")],
    }[fault]
    result = run(
        10,
        workers=2,
        broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=20),
        handler=handler,
        faults=faults,
        **options,
    )
    assert result.figures["redeliveries"] >= 1
    effects = int(result.jobs.effects[0])
    dead = result.jobs.outcome[0] == "dead-lettered"
    return ("D" if effects > 1 else str(effects)) + (" DLQ" if dead else "")


@pytest.mark.parametrize(("name", "fault", "expected"), CELLS)
def test_the_table_of_strategies(name, fault, expected):
    """Each cell, by a run with just that fault."""
    assert outcome(name, fault) == expected


def test_every_strategy_has_its_row():
    """In the table of the test, and in that of the docs."""
    assert list(STRATEGIES) == list(TABLE)
    page = (Path(__file__).parents[1] / "docs" / "strategies.md").read_text()
    public = [name for name, found in vars(handlers).items() if inspect.iscoroutinefunction(found)]
    assert [name for name in public if f"`{name}`" not in page] == []


def test_a_lock_lets_a_second_delivery_run_after_the_first_one():
    """One after the other: the effects are as far apart as the second one's work."""
    result = run(
        45, workers=2, broker=sq.brokers.sqs(max_receive_count=20),
        handler=partial(handlers.lock, ttl=100),
    )  # fmt: skip
    first, second = result.effects.time[:2]
    assert second - first >= 45


def test_a_pause_longer_than_the_lock_lets_two_run_at_once():
    """The lock expires at 20 while its owner stands still; both are in the critical section."""
    result = run(
        10, workers=2, broker=sq.brokers.sqs(max_receive_count=20),
        handler=partial(handlers.lock, ttl=20),
        faults=[At(step="work", what="pause", when="before", seconds=35)],
    )  # fmt: skip
    table = result.deliveries
    assert table.started[1] < table.ended[0]
    assert result.jobs.effects[0] == 2


def test_a_fencing_token_stops_the_zombies_write():
    """The same pause; the resource refuses the older token, so one effect remains."""

    async def fenced(job, ctx):
        held = await ctx.locks.acquire(job.key, ttl=20)
        if held is None:
            raise sq.Retry("locked")
        await ctx.work()
        await ctx.database.guarded_write("charge", held.token)

    result = run(
        10, workers=2, broker=sq.brokers.sqs(max_receive_count=20), handler=fenced,
        faults=[At(step="work", what="pause", when="before", seconds=35)],
    )  # fmt: skip
    assert result.jobs.effects[0] == 1
    assert result.deliveries.outcome.tolist() == ["failed", "finished"]
    assert "Fenced" in result.events.detail[result.events.event == "failed"].iloc[0]


@pytest.mark.parametrize(("uses_key", "effects"), [(False, 2), (True, 1)])
def test_a_relay_that_dies_between_send_and_mark_sends_again(uses_key, effects):
    """At least once by construction; the provider's key makes it one effect."""
    result = run(
        10, lease=30, handler=handlers.outbox, faults=[At(step="relay.send")],
        database=sq.services.Database(relay_uses_key=uses_key),
    )  # fmt: skip
    assert result.jobs.effects[0] == effects


# The traps.


def stuck(handler: object, **store: float) -> sq.Result:
    """The owner dies after its claim; a sweeper sets the claim to failed."""
    return run(
        10, workers=2, handler=handler, max_receives=20, lease=30,
        store=sq.services.Store(sweep_after=60, sweep_every=10),
        faults=[At(step="work", when="before")],
    )  # fmt: skip


def test_trap_a_failed_row_still_has_the_unique_key():
    """The insert never succeeds again; a claim that takes failed rows over does."""
    trapped = stuck(handlers.insert_only)
    assert trapped.jobs.effects[0] == 0
    assert trapped.jobs.outcome[0] == "dead-lettered"
    mended = stuck(handlers.claim)
    assert mended.jobs.effects[0] == 1
    assert mended.jobs.outcome[0] == "acked"


def test_trap_a_key_of_the_day_charges_twice_across_midnight():
    """Published ten seconds before midnight, charged, ack lost; the retry has another key."""
    for at, effects in ((86_390, 2), (40_000, 1)):
        result = run(
            5, arrivals=sq.AllAtOnce(at), lease=30, handler=handlers.key_of_the_day,
            faults=[At(step="ack", what="ack lost")],
        )  # fmt: skip
        assert result.jobs.effects[0] == effects


def test_trap_a_key_of_the_day_swallows_an_honest_second_charge():
    """Two jobs of one customer on one day: the second one is never charged."""
    result = run(5, jobs=2, customers=1, lease=30, handler=handlers.key_of_the_day)
    assert sorted(result.jobs.effects) == [0, 1]
    assert result.figures["lost_rate"] == 0.5


def test_trap_to_return_from_a_taken_lock_is_to_ack():
    """The owner died; the second delivery finds the lock, returns, and the job is lost."""
    result = run(
        10, workers=2, lease=30, handler=handlers.return_if_locked, faults=[At(step="work")]
    )
    assert result.figures["lost_rate"] == 1
    patient = run(
        10, workers=2, lease=30, handler=partial(handlers.lock, ttl=50), faults=[At(step="work")]
    )
    assert patient.jobs.effects[0] == 1


def test_trap_an_email_after_the_record_is_lost_by_a_crash_between_them():
    """The charge is made once, the e-mail never."""
    result = run(
        10, workers=2, lease=30, handler=handlers.email_after_done,
        faults=[At(step="store.complete", when="after")],
    )  # fmt: skip
    assert result.effects.effect.tolist() == ["charge"]
    assert result.jobs.outcome[0] == "acked"
    assert len(starts(result)) == 2
