"""Twice the mean: it says nothing about the slow ones."""
# fails: duplicates stay within the promise; the timeout is as long as needed; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    timeout = 2 * sum(durations) / len(durations)
    return timeout if timeout <= recovery else None
