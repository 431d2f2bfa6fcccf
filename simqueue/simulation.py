"""`simulate`: put a scenario's parts together, let time pass, and return what happened."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.grid import all_on_grid
from simqueue.model.building import LeaseBroker
from simqueue.model.choosing import Chooser
from simqueue.model.clock import Clock
from simqueue.model.execution import Execution, kept
from simqueue.model.guard import guarding
from simqueue.model.ledger import Event, Ledger
from simqueue.model.log.building import LogBroker
from simqueue.model.log.consumer import Consumer
from simqueue.model.log.log import Log
from simqueue.model.log.settings import LogSettings
from simqueue.model.producer import Producer, dedupe_key
from simqueue.model.progress import NeverSettles
from simqueue.model.randomness import Streams, Transform
from simqueue.model.time_limit import limit_time
from simqueue.model.worker import Worker
from simqueue.model.worker_kinds import BatchingWorker, PrefetchingWorker, ThrottledWorker
from simqueue.model.world import World
from simqueue.result import Result

if TYPE_CHECKING:
    from collections.abc import Generator

    from simqueue.context import Job
    from simqueue.distributions import Distribution
    from simqueue.faults import Fault
    from simqueue.scenario import Scenario, Workers


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
    slices = in_slices(scenario, seed, sys.maxsize)
    while True:
        try:
            next(slices)
        except StopIteration as end:
            result: Result = end.value
            return result


def in_slices(scenario: Scenario, seed: int, events: int) -> Generator[None, None, Result]:
    """Run `scenario` as `simulate` does, and return what happened, but stop in between.

    After each so many `events` it yields, for whoever has something more urgent to do; closed
    then, it leaves nothing behind.
    """
    checks.whole("seed", seed)
    kept_before = kept()
    world = _world(scenario, seed)
    for fault in _faults(scenario):
        fault.install(world)
    for _ in range(world.workers[0].places):
        for worker in world.workers:
            if worker.accepts:
                worker.ask_once()
    _start_producers(scenario, world)
    world.clock.end_at(scenario.horizon)
    try:
        while _goes_on(world, events):
            yield
    finally:
        for worker in world.workers:
            worker.abandon()
        for service in world.services.values():
            service.close()
    world.streams.close()
    result = Result(scenario, seed, world.ledger.close(), world.services["sql"].snapshot)
    if kept() > kept_before:
        world.let_go()
    return result


def _goes_on(world: World, events: int) -> bool:
    try:
        with guarding(Execution.resume.__code__):
            return world.clock.let_happen(events)
    except NeverSettles as error:
        raise NeverSettles(f"{error}{_last_failure(world.ledger)}") from None


def _start_producers(scenario: Scenario, world: World) -> None:
    settings = scenario.producers
    times = scenario.arrivals.times(world.streams.per_job("arrivals"))
    key_of = dedupe_key(settings.dedupe_key)
    jobs: dict[int, Job] | None = {} if settings.replicas > 1 else None
    for replica in range(settings.replicas):
        offset = settings.offsets[replica % len(settings.offsets)]
        Producer(
            world,
            all_on_grid(times + offset).tolist(),
            groups=scenario.groups,
            customers=scenario.customers or scenario.jobs or 1,
            settings=settings,
            key_of=key_of,
            jobs=jobs,
        ).start()


def _world(scenario: Scenario, seed: int) -> World:
    clock, ledger, streams = Clock(), Ledger(), Streams(seed, scenario.jobs or 0)
    broker = _broker(scenario, clock, ledger, streams)
    world = World(
        clock=clock,
        ledger=ledger,
        streams=streams,
        queue=broker.queue,
        publish=broker.publish,
        work=streams.stream("work", _work_seconds(scenario.work)),
        work_anew=scenario.work_per == "attempt",
    )
    for service in scenario.services:
        world.services[service.name] = service.open(world)
    world.workers = _hire(scenario, world)
    for worker in world.workers:
        broker.meet(worker)
    return world


def _broker(
    scenario: Scenario, clock: Clock, ledger: Ledger, streams: Streams
) -> LeaseBroker | LogBroker:
    settings, endless = scenario.broker.settings(), scenario.horizon is not None
    if isinstance(settings, LogSettings):
        return LogBroker(settings, clock, ledger, streams, endless=endless)
    chooser = _chooser(scenario.workers, clock)
    return LeaseBroker(settings, clock, ledger, streams, chooser=chooser, endless=endless)


def _chooser(team: Workers, clock: Clock) -> Chooser | None:
    if not team.holds_once and team.poll_every is None:
        return None
    return Chooser(
        clock,
        holds_once=team.holds_once,
        poll_every=team.poll_every,
        poll_phases=team.poll_phases,
    )


def _work_seconds(work: Distribution) -> Transform:
    return lambda first, draws: all_on_grid(work.for_jobs(first, draws))


def _hire(scenario: Scenario, world: World) -> list[Worker]:
    team = scenario.workers
    kind: type[Worker] = Worker
    options: dict[str, Any] = {"concurrency": team.concurrency}
    if isinstance(world.queue, Log):
        kind, options["log"] = Consumer, world.queue
    elif team.prefetch is not None:
        kind, options["prefetch"] = PrefetchingWorker, team.prefetch
    elif team.batch is not None:
        kind, options["prefetch"] = BatchingWorker, team.batch
        options["whole"] = team.ack_batch == "whole"
    elif team.throttled:
        kind = ThrottledWorker
    elif getattr(scenario.broker.settings(), "due_held_by", "broker") == "worker":
        kind, options["prefetch"] = PrefetchingWorker, team.concurrency
    numbers = range(1, team.count + 1)
    workers = [kind(number, world, scenario.handler, **options) for number in numbers]
    if team.time_limit is not None:
        for worker in workers:
            limit_time(worker, team.time_limit)
    return workers


def _faults(scenario: Scenario) -> list[Fault]:
    crash = [] if scenario.workers.crash is None else [scenario.workers.crash]
    return [*crash, scenario.network, *scenario.faults]


def _last_failure(ledger: Ledger) -> str:
    """Name the exception of the run's last failed attempt: often the reason why it never ends."""
    table = ledger.table()
    failures = table[table[:, 1] == Event.FAILED]
    if not len(failures):
        return ""
    return f" Its last failed attempt raised {ledger.words[int(failures[-1, 5])]}."
