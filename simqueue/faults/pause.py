"""A worker stands still for a while, and then carries on as if nothing had happened: the zombie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.faults.base import Fault
from simqueue.faults.moments import check_moments
from simqueue.faults.striking import strike_at, strike_during_work
from simqueue.model.execution import pausable
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """Garbage collection, a blocked event loop, a suspended machine: no progress, no heartbeats.

    Parameters
    ----------
    seconds
        How long a pause lasts.
    mean_time_between
        Mean seconds of work between two pauses of a busy slot, exponentially distributed; None: no
        such pauses.
    at
        Pauses at given times: pairs (worker, seconds), workers counted from 1.
    """

    seconds: float
    mean_time_between: float | None = None
    at: Sequence[tuple[int, float]] = ()

    def __post_init__(self) -> None:
        checks.positive("pause.seconds", self.seconds, "seconds")
        if self.mean_time_between is not None:
            checks.positive("pause.mean_time_between", self.mean_time_between, "seconds")
        object.__setattr__(self, "at", check_moments("pause.at", self.at))

    def install(self, world: World) -> None:
        """Make handlers able to stand still, and set or draw the moments."""
        for worker in world.workers:
            worker.execution = pausable(worker.execution)

        def strike(worker: Worker) -> None:
            if worker.alive and worker.paused_until <= world.clock.now:
                stand_still(world, worker, self.seconds)

        strike_at(world, self.at, "pause.at", strike)
        if self.mean_time_between is not None:
            seconds_until = world.streams.exponential("pause", self.mean_time_between).draw
            strike_during_work(world, seconds_until, lambda delivery: strike(delivery.worker))


def stand_still(world: World, worker: Worker, seconds: float) -> None:
    """Let `worker`, whose executions are `Pausable`, stand still for `seconds` from now."""
    clock, record, pause = world.clock, world.ledger.record, object()
    worker.paused_until = ends = clock.after(seconds)
    worker.stop_asking(pause)
    record(clock.now, Event.WORKER_PAUSED, worker=worker.number, value=ends)

    def resume(_: object) -> None:
        if worker.is_held_back_by(pause):
            record(clock.now, Event.WORKER_RESUMED, worker=worker.number)
            worker.go_on(pause)

    clock.at(ends, resume)
