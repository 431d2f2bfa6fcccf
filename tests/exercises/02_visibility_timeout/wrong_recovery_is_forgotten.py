"""The second promise is not looked at."""
# fails: after a crash the job is back in time; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    ordered = sorted(durations)
    return 1.2 * ordered[int((1 - duplicates) * len(ordered))]
