"""`explore`: run a handler under every fault plan, up to a bound, and judge each run."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.arrivals import AllAtOnce
from simqueue.brokers import generic
from simqueue.distributions import Distribution, Fixed
from simqueue.exploration.plans import Bounds, Moment, Plan, grown
from simqueue.exploration.promises import EXACTLY_ONCE, Judge, Outcome, Promise, judges
from simqueue.exploration.report import Report, Trial
from simqueue.exploration.striking import Strikes
from simqueue.model.progress import NeverSettles
from simqueue.model.randomness import Streams
from simqueue.scenario import Scenario, Workers
from simqueue.simulation import simulate

if TYPE_CHECKING:
    from simqueue.context import Handler
    from simqueue.model.log.settings import LogSettings
    from simqueue.model.settings import LeaseSettings
    from simqueue.result import Result
    from simqueue.scenario import Broker

LEASE = 30.0
RETRY_DELAY = 300.0
HOURS_TO_SETTLE = 4
MOST_PLANS = 100_000


def explore(
    handler: Handler | None = None,
    *,
    broker: Broker | None = None,
    work: float | Distribution = 10.0,
    scenario: Scenario | None = None,
    promises: Iterable[str | Promise] = tuple(EXACTLY_ONCE),
    faults_at_once: int = 1,
    deliveries: int = 12,
    longest_pause: float = 1_200.0,
    most_plans: int = MOST_PLANS,
    stop_when_broken: bool = False,
    seed: int = 0,
    **parts: Any,
) -> Report:
    """Run `handler` on one job under every fault plan, and report which of them break a promise.

    The plans: no fault; a crash, and a pause, before and after each step of each delivery; each
    answer lost; the ack lost; a crash of the outbox's relay between send and mark. A paused worker
    goes on before or after each step that other deliveries take meanwhile, each in a plan of its
    own, or after `longest_pause`. Then two of these together, up to `faults_at_once`. Plans grow
    out of runs: what a handler does in a second delivery, or after an error, is struck too. A plan
    that breaks a promise is not tried with another fault on top. Nothing is drawn: the same handler
    gives the same report. Each plan is a full simulation.

    Parameters
    ----------
    handler
        The code: an ``async def handler(job, ctx)``. None: that of the `scenario`.
    broker
        Default: a lease of 30 s; a late ack is ignored once a newer receipt exists; what raises
        comes back after 300 s; 4 receives for each fault and 4 more, then the dead-letter queue. A
        broker without a limit of receives: what is not settled 4 hours after its arrival is stuck.
    work
        How long the job takes: seconds, or a distribution.
    scenario
        Everything else of the run, where the default does not fit: one job at 0, and one worker
        more than there are faults. The parameters above and `parts` go before it.
    promises
        Some of "no duplicate effect", "nothing lost" and "settles", and functions of your own: each
        gets the `Result` and returns True, False, or a sentence that says what was broken.
    faults_at_once
        The most faults in one plan, 1 or more. A handler has some dozens of plans with one fault,
        which take a fraction of a second, and some thousands with two.
    deliveries
        How many deliveries of the job are struck, the first ones; later ones just run.
    longest_pause
        When a pause ends that nothing else ends: seconds. 20 minutes outlast the usual times to
        live; longer than all retries, a handler that stands still with a lock is bound to fail.
    most_plans
        Give up with a ValueError beyond so many plans.
    stop_when_broken
        Stop at the first plan that breaks a promise.
    seed
        For scenarios with something random in them.
    parts
        Other parts of a `Scenario`: `store=`, `payments=`, `database=`, `workers=`, …

    Raises
    ------
    ValueError
        For a wrong parameter, or more than `most_plans` plans.
    HandlerError
        For a handler that does what none may do.
    NeverSettles
        For a broker that delivers a job again and again at one instant, without a retry delay.
    """
    checks.whole("faults_at_once", faults_at_once, 1)
    checks.whole("most_plans", most_plans, 1)
    checks.whole("deliveries", deliveries, 1)
    checks.positive("longest_pause", longest_pause, "seconds")
    checks.whole("seed", seed)
    base = _scenario(handler, broker, work, scenario, faults_at_once, seed, parts)
    search = _Search(base, seed, judges(promises), Bounds(deliveries, longest_pause))
    search.run(faults_at_once, most_plans, stop_when_broken=stop_when_broken)
    return Report(
        scenario=base,
        seed=seed,
        promises=tuple(search.judges),
        faults_at_once=faults_at_once,
        longest_pause=longest_pause,
        trials=tuple(search.trials),
        moments=search.moments_without_fault,
        complete=search.complete,
    )


def default_broker(faults_at_once: int) -> generic:
    """The broker of `explore` for so many faults: see there."""
    return generic(
        lease=LEASE,
        late_ack="latest_receipt",
        retry_delay=RETRY_DELAY,
        max_receives=4 + 4 * faults_at_once,
    )


def _scenario(
    handler: Handler | None,
    broker: Broker | None,
    work: float | Distribution,
    scenario: Scenario | None,
    faults_at_once: int,
    seed: int,
    parts: dict[str, Any],
) -> Scenario:
    given: dict[str, Any] = dict(parts)
    if handler is not None:
        given["handler"] = handler
    if broker is not None:
        given["broker"] = broker
    if scenario is not None:
        made = scenario.replace(given)
    else:
        if handler is None:
            raise checks.fail("handler", None, "an async function of (job, ctx)")
        if not isinstance(work, Distribution):
            work = Fixed(checks.non_negative("work", work, "seconds"))
        default: dict[str, Any] = {
            "arrivals": AllAtOnce(),
            "jobs": 1,
            "work": work,
            "workers": Workers(count=faults_at_once + 1),
            "broker": default_broker(faults_at_once),
        }
        made = Scenario(**(default | given))
    endless = getattr(made.broker.settings(), "max_attempts", None) is None
    if endless and made.horizon is None:
        arrivals = made.arrivals.times(Streams(seed, made.jobs or 1).per_job("arrivals"))
        made = made.replace({"horizon": float(arrivals[-1]) + HOURS_TO_SETTLE * 3_600})
    return made


class _Search:
    """Goes through the plans, those with fewer faults first."""

    def __init__(
        self, scenario: Scenario, seed: int, judges: dict[str, Judge], bounds: Bounds
    ) -> None:
        self.judges = judges
        self.trials: list[Trial] = []
        self.complete = True
        self.moments_without_fault: tuple[Moment, ...] = ()
        self._scenario = _prepared(scenario)
        self._seed = seed
        self._bounds = bounds
        self._without: Outcome | None = None

    def run(self, faults_at_once: int, most_plans: int, *, stop_when_broken: bool) -> None:
        """Run the plan of no fault, then those of one fault, and so on."""
        levels: list[deque[Plan]] = [deque() for _ in range(faults_at_once + 1)]
        levels[0].append(Plan())
        for number, level in enumerate(levels):
            while level:
                if len(self.trials) >= most_plans:
                    allowed = "more than there are plans, or faults_at_once less"
                    raise checks.fail("most_plans", most_plans, allowed)
                plan = level.popleft()
                trial, moments = self._try(plan)
                self.trials.append(trial)
                if trial.broken and stop_when_broken:
                    self.complete = False
                    return
                more_faults = number < faults_at_once and (number == 0 or not trial.broken)
                for child in grown(plan, moments, self._bounds, more_faults=more_faults):
                    levels[len(child.faults)].append(child)

    def _try(self, plan: Plan) -> tuple[Trial, list[Moment]]:
        try:
            result, moments = run_plan(self._scenario, plan, self._bounds.longest_pause, self._seed)
        except NeverSettles as error:
            raise NeverSettles(f"{error} This is the run with {plan}.") from None
        outcome = Outcome.of(result)
        if self._without is None:
            self._without, self.moments_without_fault = outcome, tuple(moments)
        broken = {}
        for name, judge in self.judges.items():
            said = judge(result, outcome, self._without)
            if said is not None:
                broken[name] = said
        return Trial(plan, outcome, broken, len(result.records.table)), moments


class _PreparedBroker:
    """A broker whose settings are made once: they are the same for each of some thousand runs."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._settings = broker.settings()

    def settings(self) -> LeaseSettings | LogSettings:
        return self._settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker, name)


def _prepared(scenario: Scenario) -> Scenario:
    copied = copy.copy(scenario)
    object.__setattr__(copied, "broker", _PreparedBroker(scenario.broker))
    return copied


def run_plan(
    scenario: Scenario, plan: Plan, longest_pause: float, seed: int
) -> tuple[Result, list[Moment]]:
    """Simulate `scenario` under `plan`; return the result, and the moments that the run had."""
    strikes = Strikes(plan=plan, longest_pause=longest_pause)
    return simulate(with_fault(scenario, strikes), seed), strikes.moments


def with_fault(scenario: Scenario, strikes: Strikes) -> Scenario:
    """A copy with one fault more. What was checked once is not checked for each plan again."""
    copied = copy.copy(scenario)
    object.__setattr__(copied, "faults", (*scenario.faults, strikes))
    return copied
