"""The dice of the whole process: no run can be repeated."""
# fails: the dice are those that were given

import random


def delay(attempt: int, rng: random.Random) -> float:
    return random.uniform(0, min(60.0, 2.0 ** min(attempt - 1, 10)))
