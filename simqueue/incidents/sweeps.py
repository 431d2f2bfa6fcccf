"""Rescuers that look from time to time, and only at ages: a slow job is rescued while it runs."""

from __future__ import annotations

from typing import Any

from simqueue.context import Context, Handler, Job
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Within
from simqueue.incidents.incident import Case, Incident

HOUR = 3_600.0

# A nightly job that is rescued while it runs.

JUST_AFTER = 0.001
"""Seconds from a scan to the start of what it rescued: the scan in which its age is just short of
the limit comes one period too early."""


def nightly(*durations: float) -> Handler:
    """Return a handler whose first, second, … run takes so many seconds."""

    async def nightly_totals(job: Job, ctx: Context) -> None:
        await ctx.sleep(durations[ctx.attempt - 1])
        await ctx.payments.charge(job.customer, job.amount)

    return nightly_totals


def rescued(*durations: float, phase: float, rescue_after: float = 360.0) -> Build:
    """A scan every minute, first at `phase`, rescues what is older than `rescue_after`."""
    return queue(
        handler=nightly(*durations), workers=5, lease=rescue_after + JUST_AFTER,
        sweep_period=60, sweep_phase=phase, late_ack="deletes",
    )  # fmt: skip


INC_03 = Incident(
    id="INC-03",
    title="An age-only rescue restarts a nightly job two or three times while it still runs",
    system="Oban's Lifeline plugin, Postgres",
    links=("https://github.com/hexpm/hexpm/pull/1825",),
    report=(
        "A job of 9 to 47 minutes is rescued after six. One night it began at 01:00:00, 01:06:39 "
        "and 01:13:40, another night at 01:00:00 and 01:06:26, and wrote its totals each time."
    ),
    cause=(
        "The rescue looks at the time since the start, not at whether the node lives; and a unique "
        "job is unique as it is inserted, while the row that is rescued is there already."
    ),
    fix="A rescue that comes later than the longest timeout that a job declares.",
    note=(
        "A rescued copy starts just after the scan, here a millisecond, so the scan six "
        "minutes later finds it too young."
    ),
    cases=(
        Case(
            name="runs of 1,587, 579 and 545 s, scans at :39",
            scenario=rescued(1_587, 579, 545, phase=39),
            expect={
                "starts": [0, 399, 819],
                "settled_at": 399 + 579,
                "ends": [1_587, 399 + 579, 819 + 545],
            },
        ),
        Case(
            name="runs of 784 and 735 s, scans at :26: the scan at 746 just misses",
            scenario=rescued(784, 735, phase=26),
            expect={"starts": [0, 386], "settled_at": 784},
        ),
        Case(
            name="rescued after an hour",
            fixed=True,
            scenario=rescued(1_587, 579, 545, phase=39, rescue_after=HOUR),
            expect={"starts": [0], "settled_at": 1_587},
        ),
    ),
)

# The smallest test of the family: three seconds of work, a lock of one.


def three_seconds(workers: int = 2, **options: Any) -> Build:
    """The job of INC-21: looked at every 200 ms, completed by its id alone."""
    return queue(
        work=3.0, workers=workers, lease=1.0, sweep_period=0.2, late_ack="deletes", **options
    )


INC_21 = Incident(
    id="INC-21",
    title="A lock of one second without renewal, and a job of three",
    system="A job library with lockDuration and stalledInterval",
    links=("https://github.com/rafidahmed870/queue-jobs-worker/issues/11",),
    report="A second worker starts a job that the first one is still running; both finish it.",
    cause="There is no heartbeat, and completing a job does not ask whose it is.",
    fix="Renewal while the job runs, and state changes that check the owner.",
    cases=(
        Case(
            name="two workers, a look at 1.1 s",
            scenario=three_seconds(sweep_phase=0.1),
            expect={"starts": [0, Within(1.0, 1.2)], "executions": 2, "settled_at": 3},
        ),
        Case(
            name="two workers, a look at 1.0 s",
            scenario=three_seconds(),
            expect={"starts": [0, 1.0], "executions": 2, "settled_at": 3},
        ),
        Case(
            name="three workers",
            scenario=three_seconds(workers=3, sweep_phase=0.1),
            expect={"starts": [0, Within(1.0, 1.2), Within(2.0, 2.4)], "executions": 3},
        ),
        Case(
            name="four workers: the third copy's lock outlives the job",
            scenario=three_seconds(workers=4, sweep_phase=0.1),
            expect={"executions": 3},
        ),
        Case(
            name="renewed every half second",
            fixed=True,
            scenario=three_seconds(sweep_phase=0.1, renew_every=0.5),
            expect={"executions": 1, "settled_at": 3},
        ),
    ),
)

INCIDENTS = (INC_03, INC_21)
