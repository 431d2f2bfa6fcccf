"""An e-mail service, which has no keys: what is sent twice arrives twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue.services.base import Client, OpenService, Service

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Mailer(Service):
    """The settings of the e-mail service."""

    name: ClassVar[str] = "mailer"

    def open(self, world: World) -> MailService:
        """Return the service."""
        return MailService(self, world)


class MailService(OpenService):
    """Sends e-mails."""

    def client(self, context: SimulatedContext) -> MailerClient:
        """Return the service as the handler with this `context` sees it."""
        return MailerClient(self, context)


class MailerClient(Client):
    """`ctx.mailer` of one delivery."""

    __slots__ = ()

    async def send(self, recipient: str, subject: str) -> None:  # noqa: ARG002
        """Send an e-mail: the effect "e-mail"."""
        await self.call("send", lambda: self._context.effect("e-mail"))
