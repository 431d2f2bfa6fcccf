"""What a fault is: a frozen description that hooks itself into a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.world import World


class Fault(ABC):
    """Something that can go wrong. A subclass is a frozen dataclass of its parameters.

    It is on if it stands in a scenario, and off if it does not: there is no other switch.
    """

    @abstractmethod
    def install(self, world: World) -> None:
        """Hook into `world` before its time begins.

        In time
            ``world.clock.at(time, action)`` calls ``action(_)`` at `time`, in seconds, and
            ``world.clock.after(seconds)`` is that far from now. A time that a user gave goes
            through `simqueue.grid.on_grid`.
        On workers
            For each of `world.workers` (or ``world.worker(number, name)``): `on_start` hears of
            each delivery whose handler starts, `on_death` and `on_disconnect` of all deliveries
            that the process held, `on_restart` of the worker; all of `ways_to_broker` must let an
            ack or a renewal pass. ``worker.crash()``, ``worker.restart()``; and from a moment on,
            ``worker.stop_asking(reason)`` and ``worker.go_on(reason)``, where `reason` is any
            object of yours. `paused_until` works where ``worker.execution`` is `Pausable`.
        Around what a handler does through ctx
            `world.steps.before`, `around` and `after` (see `simqueue.model.world.Steps`); a hook
            before or after is ``async def hook(ctx, call)``, and may raise, or use
            ``ctx.pass_time(seconds)``, ``ctx.nothing_more()``, ``ctx.delivery``, ``ctx.note``.
        On what producers send
            `world.publish` can be replaced by a callable around it.
        Random draws
            ``world.streams.chances(name, p).draw(job, turn)`` or ``.exponential(name, mean)``, with
            ``job = delivery.message.job.id`` and ``turn = delivery.turn``, under a name of your own
            that holds whatever else tells two draws apart, such as the call.
        In the ledger
            ``world.ledger.record(time, event, job, delivery, worker)`` notes what happened.
        """
