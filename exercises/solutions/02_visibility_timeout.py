"""Exercise 02, solved: a quantile of the log, with room for what so few rows cannot tell."""

import math


def choose(durations: list[float], duplicates: float, recovery: float) -> float | None:
    """Return the timeout in seconds, or None where no timeout keeps both promises."""
    allowed = duplicates * len(durations)
    if sum(seconds >= recovery for seconds in durations) > allowed:
        return None  # even the longest timeout makes too many duplicates
    spare = math.floor(allowed - 2 * math.sqrt(allowed))  # another log has a few more
    if spare < 0:
        return recovery  # the log is too short to know what is longer than all of it
    timeout = sorted(durations)[-1 - spare] + 1.0  # a second for the ack
    return min(timeout, recovery)
