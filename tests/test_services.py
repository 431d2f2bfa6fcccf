"""What handlers talk to: each service by itself, through a handler of one run."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from runs import run

import simqueue as sq
from simqueue import services
from simqueue.context import Conflict, Mismatch, UniqueViolation
from simqueue.faults import At


def say(script: Any, **options: Any) -> list[Any]:
    """Run `script(job, ctx, said)` as a handler, and return what it appended to `said`."""
    said: list[Any] = []

    async def handler(job, ctx):
        await script(job, ctx, said)

    run(handler=handler, max_receives=3, **options)
    return said


# The dedupe store.


def test_a_claim_is_won_once_then_busy_then_done():
    """Insert, found, completed."""

    async def script(job, ctx, said):
        said.append(await ctx.store.claim("k"))
        said.append(await ctx.store.claim("k"))
        await ctx.store.complete("k")
        said.append(await ctx.store.claim("k"))

    assert say(script) == [sq.Claim.WON, sq.Claim.BUSY, sq.Claim.DONE]


def test_a_failed_claim_is_taken_over_but_not_inserted_over():
    """The row is still there; only a claim looks at what it says."""

    async def script(job, ctx, said):
        await ctx.store.claim("k")
        await ctx.store.fail("k")
        said.append(await ctx.store.insert("k"))
        said.append(await ctx.store.claim("k"))

    assert say(script) == [sq.Claim.BUSY, sq.Claim.WON]


@pytest.mark.parametrize(("age", "answer"), [(9.9, sq.Claim.BUSY), (10, sq.Claim.WON)])
def test_a_stale_claim_is_taken_over_at_its_window(age, answer):
    """At the window, not before."""

    async def script(job, ctx, said):
        await ctx.store.claim("k")
        await ctx.sleep(age)
        said.append(await ctx.store.claim("k", stale_after=10))

    assert say(script, lease=100) == [answer]


@pytest.mark.parametrize(("age", "answer"), [(59, sq.Claim.DONE), (60, sq.Claim.WON)])
def test_a_row_is_gone_after_its_time_to_live(age, answer):
    """As with SET NX EX: a key that expired may be claimed again."""

    async def script(job, ctx, said):
        await ctx.store.complete("k")
        await ctx.sleep(age)
        said.append(await ctx.store.claim("k"))

    assert say(script, lease=100, store=services.Store(ttl=60)) == [answer]


@pytest.mark.parametrize(("at", "answer"), [(119, sq.Claim.BUSY), (120, sq.Claim.WON)])
def test_the_sweeper_gives_up_stale_claims_at_its_looks(at, answer):
    """In work since 5, stale from 65 on, looked at every 60 s: given up at 120."""

    async def script(job, ctx, said):
        await ctx.sleep(5)
        await ctx.store.claim("k")
        await ctx.sleep(at - 5)
        said.append(await ctx.store.claim("k"))

    assert say(script, lease=500, store=services.Store(sweep_after=60)) == [answer]


def test_the_sweeper_leaves_completed_rows_alone():
    """Done is done."""

    async def script(job, ctx, said):
        await ctx.store.claim("k")
        await ctx.store.complete("k")
        await ctx.sleep(300)
        said.append(await ctx.store.claim("k"))

    assert say(script, lease=500, store=services.Store(sweep_after=60)) == [sq.Claim.DONE]


# Locks.


def test_a_lock_is_held_until_released_or_expired():
    """None while somebody has it; tokens grow."""

    async def script(job, ctx, said):
        first = await ctx.locks.acquire("a", ttl=10)
        said.append(await ctx.locks.acquire("a", ttl=10))
        await ctx.sleep(10)
        second = await ctx.locks.acquire("a", ttl=10)
        said.append((first.token, second.token))
        said.append(await first.release())
        said.append(await ctx.locks.acquire("a", ttl=10))
        said.append(await second.release())

    assert say(script, lease=100) == [None, (1, 2), False, None, True]


@pytest.mark.parametrize(("check_owner", "third_enters"), [(False, True), (True, False)])
def test_a_late_release_without_a_look_frees_the_next_holders_lock(check_owner, third_enters):
    """A overran its 5 s, B has the lock, A releases: C gets in only if nobody checks."""

    async def script(job, ctx, said):
        a = await ctx.locks.acquire("x", ttl=5)
        await ctx.sleep(6)
        assert await ctx.locks.acquire("x", ttl=10) is not None
        await a.release()
        said.append(await ctx.locks.acquire("x", ttl=10) is not None)

    locks = services.Locks(check_owner=check_owner)
    assert say(script, lease=100, locks=locks) == [third_enters]


@pytest.mark.parametrize(
    ("bound_to", "session_timeout", "free_at"),
    [("ttl", 0, 300), ("session", 0, 11), ("session", 8, 18)],
)
def test_when_a_dead_holders_lock_is_free(bound_to, session_timeout, free_at):
    """Its worker dies at 10: asked each second, at the end of its TTL or once it is noticed."""
    got = []

    async def handler(job, ctx):
        if job.id == 0:
            await ctx.locks.acquire("x", ttl=300)
            await ctx.sleep(400)
        while await ctx.locks.acquire("x", ttl=1) is None:
            await ctx.sleep(1)
        got.append(ctx.now)

    run(
        jobs=2, workers=2, handler=handler, lease=None, horizon=350,
        crash=sq.Crash(at=[(1, 10)], restart_after=1_000),
        locks=services.Locks(bound_to=bound_to, session_timeout=session_timeout),
    )  # fmt: skip
    assert got[0] == free_at


# Payments.


def test_a_key_is_charged_once_and_answered_again():
    """The second call has no effect."""

    async def script(job, ctx, said):
        await ctx.payments.charge("c", 1, key="k")
        await ctx.payments.charge("c", 1, key="k")

    async def handler(job, ctx):
        await script(job, ctx, [])

    assert run(handler=handler).jobs.effects[0] == 1


def test_a_key_for_something_else_is_refused():
    """Same key, another amount."""

    async def script(job, ctx, said):
        await ctx.payments.charge("c", 1, key="k")
        try:
            await ctx.payments.charge("c", 2, key="k")
        except Mismatch as error:
            said.append(str(error))

    assert say(script) == ["key 'k' was used for ('c', 1), not for ('c', 2)"]


@pytest.mark.parametrize(("age", "effects"), [(86_399, 1), (86_400, 2)])
def test_a_key_is_forgotten_after_its_retention(age, effects):
    """A day, unless set."""

    async def handler(job, ctx):
        await ctx.payments.charge("c", 1, key="k")
        await ctx.sleep(age)
        await ctx.payments.charge("c", 1, key="k")

    assert run(handler=handler, lease=None).jobs.effects[0] == effects


def test_two_charges_with_one_key_at_once_conflict():
    """The second is told so while the first is at work."""
    said = []

    async def handler(job, ctx):
        await ctx.sleep(job.id)
        try:
            await ctx.payments.charge("c", 1, key="k")
        except Conflict:
            said.append((job.id, ctx.now))

    slow = services.Payments(capacity=5, service_time=3)
    result = run(jobs=2, workers=2, handler=handler, payments=slow)
    assert said == [(1, 1)]
    assert len(result.effects) == 1


def test_limited_capacity_makes_charges_queue():
    """Two at a time, 3 s each: five are done at 3, 3, 6, 6, 9."""

    async def handler(job, ctx):
        await ctx.payments.charge(job.customer, 1)

    slow = services.Payments(capacity=2, service_time=3)
    result = run(jobs=5, workers=5, handler=handler, payments=slow)
    assert result.effects.time.tolist() == [3, 3, 6, 6, 9]
    assert sorted(result.deliveries.ended) == [3, 3, 6, 6, 9]


def test_a_charge_that_has_arrived_is_made_whether_or_not_anybody_waits():
    """The caller gives up after 2 s; the effect comes at 3. The same if its worker dies at 1."""

    async def handler(job, ctx):
        await ctx.payments.charge(job.customer, 1)

    slow = services.Payments(capacity=1, service_time=3, timeout=2)
    result = run(handler=handler, max_receives=1, payments=slow)
    assert result.effects.time.tolist() == [3]
    assert result.deliveries.outcome.tolist() == ["failed"]
    patient = services.Payments(capacity=1, service_time=3)
    crashed = run(handler=handler, max_receives=1, payments=patient, crash=sq.Crash(at=[(1, 1)]))
    assert crashed.effects.time.tolist() == [3]
    assert crashed.deliveries.outcome.tolist() == ["crashed"]


# The database.


def test_a_transaction_is_all_or_nothing():
    """An error in the block rolls back rows, effects and letters."""

    async def script(job, ctx, said):
        try:
            async with ctx.database.transaction() as tx:
                await tx.insert("t", "k")
                await tx.apply("charge")
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        async with ctx.database.transaction() as tx:
            said.append(await tx.get("t", "k"))
            await tx.insert("t", "k", amount=5)
            said.append(await tx.get("t", "k"))
        async with ctx.database.transaction() as tx:
            said.append(await tx.get("t", "k"))
            try:
                await tx.insert("t", "k")
            except UniqueViolation as error:
                said.append(str(error))

    assert say(script) == [None, {"amount": 5}, {"amount": 5}, "t has a row 'k' already"]


def test_whoever_inserts_a_key_of_an_open_transaction_waits_for_it():
    """If that commits, the key is taken; if it rolls back, or its worker dies, it is free."""
    for ending, at, seen in (("commit", 10, "taken"), ("error", 10, "free"), ("crash", 5, "free")):
        said = []

        async def handler(job, ctx, ending=ending, said=said):
            if job.id == 0:
                with contextlib.suppress(ZeroDivisionError):
                    async with ctx.database.transaction() as tx:
                        await tx.insert("t", "k")
                        await ctx.sleep(10)
                        if ending == "error":
                            raise ZeroDivisionError
            else:
                await ctx.sleep(1)
                try:
                    async with ctx.database.transaction() as tx:
                        await tx.insert("t", "k")
                except UniqueViolation:
                    said.append((ctx.now, "taken"))
                else:
                    said.append((ctx.now, "free"))

        crash = sq.Crash(at=[(1, 5)], restart_after=1_000) if ending == "crash" else None
        run(jobs=2, workers=2, handler=handler, lease=None, horizon=20, crash=crash)
        assert said[0] == (at, seen)


def test_an_advisory_lock_lasts_as_long_as_its_transaction():
    """Another transaction does not get it meanwhile, and does afterwards."""

    async def script(job, ctx, said):
        async with ctx.database.transaction() as first:
            said.append(await first.try_lock("x"))
            async with ctx.database.transaction() as second:
                said.append(await second.try_lock("x"))
        async with ctx.database.transaction() as third:
            said.append(await third.try_lock("x"))

    assert say(script) == [True, False, True]


def test_an_older_fencing_token_does_not_write_any_more():
    """Tokens may come again, but not go back."""

    async def script(job, ctx, said):
        for token in (1, 2, 2, 1):
            try:
                await ctx.database.guarded_write("charge", token)
                said.append(token)
            except sq.context.Fenced as error:
                said.append(str(error))

    assert say(script)[:4] == [1, 2, 2, "token 1 is older than 2"]


def test_a_letter_is_sent_at_the_relays_next_look_after_commit():
    """Committed at 10, looked at every 4 s: sent at 12, and once."""
    result = run(10, handler=sq.handlers.outbox, database=services.Database(relay_every=4))
    assert result.effects.time.tolist() == [12]


@pytest.mark.parametrize(("uses_key", "effects"), [(False, 3), (True, 1)])
def test_relays_that_claim_no_rows_each_send_all(uses_key, effects):
    """Three relays, three copies; a key makes them one effect."""
    database = services.Database(relays=3, relay_uses_key=uses_key)
    assert run(10, handler=sq.handlers.outbox, database=database).jobs.effects[0] == effects


def test_an_inbox_takes_each_message_once():
    """The id of the message and its effect in one transaction: a duplicate hits the constraint."""
    result = run(
        10, lease=30, handler=sq.handlers.one_transaction,
        faults=[At(step="ack", what="ack lost", turn=None)], max_receives=4,
    )  # fmt: skip
    assert result.figures["duplicate_executions"] == 3
    assert result.jobs.effects[0] == 1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: services.Store(ttl=0), "store.ttl must be a number of seconds above 0, not 0"),
        (lambda: services.Store(latency=-1), "store.latency must be a number of seconds of 0"),
        (lambda: services.Locks(bound_to="me"), "locks.bound_to must be one of 'ttl', 'session'"),
        (lambda: services.Payments(capacity=0), "payments.capacity must be a whole number of 1"),
        (lambda: services.Payments(timeout=0), "payments.timeout must be a number of seconds"),
        (lambda: services.Database(relay_every=0), "database.relay_every must be a number"),
        (lambda: run(store=services.Payments()), "store must be services.Store"),
    ],
)
def test_wrong_settings_are_refused_with_one_sentence(make, sentence):
    """Name, value, what is allowed."""
    with pytest.raises(ValueError, match=sentence):
        make()
