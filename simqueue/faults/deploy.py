"""A rolling restart: stop fetching, wait for what runs, then kill."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.faults.base import Fault
from simqueue.grid import on_grid
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Deploy(Fault):
    """Every worker is restarted, one after the other.

    Parameters
    ----------
    at
        When the deploy begins, in seconds.
    every
        Seconds from the turn of one worker to that of the next; 0: all at once.
    grace
        Seconds that a worker gets to finish what it runs; then it is killed.
    push_back
        Whether a worker that is killed gives what it holds back to the broker first (Sidekiq).
    restart_after
        Seconds from its end until the worker's new version is there.
    """

    at: float
    every: float = 0.0
    grace: float = 30.0
    push_back: bool = False
    restart_after: float = 0.0

    def __post_init__(self) -> None:
        for name in ("at", "every", "grace", "restart_after"):
            checks.non_negative(f"deploy.{name}", getattr(self, name), "seconds")

    def install(self, world: World) -> None:
        """Set each worker's turn."""
        for place, worker in enumerate(world.workers):
            turn = on_grid(self.at + place * self.every)
            world.clock.at(turn, partial(self._drain, world, worker))

    def _drain(self, world: World, worker: Worker, _: object = None) -> None:
        if not worker.alive:
            return
        drain = object()
        worker.stop_asking(drain)
        kill_at = world.clock.after(self.grace)
        now, number = world.clock.now, worker.number
        world.ledger.record(now, Event.WORKER_DRAINING, worker=number, value=kill_at)
        if worker.held:
            world.clock.at(kill_at, lambda _: self._end(world, worker, drain))
        else:
            self._end(world, worker, drain)

    def _end(self, world: World, worker: Worker, drain: object) -> None:
        if not worker.is_held_back_by(drain):
            return  # it died meanwhile
        if self.push_back:
            world.queue.requeue(worker.held)
        worker.crash()
        world.clock.at(world.clock.after(self.restart_after), lambda _: worker.restart())
