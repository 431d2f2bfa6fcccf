"""A worker process dies, with everything in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.faults.base import Fault
from simqueue.faults.moments import check_moments
from simqueue.faults.striking import strike_at, strike_during_work

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Crash(Fault):
    """Worker processes die, with everything in them: no `except`, no `finally`, no ack.

    Parameters
    ----------
    mean_time_between
        Mean seconds of work between two crashes of a busy slot, exponentially distributed; None: no
        such crashes. A process with several busy slots dies as much more often.
    chance
        Probability that a delivery takes its worker down, at a uniformly distributed moment of the
        job's work; 0 to 1.
    after
        Seconds into a delivery at which it takes its worker down, each time: a job that kills.
        None: no such job. Only the jobs in `jobs` do it, if that is given.
    jobs
        The ids of the jobs that `after` is about; None: all.
    at
        Crashes at given times: pairs (worker, seconds), workers counted from 1.
    restart_after
        Seconds until the process is back.
    kills
        "process": everything in it. "slot": only what runs the delivery, a child process say: its
        process lives, and tells the broker what this broker's clients tell it then; not with `at`.
        "machine": as "process", and nobody is left who closes the connection to the broker, which
        has to notice the silence.
    """

    mean_time_between: float | None = None
    chance: float = 0.0
    after: float | None = None
    jobs: Sequence[int] | None = None
    at: Sequence[tuple[int, float]] = ()
    restart_after: float = 0.0
    kills: str = "process"

    def __post_init__(self) -> None:
        if self.mean_time_between is not None:
            checks.positive("crash.mean_time_between", self.mean_time_between, "seconds")
        checks.probability("crash.chance", self.chance)
        if self.after is not None:
            checks.non_negative("crash.after", self.after, "seconds")
        if self.jobs is not None:
            jobs = tuple(checks.whole("crash.jobs", job) for job in self.jobs)
            object.__setattr__(self, "jobs", jobs)
        object.__setattr__(self, "at", check_moments("crash.at", self.at))
        checks.non_negative("crash.restart_after", self.restart_after, "seconds")
        checks.one_of("crash.kills", self.kills, ("process", "slot", "machine"))
        if self.kills == "slot" and self.at:
            raise checks.fail("crash.at", self.at, "empty where a crash kills a slot")

    def install(self, world: World) -> None:
        """Set the times of death that are known, and watch deliveries for the others."""
        strike_at(world, self.at, "crash.at", self._strike)
        if self.mean_time_between is not None:
            seconds_until = world.streams.exponential("crash", self.mean_time_between).draw
            strike_during_work(world, seconds_until, self._hit)
        if self.chance:
            hit = world.streams.chances("crash chance", self.chance)
            place = world.streams.stream("crash place", lambda _, draws: draws)

            def moment(job: int, turn: int) -> float | None:
                attempt = turn if world.work_anew else 0
                seconds: float = world.work.draw(job, attempt)
                return seconds * place.draw(job, turn) if hit.draw(job, turn) else None

            strike_during_work(world, moment, self._hit)
        if self.after is not None:
            chosen = None if self.jobs is None else frozenset(self.jobs)

            def each_time(job: int, _turn: int) -> float | None:
                return self.after if chosen is None or job in chosen else None

            strike_during_work(world, each_time, self._hit)

    def _hit(self, delivery: Delivery) -> None:
        if self.kills == "slot":
            delivery.worker.lose_slot(delivery)
        else:
            self._strike(delivery.worker)

    def _strike(self, worker: Worker) -> None:
        if worker.alive:
            worker.crash(silently=self.kills == "machine")
            clock = worker.clock
            clock.at(clock.after(self.restart_after), lambda _: worker.restart())
