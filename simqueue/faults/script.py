"""Faults at a chosen step of a chosen delivery: what exploration and exact tests are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.context import ResponseLost
from simqueue.faults.base import Fault
from simqueue.faults.pause import stand_still
from simqueue.model.execution import pausable
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Filter
    from simqueue.model.world import World
    from simqueue.services.outbox import Letter

STEPS = ("work", "sleep", "extend", "ack", "relay.send")
WHAT = ("crash", "pause", "response lost", "ack lost")


@dataclass(frozen=True, kw_only=True)
class At(Fault):
    """One fault, at one step.

    Parameters
    ----------
    step
        The call through ctx, such as "payments.charge", "store.claim" or "work"; "ack" for what
        the worker says when the handler has returned; "relay.send" for the outbox's relay, which
        then does not come to mark what it sent, at its `turn`-th send of the letter.
    what
        "crash": the process dies there; "pause": it stands still there for `seconds`; "response
        lost": the call has its effect, the answer never comes; "ack lost": the ack never arrives.
    when
        "before" the call has its effect, or "after".
    job, turn
        Which delivery: the job's id, from 0; its how manieth delivery, from 1, or None for each.
    seconds
        Of a pause; or from a crash until the process is back.
    """

    step: str
    what: str = "crash"
    when: str = "after"
    job: int = 0
    turn: int | None = 1
    seconds: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("at.what", self.what, WHAT)
        checks.one_of("at.when", self.when, ("before", "after"))
        checks.whole("at.job", self.job)
        if self.turn is not None:
            checks.whole("at.turn", self.turn, 1)
        checks.non_negative("at.seconds", self.seconds, "seconds")

    def install(self, world: World) -> None:
        """Lie in wait for the step."""
        service, dot, _call = self.step.partition(".")
        if self.step not in STEPS and (not dot or service not in world.services):
            allowed = ", ".join(map(repr, STEPS)) + ", or a call of a service of ctx"
            raise checks.fail("at.step", self.step, allowed)
        if self.step == "relay.send":
            world.services["database"].relay.mark_fails.append(self._before_mark)
            return
        if self.what == "ack lost" or self.step == "ack":
            for worker in world.workers:
                worker.ways_to_broker.append(self._at_ack(world))
            return
        if self.what == "pause":
            for worker in world.workers:
                worker.execution = pausable(worker.execution)

        async def strike(ctx: SimulatedContext, call: str) -> None:
            if call == self.step and self._is_it(ctx.delivery):
                await self._strike(world, ctx, call)

        hooks = world.steps.before if self.when == "before" else world.steps.after
        hooks.append(strike)

    def _is_it(self, delivery: Delivery) -> bool:
        same_turn = self.turn is None or delivery.turn == self.turn
        return delivery.message.job.id == self.job and same_turn

    async def _strike(self, world: World, ctx: SimulatedContext, call: str) -> None:
        worker = ctx.delivery.worker
        if self.what == "crash":
            self._crash(world, ctx.delivery)
            await ctx.nothing_more()
        elif self.what == "pause":
            stand_still(world, worker, self.seconds)
            await ctx.pass_time(self.seconds)
        else:
            ctx.note(Event.RESPONSE_LOST, world.ledger.word(call))
            raise ResponseLost(f"no answer from {call}")

    def _crash(self, world: World, delivery: Delivery) -> None:
        worker = delivery.worker
        worker.crash()
        world.clock.at(world.clock.after(self.seconds), lambda _: worker.restart())

    def _before_mark(self, letter: Letter) -> bool:
        """The relay dies, or hears no answer, after it has sent and before it marks."""
        return letter.job.id == self.job and (self.turn is None or letter.sends == self.turn)

    def _at_ack(self, world: World) -> Filter:
        def passes(delivery: Delivery) -> bool:
            is_ack = not delivery.worker.keeps(delivery)
            if not (is_ack and self._is_it(delivery)):
                return True
            if self.what == "crash":
                self._crash(world, delivery)
                return False
            job, number = delivery.message.job.id, delivery.number
            world.ledger.record(
                world.clock.now, Event.ACK_LOST, job, number, delivery.worker.number
            )
            return False

        return passes
