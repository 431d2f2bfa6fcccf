"""`simulate`: put a scenario's parts together, let time pass, and return what happened."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.model.clock import Clock
from simqueue.model.faults import Crashes, LossyAck
from simqueue.model.ledger import Ledger
from simqueue.model.producer import produce
from simqueue.model.randomness import Stream, Uniforms, on_grid, uniforms
from simqueue.model.worker import Acknowledge, PrefetchingWorker, Worker
from simqueue.model.world import World
from simqueue.result import Result
from simqueue.scenario import Scenario
from simqueue.services.payments import PaymentProvider
from simqueue.services.store import DedupeStore

if TYPE_CHECKING:
    from simqueue.scenario import Crash


def simulate(scenario: Scenario, seed: int = 0) -> Result:
    """Run `scenario` once.

    Parameters
    ----------
    scenario
        What to simulate.
    seed
        A whole number of 0 or more, from which all random draws follow. The same scenario and seed
        give the same events, in any process and on any platform; a change of the scenario changes
        no draw that it is not about.

    Raises
    ------
    NeverSettles
        If a job is delivered again and again without end, and the scenario has no horizon.
    """
    checks.whole("seed", seed)
    clock, ledger = Clock(), Ledger()
    endless = scenario.horizon is not None
    queue = scenario.broker.settings().build(clock, ledger, endless=endless)
    work = scenario.work
    world = World(
        clock=clock,
        ledger=ledger,
        queue=queue,
        work=Stream(seed, "work", lambda first, draws: on_grid(work.for_jobs(first, draws))),
        work_anew=scenario.work_per == "attempt",
        store=DedupeStore(),
        payments=PaymentProvider(),
    )
    workers = _hire(scenario, world, seed)
    if scenario.workers.crash is not None:
        _let_crash(scenario.workers.crash, workers, clock, seed)
    jobs = scenario.jobs or 0
    arrivals = scenario.arrivals.times(uniforms(seed, "arrivals", size=jobs))
    clock.process(produce(world, on_grid(arrivals).tolist()))
    clock.run(scenario.horizon)
    return Result(scenario, seed, ledger)


def _hire(scenario: Scenario, world: World, seed: int) -> list[Worker]:
    team = scenario.workers
    acknowledge: Acknowledge = world.queue.ack
    if scenario.network.ack_lost:
        acknowledge = LossyAck(
            acknowledge, _chance(seed, "ack lost", scenario.network.ack_lost), world.clock, world.ledger
        )
    options: dict[str, Any] = {"concurrency": team.concurrency, "acknowledge": acknowledge}
    kind = Worker
    if team.prefetch is not None:
        kind, options["prefetch"] = PrefetchingWorker, team.prefetch
    workers = [
        kind(number, world, scenario.handler, **options) for number in range(1, team.count + 1)
    ]
    for _ in range(workers[0].places):
        for worker in workers:
            world.queue.ask(worker)
    return workers


def _let_crash(crash: Crash, workers: list[Worker], clock: Clock, seed: int) -> None:
    crashes = Crashes(clock, crash.restart_after)
    for number, time in crash.at:
        crashes.at(workers[number - 1], time)
    if crash.mean_time_between is not None:
        mean = crash.mean_time_between
        seconds_until = Stream(seed, "crash", lambda _, draws: on_grid(-mean * np.log1p(-draws)))
        for worker in workers:
            crashes.during_work(worker, seconds_until)


def _chance(seed: int, purpose: str, probability: float) -> Stream:
    def transform(_: int, draws: Uniforms) -> Any:
        return draws < probability

    return Stream(seed, purpose, transform)
