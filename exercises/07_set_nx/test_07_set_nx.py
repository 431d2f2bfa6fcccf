"""Grader of exercise 07: what the provider charged, and what is left in Redis."""

from dataclasses import dataclass, field

import pytest

from simqueue import Producers, Workers, services
from simqueue.grading import Exploration, Submission, check
from simqueue.model.world import World
from simqueue.services.redis import RedisServer

DAY = 86_400
TWO_WEEKS = 14 * DAY
LONGEST_LIFE = 60 * DAY


@dataclass(frozen=True, kw_only=True)
class Watched(services.Redis):
    """A Redis that remembers, for each run, how long its keys have to live at the end."""

    lives: list[float] = field(default_factory=list, compare=False, repr=False)

    def open(self, world: World) -> RedisServer:
        """Return a server that writes down what is left when it is closed."""
        lives = self.lives

        class Server(RedisServer):
            def close(self) -> None:
                lives.extend(entry.until / 1_000 for entry in self._entries.values())
                super().close()

        return Server(self, world)


def explored(submission: Submission, **options: object) -> Exploration:
    """Every crash, pause and lost answer, on one order."""
    return submission.explore(redis=services.Redis(), **options)


@pytest.mark.points(1)
def test_every_order_is_charged(submission):
    """Two orders of one customer, and no fault at all."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    explored(submission, **two).keeps()


@pytest.mark.points(3)
def test_nobody_is_charged_twice(submission):
    """Whatever crashes, stands still or gets lost."""
    explored(submission).keeps("no duplicate effect")


@pytest.mark.points(2)
def test_a_message_that_comes_back_after_two_weeks_charges_nobody(submission):
    """On the last day of the queue: the order was charged, or its worker died at it."""
    late = Producers(replicas=2, offsets=(0, TWO_WEEKS - 60))
    explored(submission, producers=late).keeps("no duplicate effect")


@pytest.mark.points(2)
def test_no_key_stays_for_ever(submission):
    """Not even if a worker dies between two commands."""
    redis = Watched()
    submission.explore(redis=redis)
    longest = max(redis.lives, default=0.0)
    check(
        longest <= LONGEST_LIFE,
        "In one of the runs a key is left without an end."
        if longest == float("inf")
        else f"In one of the runs a key lives for {longest / DAY:.0f} days; 60 are allowed.",
    )


@pytest.mark.points(1)
def test_no_order_is_forgotten(submission):
    """It is charged, or some queue still holds it."""
    explored(submission).keeps("nothing lost")


@pytest.mark.points(1)
def test_a_finished_order_is_not_retried(submission):
    """When only the ack was lost, the next delivery finds all done."""
    explored(submission).keeps("settles", under="ack lost")
