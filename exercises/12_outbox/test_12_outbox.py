"""Grader of exercise 12: the orders that were committed, and the messages that were sent."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any, Final

import pytest

from simqueue import (
    Fixed,
    Outage,
    Producers,
    Scenario,
    Times,
    Workers,
    explore,
    services,
    simulate,
)
from simqueue.context import Retry
from simqueue.exploration import Report, default_broker
from simqueue.grading import Exploration, Submission, check
from simqueue.model.ledger import Event
from simqueue.result import Result
from simqueue.services.mailer import MailerClient, MailService

SHOP = services.SQL(
    schema="""
    CREATE TABLE orders (number TEXT PRIMARY KEY, customer TEXT NOT NULL);
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY, number TEXT NOT NULL, sent INTEGER NOT NULL DEFAULT 0
    );
    """,
    effects="orders",
    latency=Fixed(0.01),
)
SENT: Final = "told to pack "


class Warehouse(services.Mailer):
    """Where messages go: each is noted with the order and the name that it came under."""

    def open(self, world: Any) -> MailService:
        """Return the service."""
        return WarehouseService(self, world)


class WarehouseService(MailService):
    """Notes what it is told."""

    def client(self, context: Any) -> MailerClient:
        """Return the service as a handler sees it."""
        return WarehouseClient(self, context)


class WarehouseClient(MailerClient):
    """`ctx.mailer` of one delivery."""

    __slots__ = ()

    async def send(self, number: object, message: object) -> None:
        """Tell the warehouse to pack the order `number`."""
        await self.call("send", lambda: self._context.effect(f"{SENT}{number}: {message!r}"))


class Shop:
    """Orders go to the handler, and the jobs of `relays` to the relay: each a turn of it.

    Job 0 is the one that is struck. If it is a relay, its first turn comes a minute late: when
    there is something to send.
    """

    returns_what_is_driven_like_a_coroutine = True

    def __init__(self, submission: Submission, relays: frozenset[int]) -> None:
        self._handler, self._relay = submission.handler(), submission.handler("relay")
        self._relays = relays

    def __call__(self, job: Any, ctx: Any) -> Any:
        """Begin to handle `job`."""
        if job.id not in self._relays:
            return self._handler(job, ctx)
        return not_yet() if ctx.now == 0 else self._relay(job, ctx)


async def not_yet() -> None:
    """Ask for another turn in a minute."""
    raise Retry(after=60)


def history(result: Result) -> tuple[dict[str, float], list[tuple[str, str, float]]]:
    """When each order was committed, and what was sent: number, name and when."""
    placed, sent = {}, []
    table, words = result.records.table, result.records.words
    for time, _event, job, _delivery, _worker, value in table[table[:, 1] == Event.EFFECT].tolist():
        word = words[int(value)]
        if word.startswith(SENT):
            number, _, name = word.removeprefix(SENT).partition(": ")
            sent.append((number, name, time))
        else:
            placed[f"job-{int(job)}"] = time
    return placed, sent


def every_order_is_placed(result: Result) -> bool | str:
    """Each order is in the database, and its messages are acked."""
    placed, _ = history(result)
    if not placed:
        return "no order was placed"
    failed = result.jobs.outcome[result.jobs.outcome != "acked"]
    return failed.empty or f"job {failed.index[0]} ended as {failed.iloc[0]}"


def told_once(result: Result) -> bool | str:
    """The warehouse is told of no order twice."""
    told = Counter(number for number, _, _ in history(result)[1])
    number, times = max(told.items(), key=lambda item: item[1], default=("", 0))
    return times == 1 or f"the warehouse was told {times} times of {number or 'anything'}"


def no_order_without_a_message(result: Result) -> bool | str:
    """What was committed is packed in the end, and something was committed."""
    placed, sent = history(result)
    told = {number for number, _, _ in sent}
    for number in placed:
        if number not in told:
            return f"{number} was placed, and the warehouse was never told of it"
    return bool(placed) or "no order was placed"


def no_message_without_an_order(result: Result) -> bool | str:
    """Whenever the warehouse is told, the order is there: committed, and no promise of one."""
    placed, sent = history(result)
    for number, _, time in sent:
        if placed.get(number, time + 1) > time:
            return f"the warehouse was told of {number} when there was no such order yet"
    return bool(sent) or "the warehouse was told nothing"


def stable_names(result: Result) -> bool | str:
    """One name for each order, and no name for two."""
    _, sent = history(result)
    names, orders = defaultdict(set), defaultdict(set)
    for number, name, _ in sent:
        names[number].add(name)
        orders[name].add(number)
        if len(names[number]) > 1:
            both = " and ".join(sorted(names[number]))
            return f"{number} was packed twice: its messages were called {both}"
        if len(orders[name]) > 1:
            both = " and ".join(sorted(orders[name]))
            return f"messages about {both} were called {name}: the second was thrown away"
    return bool(sent) or "the warehouse was told nothing"


PROMISES = (no_order_without_a_message, no_message_without_an_order, stable_names)


def scenario(
    submission: Submission, times: list[float], relays: set[int], **parts: Any
) -> Scenario:
    """Jobs at these times, of which `relays` are turns of the relay, and the others orders."""
    return Scenario(
        arrivals=Times(times),
        jobs=len(times),
        work=Fixed(10.0),
        broker=default_broker(1),
        handler=Shop(submission, frozenset(relays)),
        sql=SHOP,
        mailer=Warehouse(latency=Fixed(0.01)),
        **parts,
    )


def struck_handler(submission: Submission) -> Report:
    """The handler of an order is struck; a relay runs now and then, and long after."""
    shop = scenario(submission, [0, 20, 200, 1_000, 9_000], {1, 2, 4}, workers=Workers(count=2))
    return explore(scenario=shop, promises=PROMISES, deliveries=3)


def struck_relay(submission: Submission) -> Report:
    """A relay is struck after two orders; one more comes meanwhile, and one later."""
    times = [0, 1, 2, 75, 700, 710, 9_000]
    down = Outage(service="mailer", window=(0, 30))
    shop = scenario(submission, times, {0, 4, 6}, workers=Workers(count=3), faults=[down])
    return explore(scenario=shop, promises=PROMISES, deliveries=3)


def keeps(report: Report, promise: str, under: str | None = None) -> None:
    """Check one promise alone, also without a fault."""
    trials = [
        replace(trial, broken={name: why for name, why in trial.broken.items() if name == promise})
        for trial in report.trials
    ]
    Exploration(replace(report, trials=tuple(trials))).keeps(promise, under=under)


@pytest.mark.points(1)
def test_if_nothing_goes_wrong_every_order_is_placed_and_packed_once(submission):
    """Two orders, each of which comes again an hour later, and is acked; and no fault at all."""
    again = Producers(replicas=2, offsets=(0, 3_600))
    shop = scenario(submission, [0, 60, 120, 180], {1, 3}, producers=again)
    result = simulate(shop)
    for promise in (every_order_is_placed, no_order_without_a_message, told_once):
        kept = promise(result)
        check(kept is True, f"Without any fault: {kept}.")


@pytest.mark.points(3)
def test_no_order_without_a_message(submission):
    """Whatever crashes, stands still or gets lost as the order is placed."""
    keeps(submission.once(struck_handler), "no order without a message")


@pytest.mark.points(1)
def test_no_message_without_an_order(submission):
    """The warehouse finds the order, whenever it is told to pack it."""
    for struck in (struck_handler, struck_relay):
        keeps(submission.once(struck), "no message without an order")


@pytest.mark.points(2)
def test_nothing_is_marked_before_it_is_sent(submission):
    """A relay that dies at any step, or gets no answer, leaves to the next what it has not sent."""
    for fault in ("crash", "response lost"):
        keeps(submission.once(struck_relay), "no order without a message", under=fault)


@pytest.mark.points(1)
def test_what_comes_while_relays_are_at_work_is_not_lost(submission):
    """One relay stands still at any step, while another goes on and an order comes."""
    keeps(submission.once(struck_relay), "no order without a message", under="pause")


@pytest.mark.points(2)
def test_a_message_that_is_sent_again_has_the_same_name(submission):
    """And no other message has it."""
    for struck in (struck_handler, struck_relay):
        keeps(submission.once(struck), "stable names")
