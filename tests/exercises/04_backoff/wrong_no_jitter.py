"""Exponential and capped: everybody waits for the same time, and comes back together."""
# fails: spread over the whole window; the dice are those that were given; no herd when the provider is down

import random


def delay(attempt: int, rng: random.Random) -> float:
    return min(60.0, 2.0 ** min(attempt - 1, 10))
