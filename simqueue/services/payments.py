"""A payment provider: every charge that arrives takes the money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Payments(Service):
    """The settings of the payment provider."""

    name: ClassVar[str] = "payments"

    def open(self, world: World) -> PaymentProvider:
        """Return the provider, open for business."""
        return PaymentProvider(self, world)


class PaymentProvider(OpenService):
    """Takes money, as often as it is asked to."""

    def client(self, context: SimulatedContext) -> PaymentsClient:
        """Return the provider as the handler with this `context` sees it."""
        return PaymentsClient(self, context)


class PaymentsClient(Client):
    """`ctx.payments` of one delivery."""

    __slots__ = ()

    async def charge(self, customer: str, amount: int) -> None:  # noqa: ARG002
        """Take `amount` cents from `customer`: the effect "charge"."""
        await self.call("charge", lambda: self._context.effect("charge"))
