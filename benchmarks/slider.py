"""How long a slider's move takes until the new picture is there, in the notebook's process.

A browser adds its own round trip to the kernel and back, the same for every widget.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import TYPE_CHECKING, Any

import ipywidgets

import simqueue as sq

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = 2_000
SECONDS_BETWEEN_MOVES = 0.4
"""As somebody presses a key again and again, who looks at each picture."""
GOLDEN = 0.618_034
WAYS = {
    "step after step": lambda move: 40 + move,
    "here and there": lambda move: round(40 + 60 * (move * GOLDEN % 1)),
}
"""The values that a slider takes: the next one can be foreseen, or it can't."""


def latencies(moves: int) -> Iterator[tuple[str, float, float]]:
    """Yield what was moved, and the median and the most seconds until its new picture."""
    scenario = sq.Scenario(
        arrivals=sq.Poisson(rate=2.0),
        jobs=JOBS,
        work=sq.LogNormal(median=10, p99=90),
        workers=sq.Workers(count=40, crash=sq.Crash(mean_time_between=3600, restart_after=30)),
        broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=5),
        handler=sq.handlers.naive,
    )
    for name in ("broker.visibility_timeout", "work.p99"):
        for way, values in WAYS.items():
            view = sq.widgets.tune(scenario, {name: (20, 120)})
            seconds = asyncio.run(times_of_moves(view, [values(move) for move in range(moves + 1)]))
            yield f"slider {name}, {way}", statistics.median(seconds), max(seconds)


async def times_of_moves(view: ipywidgets.Widget, values: list[int]) -> list[float]:
    """Seconds from when each move was due until the picture changed.

    From when it was due, and not from when it was made: what the widget still does in the
    background for the move before holds the next one up, and counts.
    """
    loop = asyncio.get_running_loop()
    slider = next(each for each in parts(view) if hasattr(each, "readout"))
    picture = next(each for each in parts(view) if "<img" in str(getattr(each, "value", "")))
    seconds = []
    for value in values:
        due = loop.time() + SECONDS_BETWEEN_MOVES
        await asyncio.sleep(SECONDS_BETWEEN_MOVES)
        changed: asyncio.Future[float] = loop.create_future()

        def note(_: Any, changed: asyncio.Future[float] = changed) -> None:
            if not changed.done():
                changed.set_result(loop.time())

        picture.observe(note, "value")
        slider.value = value
        seconds.append(await asyncio.wait_for(changed, 30) - due)
        picture.unobserve(note, "value")
    return seconds[1:]  # the first move warms up


def parts(widget: ipywidgets.Widget) -> Iterator[Any]:
    """The widget and all that it holds."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)
