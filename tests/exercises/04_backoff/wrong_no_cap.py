"""The window doubles for ever, until no float holds it."""
# fails: within the window; spread over the whole window; patient while the outage lasts and prompt after

import random


def delay(attempt: int, rng: random.Random) -> float:
    return rng.uniform(0, 2.0 ** (attempt - 1))
