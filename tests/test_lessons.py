"""What the lessons up to 07 say in words is what their own code gives."""

from __future__ import annotations

from typing import Any

import pytest
from laws_of_lessons import (
    SLIDERS,
    goals_are_open_at_first_and_can_be_reached,
    lesson,
    numbers,
    picture_stands_below_its_sliders,
    pictures_have_words,
    sliders_start_on_one_of_their_steps,
)
from lessons import NOTEBOOKS, STEMS, code_cells, play, read

import simqueue as sq

EARLY = [stem for stem in STEMS if stem < "08"]


def test_every_lesson_has_a_slider():
    """From the first to the last."""
    assert {stem for stem, _ in SLIDERS} == set(STEMS)


def test_no_picture_is_left_over():
    """Each file belongs to a cell."""
    files = {path.stem for path in (NOTEBOOKS / "pictures").iterdir()}
    assert files == {f"{stem}-{cell}" for stem, cell in SLIDERS}


@pytest.mark.parametrize(("stem", "cell"), [each for each in SLIDERS if each[0] in EARLY])
def test_sliders_hold_what_they_promise(stem: str, cell: str):
    """They start on a step, their goals can be reached, their picture stands below them."""
    sliders_start_on_one_of_their_steps(stem, cell)
    goals_are_open_at_first_and_can_be_reached(stem, cell)
    picture_stands_below_its_sliders(stem, cell)


@pytest.mark.parametrize("stem", EARLY)
def test_every_picture_has_words(stem: str):
    """With numbers in them."""
    pictures_have_words(stem)


def outcomes_at(view: Any, place: float) -> list[Any]:
    """The figures of each line of a slider's picture, at a place on its x axis."""
    return [
        each.figures for each in view._curve.outcomes.at(view.settings | {view._curve.x: place})
    ]


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


def test_01_an_early_ack_loses_and_a_late_one_repeats():
    """At every rate of crashes: one line lies on the floor of each panel, the other does not."""
    played = play("01")
    assert "Whoever acks last loses none, at any setting" in played.prose
    for place in (60, 600, 1_800):
        early, late = outcomes_at(played.shown["both-slider"], place)
        assert early["lost_rate"] > 0 == early["duplicate_effect_rate"]
        assert late["duplicate_effect_rate"] > 0 == late["lost_rate"]


def test_01_the_slow_ones_are_charged_twice():
    """Without slow jobs nobody is charged twice, as often as workers may die."""
    view = play("01").shown["both-slider"]
    quick = sq.simulate(view._subject.replaced({"work.p99": 20}), 1).figures
    slow = sq.simulate(view._subject.replaced({"work.p99": 90}), 1).figures
    assert quick["duplicate_effect_rate"] < 0.005 < slow["duplicate_effect_rate"]


def test_02_the_quiz_tells_the_share_that_outlasts_the_mean():
    """More than a quarter outlasts a timeout just above the mean."""
    played = play("02")
    assert "More than a quarter outlasts it" in str(played.shown["quiz-one"]._answers)
    assert 0.25 < played.names["scenario"].work.survival(16) < 0.4


def test_02_one_goal_is_met_at_the_start_and_the_advice_is_the_longer_timeout():
    """As the text in front of the sliders says; and the reason is broken at words."""
    played = play("02")
    view = played.shown["tune"]
    assert "one is met where the sliders start" in played.prose
    assert view.figures["recovery_mean"] <= 30
    assert view.figures["duplicate_delivery_rate"] > 0.01
    assert played.names["advice"].recommendation == 150
    assert max(len(line) for line in played.printed["reason"].splitlines()) <= 95


def test_03_where_the_harm_is():
    """Each pause, lost answer and lost ack charges twice, and one crash; the cut ends at 60 s."""
    played = play("03")
    broken = played.names["report"].broken
    for fault in ("pause", "response lost", "ack lost"):
        assert broken.loc[fault, "no duplicate effect"] == broken.loc[fault, "plans"] > 0
    assert broken.loc["crash", "no duplicate effect"] == 1
    assert "The network is back at 60 s" in played.prose
    assert "Delivery 2 to worker 2 at 60 s" in played.shown["cut-off"].alt_text


def test_03_a_long_grace_kills_nobody_and_who_watches_connections_waits_less():
    """And with a lease one job in a hundred waits for about as long as the lease."""
    played = play("03")
    view = played.shown["deploy-slider"]
    assert (
        "waits for a lease of 300 s, one job in a hundred waits for about as long" in played.prose
    )
    lease, connection = outcomes_at(view, 10)
    assert lease["crashes"] > 0
    assert 250 < lease["time_to_effect_p99"] < 400
    assert connection["time_to_effect_p99"] < 150
    assert "if three of the 300 are killed or more" in played.prose
    for grace in (0, 10, 20, 30, 40, 50, 70):
        lease, _ = outcomes_at(view, grace)
        assert (lease["crashes"] >= 3) == (lease["time_to_effect_p99"] > 300), grace
    assert [each["crashes"] for each in outcomes_at(view, 150)] == [0, 0]


def test_04_jitter_spares_the_provider_and_the_base_alone_does_not():
    """Without it all come at once, whatever the base; with it fewer than the provider can do."""
    played = play("04")
    view, names = played.shown["herd-slider"], played.names
    assert "the worst second stays below the 20 charges that the provider can do" in played.prose
    assert 1 / names["provider"].service_time == 20
    for base in (1, 2, 7, 12):
        spread, in_step = outcomes_at(view, base)
        assert in_step[names["PEAK"]] == names["fewer"].jobs
        assert spread[names["PEAK"]] < 20
    late, early = (names["herd"](cap=cap, rule=sq.backoff.FullJitter) for cap in (60, 20))
    assert late[names["LAST"]] > names["herd"]()[names["LAST"]]
    assert early[names["LAST"]] < late[names["LAST"]]


def test_04_the_storm_ends_with_backoff_and_jitter_and_not_without():
    """Two groups without; all eight near the 40 requests a second with."""
    names, _, prose = lesson("04")
    assert "All eight recover" in prose
    late = [run.goodput_late for run in names["spikes"]]
    assert min(late) < 1
    assert max(late) > 30
    assert all(run.goodput_late > 35 for run in names["calm"])
    assert len(names["calm"]) == len(names["spikes"]) == 8
    assert sq.studies.collapse.FIRST_BACKOFF == 20


def test_05_doubling_survives_with_a_short_first_delay():
    """Four waits of the same length have to outlast ten minutes; four doubled ones are 15 times."""
    played = play("05")
    view = played.shown["survive-slider"]
    assert "the four waits have to be longer than the outage together" in played.prose
    quarter, doubled = 9 * 15 * 60, 15 * (2**9 - 1)  # the quiz: ten attempts, two hours
    assert min(quarter, doubled) > 2 * 3_600
    same, doubling = outcomes_at(view, 60)
    assert same["dead_letter_rate"] > 0 == doubling["dead_letter_rate"]
    assert outcomes_at(view, 145)[0]["dead_letter_rate"] > 0
    assert outcomes_at(view, 155)[0]["dead_letter_rate"] == 0


def test_05_the_guess_comes_before_its_answer():
    """A share that is printed above the question would be no guess."""
    cells = list(code_cells("05"))
    assert cells.index("survive-guess") < cells.index("outage")


def test_05_a_limit_of_tries_is_a_limit_of_seconds():
    """The incident: 20 tries are over in 0.2 s and the job is lost; or they last 600 s."""
    played = play("05")
    told = str(played.shown["incident"])
    assert "twenty of them are over in 0.2 s" in played.prose
    assert "they outlast an outage of 600 s" in played.prose
    assert "Lost at 0.2 s: 20 deliveries" in told
    assert "Settled by an ack at 600 s: 20 deliveries" in told


def test_06_the_claims_line_lies_on_the_floor_and_looking_helps_against_lost_acks():
    """At every lease nobody pays twice, and some jobs wait for a person."""
    played = play("06")
    view = played.shown["many-slider"]
    assert "nobody pays twice, at any setting" in played.prose
    for lease in (5, 30, 120):
        claim = outcomes_at(view, lease)[2]
        assert claim["duplicate_effect_rate"] == 0 < claim["dead_letter_rate"]
    overlapping = outcomes_at(view, 5)
    assert overlapping[0]["duplicate_effect_rate"] > 0.9 * overlapping[1]["duplicate_effect_rate"]
    apart = outcomes_at(view, 120)
    assert apart[0]["duplicate_effect_rate"] < 0.3 * apart[1]["duplicate_effect_rate"]


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
    assert "Deliveries 2 and 3 found the lock taken" in prose
    deliveries = names["result"].deliveries
    assert deliveries.outcome.tolist() == ["finished", "failed", "failed", "finished"]


def test_07_a_longer_ttl_trades_duplicates_for_waiting():
    """None twice where the TTL outlasts work and freeze together; and the wait follows the TTL."""
    names, _, prose = lesson("07")
    assert (
        "A TTL longer than the work and the freeze together brings the duplicates to zero" in prose
    )
    work, freeze = 20, 90
    figures = {
        ttl: sq.simulate(names["with_ttl"](ttl, freeze), 1).figures for ttl in (60, 120, 600)
    }
    assert names["nights"].work == sq.Fixed(work)
    assert figures[60]["duplicate_effect_rate"] > 0
    assert [figures[ttl]["duplicate_effect_rate"] for ttl in (120, 600)] == [0, 0]
    waits = [each["time_to_effect_p99"] for each in figures.values()]
    assert waits == sorted(waits)
    longer = sq.simulate(names["with_ttl"](120, 300), 1).figures
    assert longer["duplicate_effect_rate"] > 0


def test_07_a_lost_ack_charges_twice_without_any_freeze():
    """One after the other, each under the lock."""
    names, _, _ = lesson("07")
    assert len(names["after"].effects) == 2


def test_00_begins_with_one_charge_and_a_short_wait():
    """The first picture, and the busy world that the guess is about."""
    names, _, prose = lesson("00")
    assert names["result"].figures["duplicate_effect_rate"] == 0
    assert 1 < names["result"].figures["wait_mean"] < 30
    assert names["result"].figures["utilisation"] < 0.95
    assert "What is delivered five times without an ack" in prose
    assert play("00").shown["tune"].scenario.broker.max_receive_count == 5


def test_03_who_notices_a_death_and_when():
    """At once, after the silence of a minute, or at the end of the lease of 30 s."""
    _, printed, prose = lesson("03")
    waits = [numbers(line)[-1] for line in printed["killed"].splitlines()]
    assert waits == [5, 30, 65, 30]
    assert "a minute on RabbitMQ unless you set it" in prose
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
    days = [numbers(line)[-1] for line in printed["days"].splitlines()]
    assert 20 < days[0] < 21
    assert "Between seconds and a month" in prose
    assert min(days) == 0
    assert 30 < max(days) < 36
    assert [numbers(line)[-1] for line in printed["off-by-one"].splitlines()] == [5, 6, 6, 5, 6]


def course() -> list[tuple[str, str]]:
    """Lesson and section of each row of the table in `docs/course.md`."""
    text = (NOTEBOOKS.parent / "docs" / "course.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(number, section) for _, number, section in rows[1:]]


@pytest.mark.parametrize(("number", "section"), course())
def test_what_the_course_covers_has_a_section(number: str, section: str):
    """Each point of the table is taught where it says."""
    headings = [
        line for cell in read(number) for line in cell.source.splitlines() if line[:2] == "##"
    ]
    assert f"## {section}" in headings


def test_there_are_fifteen_lessons_each_with_its_parts():
    """From 00 to 14: a question, a guess, a check, three lines to remember."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    assert [path.name[:2] for path in paths] == [f"{number:02}" for number in range(15)]
    for path in paths:
        text = "\n".join(cell.source for cell in read(path.name[:2]))
        assert text.startswith("# "), path.name
        assert "sq.widgets.predict(" in text, path.name
        assert ("sq.widgets.quiz(" in text) or ("## Can you say it?" in text), path.name
