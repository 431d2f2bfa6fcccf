"""It throws the slowest away as outliers: they are the ones that come twice."""
# fails: duplicates stay within the promise; the timeout is as long as needed; it says where both promises cannot be kept; few rows are no proof

import statistics


def choose(durations, duplicates, recovery):
    mean = statistics.fmean(durations)
    limit = mean + 3 * statistics.pstdev(durations)
    usual = sorted(seconds for seconds in durations if seconds <= limit)
    timeout = 1.1 * usual[int((1 - duplicates) * len(usual))]
    return timeout if timeout <= recovery else None
