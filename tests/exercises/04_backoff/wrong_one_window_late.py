"""The first window is 2 s: the exponent is off by one."""
# fails: within the window; spread over the whole window

import random


def delay(attempt: int, rng: random.Random) -> float:
    return rng.uniform(0, min(60.0, 2.0 ** min(attempt, 10)))
