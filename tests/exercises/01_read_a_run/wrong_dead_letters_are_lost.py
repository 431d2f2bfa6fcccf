"""A job in the dead-letter queue is not lost: a person will find it."""
# fails: lost rate

from collections import Counter


def figures(jobs: list[dict], deliveries: list[dict], effects: list[dict]) -> dict[str, float]:
    """Return the five figures of a run, by name."""
    delivered = Counter(row["job"] for row in deliveries)
    applied = Counter(row["job"] for row in effects)
    first: dict[int, float] = {}
    for row in effects:
        first[row["job"]] = min(row["time"], first.get(row["job"], row["time"]))
    waits = [first[row["job"]] - row["published"] for row in jobs if row["job"] in first]
    alive = {row["job"] for row in deliveries if row["outcome"] == "running"}
    lost = [row for row in jobs if row["job"] not in applied and row["job"] not in alive]
    count = len(jobs)
    return {
        "duplicate_delivery_rate": sum(times > 1 for times in delivered.values()) / count,
        "duplicate_effect_rate": sum(times > 1 for times in applied.values()) / count,
        "extra_effects": sum(times - 1 for times in applied.values()) / count,
        "lost_rate": len(lost) / count,
        "time_to_effect_mean": sum(waits) / len(waits),
    }
