"""Carrying a plan out: the fault that a run under a plan has, and the moments that it notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simpy.events import EventPriority

from simqueue.context import HandlerError, ResponseLost
from simqueue.exploration.plans import (
    ACK_LOST,
    CRASH,
    LOCAL_STEPS,
    ON_CALL,
    ON_WORKER,
    PAUSE,
    RELAY_CRASH,
    RESUME,
    Moment,
    Plan,
    Strike,
)
from simqueue.faults.base import Fault
from simqueue.model.clock import AFTER_RECEIVE, Signal
from simqueue.model.execution import Pausable
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker
    from simqueue.model.world import World
    from simqueue.services.outbox import Letter

LAST = EventPriority(AFTER_RECEIVE + 1)
INSTANT = 1e-6

MOST_STEPS = 10_000
"""Steps of one delivery, beyond which its handler is taken to loop for ever."""

STRUCK_JOB = 0
"""The job whose deliveries are struck."""


@dataclass(frozen=True, kw_only=True)
class Strikes(Fault):
    """Everything that a plan says, at the moments that it says.

    Parameters
    ----------
    plan
        What goes wrong.
    longest_pause
        When a pause ends of which the plan does not say more, in seconds after its start.
    notes_calls
        Whether each call through ctx is noted in the ledger, for a story to tell.
    moments
        Filled by each run anew: its moments, in order.
    """

    plan: Plan
    longest_pause: float
    notes_calls: bool = False
    moments: list[Moment] = field(default_factory=list, compare=False, repr=False)

    def install(self, world: World) -> None:
        """Hook into `world`."""
        self.moments.clear()
        _Striker(world, self).hook_in()


class _Striker:
    """Counts the moments of one run, and strikes at those of the plan."""

    def __init__(self, world: World, strikes: Strikes) -> None:
        self._world = world
        self._moments = strikes.moments
        self._longest = strikes.longest_pause
        self._plan = strikes.plan
        self._notes_calls = strikes.notes_calls
        self._due = {strike.moment.number: strike for strike in strikes.plan.strikes}
        self._pauses: dict[int, _Standstill] = {}
        self._letters = 0
        # Whether the handler of this turn has gone on from a noted moment without a step since.
        self._noted: dict[int, bool] = {}
        self._steps: dict[int, int] = {}
        # The handlers of these turns have looked at the clock since their last step: standing still
        # now, they go on with a time that is over.
        self._has_looked: set[int] = set()

    def hook_in(self) -> None:
        world = self._world
        world.on_clock_read = self._look
        world.steps.before.append(self._before)
        world.steps.after.append(self._after)
        pauses = any(strike.kind == PAUSE for strike in self._due.values())
        for worker in world.workers:
            if pauses:
                worker.execution = Pausable
            self._watch_end(worker)
        relay = world.services["database"].relay
        relay.mark_fails.append(self._before_mark)
        receive = relay.receive

        def counting(letter: Letter) -> None:
            self._letters += 1
            receive(letter)

        relay.receive = counting

    # The moments of a delivery.

    def _look(self, delivery: Delivery) -> None:
        if delivery.message.job.id == STRUCK_JOB:
            self._has_looked.add(delivery.turn)

    async def _before(self, ctx: SimulatedContext, call: str) -> None:
        delivery = ctx.delivery
        if delivery.message.job.id != STRUCK_JOB:
            return
        turn = delivery.turn
        self._steps[turn] = steps = self._steps.get(turn, 0) + 1
        if steps > MOST_STEPS:
            await self._give_up(ctx, call)
        noted, looked = self._noted.get(turn, False), turn in self._has_looked
        if not noted or looked:
            # To crash here, or after the last step, is the same.
            strike = self._note(turn, call, "before", (PAUSE,) if noted else ON_WORKER)
            if strike is not None:
                await self._strike(ctx, strike, call)
        self._noted[turn] = False
        self._has_looked.discard(turn)
        if self._notes_calls:
            ctx.note(Event.CALLED, ctx.word(call))

    async def _after(self, ctx: SimulatedContext, call: str) -> None:
        delivery = ctx.delivery
        if delivery.message.job.id != STRUCK_JOB:
            return
        turn = delivery.turn
        self._noted[turn] = True
        strike = self._note(turn, call, "after", ON_WORKER if call in LOCAL_STEPS else ON_CALL)
        if strike is not None:
            await self._strike(ctx, strike, call)

    async def _give_up(self, ctx: SimulatedContext, call: str) -> None:
        """End the run from outside of the handler, which could swallow an exception."""
        error = HandlerError(
            f"The handler loops for ever: delivery {ctx.delivery.turn} has taken more than "
            f"{MOST_STEPS:,} steps, the last of them {call}."
        )

        def complain(_: object) -> None:
            raise error

        clock = self._world.clock
        clock.at(clock.now, complain)
        await ctx.nothing_more()

    async def _strike(self, ctx: SimulatedContext, strike: Strike, call: str) -> None:
        kind = strike.kind
        if kind == CRASH:
            self._crash(ctx.delivery.worker)
            await ctx.nothing_more()
        elif kind == PAUSE:
            await self._pause(ctx.delivery.worker, strike).signal.wait()
        elif kind == RESUME:
            self._resume(strike)
            await ctx.pass_time(0.0)  # the other one goes first
        else:
            self._noted[ctx.delivery.turn] = False
            ctx.note(Event.RESPONSE_LOST, self._world.ledger.word(call))
            raise ResponseLost(f"no answer from {call}")

    # The end of a delivery.

    def _watch_end(self, worker: Worker) -> None:
        ended = worker.ended
        acking: list[Delivery] = []

        def end(delivery: Delivery, error: Exception | None) -> None:
            if delivery.message.job.id != STRUCK_JOB:
                ended(delivery, error)
                return
            if not self._noted.get(delivery.turn, False):
                strike = self._note(delivery.turn, "ack", "before", ON_WORKER)
                if strike is not None and strike.kind == CRASH:
                    self._crash(worker)
                    return
                if strike is not None and strike.kind == PAUSE:
                    self._pause(worker, strike).then(lambda: finish(delivery, error))
                    return
                if strike is not None:
                    self._resume(strike)
            finish(delivery, error)

        def finish(delivery: Delivery, error: Exception | None) -> None:
            if delivery.number not in worker.running:
                return
            if error is None:
                acking.append(delivery)
            ended(delivery, error)

        def passes(delivery: Delivery) -> bool:
            if not acking or acking[-1] is not delivery:
                return True
            acking.clear()
            strike = self._note(delivery.turn, "ack", "at", (ACK_LOST,))
            if strike is None:
                return True
            if strike.kind == RESUME:
                self._resume(strike)
                return True
            clock, job = self._world.clock, delivery.message.job.id
            self._world.ledger.record(
                clock.now, Event.ACK_LOST, job, delivery.number, worker.number
            )
            return False

        worker.ended = end  # type: ignore[method-assign]
        worker.ways_to_broker.append(passes)

    def _before_mark(self, letter: Letter) -> bool:
        """Whether the relay dies between its send and its mark."""
        if letter.job.id != STRUCK_JOB:
            return False
        strike = self._note(0, "relay.send", "after", (RELAY_CRASH,))
        if strike is None:
            return False
        self._world.ledger.record(self._world.clock.now, Event.RELAY_CRASHED, letter.job.id)
        return True

    # What a strike does.

    def _note(self, turn: int, call: str, when: str, kinds: tuple[str, ...]) -> Strike | None:
        moments, world = self._moments, self._world
        number = len(moments)
        rows, now = len(world.ledger), world.clock._now
        moments.append(Moment(number, now, turn, call, when, kinds, rows, self._letters))
        return self._due.get(number)

    def _crash(self, worker: Worker) -> None:
        clock = self._world.clock
        worker.crash()
        clock.at(clock.now, lambda _: worker.restart())

    def _pause(self, worker: Worker, strike: Strike) -> _Standstill:
        resumed = self._plan.resumed_at(strike)
        ends = self._world.clock.after(self._longest) if resumed is None else resumed.time
        standstill = self._pauses[strike.moment.number] = _Standstill(self._world, worker, ends)
        return standstill

    def _resume(self, strike: Strike) -> None:
        if strike.ends is not None:
            self._pauses[strike.ends].end()


class _Standstill:
    """A worker that stands still until it is told to go on, and at the latest `ends` (seconds)."""

    def __init__(self, world: World, worker: Worker, ends: float) -> None:
        self.signal = Signal(world.clock)
        self._world = world
        self._worker = worker
        self._over = False
        self._then: list[Callable[[], None]] = []
        # A heartbeat that is due at that very instant must not come before the worker goes on.
        worker.paused_until = self._seems_paused_until = ends + INSTANT
        worker.stop_asking(self)
        world.ledger.record(world.clock.now, Event.WORKER_PAUSED, worker=worker.number, value=ends)
        world.clock.at(ends, lambda _: self.end(), LAST)

    def then(self, action: Callable[[], None]) -> None:
        """Do `action` as the worker goes on."""
        self._then.append(action)

    def end(self) -> None:
        """Let the worker go on."""
        if self._over:
            return
        self._over = True
        clock, worker = self._world.clock, self._worker
        if worker.paused_until == self._seems_paused_until:
            worker.paused_until = clock.now
        if worker.is_held_back_by(self):
            self._world.ledger.record(clock.now, Event.WORKER_RESUMED, worker=worker.number)
        self.signal.happen()
        for action in self._then:
            clock.at(clock.now, lambda _, action=action: action())  # type: ignore[misc]
        clock.at(clock.now, lambda _: worker.go_on(self))
