"""The longest job of the log: too long if there is one in a million, too short in a short log."""
# fails: duplicates stay within the promise; the timeout is as long as needed; after a crash the job is back in time; it says where both promises cannot be kept; few rows are no proof


def choose(durations, duplicates, recovery):
    timeout = max(durations)
    return timeout if timeout <= recovery else None
