"""Nobody looks for leases that ran out: the one who did is dead, or holds on to a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.faults.base import Fault
from simqueue.faults.moments import check_window
from simqueue.model.lease_queue import LeaseQueue

if TYPE_CHECKING:
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class RescuerDown(Fault):
    """The broker's sweep does not happen during `window`: (start, end), seconds, perhaps infinite.

    It is for brokers that sweep: leases of others end by themselves.
    """

    window: tuple[float, float]

    def __post_init__(self) -> None:
        window = check_window("rescuer_down.window", self.window, endless=True)
        object.__setattr__(self, "window", window)

    def install(self, world: World) -> None:
        """Take the looks of that window away."""
        if not isinstance(world.queue, LeaseQueue):
            raise checks.fail(
                "rescuer_down.window", self.window, "left out with a log: it has no leases"
            )
        world.queue.leases.stop_between(*self.window)
