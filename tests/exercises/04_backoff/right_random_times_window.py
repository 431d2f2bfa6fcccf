"""The same, by another way to throw the dice, and by a table."""

import random

WINDOWS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)


def delay(attempt: int, rng: random.Random) -> float:
    longest = WINDOWS[min(attempt, len(WINDOWS)) - 1]
    return longest * rng.random()
