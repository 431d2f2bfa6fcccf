"""A payment provider: every charge that arrives takes the money."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.world import SimulatedContext


class PaymentProvider:
    """Takes money, as often as it is asked to."""

    def client(self, context: SimulatedContext) -> PaymentsClient:
        """Return the provider as the handler with this `context` sees it."""
        return PaymentsClient(context)


class PaymentsClient:
    """`ctx.payments` of one delivery."""

    __slots__ = ("_context",)

    def __init__(self, context: SimulatedContext) -> None:
        self._context = context

    async def charge(self, customer: str, amount: int) -> None:  # noqa: ARG002
        """Take `amount` cents from `customer`: the effect "charge"."""
        self._context.effect("charge")
