"""Processes that are stopped in the middle of something."""

from __future__ import annotations

from typing import Any

from simqueue.arrivals import EvenlySpaced
from simqueue.faults import Crash, Deploy
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident

# Workers that are killed, and workers that are told first.

BUSY = 4


def ten_tasks(**options: Any) -> Build:
    """Ten tasks of a minute, four workers, taken from the queue one at a time."""
    return queue(jobs=10, work=60, workers=BUSY, ack_when="received", **options)


KILLED = Crash(at=[(worker, 5.0) for worker in range(1, BUSY + 1)], restart_after=10)

INC_50 = Incident(
    id="INC-50",
    title="At most once by design: tasks that run are lost on a kill",
    system="Huey",
    links=(
        "https://github.com/coleifer/huey/issues/559",
        "https://github.com/coleifer/huey/issues/733",
        "https://github.com/coleifer/huey/issues/796",
    ),
    report="There are no acks. SIGTERM interrupts what runs, SIGKILL says nothing: it is gone.",
    cause="To take a task from the queue is to ack it.",
    fix="A handler that enqueues the task again on SIGTERM; nothing helps against SIGKILL.",
    cases=(
        Case(
            name="killed",
            scenario=ten_tasks(crash=KILLED),
            expect={"lost": BUSY, "effects": 10 - BUSY, "executions": 10},
        ),
        Case(
            name="told first, and enqueued again",
            fixed=True,
            scenario=ten_tasks(faults=[Deploy(at=5, grace=0, push_back=True, restart_after=10)]),
            expect={"lost": 0, "effects": 10, "executions": 10 + BUSY, "executions of job 0": 2},
        ),
    ),
)

# A move of a millisecond, a hundred times a second, and a hundred kills at all phases.

RATE, MOVE, KILLS = 100.0, 0.001, 100


def kills_at_all_phases(ack_when: str) -> Build:
    """Kill number i comes at the (i + 1/2)-th hundredth of the 10 ms between two moves."""
    between = 1 / RATE
    kills = [(1, (50 * number + (number + 0.5) / KILLS) * between) for number in range(KILLS)]
    return queue(
        arrivals=EvenlySpaced(rate=RATE), jobs=50 * KILLS, work=MOVE, lease=1.0,
        ack_when=ack_when, crash=Crash(at=kills, restart_after=MOVE),
    )  # fmt: skip


INC_76 = Incident(
    id="INC-76",
    title="A signal between pop and push: one in a million",
    system="Celery, shutdown of a worker",
    links=("https://github.com/celery/celery/pull/7339",),
    report=(
        "One organisation loses less than one task in a million, and traces it to workers that die "
        "between taking a task from one place and putting it in the next."
    ),
    cause="The signal's handler raised in the middle of whatever ran: the move is not one step.",
    fix="A handler that only sets a flag; or a move in one step.",
    cases=(
        Case(
            name="pop, then push",
            scenario=kills_at_all_phases("received"),
            expect={"lost": KILLS * RATE * MOVE},
        ),
        Case(
            name="one step",
            fixed=True,
            scenario=kills_at_all_phases("done"),
            expect={"lost": 0, "effects": 50 * KILLS},
        ),
    ),
)

INCIDENTS = (INC_50, INC_76)
