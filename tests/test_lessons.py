"""What the lessons say in words is what their own code gives."""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@cache
def lesson(stem: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """Run the code of a lesson: its names, what each cell printed, and all of its prose."""
    (path,) = NOTEBOOKS.glob(f"{stem}_*.ipynb")
    names: dict[str, Any] = {"__name__": "lesson"}
    printed: dict[str, str] = {}
    cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
    for cell in cells:
        if cell.cell_type == "code" and cell.id != "exercise-check":
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(cell.source, f"{stem}:{cell.id}", "exec"), names)
            printed[cell.id] = said.getvalue()
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return names, printed, prose


def numbers(text: str) -> list[float]:
    """All numbers in a text."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_01_the_second_delivery_charges_again():
    """Killed after its charge at 10 s; handed out again at 30 s, and charged again at 40."""
    names, printed, prose = lesson("01")
    assert names["result"].effects.time.tolist() == [10, 40]
    assert "Stop it at 30 s: the message is visible again" in prose
    charges = [int(line.split()[-2]) for line in printed["gap-run"].splitlines()]
    assert charges == [1, 2, 2]
    assert "Dead before the charge: one charge" in prose
    assert "Dead after it: two." in prose


def test_01_an_early_ack_loses_the_job():
    """No charge, and nothing left in the queue."""
    names, _, _ = lesson("01")
    assert len(names["early"].effects) == 0
    assert names["early"].jobs.outcome[0] == "lost"


def test_01_those_that_died_were_charged_once():
    """Jobs charged twice never had a crash in the lesson's runs; crashed jobs were charged once."""
    names, _, prose = lesson("01")
    assert "The jobs that died with their worker died before the charge here" in prose
    assert names["again"] > names["twice"] > 0
    for run in names["runs"]:
        crashed = set(run.deliveries.job[run.deliveries.outcome == "crashed"])
        twice = set(run.jobs.index[run.jobs.duplicate_effects > 0])
        assert not crashed & twice


def test_06_looking_first_charges_twice_and_the_claim_does_not():
    """Worker 2 looks at 30 s, worker 1 writes at 40; and no plan makes the claim charge twice."""
    names, _, prose = lesson("06")
    assert "Worker 2 looked at 30 s. Worker 1 wrote at 40 s." in prose
    assert names["result"].effects.time.tolist() == [40, 70]
    assert len(names["claimed"].effects) == 1
    broken = names["checked"].broken
    assert broken["no duplicate effect"].sum() == 0
    assert broken["settles"].sum() > 0


def test_06_the_bars_say_what_the_text_says():
    """Where deliveries overlap, `look_first` does no better than `naive`; on lost acks it does."""
    names, _, _ = lesson("06")
    table = names["outcomes"]
    shares = table[table.figure == "duplicate_effect_rate"].set_index(["row", "column"])["mean"]
    slow, acks = "slow jobs and crashes", "and acks lost"
    assert shares["look_first", slow] == pytest.approx(shares["naive", slow], rel=0.05)
    assert shares["look_first", acks] < 0.9 * shares["naive", acks]
    assert shares["claim", slow] == shares["claim", acks] == 0
    assert shares["one_transaction", slow] == shares["one_transaction", acks] == 0


def test_06_the_key_of_the_day_fails_both_ways():
    """Twice across midnight, and one charge for two orders."""
    names, printed, _ = lesson("06")
    assert "charge applied 2 times" in printed["keys-run"]
    assert "Two honest orders of one customer: 1 charge." in printed["keys-run"]
    assert names["first"] is not None


def test_07_the_zombie_charges_and_the_token_refuses_it():
    """Two charges under the lock; one write with the token, whose zombie has failed."""
    names, _, prose = lesson("07")
    assert names["result"].effects.time.tolist() == [90, 130]
    assert "For *it* no time has passed" in prose
    fenced = names["fenced"]
    assert len(fenced.effects) == 1
    assert fenced.deliveries.outcome.tolist() == ["failed", "failed", "failed", "finished"]


def test_07_a_longer_ttl_trades_duplicates_for_waiting():
    """Down with the TTL go the duplicates, and up goes the wait."""
    _, printed, _ = lesson("07")
    lines = [numbers(line) for line in printed["longer"].splitlines()]
    duplicates, waits = [line[1] for line in lines], [line[-1] for line in lines]
    assert duplicates == sorted(duplicates, reverse=True)
    assert duplicates[0] > 0 == duplicates[-1]
    assert waits == sorted(waits)


def test_07_a_lost_ack_charges_twice_without_any_freeze():
    """One after the other, each under the lock."""
    names, _, _ = lesson("07")
    assert len(names["after"].effects) == 2


def test_11_the_waits_are_those_of_the_brokers():
    """At once, by a lease, by a sweep, never: in the order of the text."""
    names, printed, prose = lesson("11")
    waits = names["waits"]
    assert waits["RabbitMQ"] == 12
    assert waits["SQS"] == 30
    assert waits["Celery on Redis, late ack"] == 3_600
    assert waits["Sidekiq, basic fetch"] is None
    assert "Pub/Sub's client stops after an hour; RabbitMQ's limit is half an hour." in prose
    runs = {line[:28].strip(): numbers(line[28:])[0] for line in printed["slow"].splitlines()}
    assert runs["BullMQ"] == runs["Sidekiq, basic fetch"] == 1
    assert runs["SQS"] > runs["RabbitMQ"] > 1


def test_11_there_are_as_many_incidents_and_brokers_as_it_says():
    """Sixty reports, twenty-four brokers."""
    names, _, prose = lesson("11")
    assert len(names["sq"].incidents) == 60
    assert "Sixty public reports" in prose
    assert len(names["everyone"]()) == 24
    assert "all twenty-four" in prose
