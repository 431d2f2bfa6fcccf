"""Ten times the median: right by chance for one shape, and not for another."""
# fails: duplicates stay within the promise; the timeout is as long as needed; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    timeout = 10 * sorted(durations)[len(durations) // 2]
    return timeout if timeout <= recovery else None
