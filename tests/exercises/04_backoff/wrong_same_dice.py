"""Every client throws the same dice, so they stay together."""
# fails: spread over the whole window; the dice are those that were given; no herd when the provider is down

import random


def delay(attempt: int, rng: random.Random) -> float:
    return random.Random(attempt).uniform(0, min(60.0, 2.0 ** min(attempt - 1, 10)))
