"""A service is down, or slow, for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.context import Unavailable
from simqueue.faults.base import Fault
from simqueue.faults.moments import check_window
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Outage(Fault):
    """Calls to `service` fail with `Unavailable` during `window`, and have no effect.

    `service` is "payments", "store", …; `window` a pair (start, end) in seconds; `timeout` the
    seconds that a caller waits before it gives up.
    """

    service: str
    window: tuple[float, float]
    timeout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", check_window("outage.window", self.window))
        checks.non_negative("outage.timeout", self.timeout, "seconds")

    def install(self, world: World) -> None:
        """Fail what is called in the window, before it has its effect."""
        world.require_service(self.service, "outage.service")
        start, end = self.window

        async def fail(ctx: SimulatedContext, call: str) -> None:
            if call.startswith(self.service + ".") and start <= ctx.now < end:
                if self.timeout:
                    await ctx.pass_time(self.timeout)
                ctx.note(Event.UNAVAILABLE, world.ledger.word(call))
                raise Unavailable(f"{self.service} is down")

        world.steps.before.append(fail)


@dataclass(frozen=True, kw_only=True)
class Slowness(Fault):
    """Calls to `service` take `seconds` longer during `window` (seconds)."""

    service: str
    window: tuple[float, float]
    seconds: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", check_window("slowness.window", self.window))
        checks.positive("slowness.seconds", self.seconds, "seconds")

    def install(self, world: World) -> None:
        """Delay what is called in the window."""
        world.require_service(self.service, "slowness.service")
        start, end = self.window

        async def delay(ctx: SimulatedContext, call: str) -> None:
            if call.startswith(self.service + ".") and start <= ctx.now < end:
                await ctx.pass_time(self.seconds)

        world.steps.before.append(delay)
