"""How long the notebook's process needs for a frame of a replay: playing on, and jumping about.

The rest of a frame is the round trip between browser and kernel, 70 to 80 ms on two cores with
no graphics card. `tests/browser/test_playing_a_replay.py` counts the frames that come out of both
together, and wants ten a second: at 10 ms a frame the kernel has little part in it.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import simqueue as sq

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = 2_000


def frame_times(frames: int) -> Iterator[tuple[str, float, float]]:
    """Yield how time moves, and the median and the most seconds until the new picture is made."""
    scenario = sq.Scenario(
        arrivals=sq.Poisson(rate=2.0),
        jobs=JOBS,
        work=sq.LogNormal(median=10, p99=90),
        workers=sq.Workers(count=40, crash=sq.Crash(mean_time_between=3600, restart_after=30)),
        broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=5),
        handler=sq.handlers.reclaim,
    )
    view = sq.widgets.replay(sq.simulate(scenario, seed=1))
    forward = [frame / frames for frame in range(frames)]
    # 0.618...: each place far from the one before, and all of them spread evenly.
    about = [frame * 0.6180339887 % 1 for frame in range(frames)]
    for how, places in (("playing", forward), ("scrubbing", about)):
        seconds = [_seconds(view, place) for place in places]
        yield f"replay of {JOBS:,} jobs, {how}", statistics.median(seconds), max(seconds)


def _seconds(view: sq.widgets.Replay, place: float) -> float:
    before = time.perf_counter()
    view.go_to(view.tape.end * place)
    return time.perf_counter() - before
