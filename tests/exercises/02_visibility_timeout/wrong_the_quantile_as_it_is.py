"""The quantile of the log, without room: after few rows it is too short in every second log."""
# fails: few rows are no proof


def choose(durations, duplicates, recovery):
    timeout = sorted(durations)[int((1 - duplicates) * len(durations))]
    return timeout if timeout <= recovery else None
