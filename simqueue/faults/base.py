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

        What there is to hook into: `world.clock.at` for things that happen at a time; `on_start`,
        `on_death`, `on_disconnect` and `ways_to_broker` of each of `world.workers`;
        `world.steps.before` and `world.steps.after` for what a handler does through ctx;
        `world.publish` for what producers send. Random draws come from `world.streams`, by a name
        of their own; what happens is noted in `world.ledger`.
        """
