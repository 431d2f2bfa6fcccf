"""What all services have in common: settings, a latency, and a client for each handler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from simqueue import checks
from simqueue.distributions import Distribution
from simqueue.grid import all_on_grid

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.randomness import Stream
    from simqueue.model.world import World

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Service(ABC):
    """The settings of a service; `open` makes the service itself, with all that it remembers.

    Parameters
    ----------
    latency
        How long each call takes before it has its effect: seconds, or a distribution.
    """

    name: ClassVar[str]
    latency: float | Distribution = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.latency, Distribution):
            checks.non_negative(f"{self.name}.latency", self.latency, "seconds")

    @abstractmethod
    def open(self, world: World) -> OpenService:
        """Return the service, open for business in `world`."""


class OpenService(ABC):
    """A service at work: what it remembers, and how long it takes."""

    def __init__(self, settings: Service, world: World) -> None:
        self.name = settings.name
        self.world = world
        self.is_instant = settings.latency == 0.0
        self._latency = settings.latency
        self._draws: dict[str, Stream] = {}

    @abstractmethod
    def client(self, context: SimulatedContext) -> Client:
        """Return the service as the handler with this `context` sees it."""

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """The run is over: give back what is not just memory."""

    def seconds(self, context: SimulatedContext, call: str) -> float:
        """How long this `call` of this delivery takes, in seconds."""
        latency = self._latency
        if not isinstance(latency, Distribution):
            return latency
        if call not in self._draws:
            self._draws[call] = self.world.streams.stream(
                f"latency of {self.name}.{call}",
                lambda _, draws: all_on_grid(latency.sample(draws)),
            )
        delivery = context.delivery
        drawn: float = self._draws[call].draw(delivery.message.job.id, delivery.turn)
        return drawn


class Client:
    """A service as one handler sees it. Each of its methods is one `call`."""

    __slots__ = ("_context", "_service")

    def __init__(self, service: Any, context: SimulatedContext) -> None:
        self._service = service
        self._context = context

    @property
    def is_direct(self) -> bool:
        """Whether a call just does its action: it takes no time, and no fault can come to it."""
        return self._service.is_instant and not self._context.steps

    async def call(self, call: str, action: Callable[[], T]) -> T:
        """Do `action` as the call "service.call": after its latency, unless a fault comes first."""
        if self.is_direct:
            return action()
        service, context = self._service, self._context
        waiting = service.seconds(context, call)
        return await context.step(f"{service.name}.{call}", action, waiting)
