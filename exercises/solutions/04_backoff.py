"""Exercise 04, solved: the window grows, the cap comes first, and then the dice."""

import random

BASE = 1.0
CAP = 60.0


def delay(attempt: int, rng: random.Random) -> float:
    """Return the seconds to wait after failure number `attempt`, from 1."""
    doublings = min(attempt - 1, 10)  # 2**10 s is beyond the cap: no number grows without end
    window = min(CAP, BASE * 2**doublings)
    return rng.uniform(0, window)
