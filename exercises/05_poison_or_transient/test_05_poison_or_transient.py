"""Grader of exercise 05: outages of several lengths, amounts of all kinds, and a list to choose."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

import pytest

import simqueue as sq
from simqueue import services
from simqueue.grading import CheckFailed, Submission, check
from simqueue.model.ledger import Event
from simqueue.story import story

MINUTE: Final = 60.0
GOOD, POISON = (4900, 1, 120_000), (None, 0, -300, "12,50", "free", "", 49.5)
OUTAGES = (2, 20, 70, 120)
NAMES = {"payments": "provider", "sql": "database"}
DOWN_AT = 20.0
PROMPT = 30 * MINUTE
MOST_CALLS = 12
BROKER = sq.brokers.generic(lease=MINUTE, retry_delay=30, max_receives=12)


def books(amounts: Mapping[str, object]) -> services.SQL:
    """The database, with an invoice for each of these amounts."""
    rows = ", ".join(f"('{number}', {literal(amount)})" for number, amount in amounts.items())
    return services.SQL(
        schema=f"""
        CREATE TABLE invoices (number TEXT PRIMARY KEY, amount);
        CREATE TABLE parking (number TEXT PRIMARY KEY, reason TEXT NOT NULL, parked REAL NOT NULL);
        INSERT INTO invoices VALUES {rows};
        """
    )


def literal(amount: object) -> str:
    """The amount, as SQL writes it."""
    return "NULL" if amount is None else f"'{amount}'" if isinstance(amount, str) else str(amount)


def gym(submission: Submission, amounts: tuple[object, ...], *faults: sq.faults.Fault) -> sq.Result:
    """Collect invoices of these amounts, one every ten seconds, while something is down."""
    scenario = sq.Scenario(
        arrivals=sq.Times([10.0 * number for number in range(len(amounts))]),
        work=sq.Fixed(1.0),
        workers=sq.Workers(count=len(amounts)),
        broker=BROKER,
        handler=sq.handlers.naive,
        sql=books({f"job-{number}": amount for number, amount in enumerate(amounts)}),
        faults=faults,
        horizon=12 * 60 * MINUTE,
    )
    return submission.simulate(scenario)


def parked(result: sq.Result) -> dict[str, tuple[object, object]]:
    """What stands in the table: reason and time, by number."""
    try:
        rows = result.sql("SELECT number, reason, parked FROM parking")
    except sqlite3.Error as error:
        raise CheckFailed(f"The table of parked invoices cannot be read: {error}.") from None
    return {number: (reason, when) for number, reason, when in rows}


def collected_once(result: sq.Result, job: int, latest: float, when: str) -> None:
    """Check that `job` was charged once, by `latest`, was acked, and not parked."""
    row, there = result.jobs.loc[job], parked(result)
    said = (
        "was parked" if f"job-{job}" in there
        else f"was charged {int(row.effects)} times" if row.effects != 1
        else f"ended as {row.outcome}" if row.outcome != "acked"
        else f"was charged {row.first_effect / MINUTE:.0f} minutes after the start"
        if row.first_effect > latest else ""
    )  # fmt: skip
    check(not said, f"{when}, a good invoice {said}.", lambda: story(result, job))


def outages(submission: Submission) -> list[tuple[str, int, sq.Result]]:
    """The provider, or the database, is down for some minutes: what, for how long, and the run."""
    return [
        (
            service,
            minutes,
            gym(submission, (*GOOD * 3, POISON[minutes % 7]), down(service, minutes)),
        )
        for service in ("payments", "sql")
        for minutes in OUTAGES
    ]


def down(service: str, minutes: int) -> sq.Outage:
    """An outage that begins while invoices come in."""
    return sq.Outage(service=service, window=(DOWN_AT, DOWN_AT + minutes * MINUTE))


@pytest.mark.points(1)
def test_every_good_invoice_is_collected(submission):
    """Nothing is wrong, and nothing goes wrong."""
    result = gym(submission, GOOD * 2)
    for job in result.jobs.index:
        collected_once(result, job, 2 * MINUTE, "If nothing goes wrong")


@pytest.mark.points(3)
def test_an_outage_costs_no_invoice(submission):
    """Of the provider, or of the database; within half an hour of its end, all is done."""
    for service, minutes, result in submission.once(outages):
        latest = DOWN_AT + minutes * MINUTE + PROMPT
        for job in range(3 * len(GOOD)):
            when = f"When the {NAMES[service]} is down for {minutes} minutes"
            collected_once(result, job, max(latest, result.jobs.published[job] + PROMPT), when)


@pytest.mark.points(1)
def test_few_calls_while_the_provider_is_down(submission):
    """At most a dozen for each invoice, and nobody waits inside a handler."""
    for service, minutes, result in submission.once(outages):
        when = f"when the {NAMES[service]} is down for {minutes} minutes"
        table, deliveries = result.records.table, result.deliveries
        refused = table[table[:, 1] == Event.UNAVAILABLE][:, 2]
        for job in range(3 * len(GOOD)):
            check(result.jobs.effects[job] > 0, f"A good invoice is never collected {when}.")
            calls = int((refused == job).sum())
            check(calls <= MOST_CALLS, f"{calls} calls for one invoice {when}.")
        longest = (deliveries.ended - deliveries.started).max()
        check(longest < MINUTE, f"A delivery keeps its worker for {longest:.0f} s {when}.")


@pytest.mark.points(1)
def test_nobody_pays_twice(submission):
    """Whatever crashes, stands still or gets lost; nor is anything parked that was charged."""

    def is_not_parked(result: sq.Result) -> bool | str:
        return not parked(result) or "it was parked, for somebody to collect by hand"

    promises = ("no duplicate effect", "nothing lost", is_not_parked)
    found = submission.explore(sql=books({"job-0": 4900}), broker=BROKER, promises=promises)
    found.keeps("no duplicate effect", "nothing lost", "is not parked")


@pytest.mark.points(2)
def test_poison_is_parked_at_its_first_delivery(submission):
    """Amounts of all kinds, and then one of them under every crash, pause and lost answer."""
    result = gym(submission, POISON)
    there = parked(result)
    for job, amount in enumerate(POISON):
        row, (reason, when) = result.jobs.loc[job], there.get(f"job-{job}", ("", -1.0))
        first = row.deliveries == 1 and row.outcome == "acked"
        said = f"An invoice of {literal(amount)}"
        check(row.effects == 0, f"{said} is charged.", lambda job=job: story(result, job))
        check(
            f"job-{job}" in there and first,
            f"{said} is delivered {int(row.deliveries)} times, and ends as {row.outcome}, "
            f"{'' if f'job-{job}' in there else 'not '}parked.",
            lambda job=job: story(result, job),
        )
        check(reason, f"{said} is parked without a reason.")
        timely = isinstance(when, float) and abs(when - row.published) < MINUTE
        check(timely, f"{said} came at {row.published:g} s, and `parked` says {when!r:.20}.")
    for service, minutes, result in submission.once(outages):
        job = len(result.jobs) - 1
        check(
            f"job-{job}" in parked(result) and result.jobs.outcome[job] == "acked",
            f"When the {NAMES[service]} is down for {minutes} minutes, poison ends as "
            f"{result.jobs.outcome[job]}.",
            lambda job=job, result=result: story(result, job),
        )
    found = submission.explore(
        sql=books({"job-0": "12,50"}), broker=BROKER, promises=("settles", is_parked)
    )
    found.keeps("settles", "is parked")


def is_parked(result: sq.Result) -> bool | str:
    """It stands in the table, and nobody was charged."""
    if result.records.table[:, 1].tolist().count(Event.EFFECT):
        return "it was charged"
    return list(parked(result)) == ["job-0"] or "it was not parked"


@pytest.mark.points(2)
def test_only_what_can_succeed_is_sent_back(submission):
    """Lists that you have not seen, of amounts of all kinds."""
    rng = random.Random(5)
    for _ in range(30):
        rows = [parked_row(rng, number) for number in rng.sample(range(100), 12)]
        sent = submission.call("redrive", rows)
        check(isinstance(sent, list), f"redrive must return a list, not {sent!r:.40}.")
        wanted = [row for row in rows if may_succeed(row)]
        for row in rows:
            check(
                (row["number"] in sent) == (row in wanted),
                f"{row} is {'' if row['number'] in sent else 'not '}sent back.",
            )
        in_order = [row["number"] for row in sorted(wanted, key=lambda row: row["parked"])]
        check(sent == in_order, f"Oldest first, it is {in_order}, and you send {sent}.")


def parked_row(rng: random.Random, number: int) -> dict[str, Any]:
    """A row of the parking table as accounting has completed it."""
    cents = rng.choice(["00", "05", "90"])
    comma = f"{rng.choice([0, 3, 12, 140])},{cents}"
    amount = rng.choice([comma, comma, comma, *POISON, "12,5", "1,000", "-3,00", "12.50", ",50"])
    return {
        "number": f"job-{number}",
        "amount": amount,
        "parked": float(rng.randrange(1_000_000)),
        "paid": rng.random() < 0.2,
        "redriven": rng.choice([0, 0, 0, 1, 2]),
    }


def may_succeed(row: dict[str, Any]) -> bool:
    """Whether the release that reads commas would collect it, and somebody owes it."""
    euros, comma, cents = str(row["amount"]).partition(",")
    read = euros.isdecimal() and comma and cents.isdecimal() and len(cents) == 2
    return bool(read) and int(euros + cents) > 0 and not row["paid"] and not row["redriven"]
