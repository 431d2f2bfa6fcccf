"""Grader of exercise 15: charges, months and receipts of each job, and calls of the database."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import pytest

from simqueue import (
    Crash,
    Deploy,
    Fixed,
    Network,
    Outage,
    Pause,
    Producers,
    Scenario,
    Times,
    Workers,
    brokers,
    explore,
    services,
    simulate,
)
from simqueue.context import Retry
from simqueue.exploration import Moment, Plan, Report, Trial, default_broker
from simqueue.exploration.plans import Bounds, grown
from simqueue.exploration.promises import Outcome, judges
from simqueue.exploration.runner import run_plan
from simqueue.faults import Fault
from simqueue.grading import Exploration, Submission, check
from simqueue.model.ledger import Event
from simqueue.result import Result
from simqueue.services.mailer import MailerClient, MailService

DAY: Final = 86_400
SENT: Final = "receipt of "
MOST_CALLS: Final = 9
LONGEST_PAUSE: Final = 1_200.0
EVERY: Final = 30
"""Of the pairs of faults with a pause in them, which are some thousands, each so many-th is run."""


def database(customers: int) -> services.SQL:
    """The tables, with a subscription for each of so many customers."""
    rows = ", ".join(f"('customer-{number}', 0)" for number in range(customers))
    return services.SQL(
        schema=f"""
        CREATE TABLE renewals (number TEXT PRIMARY KEY);
        CREATE TABLE subscriptions (customer TEXT PRIMARY KEY, months INTEGER NOT NULL);
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY, number TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0
        );
        INSERT INTO subscriptions VALUES {rows};
        """,
        latency=Fixed(0.01),
    )


class Receipts(services.Mailer):
    """Where receipts go: each is noted with its renewal and the name that it came under."""

    def open(self, world: Any) -> MailService:
        """Return the service."""
        return ReceiptsService(self, world)


class ReceiptsService(MailService):
    """Notes what it is told."""

    def client(self, context: Any) -> MailerClient:
        """Return the service as a handler sees it."""
        return ReceiptsClient(self, context)


class ReceiptsClient(MailerClient):
    """`ctx.mailer` of one delivery."""

    __slots__ = ()

    async def send(self, number: object, message: object) -> None:
        """Send the receipt of the renewal `number`."""
        await self.call("send", lambda: self._context.effect(f"{SENT}{number}: {message!r}"))


@dataclass(frozen=True, kw_only=True)
class CountsCalls(Fault):
    """No fault: it counts the calls of the database."""

    calls: Counter[str] = field(default_factory=Counter)

    def install(self, world: Any) -> None:
        """Hook into `world`."""

        async def count(_ctx: Any, call: str) -> None:
            if call.startswith("sql."):
                self.calls[call] += 1

        world.steps.before.append(count)


class Pipeline:
    """Renewals go to the handler, and the jobs of `relays` to the relay: each a turn of it.

    A turn at 0 comes a minute late: when there is something to send.
    """

    returns_what_is_driven_like_a_coroutine = True

    def __init__(self, submission: Submission, relays: frozenset[int]) -> None:
        self._handler, self._relay = submission.handler(), submission.handler("relay")
        self.relays = relays

    def __call__(self, job: Any, ctx: Any) -> Any:
        """Begin to handle `job`."""
        if job.id not in self.relays:
            return self._handler(job, ctx)
        return not_yet() if ctx.now == 0 else self._relay(job, ctx)


async def not_yet() -> None:
    """Ask for another turn in a minute."""
    raise Retry(after=60)


def effects(result: Result) -> list[tuple[int, str]]:
    """The job and the kind of each effect, in order."""
    table, words = result.records.table, result.records.words
    rows = table[table[:, 1] == Event.EFFECT].tolist()
    return [(int(job), words[int(value)]) for _, _, job, _, _, value in rows]


def counted(result: Result) -> dict[str, Counter[str]]:
    """What each renewal came to: how often it was charged, got a month, and had a receipt."""
    found: dict[str, Counter[str]] = {"charge": Counter(), "month": Counter()}
    names: defaultdict[str, set[str]] = defaultdict(set)
    for job, word in effects(result):
        if word.startswith(SENT):
            number, _, name = word.removeprefix(SENT).partition(": ")
            names[name].add(number)
        else:
            found[word][f"job-{job}"] += 1
    for customer, months in result.sql("SELECT customer, months FROM subscriptions WHERE months"):
        found["month"][customer.replace("customer", "job")] = months
    # A second message of one name is thrown away: also if it is about another renewal.
    found["receipt"] = Counter(min(numbers) for numbers in names.values())
    return found


def zero_duplicates(result: Result) -> bool | str:
    """Nothing happens twice to a renewal."""
    for what, counts in counted(result).items():
        for number, times in counts.items():
            if times > 1:
                return f"{number} had {times} of this: {what}"
    return True


def zero_losses(result: Result) -> bool | str:
    """Each renewal has its charge, its month and its receipt, and its messages are acked."""
    relays, found = result.scenario.handler.relays, counted(result)
    ends = Outcome.of(result).ends
    for job in ends:
        for what in found if job not in relays else ():
            if found[what][f"job-{job}"] == 0:
                return f"job-{job} has no {what}"
    bad = next(((job, end) for job, end in ends.items() if end != "acked"), None)
    return True if bad is None else f"job {bad[0]} ended as {bad[1]}"


PROMISES = (zero_duplicates, zero_losses)


def scenario(
    submission: Submission, times: list[float], relays: set[int], **parts: Any
) -> Scenario:
    """Jobs at these times, of which `relays` are turns of the relay, and the others renewals."""
    given = {
        "arrivals": Times(times),
        "jobs": len(times),
        "work": Fixed(10.0),
        "workers": Workers(count=3),
        "broker": default_broker(2),
        "handler": Pipeline(submission, frozenset(relays)),
        "sql": database(customers=len(times)),
        "mailer": Receipts(latency=Fixed(0.01)),
    }
    return Scenario(**(given | parts))


def calm_day(submission: Submission) -> tuple[Result, int]:
    """Twenty renewals, two a minute, a relay each minute, and no fault; and how many calls."""
    times = [60 * minute + second for minute in range(10) for second in (0, 25, 50)]
    counter = CountsCalls()
    relays = set(range(2, 30, 3))
    result = simulate(scenario(submission, times, relays, faults=[counter]))
    return result, counter.calls.total()


def struck_relay(submission: Submission) -> Report:
    """A relay is struck, while it sends what two renewals want sent; another comes later."""
    business = scenario(submission, [0, 1, 2, 20_000], {0, 3})
    return explore(scenario=business, promises=PROMISES, deliveries=3)


def struck_handler(submission: Submission) -> Report:
    """A renewal is struck by each fault; if all is well, by two; a relay comes when all is over."""
    business = scenario(submission, [0, 20_000], {1})
    judged = judges(PROMISES)
    bounds = Bounds(deliveries=2, longest_pause=LONGEST_PAUSE)
    levels: list[deque[Plan]] = [deque([Plan()]), deque(), deque()]
    trials: list[Trial] = []
    first: list[Moment] = []
    turn = count()
    for number, level in enumerate(levels):
        while level:
            plan = level.popleft()
            result, moments = run_plan(business, plan, LONGEST_PAUSE, 0)
            first = first or moments
            outcome = Outcome.of(result)
            said = {name: judge(result, outcome, outcome) for name, judge in judged.items()}
            broken = {name: why for name, why in said.items() if why is not None}
            trials.append(Trial(plan, outcome, broken, len(result.records.table)))
            more = number < 2 and not broken
            for child in grown(plan, moments, bounds, more_faults=more):
                rare = len(child.faults) == 2 and "pause" in child.kind
                if not rare or next(turn) % EVERY == 0:
                    levels[len(child.faults)].append(child)
        if any(trial.broken for trial in trials):
            break
    return Report(
        scenario=business,
        seed=0,
        promises=tuple(judged),
        faults_at_once=2,
        longest_pause=LONGEST_PAUSE,
        trials=tuple(trials),
        moments=tuple(first),
        complete=False,
    )


def bad_week(submission: Submission) -> Result:
    """Everything at once: see README.md."""
    times = [*range(0, 600, 6), 6_000, 6_500, 7_000]
    relays = {number for number in range(100) if number % 5 == 4} | {100, 101, 102}
    everything = {
        "workers": Workers(count=8, crash=Crash(mean_time_between=60, restart_after=20)),
        "broker": brokers.generic(
            lease=30, late_ack="latest_receipt", retry_delay=120, own_duplicates=0.1
        ),
        "network": Network(ack_lost=0.05, response_lost=0.05, publish_response_lost=0.05),
        "payments": services.Payments(capacity=3, service_time=8, timeout=20),
        "faults": [
            Pause(seconds=100, mean_time_between=60),
            Deploy(at=200, every=10, grace=5),
            Outage(service="payments", window=(300, 400)),
            Outage(service="mailer", window=(100, 500)),
        ],
        "horizon": 8_000.0,
    }
    return simulate(scenario(submission, times, relays, **everything), seed=1)


def nothing_is_sent_again(result: Result) -> bool | str:
    """Each receipt is sent once, and then marked."""
    times = Counter(word for _, word in effects(result) if word.startswith(SENT))
    again = [word for word, sends in times.items() if sends > 1]
    return f"the {again[0]} was sent {times[again[0]]} times" if again else True


def holds(result: Result, where: str, *promises: Callable[[Result], bool | str]) -> None:
    """Check promises on one run."""
    for promise in promises:
        kept = promise(result)
        check(kept is True, f"{where}: {kept}.")


@pytest.mark.points(1)
def test_on_a_calm_day_every_renewal_is_charged_booked_and_receipted(submission):
    """Each once, without any fault."""
    result, _ = submission.once(calm_day)
    holds(result, "Without any fault", *PROMISES, nothing_is_sent_again)


@pytest.mark.points(1)
def test_a_renewal_takes_nine_calls_of_the_database_at_most(submission):
    """On a calm day, the relay's among them."""
    result, calls = submission.once(calm_day)
    holds(result, "Without any fault", zero_losses)
    check(calls <= MOST_CALLS * 20, f"20 renewals took {calls} calls of the database.")


@pytest.mark.points(3)
def test_zero_duplicates_under_two_faults_at_once(submission):
    """Of the handler; the relay has one at a time."""
    for struck in (struck_handler, struck_relay):
        Exploration(submission.once(struck)).keeps("zero duplicates")


@pytest.mark.points(2)
def test_zero_losses_under_two_faults_at_once(submission):
    """Of the handler; the relay has one at a time."""
    for struck in (struck_handler, struck_relay):
        Exploration(submission.once(struck)).keeps("zero losses")


@pytest.mark.points(1)
def test_a_message_that_comes_again_after_two_days_does_nothing(submission):
    """The provider has forgotten the key by then."""
    again = Producers(replicas=2, offsets=(0, 2 * DAY))
    result = simulate(scenario(submission, [0, 5, 60], {2}, producers=again))
    holds(result, "When the message came again", *PROMISES)


@pytest.mark.points(2)
def test_a_bad_week(submission):
    """Zero duplicates, and zero losses."""
    holds(submission.once(bad_week), "In a bad week", *PROMISES)
