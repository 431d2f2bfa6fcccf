"""One queue, M/M/10 at 80 % load, in plain SimPy, simqueue, Ciw and salabim.

Each is written as its own documentation would write it, and collects every job's wait in the queue.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ciw
import salabim
import simpy

import simqueue as sq

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ARRIVAL_RATE = 8.0
SERVICE_RATE = 1.0
SERVERS = 10


@dataclass(frozen=True)
class Queue:
    """A way to simulate the queue: `run(jobs, seed)`, and `waits` of what that returned."""

    name: str
    run: Callable[[int, int], Any]
    waits: Callable[[Any], list[float]] = list


def plain_simpy(jobs: int, seed: int) -> list[float]:
    """Return the waits of `jobs` customers: a resource, and a process for each customer."""
    rng = random.Random(seed)
    environment = simpy.Environment()
    servers = simpy.Resource(environment, SERVERS)
    waits: list[float] = []

    def customer() -> Generator[simpy.Event, Any, None]:
        arrived = environment.now
        with servers.request() as turn:
            yield turn
            waits.append(environment.now - arrived)
            yield environment.timeout(rng.expovariate(SERVICE_RATE))

    def source() -> Generator[simpy.Event, Any, None]:
        for _ in range(jobs):
            yield environment.timeout(rng.expovariate(ARRIVAL_RATE))
            environment.process(customer())

    environment.process(source())
    environment.run()
    return waits


def scenario(jobs: int) -> sq.Scenario:
    """The same queue with all that simqueue adds: leases, a ledger, a handler that charges."""
    return sq.Scenario(
        arrivals=sq.Poisson(rate=ARRIVAL_RATE),
        jobs=jobs,
        work=sq.Exponential(mean=1 / SERVICE_RATE),
        workers=sq.Workers(count=SERVERS),
        broker=sq.brokers.generic(lease=60.0, late_ack="deletes"),
        handler=sq.handlers.naive,
    )


def simqueue_result(jobs: int, seed: int) -> sq.Result:
    """Return the result of `jobs` jobs, with every event in its ledger."""
    return sq.simulate(scenario(jobs), seed)


def simqueue_waits(result: sq.Result) -> list[float]:
    """Return the seconds from each job's arrival to the start of its work."""
    waits: list[float] = (result.jobs["first_start"] - result.jobs["published"]).tolist()
    return waits


def ciw_simulation(jobs: int, seed: int) -> ciw.Simulation:
    """Return Ciw's simulation after `jobs` customers have arrived and left."""
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=ARRIVAL_RATE)],
        service_distributions=[ciw.dists.Exponential(rate=SERVICE_RATE)],
        number_of_servers=[SERVERS],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(jobs, method="Finish")
    return simulation


def ciw_waits(simulation: ciw.Simulation) -> list[float]:
    """Return the waits of those who have left."""
    return [record.waiting_time for record in simulation.get_all_records()]


def salabim_waits(jobs: int, seed: int) -> list[float]:
    """Return the waits of `jobs` customers, as components that are generators."""
    rng = random.Random(seed)
    environment = salabim.Environment(trace=False, yieldless=False)
    servers = salabim.Resource("servers", capacity=SERVERS, monitor=False)
    waits: list[float] = []

    class Customer(salabim.Component):
        def process(self) -> Generator[None, None, None]:
            arrived = environment.now()
            yield self.request(servers)
            waits.append(environment.now() - arrived)
            yield self.hold(rng.expovariate(SERVICE_RATE))
            self.release()

    class Source(salabim.Component):
        def process(self) -> Generator[None, None, None]:
            for _ in range(jobs):
                yield self.hold(rng.expovariate(ARRIVAL_RATE))
                Customer()

    Source()
    environment.run()
    return waits


PLAIN_SIMPY = Queue("plain SimPy", plain_simpy)
SIMQUEUE = Queue("simqueue.simulate", simqueue_result, simqueue_waits)
CIW = Queue("Ciw", ciw_simulation, ciw_waits)
SALABIM = Queue("salabim", salabim_waits)
QUEUES = (PLAIN_SIMPY, SIMQUEUE, CIW, SALABIM)


def mean_wait(queue: Queue, result: Any) -> float:
    """Return the mean wait of a run in seconds, to see that it is the same queue."""
    return statistics.fmean(queue.waits(result))


def theoretical_wait() -> float:
    """Return the mean wait of this queue in seconds, by Erlang's formula."""
    return float(sq.theory.mmc_wait(ARRIVAL_RATE, SERVICE_RATE, SERVERS))
