"""Grader of exercise 13: what counts is the rows of the bookings that were committed."""

import pytest

from simqueue import Fixed, Producers, Workers, services
from simqueue.grading import Exploration, Submission

BOOKS = services.SQL(
    schema="""
    CREATE TABLE inbox (message TEXT PRIMARY KEY);
    CREATE TABLE bookings (id INTEGER PRIMARY KEY, message TEXT NOT NULL);
    """,
    effects="bookings",
    latency=Fixed(0.01),
)


def explored(submission: Submission, **options: object) -> Exploration:
    """Every crash, pause and lost answer, on one parcel."""
    return submission.explore(sql=BOOKS, **options)


@pytest.mark.points(1)
def test_every_parcel_is_booked(submission):
    """Two parcels, and no fault at all."""
    explored(submission, jobs=2, workers=Workers(count=1), deliveries=1).keeps()


@pytest.mark.points(5)
def test_no_parcel_is_booked_twice(submission):
    """Whatever crashes, stands still or gets lost; also with two messages at once."""
    explored(submission).keeps("no duplicate effect")
    twice = Producers(replicas=2)
    explored(submission, producers=twice, deliveries=2).keeps("no duplicate effect")


@pytest.mark.points(2)
def test_no_parcel_is_forgotten(submission):
    """Not even in the dead-letter queue: each is booked in the end."""
    explored(submission).keeps("nothing lost", "settles")


@pytest.mark.points(2)
def test_a_message_that_comes_again_is_taken_and_thrown_away(submission):
    """A day later: it is acked, and nothing is booked."""
    tomorrow = Producers(replicas=2, offsets=(0, 86_400))
    explored(submission, producers=tomorrow, deliveries=1).keeps()
