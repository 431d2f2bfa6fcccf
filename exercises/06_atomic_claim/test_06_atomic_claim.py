"""Grader of exercise 06: what counts is what the card provider did, not how the code looks."""

import pytest

from simqueue import Workers, services
from simqueue.grading import Exploration, Submission

SESSIONS = services.SQL(
    schema="CREATE TABLE sessions (session TEXT PRIMARY KEY, status TEXT NOT NULL)"
)


def explored(submission: Submission) -> Exploration:
    """Every crash, pause and lost answer, on one session."""
    return submission.explore(sql=SESSIONS)


@pytest.mark.points(1)
def test_every_session_is_charged(submission):
    """Two sessions of one customer, and no fault at all: two charges."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    submission.explore(sql=SESSIONS, **two).keeps()


@pytest.mark.points(6)
def test_nobody_is_charged_twice(submission):
    """Whatever crashes, stands still or gets lost."""
    explored(submission).keeps("no duplicate effect")


@pytest.mark.points(2)
def test_no_session_is_forgotten(submission):
    """It is charged, or some queue still holds it: at worst the dead-letter queue."""
    explored(submission).keeps("nothing lost")


@pytest.mark.points(1)
def test_a_finished_session_is_not_retried(submission):
    """When only the ack was lost, the next delivery finds all done, and returns."""
    explored(submission).keeps("settles", under="ack lost")
