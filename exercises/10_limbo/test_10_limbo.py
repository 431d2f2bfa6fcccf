"""Grader of exercise 10: what was printed, how often, and when."""

import pytest

from simqueue import Fixed, Outage, Producers, Workers, services
from simqueue.exploration.runner import LEASE
from simqueue.grading import Exploration, Submission
from simqueue.result import Result

ORDERS = services.SQL(
    latency=Fixed(0.01),
    schema="""
    CREATE TABLE orders (number TEXT PRIMARY KEY, status TEXT NOT NULL, since REAL NOT NULL)
    """,
)
HOUR = 3_600
AT_MOST_FROZEN = 8 * 60
BACK_AT, SOON = 120, 600


def printed_within_an_hour(result: Result) -> bool | str:
    """The customer waits for an hour at most."""
    first = result.jobs.first_effect[0]
    return True if first <= HOUR else "it was not printed within an hour"


def printed_soon_after(result: Result) -> bool | str:
    """The printer is back, and the next delivery takes the order over."""
    first = result.jobs.first_effect[0]
    kept = first <= BACK_AT + SOON
    return True if kept else "ten minutes after the printer was back, it was still not printed"


def one_survivor_prints_it(result: Result) -> bool | str:
    """Of those who did not die over it, at most one prints the order."""
    events, deliveries = result.events, result.deliveries
    printed = events.delivery[events.event == "effect"]
    alive = [number for number in printed if deliveries.outcome[number] != "crashed"]
    return True if len(alive) <= 1 else "two deliveries took it over, and both printed it"


def explored(submission: Submission, **options: object) -> Exploration:
    """Every crash, pause and lost answer, on one order."""
    return submission.explore(sql=ORDERS, longest_pause=AT_MOST_FROZEN, **options)


@pytest.mark.points(1)
def test_every_order_is_printed(submission):
    """Two orders of one customer, and no fault at all; once, though its message comes again."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    explored(submission, **two).keeps()
    tomorrow = Producers(replicas=2, offsets=(0, 86_400))
    explored(submission, producers=tomorrow, deliveries=1).keeps()


@pytest.mark.points(3)
def test_an_order_whose_worker_died_is_finished_within_an_hour(submission):
    """At whatever step it died."""
    promises = ("settles", "nothing lost", printed_within_an_hour)
    found = explored(submission, promises=promises)
    found.keeps("settles", "nothing lost", "printed within an hour", under="crash")


@pytest.mark.points(2)
def test_nobody_takes_over_an_order_that_is_still_at_work(submission):
    """A worker that stands still for eight minutes, at any step, and then goes on."""
    explored(submission).keeps("no duplicate effect", under="pause")


@pytest.mark.points(2)
def test_a_failed_order_is_printed_when_the_printer_is_back(submission):
    """Switched off for the first two minutes: at the next delivery, it is printed."""
    off = Outage(service="payments", window=(0, BACK_AT))
    promises = ("no duplicate effect", "settles", printed_soon_after)
    explored(submission, faults=[off], promises=promises, deliveries=1).keeps()


@pytest.mark.points(2)
def test_two_who_find_the_same_order_do_not_both_take_it_over(submission):
    """Its worker dies, and from then on two messages of it come at the same instants."""
    twice = Producers(replicas=2, offsets=(0, LEASE))
    found = explored(
        submission,
        producers=twice,
        workers=Workers(count=3),
        deliveries=1,
        promises=(one_survivor_prints_it,),
    )
    found.keeps("one survivor prints it", under="crash")
