"""Exercise 02: a visibility timeout that keeps two promises. The task stands in README.md."""


def choose(durations: list[float], duplicates: float, recovery: float) -> float | None:
    """Return the timeout in seconds, or None where no timeout keeps both promises."""
    return 2 * sum(durations) / len(durations)
