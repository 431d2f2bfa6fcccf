"""A payment provider: every charge that arrives takes the money, unless its key is known."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue import checks
from simqueue.context import Conflict, Mismatch, ResponseLost
from simqueue.model.clock import Signal
from simqueue.model.ledger import Event
from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Payments(Service):
    """The settings of the payment provider. Times are in seconds.

    Parameters
    ----------
    key_retention
        For how long an idempotency key is remembered, from its first use; a day, as at Stripe,
        unless set. None: for ever.
    capacity, service_time
        How many charges the provider can do at a time, each for `service_time`; the others queue
        up, so load raises latency. None: any number, in no time. A charge that has arrived is done,
        whether or not anybody waits for it.
    timeout
        How long a caller waits for its charge; then it gets `ResponseLost`. None: as long as it
        takes.
    """

    name: ClassVar[str] = "payments"
    key_retention: float | None = 86_400.0
    capacity: int | None = None
    service_time: float = 0.0
    timeout: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("key_retention", "timeout"):
            if getattr(self, name) is not None:
                checks.positive(f"payments.{name}", getattr(self, name), "seconds")
        if self.capacity is not None:
            checks.whole("payments.capacity", self.capacity, 1)
        checks.non_negative("payments.service_time", self.service_time, "seconds")

    def open(self, world: World) -> PaymentProvider:
        """Return the provider, open for business."""
        return PaymentProvider(self, world)


@dataclass
class Request:
    """A charge that has arrived: what for, whether it is done, and who waits for it."""

    parameters: tuple[str, int]
    context: SimulatedContext
    until: float
    answered: Signal
    done: bool = False


class PaymentProvider(OpenService):
    """Takes money as often as it is asked to, once for each key."""

    def __init__(self, settings: Payments, world: World) -> None:
        super().__init__(settings, world)
        self.settings = settings
        self._known: dict[str, Request] = {}
        self._queue: deque[Request] = deque()
        self._busy = 0

    def client(self, context: SimulatedContext) -> PaymentsClient:
        """Return the provider as the handler with this `context` sees it."""
        return PaymentsClient(self, context)

    def known(self, key: str | None, parameters: tuple[str, int]) -> bool:
        """Whether a charge with this `key` was done, and its answer is to be given again.

        Raises Conflict while it is being done, Mismatch if it was for other parameters.
        """
        request = None if key is None else self._known.get(key)
        if request is None or request.until <= self.world.clock.now:
            return False
        if request.parameters != parameters:
            raise Mismatch(f"key {key!r} was used for {request.parameters}, not for {parameters}")
        if not request.done:
            raise Conflict(f"a charge with key {key!r} is at work")
        return True

    def accept(
        self, context: SimulatedContext, key: str | None, parameters: tuple[str, int]
    ) -> Request:
        """Let a new charge in: at once, or when it is its turn."""
        retention = self.settings.key_retention
        until = math.inf if retention is None else self.world.clock.after(retention)
        request = Request(parameters, context, until, Signal(self.world.clock))
        if key is not None:
            self._known[key] = request
        if self.settings.capacity is None:
            self._finish(request)
        elif self._busy < self.settings.capacity:
            self._serve(request)
        else:
            self._queue.append(request)
        return request

    def _serve(self, request: Request) -> None:
        self._busy += 1
        done_at = self.world.clock.after(self.settings.service_time)
        self.world.clock.at(done_at, lambda _: self._served(request))

    def _served(self, request: Request) -> None:
        self._busy -= 1
        self._finish(request)
        if self._queue:
            self._serve(self._queue.popleft())

    def _finish(self, request: Request) -> None:
        request.done = True
        request.context.effect("charge")
        request.answered.happen()


class PaymentsClient(Client):
    """`ctx.payments` of one delivery."""

    __slots__ = ()

    async def charge(self, customer: str, amount: int, *, key: str | None = None) -> None:
        """Take `amount` cents from `customer`: the effect "charge".

        Without a `key`, each call that arrives takes it again. With one, a charge that was done is
        answered again without an effect; raises `Conflict` while it is being done, `Mismatch` if
        the key was used for another customer or amount.
        """
        if self.is_direct:
            request = self._send(customer, amount, key)
        else:
            request = await self.call("charge", lambda: self._send(customer, amount, key))
        if request is not None and not request.done:
            await self._answer(request)

    def _send(self, customer: str, amount: int, key: str | None) -> Request | None:
        provider: PaymentProvider = self._service
        if key is None and provider.settings.capacity is None:
            self._context.effect("charge")
            return None
        parameters = (customer, amount)
        if provider.known(key, parameters):
            return None
        return provider.accept(self._context, key, parameters)

    async def _answer(self, request: Request) -> None:
        """Wait until the charge is done, or for as long as the caller has patience."""
        context, timeout = self._context, self._service.settings.timeout
        if timeout is not None:
            clock = self._service.world.clock
            clock.at(clock.after(timeout), lambda _: request.answered.happen())
        await request.answered.wait()
        if not request.done:
            context.note(Event.RESPONSE_LOST, context.word("payments.charge"))
            raise ResponseLost(f"no answer from payments.charge in {timeout:g} s")
