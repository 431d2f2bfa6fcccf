"""Always the longest that recovery allows: each crash costs all of it."""
# fails: the timeout is as long as needed


def choose(durations, duplicates, recovery):
    late = sum(seconds >= recovery for seconds in durations)
    return None if late > duplicates * len(durations) else recovery
