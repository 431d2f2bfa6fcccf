"""The picture of a replay: the queue on the left, the workers, what came of it on the right.

It is SVG made as text, a few milliseconds a frame; a matplotlib figure would take a hundred. What
colour says, a word, a hatch or a frame says too.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue.widgets import replay_words as words
from simqueue.widgets.replay_parts import DEAD, HOLDS, RAN_OUT, SETTLED, UP
from simqueue.widgets.replay_svg import BLUE, GREEN, GREY, INK, VERMILLION, box, text, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from simqueue.widgets.replay_parts import Held, WorkerNow
    from simqueue.widgets.replay_state import State

WIDTH = 860
LEFT, MIDDLE, RIGHT = 0, 186, 632
"""Where the three columns begin."""
LEFT_WIDTH, MIDDLE_WIDTH, RIGHT_WIDTH = 172, 430, WIDTH - RIGHT
HEAD, SLOT, GAP, LINE, CHIP = 26, 44, 10, 18, 22
MOST_WORKERS, MOST_SLOTS, MOST_EFFECTS, MOST_ROWS, MOST_ORPHANS = 6, 3, 6, 5, 3

PALE_BLUE, PALE_RED, PALE_GREEN, PALE = "#D8EAF6", "#FBE3D6", "#D9F0E6", "#F4F4F4"


@dataclass(frozen=True)
class Layout:
    """What has a place in the picture, the same for the whole replay so that nothing jumps.

    `workers` are those that are drawn, each with its number of slots; `others` is how many there
    are besides. `rows`: whether there is a dedupe store in use. `job` is drawn with a thick edge.
    """

    workers: Mapping[int, int]
    others: int = 0
    rows: bool = False
    job: int | None = None

    @property
    def height(self) -> int:
        """Of the picture, in CSS pixels."""
        workers = sum(18 + SLOT * slots + GAP for slots in self.workers.values())
        workers += LINE * bool(self.others)
        right = HEAD + LINE * MOST_EFFECTS + GAP + HEAD + 2 * CHIP
        right += (GAP + HEAD + LINE * MOST_ROWS) * self.rows
        return max(HEAD + workers, right, HEAD + 4 + 5 * (CHIP + 4) + 2 * GAP + 9 * LINE) + 8


def svg(state: State, now: float, layout: Layout) -> str:
    """Return the picture of `state` at `now` (seconds) as an `<svg>`, with its text alternative."""
    alt = html.escape(words.alternative(state, now), quote=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{alt}" '
        f'viewBox="0 0 {WIDTH} {layout.height}" width="{WIDTH}" height="{layout.height}" '
        'style="max-width: 100%; height: auto; background: white" '
        'font-family="system-ui, sans-serif" font-size="12.5">',
        _HATCH,
        *_queue(state, now, layout),
        *_workers(state, now, layout),
        *_outcomes(state, now, layout),
        "</svg>",
    ]
    return "".join(parts)


_HATCH = (
    '<defs><pattern id="simqueue-hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" fill="white"/>'
    f'<rect width="2.4" height="7" fill="{VERMILLION}"/></pattern></defs>'
)


# The queue.


def _queue(state: State, now: float, layout: Layout) -> Iterable[str]:
    counts = state.counts
    yield title(LEFT, LEFT_WIDTH, "Queue")
    y = HEAD + 4
    yield text(LEFT, y + 12, f"visible: {counts['visible']}", bold=True)
    yield from _chips(state.visible, LEFT, y + LINE, LEFT_WIDTH, 3, layout.job, PALE_BLUE, BLUE)
    y += LINE + 3 * (CHIP + 4) + GAP
    yield text(LEFT, y + 12, f"delayed: {counts['delayed']}", bold=True)
    yield from _chips(state.delayed, LEFT, y + LINE, LEFT_WIDTH, 2, layout.job, PALE, GREY)
    y += LINE + 2 * (CHIP + 4) + GAP
    yield text(LEFT, y + 12, f"in flight: {counts['in_flight']}", bold=True)
    orphans = list(state.orphans.values())
    if orphans:
        y += LINE
        yield text(LEFT, y + 12, "nobody works on", colour=VERMILLION)
    for n, held in enumerate(orphans[:MOST_ORPHANS]):
        y += LINE
        more = len(orphans) - n
        said = words.orphan(held, now)
        if n == MOST_ORPHANS - 1 and more > 1:
            said = f"and {more:,} more"
        yield text(LEFT, y + 12, said, colour=VERMILLION, fit=LEFT_WIDTH)
    y += LINE
    yield text(LEFT, y + 12, f"acked: {counts['acked']}")
    rest = {name: counts[name] for name in ("lost", "expired", "deduplicated") if counts[name]}
    if rest:
        said = ", ".join(f"{name}: {count}" for name, count in rest.items())
        yield text(LEFT, y + 12 + LINE, said, bold=True, fit=LEFT_WIDTH)


def _chips(
    jobs: Mapping[int, int],
    x: float,
    y: float,
    width: float,
    lines: int,
    chosen: int | None,
    fill: str,
    edge: str,
) -> Iterable[str]:
    """A box for each message, as many as there is room for, and how many there are besides."""
    across = 4 if width < 200 else 5
    each = (width + 4) / across
    places = lines * across
    numbers = [job for job, count in jobs.items() for _ in range(count)]
    shown = numbers if len(numbers) <= places else numbers[: places - 1]
    for n, job in enumerate(shown):
        left, top = x + n % across * each, y + n // across * (CHIP + 4)
        thick = 2.6 if job == chosen else 1
        yield box(left, top, each - 4, CHIP, fill, edge, thick)
        yield text(left + (each - 4) / 2, top + 15, str(job), anchor="middle")
    if len(shown) < len(numbers):
        n = len(shown)
        yield text(
            x + n % across * each,
            y + n // across * (CHIP + 4) + 15,
            f"+{len(numbers) - n:,}",
            bold=True,
        )
    if not numbers:
        yield text(x, y + 15, "none", colour=GREY)


# The workers.


def _workers(state: State, now: float, layout: Layout) -> Iterable[str]:
    yield title(MIDDLE, MIDDLE_WIDTH, "Workers")
    at_work = Counter(
        held.job for each in state.workers.values() for held in each.held.values()
        if held.is_at_work
    )  # fmt: skip
    y = HEAD + 4.0
    for number, slots in layout.workers.items():
        worker = state.workers[number]
        yield from _worker(number, worker, now, y, slots, at_work, layout.job)
        y += 18 + SLOT * slots + GAP
    if layout.others:
        busy = sum(
            any(held.is_at_work for held in worker.held.values())
            for number, worker in state.workers.items()
            if number not in layout.workers
        )
        yield text(MIDDLE, y + 12, f"and {layout.others} more workers, {busy} of them at work")


def _worker(
    number: int,
    worker: WorkerNow,
    now: float,
    y: float,
    slots: int,
    at_work: Counter[int],
    chosen: int | None,
) -> Iterable[str]:
    how = words.status(worker, now)
    yield text(MIDDLE, y + 12, f"worker {number}", bold=True)
    if how:
        yield text(MIDDLE + 70, y + 12, how, bold=True, colour=VERMILLION)
    y += 18
    height = SLOT * slots - 4
    held = list(worker.held.values())
    shown = held if len(held) <= slots else held[: slots - 1]
    if worker.status == DEAD:
        yield box(MIDDLE, y, MIDDLE_WIDTH, height, "url(#simqueue-hatch)", VERMILLION, 1)
    elif not held:
        yield box(MIDDLE, y, MIDDLE_WIDTH, height, "white", GREY, 1, dashed=True)
        said = "idle" if worker.status == UP else "holds nothing"
        yield text(MIDDLE + 10, y + height / 2 + 4, said, colour=GREY)
    for n, each in enumerate(shown):
        yield from _delivery(each, now, y + n * SLOT, at_work[each.job] > 1, each.job == chosen)
    if len(shown) < len(held):
        more = f"and {len(held) - len(shown)} more"
        yield text(MIDDLE + 10, y + len(shown) * SLOT + 20, more)


def _delivery(held: Held, now: float, y: float, twice: bool, chosen: bool) -> Iterable[str]:
    twice = twice and held.is_at_work
    fill = PALE_RED if twice else PALE_BLUE if held.is_at_work else "white"
    edge = VERMILLION if twice else BLUE
    thick = 3.4 if twice else 2.6 if chosen else 1
    yield box(
        MIDDLE + 2, y, MIDDLE_WIDTH - 4, SLOT - 4, fill, edge, thick, dashed=not held.is_at_work
    )
    name = f"job {held.job}, delivery {held.attempt}"
    yield text(MIDDLE + 10, y + 16, name, bold=True)
    yield text(MIDDLE + 10, y + 32, words.work(held, now))
    if twice:
        yield text(
            MIDDLE + MIDDLE_WIDTH - 10,
            y + 16,
            "RUNS TWICE AT ONCE",
            bold=True,
            anchor="end",
            colour=VERMILLION,
        )
    yield from _lease(held, now, MIDDLE + 180, y + 20, MIDDLE_WIDTH - 190)


def _lease(held: Held, now: float, x: float, y: float, width: float) -> Iterable[str]:
    """A bar that runs down, and what is left of the lease in words."""
    over = held.link == RAN_OUT or (held.link == HOLDS and held.lease_ends < now)
    bar = 70.0
    if over:
        yield box(x, y + 2, bar, 12, "url(#simqueue-hatch)", VERMILLION, 1)
    elif held.link == HOLDS and not math.isinf(held.lease_ends):
        whole = held.lease_ends - held.lease_since
        share = min(max((held.lease_ends - now) / whole, 0), 1) if whole > 0 else 0
        yield box(x, y + 2, bar, 12, "white", GREY, 1)
        if share > 0:
            yield box(x, y + 2, bar * share, 12, BLUE, BLUE, 1)
    elif held.link == SETTLED:
        yield box(x, y + 2, bar, 12, PALE, GREY, 1, dashed=True)
    colour = VERMILLION if over else INK
    said = words.lease(held, now)
    yield text(x + bar + 8, y + 12, said, bold=over, colour=colour, fit=width - bar - 8)


# What came of it.


def _outcomes(state: State, now: float, layout: Layout) -> Iterable[str]:
    duplicates = sum(1 for each in state.effects if each.repeat)
    said = f"Effects: {len(state.effects)}" + (f", {duplicates} too many" if duplicates else "")
    yield title(RIGHT, RIGHT_WIDTH, said)
    y = HEAD + 4.0
    for each in reversed(state.effects[-MOST_EFFECTS:]):
        sign, colour = ("◆", VERMILLION) if each.repeat else ("●", GREEN)
        yield text(RIGHT, y + 12, sign, colour=colour)
        bold = bool(each.repeat) or each.job == layout.job
        yield text(RIGHT + 16, y + 12, words.effect(each), bold=bold, fit=RIGHT_WIDTH - 16)
        y += LINE
    if not state.effects:
        yield text(RIGHT, y + 12, "none yet", colour=GREY)
    y = HEAD + 4 + LINE * MOST_EFFECTS + GAP
    if layout.rows:
        rows = list(state.store(now).items())
        yield title(RIGHT, RIGHT_WIDTH, f"Rows in the dedupe store: {len(rows)}", y)
        y += HEAD
        for n, (job, row) in enumerate(rows[: -MOST_ROWS - 1 : -1]):
            said = f"job {job}: {row.status}, {words.rough(now - row.since)}"
            yield text(RIGHT, y + n * LINE + 12, said, bold=job == layout.job, fit=RIGHT_WIDTH)
        if not rows:
            yield text(RIGHT, y + 12, "no rows", colour=GREY)
        y += LINE * MOST_ROWS + GAP
    yield title(RIGHT, RIGHT_WIDTH, f"Dead-letter queue: {state.counts['dead_lettered']}", y)
    dead = state.dead
    yield from _chips(dead, RIGHT, y + HEAD, RIGHT_WIDTH, 2, layout.job, PALE_RED, VERMILLION)
