"""Half of the window for sure: half of the room is not used."""
# fails: spread over the whole window

import random


def delay(attempt: int, rng: random.Random) -> float:
    window = min(60.0, 2.0 ** min(attempt - 1, 10))
    return window / 2 + rng.uniform(0, window / 2)
