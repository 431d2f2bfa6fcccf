"""A quantile of a third less than was promised, and half as much again after few rows."""


def choose(durations, duplicates, recovery):
    slow_first = sorted(durations, reverse=True)
    place = int(duplicates * len(durations))
    if slow_first[place] > recovery:
        return None
    if place < 4:
        return recovery
    return min(recovery, slow_first[place * 2 // 3] * (1.5 if place < 20 else 1.05))
