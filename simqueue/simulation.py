"""`simulate`: put a scenario's parts together, let time pass, and return what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.grid import all_on_grid, on_grid
from simqueue.model.clock import Clock
from simqueue.model.faults import Crashes, LossyAck
from simqueue.model.lease_queue import NeverSettles
from simqueue.model.ledger import Event, Ledger
from simqueue.model.producer import produce
from simqueue.model.randomness import Streams, Transform
from simqueue.model.worker import Acknowledge, PrefetchingWorker, Worker
from simqueue.model.world import World
from simqueue.result import Result
from simqueue.scenario import Scenario
from simqueue.services.payments import PaymentProvider
from simqueue.services.store import DedupeStore

if TYPE_CHECKING:
    from simqueue.distributions import Distribution
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
    jobs = scenario.jobs or 0
    clock, ledger, streams = Clock(), Ledger(), Streams(seed, jobs)
    endless = scenario.horizon is not None
    world = World(
        clock=clock,
        ledger=ledger,
        queue=scenario.broker.settings().build(clock, ledger, endless=endless),
        work=streams.stream("work", _work_seconds(scenario.work)),
        work_anew=scenario.work_per == "attempt",
        store=DedupeStore(),
        payments=PaymentProvider(),
    )
    workers = _hire(scenario, world, streams)
    if scenario.workers.crash is not None:
        _let_crash(scenario.workers.crash, workers, clock, streams)
    arrivals = scenario.arrivals.times(streams.per_job("arrivals"))
    clock.process(produce(world, all_on_grid(arrivals).tolist()))
    try:
        clock.run(scenario.horizon)
    except NeverSettles as error:
        raise NeverSettles(f"{error}{_last_failure(ledger)}") from None
    return Result(scenario, seed, ledger)


def _work_seconds(work: Distribution) -> Transform:
    return lambda first, draws: all_on_grid(work.for_jobs(first, draws))


def _hire(scenario: Scenario, world: World, streams: Streams) -> list[Worker]:
    team, lost = scenario.workers, scenario.network.ack_lost
    acknowledge: Acknowledge = world.queue.ack
    if lost:
        acknowledge = LossyAck(acknowledge, streams.chances("ack lost", lost), world)
    options: dict[str, Any] = {"concurrency": team.concurrency, "acknowledge": acknowledge}
    kind: type[Worker] = Worker
    if team.prefetch is not None:
        kind, options["prefetch"] = PrefetchingWorker, team.prefetch
    workers = [
        kind(number, world, scenario.handler, **options) for number in range(1, team.count + 1)
    ]
    for _ in range(workers[0].places):
        for worker in workers:
            world.queue.ask(worker)
    return workers


def _let_crash(crash: Crash, workers: list[Worker], clock: Clock, streams: Streams) -> None:
    crashes = Crashes(clock, crash.restart_after)
    for number, time in crash.at:
        crashes.at(workers[number - 1], on_grid(time))
    if crash.mean_time_between is not None:
        seconds_until = streams.exponential("crash", crash.mean_time_between)
        for worker in workers:
            crashes.during_work(worker, seconds_until)


def _last_failure(ledger: Ledger) -> str:
    """Name the exception of the run's last failed attempt: often the reason why it never ends."""
    table = ledger.table()
    failures = table[table[:, 1] == Event.FAILED]
    if not len(failures):
        return ""
    return f" Its last failed attempt raised {ledger.words[int(failures[-1, 5])]}."
