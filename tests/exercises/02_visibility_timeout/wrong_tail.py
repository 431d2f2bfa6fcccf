"""The quantile of the wrong end: the fastest jobs."""
# fails: duplicates stay within the promise; the timeout is as long as needed; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    timeout = sorted(durations)[int(duplicates * len(durations))]
    return timeout if timeout <= recovery else None
