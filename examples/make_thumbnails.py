"""Make `thumbnails.csv`: an invented morning at a service that makes thumbnails.

Photos take a few seconds; about one upload in 25 is a video, which takes a minute or more. Four
workers serve them first come, first served, from 06:00 to 14:00, with a rush as offices open. A few
rows are broken the way rows in real logs are. Only the standard library is used, so the file comes
out the same everywhere:

    python examples/make_thumbnails.py
"""

from __future__ import annotations

import heapq
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20240917
DAY = datetime(2024, 9, 17, 6, 0, tzinfo=UTC)
SECONDS = 8 * 3600
WORKERS = 4
# Jobs per second: the quiet level, and how much the rush adds at its height, about 09:10.
QUIET_RATE, RUSH_RATE = 0.02, 0.32
RUSH_AT, RUSH_WIDTH = 3.17 * 3600, 1100.0
# Seconds of work: median, and standard deviation of the logarithm.
PHOTO, VIDEO = (6.5, 0.55), (62.0, 0.45)
VIDEO_SHARE = 0.04
FAILED_SHARE = 0.015
# Row number, column and value, for the rows that went wrong.
BROKEN = (
    (212, "duration_seconds", "timeout"),
    (388, "duration_seconds", "-0.412"),
    (611, "created_at", "0000-00-00 00:00:00"),
    (790, "duration_seconds", ""),
    (790, "status", "running"),
)

Row = dict[str, str]


def rows() -> list[Row]:
    """All rows of the log, in the order in which the jobs were created."""
    draws = random.Random(SEED)
    free_at = [0.0] * WORKERS
    log = [_row(created, free_at, draws) for created in _arrivals(draws)]
    for number, column, value in BROKEN:
        log[number][column] = value
    return log


def text() -> str:
    """The whole file."""
    log = rows()
    lines = [",".join(log[0]), *(",".join(row.values()) for row in log)]
    return "\n".join(lines) + "\n"


def _arrivals(draws: random.Random) -> Iterator[float]:
    """Arrival times (s) at a rate that rises to the rush and falls again, by thinning."""
    highest = QUIET_RATE + RUSH_RATE
    now = draws.expovariate(highest)
    while now < SECONDS:
        distance = (now - RUSH_AT) / RUSH_WIDTH
        rate = QUIET_RATE + RUSH_RATE / (1 + distance**4)
        if draws.random() < rate / highest:
            yield now
        now += draws.expovariate(highest)


def _row(created: float, free_at: list[float], draws: random.Random) -> Row:
    median, spread = VIDEO if draws.random() < VIDEO_SHARE else PHOTO
    work = median * 2.718281828 ** draws.gauss(0.0, spread)
    failed = draws.random() < FAILED_SHARE
    work *= draws.random() if failed else 1.0
    started = max(created, heapq.heappop(free_at))
    heapq.heappush(free_at, started + work)
    over = started + work < SECONDS
    status = ("failed" if failed else "done") if over else "running"
    return {
        "created_at": _time(created),
        "started_at": _time(started),
        "duration_seconds": f"{work:.3f}" if over else "",
        "status": status,
    }


def _time(seconds: float) -> str:
    moment = DAY + timedelta(seconds=round(seconds, 3))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


if __name__ == "__main__":
    Path(__file__).with_name("thumbnails.csv").write_text(text(), encoding="utf-8", newline="\n")
