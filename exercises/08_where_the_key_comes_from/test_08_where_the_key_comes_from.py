"""Grader of exercise 08: how often each purchase was charged, whatever the key looks like."""

import pytest

from simqueue import Times, Workers

BEFORE_MIDNIGHT = Times([86_400 - 20])


@pytest.mark.points(1)
def test_every_purchase_is_charged(submission):
    """One top-up, and no fault at all."""
    submission.explore(deliveries=1).keeps()


@pytest.mark.points(3)
def test_nobody_is_charged_twice(submission):
    """Whatever crashes, stands still or gets lost, at noon."""
    submission.explore(arrivals=Times([43_200])).keeps("no duplicate effect")


@pytest.mark.points(2)
def test_midnight_makes_no_difference(submission):
    """The first attempt is today, the next one tomorrow."""
    submission.explore(arrivals=BEFORE_MIDNIGHT).keeps("no duplicate effect")


@pytest.mark.points(3)
def test_two_purchases_are_two_charges(submission):
    """Of one customer, of the same amount, a minute apart: both are wanted."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    submission.explore(arrivals=Times([43_200, 43_260]), **two).keeps()


@pytest.mark.points(1)
def test_a_finished_purchase_is_not_retried(submission):
    """When only the ack was lost, the next delivery ends well."""
    submission.explore(arrivals=Times([43_200])).keeps("settles", under="ack lost")
