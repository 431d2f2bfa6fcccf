"""What happened in a run: figures, and tables of jobs, deliveries, effects and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue.figures import figures
from simqueue.model.ledger import EVENT_NAMES, Event, Records
from simqueue.model.message import STATE_NAMES
from simqueue.scenario import Scenario
from simqueue.tally import ACKS, ENDS, SETTLING, Floats, Ints, Tally

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (*STATE_NAMES, "deduplicated", "busy")
"""What `Result.timeseries` counts: messages in each state, swallowed ones, and busy slots."""

WORDED = (
    Event.EFFECT,
    Event.FAILED,
    Event.RESPONSE_LOST,
    Event.UNAVAILABLE,
    Event.CLAIMED,
    Event.CALLED,
    Event.LEFT_GROUP,
    Event.RECORDED,
)
TIMED = (
    Event.RECEIVED,
    Event.EXTENDED,
    Event.LEASE_STARTED,
    Event.NACKED,
    Event.WORKER_PAUSED,
    Event.WORKER_DRAINING,
    Event.WORKER_PARTITIONED,
    Event.HELD_UNTIL_DUE,
)


class Result:
    """One run: the scenario, the seed, and all that came of them.

    The tables are made when they are first asked for. Times are in seconds; a missing time is NaN.
    """

    def __init__(
        self, scenario: Scenario, seed: int, records: Records, database: bytes | None = None
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self._records = records
        self._database = database

    def __repr__(self) -> str:
        f = self.figures
        return (
            f"<Result of {self.scenario.jobs:,} jobs, seed {self.seed}: "
            f"{f['redeliveries']:,} redeliveries, {f['duplicate_executions']:,} duplicate "
            f"executions, {f['duplicate_effects']:,} duplicate effects>"
        )

    def sql(
        self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Run a statement on the SQL database as it was when the run ended; return the rows.

        ``result.sql("SELECT count(*) FROM charges")``. It runs on a copy: nothing can be changed
        for the next one. Raises SQLite's own errors.
        """
        from simqueue.services.sql_storage import opened

        with closing(opened(self._database)) as connection:
            if self._database is None:
                connection.executescript(self.scenario.sql.schema)
            return connection.execute(statement, parameters).fetchall()

    @property
    def records(self) -> Records:
        """The ledger as it was written: what everything else is computed from."""
        return self._records

    @cached_property
    def tally(self) -> Tally:
        """The run added up per job and per delivery, as arrays."""
        return Tally(self._records, self.scenario.jobs or 0, self.scenario.horizon)

    @cached_property
    def figures(self) -> dict[str, float]:
        """The figures by name; `simqueue.figures.DESCRIPTIONS` says what each is."""
        return figures(self.tally, self.scenario)

    def summary(self) -> pd.Series:
        """Return the figures as a Series."""
        import pandas as pd

        return pd.Series(self.figures, name="value")

    @property
    def duration(self) -> float:
        """Seconds from the start of the run to its horizon, or to the last thing that happened."""
        return self.tally.end

    @property
    def cut(self) -> dict[str, int]:
        """What the horizon cut off: jobs not `published`, jobs not `settled`, handlers `running`.

        All zero where the run drained.
        """
        tally = self.tally
        published = ~np.isnan(tally.published)
        return {
            "unpublished": int(np.count_nonzero(~published)),
            "unsettled": int(np.count_nonzero(tally.unsettled)),
            "running": int(np.count_nonzero(tally.still_running)),
        }

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job: when it was published, delivered, had its effect, was settled.

        Columns: published, first_delivery, first_start, first_effect, settled (seconds);
        deliveries, executions, effects, duplicate_effects (counts); outcome ("acked",
        "dead-lettered", "lost", "expired", "unfinished" or, where the horizon came first,
        "unpublished"). Of a job with several messages, the first of these words that fits one of
        them, from the end: unfinished before dead-lettered before acked.
        """
        import pandas as pd

        tally = self.tally
        outcome = np.select(
            [
                np.isnan(tally.published),
                tally.unsettled > 0,
                tally.dead > 0,
                tally.acked > 0,
                tally.lost > 0,
            ],
            ["unpublished", "unfinished", "dead-lettered", "acked", "lost"],
            "expired",
        )
        return pd.DataFrame(
            {
                "published": tally.published,
                "first_delivery": tally.received,
                "first_start": tally.started,
                "first_effect": tally.first_effect,
                "settled": tally.settled,
                "deliveries": tally.deliveries,
                "executions": tally.executions,
                "effects": tally.effects,
                "duplicate_effects": tally.extra_effects,
                "outcome": outcome,
            },
            index=pd.RangeIndex(tally.job_count, name="job"),
        )

    @cached_property
    def deliveries(self) -> pd.DataFrame:
        """One row per delivery, in the order in which they were handed over.

        Columns: job, attempt (of the job, from 1), worker (from 1); received, lease_ends (as it was
        last extended), started, ended (seconds); outcome ("finished", "failed", "crashed",
        "running", or "unstarted"); ack ("accepted", "ignored", "refused", "lost", or None); acked
        (seconds, when the worker sent it); expired (seconds, when the broker took it back).
        """
        import pandas as pd

        tally, rows = self.tally, self.tally.rows
        received = rows.where(Event.RECEIVED)
        count = len(received)
        lease_ends = rows.value[received]
        extended = np.flatnonzero(np.isin(rows.event, (Event.LEASE_STARTED, Event.EXTENDED)))
        lease_ends[rows.delivery[extended]] = rows.value[extended]
        outcome = np.where(np.isnan(tally.delivery_started), "unstarted", "running").astype(object)
        for event, word in ENDS.items():
            outcome[rows.delivery[rows.where(event)]] = word
        ack = np.full(count, None, dtype=object)
        acked = np.full(count, np.nan)
        for event, word in ACKS.items():
            positions = rows.where(event)
            ack[rows.delivery[positions]] = word
            acked[rows.delivery[positions]] = rows.time[positions]
        expired = np.full(count, np.nan)
        expiries = np.flatnonzero(np.isin(rows.event, (Event.EXPIRED, Event.REVOKED)))
        expired[rows.delivery[expiries]] = rows.time[expiries]
        table = pd.DataFrame(
            {
                "job": tally.delivery_job,
                "worker": rows.worker[received],
                "received": tally.delivery_received,
                "lease_ends": lease_ends,
                "started": tally.delivery_started,
                "ended": tally.delivery_ended,
                "outcome": pd.array(outcome, dtype="str"),
                "ack": ack,
                "acked": acked,
                "expired": expired,
            },
            index=pd.RangeIndex(count, name="delivery"),
        )
        table.insert(1, "attempt", table.groupby("job").cumcount() + 1)
        return table

    @cached_property
    def effects(self) -> pd.DataFrame:
        """One row per effect: time (seconds), job, delivery, worker, effect, and its `repeat`.

        `repeat` counts the effects of this kind on this job from 0: all above 0 are duplicates.
        """
        import pandas as pd

        rows = self.tally.rows
        effects = rows.where(Event.EFFECT)
        table = pd.DataFrame(
            {
                "time": rows.time[effects],
                "job": rows.job[effects],
                "delivery": rows.delivery[effects],
                "worker": rows.worker[effects],
                "effect": pd.array(rows.said(effects), dtype="str"),
            }
        )
        table["repeat"] = table.groupby(["job", "effect"]).cumcount()
        return table

    @cached_property
    def events(self) -> pd.DataFrame:
        """Everything that happened, in order: time, event, job, delivery, worker, until, detail.

        -1 stands for none: a worker's crash is about no single job. `until`: when the lease ends
        that was given or extended, or when a nacked message is visible again (seconds). `detail`,
        in words: which effect, which exception, in what state a message was settled.
        """
        import pandas as pd

        rows = self.tally.rows
        detail = np.full(len(rows.time), "", dtype=object)
        for event in WORDED:
            positions = rows.where(event)
            detail[positions] = rows.said(positions)
        for event in SETTLING:
            positions = rows.where(event)
            detail[positions] = [f"was {LEVELS[place]}" for place in self._states(positions)]
        timed = np.isin(rows.event, TIMED)
        return pd.DataFrame(
            {
                "time": rows.time,
                "event": pd.array([EVENT_NAMES[e] for e in rows.event.tolist()], dtype="str"),
                "job": rows.job,
                "delivery": rows.delivery,
                "worker": rows.worker,
                "until": np.where(timed, rows.value, np.nan),
                "detail": pd.array(detail, dtype="str"),
            }
        )

    @cached_property
    def timeseries(self) -> pd.DataFrame:
        """How many messages were in each state, and more, after each instant something happened.

        Index: time in seconds. Columns: delayed, visible (the queue's depth), in_flight, acked,
        dead_lettered, lost, expired, deduplicated (messages); busy (slots); oldest_age (seconds
        since the oldest unsettled job was published, 0 where there is none). A value holds until
        the next row.
        """
        import pandas as pd

        rows = self.tally.rows
        counts = np.cumsum(self._changes(), axis=0)
        last_of_instant = np.append(np.diff(rows.time) > 0, [True])[: len(rows.time)]
        times = rows.time[last_of_instant]
        table = pd.DataFrame(
            counts[last_of_instant], columns=list(LEVELS), index=pd.Index(times, name="time")
        )
        table["oldest_age"] = self._oldest_age(times)
        return table

    def _changes(self) -> Ints:
        """By how much each row of the ledger changes each of `LEVELS`."""
        rows = self.tally.rows
        steps = {
            Event.RECEIVED: {"visible": -1, "in_flight": 1},
            Event.EXPIRED: {"in_flight": -1, "delayed": 1},
            Event.NACKED: {"in_flight": -1, "delayed": 1},
            Event.VISIBLE: {"delayed": -1, "visible": 1},
            Event.ACKED: {"acked": 1},
            Event.DEAD_LETTERED: {"dead_lettered": 1},
            Event.LOST: {"lost": 1},
            Event.MESSAGE_EXPIRED: {"expired": 1},
            Event.REDRIVEN: {"dead_lettered": -1, "visible": 1},
            Event.DEAD_LETTER_EXPIRED: {"dead_lettered": -1, "expired": 1},
            Event.REPLAYED: {"acked": -1, "visible": 1},
            Event.REVOKED: {"in_flight": -1, "visible": 1},
            Event.REWOUND: {"acked": -1, "visible": 1},
            Event.DEDUPLICATED: {"visible": -1, "deduplicated": 1},
            Event.STARTED: {"busy": 1},
            **{event: {"busy": -1} for event in ENDS},
        }
        changes = np.zeros((len(rows.time), len(LEVELS)), dtype=np.int64)
        for event, step in steps.items():
            positions = rows.where(event)
            for level, change in step.items():
                changes[positions, LEVELS.index(level)] += change
        published = rows.where(Event.PUBLISHED)
        changes[published, self._states(published)] += 1
        for event in SETTLING:
            positions = rows.where(event)
            changes[positions, self._states(positions)] -= 1
        return changes

    def _states(self, positions: Ints) -> list[int]:
        """The states, as places in `LEVELS`, that the settled messages of these rows were in."""
        states: list[int] = self.tally.rows.value[positions].astype(int).tolist()
        return states

    def _oldest_age(self, times: Floats) -> Floats:
        tally = self.tally
        published = tally.published[~np.isnan(tally.published)]
        settled = tally.settled[: len(published)]
        all_settled_by = np.maximum.accumulate(np.nan_to_num(settled, nan=np.inf))
        oldest = np.searchsorted(all_settled_by, times, side="right")
        waiting = oldest < np.searchsorted(published, times, side="right")
        age = np.zeros(len(times))
        age[waiting] = times[waiting] - published[oldest[waiting]]
        return age
