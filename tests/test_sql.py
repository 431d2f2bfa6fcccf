"""`ctx.sql`: real SQL on SQLite, waiting in simulated time, and crashes that roll back."""

from __future__ import annotations

import sqlite3

import pytest
from runs import run, story

import simqueue as sq
from simqueue.context import UniqueViolation
from simqueue.exploration import explore
from simqueue.faults import At
from simqueue.services import SQL

SCHEMA = """
CREATE TABLE done (key TEXT PRIMARY KEY, status TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE charges (id INTEGER PRIMARY KEY, key TEXT NOT NULL, cents INTEGER NOT NULL);
"""
CHARGE = "INSERT INTO charges (key, cents) VALUES (?, ?)"
STORAGES = ("memory", "file")


def database(storage: str = "memory", **options: object) -> SQL:
    """A database with a table of keys, and one whose rows are effects."""
    return SQL(**({"schema": SCHEMA, "effects": "charges", "storage": storage} | options))


def go(handler: object, storage: str = "memory", work: float = 10, **options: object) -> sq.Result:
    """One job on two workers, with the database."""
    options = {"sql": database(storage), "workers": 2, "max_receives": 5} | options
    return run(work, handler=handler, **options)


async def one_transaction(job, ctx):
    """Effect and key in one transaction."""
    await ctx.work()
    try:
        async with ctx.sql.transaction():
            await ctx.sql.execute("INSERT INTO done VALUES (?, 'done', ?)", (job.key, ctx.now))
            await ctx.sql.execute(CHARGE, (job.key, job.amount))
    except UniqueViolation:
        return


async def check_then_act(job, ctx):
    """Two that look at once both charge."""
    if await ctx.sql.execute("SELECT 1 FROM done WHERE key = ?", (job.key,)):
        return
    await ctx.work()
    await ctx.sql.execute(CHARGE, (job.key, job.amount))
    await ctx.sql.execute("INSERT OR IGNORE INTO done VALUES (?, 'done', ?)", (job.key, ctx.now))


async def claim(job, ctx, stale_after=600):
    """Claim in one statement, taking over stale claims; effect and end in one transaction."""
    won = await ctx.sql.execute(
        "INSERT INTO done VALUES (:key, 'processing', unixepoch()) "
        "ON CONFLICT (key) DO UPDATE SET since = unixepoch() "
        "WHERE status = 'processing' AND since <= unixepoch() - :stale RETURNING key",
        {"key": job.key, "stale": stale_after},
    )
    if not won:
        ((status,),) = await ctx.sql.execute("SELECT status FROM done WHERE key = ?", (job.key,))
        if status == "done":
            return
        raise sq.Retry("another delivery holds the claim")
    await ctx.work()
    async with ctx.sql.transaction():
        ended = await ctx.sql.execute(
            "UPDATE done SET status = 'done' WHERE key = ? AND status = 'processing'", (job.key,)
        )
        if ended.rowcount == 1:
            await ctx.sql.execute(CHARGE, (job.key, job.amount))


# Statements.


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_come_back_and_stay(storage):
    """A statement commits by itself; the result has the database as the run left it."""
    seen = []

    async def handler(job, ctx):
        inserted = await ctx.sql.execute(CHARGE, (job.key, 7))
        seen.append(inserted.rowcount)
        seen.append(await ctx.sql.execute("SELECT key, cents FROM charges"))

    result = go(handler, storage)
    assert seen == [1, [("job-0", 7)]]
    assert result.sql("SELECT key, cents FROM charges WHERE cents = ?", (7,)) == [("job-0", 7)]


def test_a_result_is_a_copy():
    """Whoever changes it changes nothing for the next one."""
    result = go(one_transaction)
    result.sql("DELETE FROM charges")
    assert result.sql("SELECT count(*) FROM charges") == [(1,)]


def test_a_database_that_nobody_used_is_empty():
    """It has its tables all the same."""
    result = go(sq.handlers.naive)
    assert result.sql("SELECT * FROM charges") == []


def test_runs_share_nothing():
    """Each run begins with empty tables."""
    assert [go(one_transaction).jobs.effects[0] for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("kind", [UniqueViolation, sqlite3.IntegrityError])
def test_a_unique_constraint(kind):
    """It raises an error that is both ours and SQLite's, with SQLite's own as its cause."""
    caught = []

    async def handler(job, ctx):
        for _ in range(2):
            try:
                await ctx.sql.execute("INSERT INTO done VALUES ('a', 'done', 0)")
            except kind as error:
                caught.append(error)

    go(handler)
    assert str(caught[0]) == "UNIQUE constraint failed: done.key"
    assert type(caught[0].__cause__) is sqlite3.IntegrityError


def test_another_constraint_is_no_unique_violation():
    """NOT NULL stays SQLite's IntegrityError."""
    caught = []

    async def handler(job, ctx):
        try:
            await ctx.sql.execute("INSERT INTO done VALUES ('a', NULL, 0)")
        except sqlite3.IntegrityError as error:
            caught.append(error)

    go(handler)
    assert not isinstance(caught[0], UniqueViolation)


def test_wrong_sql_fails_the_attempt():
    """With SQLite's own words."""

    async def handler(job, ctx):
        await ctx.sql.execute("SELCT 1")

    result = go(handler)
    failed = result.events[result.events.event == "failed"]
    assert 'near "SELCT": syntax error' in failed.detail.iloc[0]
    assert result.jobs.outcome[0] == "dead-lettered"


def test_simulated_time():
    """SQLite's clock is the run's: time 0 is the start of 1970."""
    seen = []

    async def handler(job, ctx):
        await ctx.sleep(90_061.5)
        seen.extend(
            await ctx.sql.execute(
                "SELECT unixepoch(), datetime('now'), CURRENT_TIMESTAMP, date(), "
                "strftime('%H:%M:%f', 'now'), datetime('now', '+1 hour'), datetime(60, 'unixepoch')"
            )
        )

    go(handler, lease=100_000)
    assert seen == [
        (
            90061,
            "1970-01-02 01:01:01",
            "1970-01-02 01:01:01",
            "1970-01-02",
            "01:01:01.500",
            "1970-01-02 02:01:01",
            "1970-01-01 00:01:00",
        )
    ]


def test_random_follows_from_the_seed():
    """Same seed, same numbers; another seed, others."""

    async def handler(job, ctx):
        await ctx.sql.execute(CHARGE, (job.key, 0))
        await ctx.sql.execute("UPDATE charges SET cents = random()")

    first, again, other = (
        run(1, seed=seed, handler=handler, sql=database()).sql("SELECT cents FROM charges")
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_latency():
    """Each statement takes its time."""

    async def handler(job, ctx):
        await ctx.sql.execute(CHARGE, (job.key, 0))
        await ctx.sql.execute(CHARGE, (job.key, 0))

    result = go(handler, sql=database(latency=0.5))
    assert result.effects.time.tolist() == [0.5, 1.0]


# Transactions.


@pytest.mark.parametrize("storage", STORAGES)
def test_effects_come_with_the_commit(storage):
    """The rows of a transaction count as effects when it commits."""

    async def handler(job, ctx):
        async with ctx.sql.transaction():
            await ctx.sql.execute(CHARGE, (job.key, 0))
            await ctx.work()

    result = go(handler, storage)
    assert result.effects.time.tolist() == [10.0]
    assert result.effects.effect.tolist() == ["charges"]


@pytest.mark.parametrize("storage", STORAGES)
def test_an_error_rolls_back(storage):
    """Nothing of the block is left."""

    async def handler(job, ctx):
        if ctx.attempt == 1:
            async with ctx.sql.transaction():
                await ctx.sql.execute(CHARGE, (job.key, 0))
                raise sq.Retry
        await ctx.sql.execute(CHARGE, (job.key, 1))

    result = go(handler, storage)
    assert result.sql("SELECT cents FROM charges") == [(1,)]
    assert result.jobs.effects[0] == 1


@pytest.mark.parametrize("storage", STORAGES)
def test_a_crash_rolls_back(storage):
    """The connection of a dead process closes without commit, and its locks are free."""

    async def handler(job, ctx):
        async with ctx.sql.transaction():
            await ctx.sql.execute(CHARGE, (job.key, ctx.attempt))
            await ctx.work()

    result = go(handler, storage, faults=[At(step="work", when="after")])
    assert result.sql("SELECT cents FROM charges") == [(2,)]
    assert result.effects.time.tolist() == [40.0]


@pytest.mark.parametrize("storage", STORAGES)
def test_a_transaction_that_was_left_open_is_rolled_back(storage):
    """As a pool does when it gets its connection back."""

    async def handler(job, ctx):
        if ctx.attempt == 1:
            await ctx.sql.execute("BEGIN IMMEDIATE")
            await ctx.sql.execute(CHARGE, (job.key, 1))
            raise sq.Retry
        await ctx.sql.execute(CHARGE, (job.key, 2))

    assert go(handler, storage).sql("SELECT cents FROM charges") == [(2,)]


def test_a_lost_answer_to_a_commit():
    """It is committed, and the handler does not know."""
    result = go(one_transaction, faults=[At(step="sql.commit", what="response lost")])
    assert result.jobs.effects[0] == 1
    assert result.deliveries.outcome.tolist() == ["failed", "finished"]


# Waiting.


async def holds(job, ctx):
    """Write, and keep the transaction open during the work."""
    async with ctx.sql.transaction():
        await ctx.sql.execute(CHARGE, (job.key, job.id))
        await ctx.work()


@pytest.mark.parametrize("storage", STORAGES)
def test_a_second_writer_waits_in_simulated_time(storage):
    """Until the first one has committed; SQLite tries again every tenth of a second."""
    result = go(holds, storage, work=2, jobs=2)
    first, second = result.effects.time
    assert first == 2.0
    assert 4.0 <= second <= 4.1


@pytest.mark.parametrize("storage", STORAGES)
def test_a_second_writer_gives_up(storage):
    """After the busy timeout: five seconds, unless set."""
    result = go(holds, storage, work=20, jobs=2, lease=60)
    table = result.deliveries
    assert table.outcome.tolist()[:2] == ["finished", "failed"]
    assert table.ended[1] == 5.0
    failed = result.events[result.events.event == "failed"]
    assert failed.detail.iloc[0] == "OperationalError('database is locked')"


@pytest.mark.parametrize("storage", STORAGES)
def test_a_dead_writer_lets_the_next_one_in(storage):
    """As soon as its connection is closed, at the next try."""
    crash = At(step="work", when="after")
    result = go(holds, storage, work=2, jobs=2, faults=[crash])
    effects = result.effects[result.effects.job == 1]
    assert 4.0 <= effects.time.iloc[0] <= 4.1


def test_readers_wait_in_memory_and_not_in_a_file():
    """In WAL mode they see what was committed last."""
    seen = {}

    async def handler(job, ctx):
        if job.id == 0:
            await holds(job, ctx)
        else:
            await ctx.sql.execute("SELECT count(*) FROM charges")
            seen[storage] = ctx.now

    for storage in STORAGES:
        go(handler, storage, work=2, jobs=2)
    assert 2.0 <= seen["memory"] <= 2.1
    assert seen["file"] == 0.0


@pytest.mark.parametrize("storage", STORAGES)
def test_who_has_read_and_cannot_write_fails_at_once(storage):
    """A deferred transaction that would have to wait while it holds others up."""
    failed = []

    async def handler(job, ctx):
        async with ctx.sql.transaction("deferred"):
            await ctx.sql.execute("SELECT count(*) FROM charges")
            await ctx.sleep(0.5 + 0.5 * job.id)
            try:
                await ctx.sql.execute(CHARGE, (job.key, 0))
            except sqlite3.OperationalError:
                failed.append((job.id, ctx.now))
                raise
            await ctx.sleep(2)

    go(handler, storage, jobs=2)
    assert failed[0] == (1, 1.0)


# Exploration.


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("handler", [one_transaction, claim])
def test_handlers_with_real_sql_pass(handler, storage):
    """Every crash, pause and lost answer, one at a time."""
    report = explore(handler, faults_at_once=1, sql=database(storage))
    assert report.passed, str(report)
    assert report.plans > 40


@pytest.mark.parametrize("storage", STORAGES)
def test_check_then_act_is_found_out(storage):
    """By the crash between effect and record."""
    report = explore(check_then_act, faults_at_once=1, sql=database(storage))
    crash = report.replay(next(t for t in report.trials if t.plan.kind == "crash" and t.broken))
    assert crash.broken == {"no duplicate effect": "charges applied 2 times"}
    assert str(crash.plan) == "the worker crashes after sql.insert of delivery 1"


def test_exploration_with_sql_is_deterministic():
    """Event for event."""
    first, second = (
        explore(check_then_act, faults_at_once=1, sql=database()).shortest.result for _ in range(2)
    )
    assert story(first) == story(second)


def test_a_promise_about_rows():
    """A function of the result can ask the database."""

    def one_row(result):
        (rows,) = result.sql("SELECT count(*) FROM charges")[0]
        return rows == 1 or f"{rows} rows"

    report = explore(check_then_act, faults_at_once=1, sql=database(effects=()), promises=[one_row])
    assert report.shortest.broken == {"one row": "2 rows"}
    assert explore(
        one_transaction, faults_at_once=1, sql=database(effects=()), promises=[one_row]
    ).passed


# Settings.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"schema": "CREATE TABEL x"}, r"sql.schema must be SQL that SQLite accepts \(near"),
        ({"schema": 3}, "sql.schema must be SQL that SQLite accepts"),
        ({"effects": "charges"}, "sql.effects must be one of"),
        ({"storage": "disk"}, "sql.storage must be one of 'memory', 'file', not 'disk'"),
        ({"busy_timeout": -1}, "sql.busy_timeout must be a number of seconds of 0 or more"),
        ({"latency": -1}, "sql.latency must be a number of seconds of 0 or more"),
    ],
)
def test_wrong_settings(options, sentence):
    """One sentence each."""
    with pytest.raises(ValueError, match=sentence):
        SQL(**options)


def test_a_wrong_mode():
    """It fails the attempt."""

    async def handler(job, ctx):
        async with ctx.sql.transaction("now"):
            pass

    result = go(handler)
    assert result.jobs.outcome[0] == "dead-lettered"
    failed = result.events[result.events.event == "failed"]
    assert "mode must be one of 'deferred', 'immediate', 'exclusive'" in failed.detail.iloc[0]
