"""After few rows it gives no answer: but there is one."""
# fails: few rows are no proof


def choose(durations, duplicates, recovery):
    if len(durations) < 1_000:
        return None
    timeout = 1.1 * sorted(durations)[int((1 - duplicates) * len(durations))]
    return timeout if timeout <= recovery else None
