"""`python -m benchmarks`: measure simqueue and print one table."""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import exploration, measure, queues, replay, slider

if TYPE_CHECKING:
    from collections.abc import Iterator


class Row(NamedTuple):
    """One line of the table. `ratio` is what the section's title says; `goal` is the project's."""

    what: str
    figure: str
    ratio: str = ""
    goal: str = ""
    note: str = ""


GOALS = {queues.PLAIN_SIMPY: "0.6 or more", queues.CIW: "1.5 or more"}


def speed(jobs: int, repeats: int) -> Iterator[Row]:
    """Jobs per second of each simulator; ratio: how many times as fast simqueue is."""
    actions = [partial(queue.run, jobs, 1) for queue in queues.QUEUES]
    times = dict(zip(queues.QUEUES, measure.interleaved(actions, repeats), strict=True))
    for queue, seconds in times.items():
        yield Row(
            f"{queue.name}, {jobs:,} jobs",
            f"{jobs / statistics.median(seconds):,.0f} jobs/s",
            f"{measure.ratio(seconds, times[queues.SIMQUEUE]):.2f}",
            GOALS.get(queue, ""),
            f"mean wait {queues.mean_wait(queue, queue.run(jobs, 1)):.3f} s",
        )


def growth(largest: int, repeats: int) -> Iterator[Row]:
    """Cost per job as the number of jobs grows; ratio: to the cost in a run of 1,000."""
    sizes = [size for size in (10**3, 10**4, 10**5, 10**6) if size <= largest]
    each = [partial(queues.SIMQUEUE.run, size, 1) for size in sizes]
    times = measure.interleaved(each, repeats)
    for size, seconds in zip(sizes, times, strict=True):
        yield Row(
            f"cost per job, {size:,} jobs",
            f"{statistics.median(seconds) / size * 1e6:.1f} µs",
            f"{measure.ratio(seconds, times[0]) * sizes[0] / size:.2f}",
            "at most 1.25",
        )


def memory(jobs: int) -> Iterator[Row]:
    """Bytes per job, as the difference of two runs: what is there once drops out."""
    small, large = (
        measure.traced_bytes(partial(queues.SIMQUEUE.run, size, 1)) for size in (jobs, 2 * jobs)
    )
    kept, peak = ((more - less) / jobs for less, more in zip(small, large, strict=True))
    yield Row("memory per job, kept by the result", f"{kept:,.0f} bytes")
    yield Row("memory per job, at the peak", f"{peak:,.0f} bytes")


def start(repeats: int) -> Iterator[Row]:
    """Time to import the package; ratio: to numpy and SimPy, which it stands on."""
    own = measure.seconds_in_fresh_process("import simqueue", repeats)
    base = measure.seconds_in_fresh_process("import numpy, simpy", repeats)
    yield Row("import simqueue", f"{own * 1e3:.0f} ms", f"{own / base:.2f}", "under 500 ms")


def redraw(repeats: int) -> Iterator[Row]:
    """Time from a slider's move to the new picture, without the browser's share."""
    for what, seconds, most in slider.latencies(repeats):
        figure, note = f"{seconds * 1e3:.0f} ms", f"at most {most * 1e3:.0f} ms"
        yield Row(what, figure, goal="under 150 ms", note=note)


def replayed(frames: int) -> Iterator[Row]:
    """Time that the kernel needs for a frame of a replay, without the browser's share."""
    for what, seconds, most in replay.frame_times(frames):
        figure, note = f"{seconds * 1e3:.1f} ms", f"at most {most * 1e3:.0f} ms"
        yield Row(what, figure, goal="under 10 ms", note=note)


def explored(repeats: int) -> Iterator[Row]:
    """Fault plans per second of `explore`."""
    for name, speed, goal, plans in exploration.plans_per_second(repeats):
        what, note = f"explore, {name}", f"{plans:,} plans"
        yield Row(what, f"{speed:,.0f} plans/s", goal=f"{goal:,} or more", note=note)


def main() -> None:
    """Measure and print. `--quick` takes seconds and is less exact."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, at most 10,000 jobs")
    quick = parser.parse_args().quick
    table = Table("what", "figure", "ratio", "goal", "note", title="simqueue, beside others")
    table.caption = (
        f"M/M/{queues.SERVERS} at 80 % load, its mean wait by theory "
        f"{queues.theoretical_wait():.3f} s. CPU time, medians of turns. "
        "Ratio: simqueue's speed to the other's; cost to that at 1,000 jobs; time to numpy + SimPy."
    )
    for rows in (
        speed(2_000, 5) if quick else speed(20_000, 9),
        growth(10**4, 5) if quick else growth(10**6, 5),
        memory(5_000 if quick else 20_000),
        start(3 if quick else 5),
        redraw(5 if quick else 20),
        replayed(100 if quick else 500),
        explored(1 if quick else 3),
    ):
        for row in rows:
            table.add_row(*row)
        table.add_section()
    Console(width=105).print(table)


if __name__ == "__main__":
    main()
