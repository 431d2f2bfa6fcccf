"""The 99th percentile, whatever was promised."""
# fails: the timeout is as long as needed; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    ordered = sorted(durations)
    if 0.01 * len(durations) < 4:
        return recovery
    timeout = 1.2 * ordered[int(0.99 * len(ordered))]
    return timeout if timeout <= recovery else None
