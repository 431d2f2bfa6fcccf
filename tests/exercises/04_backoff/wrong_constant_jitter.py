"""Spread over the first second, and again: 90 calls while the provider is down."""
# fails: spread over the whole window; patient while the outage lasts and prompt after

import random


def delay(attempt: int, rng: random.Random) -> float:
    return rng.uniform(0, 1.0)
