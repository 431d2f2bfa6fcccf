"""Which workers a replay draws, and with how many slots: chosen once, from the whole run."""

from __future__ import annotations

from collections import Counter

from simqueue.model.ledger import Event
from simqueue.widgets.replay_picture import MOST_SLOTS, MOST_WORKERS, Layout
from simqueue.widgets.replay_tape import Tape


def layout_of(tape: Tape, job: int | None) -> Layout:
    """Return what has a place in the picture of this run.

    Where there are too many workers to draw them all, those come first that have to do with `job`,
    or with the most telling moment, and then those with the lowest numbers.
    """
    places = tape.where(Event.RECEIVED)
    told = job
    if told is None and tape.length:
        told = tape.row(tape.telling).job if tape.telling else None
    concerned = [
        tape.row(int(place)).worker for place in places if tape.row(int(place)).job == told
    ]
    wanted = [*dict.fromkeys(concerned)]
    wanted += [number for number in range(1, tape.workers + 1) if number not in wanted]
    chosen = sorted(wanted[:MOST_WORKERS])
    most = _most_held(tape)
    uses_store = len(tape.where(Event.CLAIMED, Event.RECORDED)) > 0
    return Layout(
        workers={number: min(max(most[number], 1), MOST_SLOTS) for number in chosen},
        others=tape.workers - len(chosen),
        rows=uses_store,
        job=job,
    )


def _most_held(tape: Tape) -> Counter[int]:
    """The most deliveries that each worker ever holds at once."""
    most: Counter[int] = Counter()
    for place in tape.where(Event.RECEIVED):
        worker = tape.row(int(place)).worker
        most[worker] = max(most[worker], len(tape.state(int(place)).workers[worker].held))
    return most
