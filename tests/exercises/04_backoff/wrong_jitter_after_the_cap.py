"""The noise comes on top of the cap, so the cap is exceeded."""
# fails: within the window; spread over the whole window; patient while the outage lasts and prompt after

import random


def delay(attempt: int, rng: random.Random) -> float:
    window = min(60.0, 2.0 ** min(attempt - 1, 10))
    return window + rng.uniform(0, window)
