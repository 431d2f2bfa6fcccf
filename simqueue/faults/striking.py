"""When a fault strikes workers: at given times, or in the middle of what they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simqueue.grid import on_grid

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker
    from simqueue.model.world import World

Strike = Callable[["Worker"], None]
StrikeDelivery = Callable[["Delivery"], None]
SecondsUntil = Callable[[int, int], float | None]


def strike_at(
    world: World, moments: Sequence[tuple[int, float]], name: str, strike: Strike
) -> None:
    """Let `strike` hit each (worker, seconds) of `moments`, the value of parameter `name`."""
    for number, time in moments:
        worker = world.worker(number, name)
        world.clock.at(on_grid(time), _on(strike, worker))


def strike_during_work(world: World, seconds_until: SecondsUntil, strike: StrikeDelivery) -> None:
    """Let `strike` hit a delivery ``seconds_until(job, turn)`` after its start.

    None, or a delivery that is done by then: it is not hit.
    """

    def watch(delivery: Delivery) -> None:
        seconds = seconds_until(delivery.message.job.id, delivery.turn)
        if seconds is not None:
            world.clock.at(world.clock.after(seconds), lambda _: hit(delivery))

    def hit(delivery: Delivery) -> None:
        if delivery.number in delivery.worker.running:
            strike(delivery)

    for worker in world.workers:
        worker.on_start.append(watch)


def _on(strike: Strike, worker: Worker) -> Callable[[object], None]:
    return lambda _: strike(worker)
