"""It takes what recovery allows, and keeps quiet about the first promise."""
# fails: it says where both promises cannot be kept

import math


def choose(durations, duplicates, recovery):
    allowed = duplicates * len(durations)
    spare = math.floor(allowed - 2 * math.sqrt(allowed))
    if spare < 0:
        return recovery
    return min(recovery, 1.1 * sorted(durations)[-1 - spare])
