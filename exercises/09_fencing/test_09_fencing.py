"""Grader of exercise 09: a trigger writes down every list that was published, in order."""

from itertools import pairwise

import pytest

from simqueue import services
from simqueue.grading import Exploration, Submission, acked
from simqueue.result import Result

SHOP = services.SQL(
    schema="""
    CREATE TABLE lists (shop TEXT PRIMARY KEY, version INTEGER NOT NULL, token INTEGER NOT NULL);
    INSERT INTO lists VALUES ('customer-0', -1, 0);
    CREATE VIEW feed AS SELECT unixepoch() AS version;
    CREATE TABLE published (number INTEGER PRIMARY KEY, version INTEGER NOT NULL);
    CREATE TRIGGER publish AFTER UPDATE ON lists
        BEGIN INSERT INTO published (version) VALUES (new.version); END;
    """
)


def versions(result: Result) -> list[int]:
    """The versions of the list, in the order in which they were published."""
    return [version for (version,) in result.sql("SELECT version FROM published ORDER BY number")]


def never_back(result: Result) -> bool | str:
    """No list is followed by an older one."""
    found = versions(result)
    for before, after in pairwise(found):
        if after < before:
            return f"the list of {after} s overwrote the newer one of {before} s"
    return True


def published(result: Result) -> bool | str:
    """A list was published by the time at which the job is acked."""
    return bool(versions(result)) or not acked(result) or "acked, and no list was ever published"


def explored(submission: Submission) -> Exploration:
    """Every crash, pause and lost answer, on one shop."""
    return submission.explore(sql=SHOP, promises=(never_back, published, "settles"))


@pytest.mark.points(6)
def test_no_old_list_overwrites_a_newer_one(submission):
    """Whoever stood still between the feed and the table is refused by the table."""
    explored(submission).keeps("never back")


@pytest.mark.points(2)
def test_a_list_is_published(submission):
    """Nobody acks a job that nobody has done."""
    explored(submission).keeps("published")


@pytest.mark.points(2)
def test_every_job_settles(submission):
    """No fault leads to the dead-letter queue."""
    explored(submission).keeps("settles")
