"""PostgreSQL as a queue: a row lock during the job, or a visible-at column (pgmq).

Sources: PostgreSQL's documentation (explicit locking, SELECT … SKIP LOCKED), pgmq
(`pgmq-extension/sql/pgmq.sql`), GoodJob. What is known stands in `facts()`, one by one. A column
with a status and a rescuer is in `simqueue.brokers.status_column`.

In short: a row lock lives as long as the connection; a visible-at time is a lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

ROW_LOCK_FACTS = (
    Fact(
        "lock",
        "ends with the transaction: no time limit, and an overrun never runs twice",
        "PostgreSQL: explicit locking",
        "test_a_row_lock_has_no_time_limit",
    ),
    Fact(
        "crash of a process",
        "closes its connection: rolled back, and free at once",
        "PostgreSQL: explicit locking",
        "test_a_dead_process_frees_its_row_at_once",
    ),
    Fact(
        "a dead machine",
        "holds its rows until the server notices (TCP keepalive)",
        "PostgreSQL: connections",
        "test_a_dead_machine_holds_its_row",
    ),
    Fact(
        "lost connection of a live worker",
        "a second worker starts; the first one's COMMIT fails, what it did outside stays done",
        "derived",
        "test_a_commit_after_a_lost_connection_fails",
    ),
    Fact(
        "attempts",
        "a counter in the row is rolled back with it: a job that kills goes round for ever",
        "derived",
        "test_a_poison_row_goes_round_for_ever",
    ),
    Fact(
        "effects in the same database",
        "in the same transaction: exactly once",
        "PostgreSQL: transactions",
        left_out="that is the handler `one_transaction`, on any broker",
    ),
)

PGMQ_FACTS = (
    Fact(
        "vt",
        "given with each read: hidden until now + vt, in whatever order of ids",
        "pgmq.sql: read",
        "test_pgmq_hides_for_vt",
    ),
    Fact(
        "delete",
        "by message id: a late one deletes the message under its next reader",
        "pgmq.sql: delete",
        "test_a_late_delete_of_pgmq_deletes",
    ),
    Fact(
        "limits",
        "no maximum of reads, no dead-letter queue, no backoff",
        "pgmq.sql: read_ct",
        "test_pgmq_never_gives_up",
    ),
    Fact(
        "set_vt",
        "from now on: a heartbeat, or a nack with a delay",
        "pgmq.sql: set_vt",
        "test_set_vt_is_a_heartbeat",
    ),
    Fact(
        "pop",
        "deletes as it reads: at most once",
        "pgmq.sql: pop",
        "test_pop_loses_what_runs",
    ),
    Fact(
        "read_with_poll",
        "looks every 100 ms for up to 5 s",
        "pgmq.sql: read_with_poll",
        "test_pollers_are_late_by_their_interval",
    ),
)

GOOD_JOB_FACTS = (
    Fact(
        "GoodJob",
        "an advisory lock of the session: it lives and dies with its connection, as a row lock",
        "GoodJob's README",
        "test_good_job",
    ),
    Fact(
        "GoodJob behind a pooler of transactions",
        "the lock is another session's, and locks nothing",
        "GoodJob's README; issues 802 and 1599",
        left_out="a lock that does not lock is a lease of no length: see incident INC-16",
    ),
)


@dataclass(frozen=True, kw_only=True)
class RowLock(Profile):
    """A row that is locked while its job runs: BEGIN, SELECT … FOR UPDATE SKIP LOCKED, COMMIT.

    Parameters
    ----------
    keepalive
        Seconds until the server notices that a machine is gone, which depends on its settings.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = ROW_LOCK_FACTS

    keepalive: float = 7_200.0

    def __post_init__(self) -> None:
        checks.non_negative("broker.keepalive", self.keepalive, "seconds")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return Generic(
            lease=None,
            on_disconnect="requeue",
            silence_after=self.keepalive,
            late_ack="refused",
            counts=(),
            returns_to="front",
        )


@dataclass(frozen=True, kw_only=True)
class PGMQ(Profile):
    """A queue of pgmq. Times are in seconds.

    Parameters
    ----------
    vt
        `vt` of each read: above 0. pgmq has no default, and neither has this.
    pop
        Whether consumers use `pop` instead of `read`.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = PGMQ_FACTS

    vt: float
    pop: bool = False

    def __post_init__(self) -> None:
        checks.positive("broker.vt", self.vt, "seconds")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return Generic(
            lease=self.vt,
            ack_when="received" if self.pop else "done",
            late_ack="deletes",
            returns_to="front",
        )


@dataclass(frozen=True, kw_only=True)
class GoodJob(RowLock):
    """GoodJob: an advisory lock of the session, which lives as long as the connection.

    Parameters
    ----------
    keepalive
        Seconds until the server notices that a machine is gone, which depends on its settings.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = (*ROW_LOCK_FACTS, *GOOD_JOB_FACTS)
