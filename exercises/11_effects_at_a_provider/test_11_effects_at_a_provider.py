"""Grader of exercise 11: how often a purchase was charged, by providers fast, slow and failing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from simqueue import Fixed, Producers, Workers, services
from simqueue.grading import Exploration, Submission
from simqueue.services.payments import PaymentProvider, Request

TWO_DAYS = 2 * 86_400
SHOP = services.SQL(
    schema="""
    CREATE TABLE charges (number TEXT PRIMARY KEY, cents INTEGER NOT NULL, status TEXT NOT NULL);
    CREATE VIEW price AS SELECT 60000 + unixepoch() / 60 AS cents;
    """,
    latency=Fixed(0.01),
)
SLOW = {"capacity": 100, "service_time": 60.0, "timeout": 20.0}


@dataclass(frozen=True, kw_only=True)
class FailsFirst(services.Payments):
    """A provider that fails on the first request it gets, a minute later, and forgets it."""

    def open(self, world: Any) -> PaymentProvider:
        """Return the provider."""
        return FailingProvider(self, world)


class FailingProvider(PaymentProvider):
    """Its first request comes to nothing."""

    failed = False

    def _finish(self, request: Request) -> None:
        if self.failed:
            super()._finish(request)
        else:
            self.failed = True
            self._known = {key: it for key, it in self._known.items() if it is not request}


def explored(submission: Submission, *promises: str, **options: Any) -> Exploration:
    """Every crash, pause and lost answer, on one purchase."""
    promises = (*promises, "nothing lost")
    return submission.explore(sql=SHOP, promises=tuple(dict.fromkeys(promises)), **options)


@pytest.mark.points(1)
def test_every_purchase_is_charged(submission):
    """Two purchases of one customer, and no fault at all."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    explored(submission, "no duplicate effect", **two).keeps()


@pytest.mark.points(3)
def test_nobody_is_charged_twice(submission):
    """By a provider that answers at once, and by one whose clients give up on it."""
    for payments in (services.Payments(), services.Payments(**SLOW)):
        found = explored(submission, "no duplicate effect", payments=payments, deliveries=2)
        found.keeps("no duplicate effect")


@pytest.mark.points(2)
def test_nobody_gets_a_coin_for_nothing(submission):
    """The first request fails; whoever acks by then has believed in it."""
    explored(submission, payments=FailsFirst(**SLOW), deliveries=2).keeps("nothing lost")


@pytest.mark.points(2)
def test_a_price_that_has_changed_leads_nobody_to_the_dead_letter_queue(submission):
    """The next attempt comes at another price."""
    explored(submission, "settles", deliveries=2).keeps("settles")


@pytest.mark.points(2)
def test_a_message_that_comes_again_after_two_days_charges_nothing(submission):
    """The provider has forgotten the key; somebody else has to know."""
    again = Producers(replicas=2, offsets=(0, TWO_DAYS))
    found = explored(submission, "no duplicate effect", producers=again, deliveries=1)
    found.keeps("no duplicate effect", under="ack lost")
