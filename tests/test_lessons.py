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


def test_00_begins_with_one_charge_and_a_short_wait():
    """The first picture, and the busy world that the guess is about."""
    names, _, _ = lesson("00")
    assert names["result"].figures["duplicate_effect_rate"] == 0
    assert 1 < names["result"].figures["wait_mean"] < 30


def test_03_who_notices_a_death_and_when():
    """At once, after the silence of a minute, or at the end of the lease of 30 s."""
    _, printed, prose = lesson("03")
    waits = [numbers(line)[-1] for line in printed["killed"].splitlines()]
    assert waits == [5, 30, 65, 30]
    assert "a minute on RabbitMQ unless you set it" in prose
    killed = [numbers(line)[1] for line in printed["deploys"].splitlines()]
    assert killed == sorted(killed, reverse=True)
    assert killed[0] > 0 == killed[-1]
    (again, kept), (never, lost) = (
        numbers(line.partition("  ")[2])[-2:] for line in printed["auto-ack"].splitlines()
    )
    assert again == lost > 0 == kept == never


def test_05_attempts_times_delay_is_what_survives_an_outage():
    """All three short ones lose jobs, and the doubling one none; off by one is as printed."""
    _, printed, prose = lesson("05")
    shares = [numbers(line)[-1] for line in printed["outage"].splitlines()]
    assert shares[0] > shares[1] > shares[2] == 0
    assert shares[3] > 50
    assert "Sidekiq tries for about 20 days" in prose
    assert 20 * 24 < numbers(printed["days"].splitlines()[0])[-1] < 21 * 24
    assert [numbers(line)[-1] for line in printed["off-by-one"].splitlines()] == [5, 6, 6, 5, 6]


def test_08_the_window_has_two_sides():
    """Fewer duplicates and longer waits with each longer window; no window sees the effect."""
    names, printed, _ = lesson("08")
    found = [numbers(line)[1:] for line in printed["windows"].splitlines()]
    duplicates, waits = zip(*found, strict=True)
    assert list(duplicates) == sorted(duplicates, reverse=True)
    assert duplicates[0] > 100
    assert duplicates[-1] == 0
    assert list(waits) == sorted(waits)
    assert names["stuck"].jobs.outcome[0] == "dead-lettered"
    assert [numbers(line)[-1] for line in printed["after-effect-run"].splitlines()] == [2, 1]
    assert [numbers(line)[0] for line in printed["failed-trap"].splitlines()] == [0, 1]


def test_09_the_key_saves_the_retry_and_is_forgotten_after_two_days():
    """Twice without a key, once with it; twice again two days later; letters twice or never."""
    _, printed, _ = lesson("09")
    assert numbers(printed["ambiguous"]) == [2]
    assert numbers(printed["keys"])[0] == 1
    assert numbers(printed["retention"])[0] == 2
    assert numbers(printed["two-layers"])[0] == 1
    assert "Conflict" in printed["conflict"]
    assert [numbers(line)[0] for line in printed["mail"].splitlines()] == [2, 0]


def test_10_each_order_of_two_writes_has_its_own_trouble():
    """Never sent, or sent twice; the relay sends twice, unless the receiver knows the key."""
    names, printed, _ = lesson("10")
    assert printed["both"].splitlines()[0].endswith("{'order': 1}")
    assert "'e-mail': 2" in printed["both"]
    assert "'message': 2" in printed["relay"].splitlines()[0]
    assert "'message': 1" in printed["relay"].splitlines()[1]
    assert names["report"].broken[["nothing lost", "settles"]].to_numpy().sum() == 0
    assert names["received"].passed


def test_13_looking_first_passes_two_of_three():
    """Once, and twice in a row; not twice at once."""
    names, printed, _ = lesson("13")
    assert names["passed"] == 2
    assert printed["assertion"].startswith("pay breaks")
    assert "charged only after" in printed["own-promise"]


def test_14_one_of_six_gets_through_and_keeps_it_under_two_faults():
    """And it is the last one."""
    names, printed, _ = lesson("14")
    assert names["good"] == ["reclaim_with_key"]
    assert names["report"].passed
    assert "passed: True" in printed["pairs"]


def course() -> list[tuple[str, str]]:
    """Lesson and section of each row of the table in `docs/course.md`."""
    text = (NOTEBOOKS.parent / "docs" / "course.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(number, section) for _, number, section in rows[1:]]


@pytest.mark.parametrize(("number", "section"), course())
def test_what_the_course_covers_has_a_section(number: str, section: str):
    """Each point of the table is taught where it says."""
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
    headings = [line for cell in cells for line in cell.source.splitlines() if line[:2] == "##"]
    assert f"## {section}" in headings


def test_there_are_fifteen_lessons_each_with_its_parts():
    """From 00 to 14: a question, a guess, a check, three lines to remember."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert [path.name[:2] for path in paths] == [f"{number:02}" for number in range(15)]
    for path in paths:
        cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
        text = "\n".join(cell.source for cell in cells)
        assert text.startswith("# "), path.name
        assert "sq.widgets.predict(" in text, path.name
        assert ("sq.widgets.quiz(" in text) or ("## Can you say it?" in text), path.name
