"""What the lessons from 08 on say in words is what their own code gives."""

from __future__ import annotations

import inspect
import math
import re
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
from lessons import STEMS, play

import simqueue as sq

LATER = [stem for stem in STEMS if stem >= "08"]


@pytest.mark.parametrize(("stem", "cell"), [each for each in SLIDERS if each[0] in LATER])
def test_sliders_hold_what_they_promise(stem: str, cell: str):
    """They start on a step, their goals can be reached, their picture stands below them."""
    sliders_start_on_one_of_their_steps(stem, cell)
    goals_are_open_at_first_and_can_be_reached(stem, cell)
    picture_stands_below_its_sliders(stem, cell)


@pytest.mark.parametrize("stem", LATER)
def test_every_picture_has_words(stem: str):
    """With numbers in them."""
    pictures_have_words(stem)


def at_setting(view: Any, **settings: Any) -> list[Any]:
    """The figures of each line of a slider's picture, at some settings."""
    return [each.figures for each in view._curve.outcomes.at({**view.settings, **settings})]


def test_08_the_window_has_two_sides():
    """Fewer duplicates and longer waits with each longer window, and one in a hundred waits it."""
    played = play("08")
    view = played.shown["windows"]
    assert "More than one order in a hundred dies here" in played.prose
    assert sq.simulate(view._subject.replaced({}), 1).figures["crashes"] > 0.01 * view._subject.jobs
    found = [at_setting(view, window=window, p99=90)[0] for window in (20, 60, 120, 300, 420)]
    duplicates = [each["duplicate_effect_rate"] for each in found]
    assert duplicates == sorted(duplicates, reverse=True)
    assert duplicates[0] > 0.1
    assert duplicates[-1] == 0
    waits = [each["time_to_effect_p99"] for each in found]
    assert waits == sorted(waits)
    assert all(w <= wait <= w + 50 for w, wait in zip((120, 300, 420), waits[2:], strict=True))


def test_08_the_third_place_needs_shorter_jobs():
    """With jobs as slow as at first no window is both safe and quick."""
    played = play("08")
    assert "The third place on the list cannot be found with the window alone." in played.prose
    view = played.shown["windows"]
    third = list(view._goals._ranges.values())[2]
    for window in range(20, 440, 20):
        figures = at_setting(view, window=window, p99=90)[0]
        assert not all(low <= figures[name] <= high for name, (low, high) in third.items())


def test_08_no_window_sees_the_effect():
    """Stuck without a window; twice without the key; and a failed row blocks the plain insert."""
    names, printed, prose = lesson("08")
    assert (
        "half of the jobs take less than 10 s, and one in a hundred takes more than 90 s" in prose
    )
    assert names["with_window"]().work == sq.LogNormal(median=10, p99=90)
    assert names["shop"].jobs == 800
    assert "800 such orders" in prose
    assert names["stuck"].jobs.outcome[0] == "dead-lettered"
    assert [numbers(line)[-1] for line in printed["after-effect-run"].splitlines()] == [2, 1]
    assert [numbers(line)[0] for line in printed["failed-trap"].splitlines()] == [0, 1]


def test_08_the_takeover_in_sql_is_the_handler_of_the_slider():
    """One charge, after the window; not robbed while at work; ten minutes, as for `reclaim`."""
    names, printed, prose = lesson("08")
    take_over, patient = names["take_over"], names["patient"]
    assert numbers(printed["take-over-run"])[0] == 1
    assert 600 <= numbers(printed["take-over-run"])[1] < 700
    for handler, window in ((take_over, "window"), (sq.handlers.reclaim, "stale_after")):
        assert inspect.signature(handler).parameters[window].default == 600
    assert "here it is ten minutes" in prose
    assert "Its window is ten minutes, too" in prose
    breaks = ["no duplicate effect", "nothing lost", "settles"]
    own, stored = (
        sq.explore(handler, sql=patient.sql).broken[breaks].gt(0)
        for handler in (take_over, sq.handlers.reclaim)
    )
    assert own.equals(stored)


def test_10_each_order_of_two_writes_has_its_own_trouble():
    """Never sent, or sent twice; the relay sends twice, unless the receiver knows the key."""
    names, printed, _ = lesson("10")
    assert printed["both"].splitlines()[0].endswith("{'order': 1}")
    assert "'e-mail': 2" in printed["both"]
    assert "'message': 2" in printed["relay"].splitlines()[0]
    assert "'message': 1" in printed["relay"].splitlines()[1]
    assert names["report"].broken[["nothing lost", "settles"]].to_numpy().sum() == 0
    assert names["received"].passed


def test_10_a_bad_evening_puts_each_way_where_the_text_says():
    """Told twice: message first, then the outbox. Never told: only database first."""
    played = play("10")
    view = played.shown["evening-tune"]
    assert "Left, *told twice*: message first is the worst" in played.prose
    assert "Right, *never told*: only database first" in played.prose
    for cut in (0.05, 0.1, 0.2):
        outbox, inbox, database, message = at_setting(view, cut=cut)
        twice, never = outbox.keys()
        assert message[twice] > outbox[twice] > 0 == inbox[twice] == database[twice]
        assert outbox[twice] == pytest.approx(cut, rel=0.2)
        assert database[never] > 0 == outbox[never] == inbox[never] == message[never]


def test_12_littles_law_holds_in_the_healthy_run():
    """Mean depth is rate times mean wait."""
    _, printed, _ = lesson("12")
    depth, product = (numbers(line)[-1] for line in printed["little"].splitlines())
    assert product == pytest.approx(depth, rel=0.05)


def test_12_the_wait_bends_before_all_are_busy():
    """Fixed jobs wait less; twice the jobs on eighteen workers wait less than one on ten."""
    played = play("12")
    healthy, view = played.names["healthy"], played.shown["full"]
    theory = sq.theory.utilisation(healthy.arrivals.rate, 1 / healthy.work.mean, 10)
    assert (healthy.workers.count, theory) == (10, 0.8)
    assert "they can do 1.25 jobs a second" in played.prose
    start, alike = at_setting(view)
    assert alike["wait_mean"] < start["wait_mean"]
    first, second = view._goals._ranges.values()
    assert first["wait_mean"][0] == pytest.approx(10 * start["wait_mean"], rel=0.1)
    before = at_setting(view, **{"arrivals.rate": 1.3})[0]
    assert before["wait_mean"] > 4 * start["wait_mean"]
    assert before["utilisation"] < 1
    assert "The second place on the list cannot be found with ten workers" in played.prose
    for rate in [round(0.2 + 0.05 * step, 2) for step in range(37)]:
        figures = at_setting(view, **{"arrivals.rate": rate})[0]
        assert not all(low <= figures[name] <= high for name, (low, high) in second.items())
    assert "With eighteen the mean wait is shorter than it was with ten" in played.prose
    twice = {
        workers: at_setting(view, **{"arrivals.rate": 2.0, "workers.count": workers})[0]
        for workers in (17, 18)
    }
    assert twice[18]["wait_mean"] < start["wait_mean"] < twice[17]["wait_mean"]
    assert "twenty workers for twice the jobs wait less than ten for half of them" in played.prose
    *_, ten, twenty = (numbers(line)[-1] for line in played.printed["erlang"].splitlines())
    assert twenty < ten


def test_12_thirty_workers_help_two_of_four():
    """A and D; not B, whose provider is down, nor C, which charges twice more often."""
    played = play("12")
    names, view = played.names, played.shown["more-workers"]
    assert "A, B and D have ten workers, C has 25" in played.prose
    assert names["workers"] == {"A": 10, "B": 10, "C": 25, "D": 10}
    assert "95 of 100 jobs are done within 30 s, and nobody is charged twice" in played.prose
    assert names["well"] == [True, False, False, True]
    (goal,) = view._goals._ranges.values()
    assert goal["time_to_effect_p95"][1] == 30
    few, many = (at_setting(view, **{"workers.count": count}) for count in (10, 30))
    assert not any(each["time_to_effect_p95"] <= 30 for each in few)
    assert [each["time_to_effect_p95"] <= 30 for each in many] == [True, False, False, True]
    assert many[1]["time_to_effect_p95"] > 0.9 * few[1]["time_to_effect_p95"]
    assert many[2]["time_to_effect_p95"] < few[2]["time_to_effect_p95"]
    assert many[2]["duplicate_effect_rate"] > few[2]["duplicate_effect_rate"]


def test_12_the_dashboards_show_what_the_questions_say():
    """In flight: as many as workers; far more; fewer than are busy; two, minutes later."""
    queue = lesson("12")[0]["queue"]
    flight = {name: queue(name).timeseries.in_flight for name in "ABCD"}

    def around(name: str, seconds: float) -> float:
        return float(flight[name].loc[:seconds].iloc[-1])

    assert around("A", 400) == 10
    assert around("B", 350) > 20
    assert around("C", 400) < 20
    assert around("D", 190) > 4
    assert around("D", 550) <= 3
    assert queue("C").figures["dead_letter_rate"] > 0 == queue("C").figures["failures"]


def test_09_the_key_saves_the_retry_and_is_forgotten_after_two_days():
    """Twice without a key, once with it; twice again two days later; letters twice or never."""
    _, printed, _ = lesson("09")
    assert numbers(printed["ambiguous"]) == [2]
    assert numbers(printed["keys"])[0] == 1
    assert numbers(printed["retention"])[0] == 2
    assert numbers(printed["two-layers"])[0] == 1
    assert "Conflict" in printed["conflict"]
    assert [numbers(line)[0] for line in printed["mail"].splitlines()] == [2, 0]


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


def test_11_what_it_says_of_each_broker_is_what_the_broker_says():
    """The silence of a machine, the limit of a slow job, and who takes a job out at once."""
    names, _, prose = lesson("11")
    brokers = sq.brokers
    assert "a minute on RabbitMQ, two hours on Postgres, unless you set it" in prose
    assert (brokers.rabbitmq().heartbeat, brokers.row_lock().keepalive) == (60, 7_200)
    assert brokers.rabbitmq().consumer_timeout == 1_800
    assert brokers.pubsub().max_lease_duration == 3_600
    assert brokers.rabbitmq().generic().on_expiry == "cancel"
    assert brokers.rabbitmq(version="4.2").generic().on_expiry == "close"
    assert brokers.rabbitmq(queue="classic").generic().lease is None
    table = names["table"]
    assert "Five of them side by side" in prose
    assert len(table) == 5
    taken_out = table.loc["Celery, Redis, early ack"]
    assert taken_out["duplicate_effect_rate"] == 0 < taken_out["lost_rate"]
    others = table.drop("Celery, Redis, early ack")
    assert (others["duplicate_effect_rate"] > 0).all()
    assert (others["lost_rate"] == 0).all()
    assert table.loc["River", "recovery_mean"] == pytest.approx(3_600, rel=0.05)


def test_11_there_are_as_many_incidents_and_brokers_as_it_says():
    """Sixty reports, twenty-four brokers."""
    names, _, prose = lesson("11")
    assert len(names["sq"].incidents) == 60
    assert "Sixty public reports" in prose
    assert len(names["everyone"]()) == 24
    assert "all twenty-four" in prose


def test_13_looking_first_passes_two_of_three():
    """Once, and twice in a row; not twice at once."""
    names, printed, _ = lesson("13")
    assert names["passed"] == 2
    assert printed["assertion"].startswith("pay breaks")
    assert "charged only after" in printed["own-promise"]


def test_13_and_14_name_each_handler_with_what_it_does():
    """The table of handlers has a row for each that is run, and `check_then_act` is `pay`."""
    names, _, prose = lesson("13")
    rows = re.findall(r"^\| `(\w+)` \|", prose, re.MULTILINE)
    assert rows == list(names["chosen"])
    ours, theirs = (
        sq.explore(handler).broken for handler in (names["pay"], sq.handlers.check_then_act)
    )
    assert ours.equals(theirs)
    names, _, prose = lesson("14")
    assert re.findall(r"^\| `(\w+)` \|", prose, re.MULTILINE) == list(names["names"])


def test_14_one_of_six_gets_through_and_keeps_it_under_two_faults():
    """And it is the last one."""
    names, printed, prose = lesson("14")
    assert names["good"] == ["reclaim_with_key"]
    jobs = names["sq"].simulate(names["day"]).jobs
    buried = jobs[jobs["outcome"] == "dead-lettered"]
    assert "Most of naive's charges too many come from three orders" in prose
    assert len(buried) == 3
    assert (buried["deliveries"] == 25).all()
    assert buried["duplicate_effects"].sum() > jobs["duplicate_effects"].sum() / 2
    assert (buried["first_effect"] - buried["first_start"] > 60).all()
    assert names["report"].passed
    assert "passed: True" in printed["pairs"]


def test_09_the_key_alone_is_forgotten_by_some():
    """As many as come again after its retention; the own record lies on the floor."""
    played = play("09")
    view = played.shown["late-tune"]
    assert "24/12</sup> of them, or 14 %," in played.prose
    assert round(100 * math.exp(-24 / 12)) == 14
    assert "100 payments that were done" in played.prose
    assert view._subject.jobs == 100
    for hours, retention in ((12, 24), (36, 24), (12, 48)):
        key, record, neither = at_setting(view, hours=hours, retention=retention)
        assert key["duplicate_effect_rate"] == pytest.approx(
            math.exp(-retention / hours), abs=3 * (0.25 / 100) ** 0.5
        )
        assert record["duplicate_effect_rate"] == 0
        assert neither["duplicate_effect_rate"] == 1


def test_11_each_broker_has_the_trouble_that_the_text_says():
    """SQS repeats slow jobs, unless its timeout is long; only Sidekiq loses any."""
    view = play("11").shown["team-tune"]
    for p99 in (60, 120, 180):
        sqs, *others = at_setting(view, p99=p99)
        assert all(sqs["duplicate_effect_rate"] > each["duplicate_effect_rate"] for each in others)
        rabbit, bull, sidekiq = others
        assert max(rabbit["duplicate_effect_rate"], bull["duplicate_effect_rate"]) < 0.03
        assert sidekiq["lost_rate"] > 0 == sidekiq["duplicate_effect_rate"]
        assert sqs["lost_rate"] == rabbit["lost_rate"] == bull["lost_rate"] == 0
    long, rabbit, *_ = at_setting(view, timeout=300)
    assert long["duplicate_effect_rate"] <= rabbit["duplicate_effect_rate"] + 0.005
    dying, calm = (at_setting(view, crash=crash)[3]["lost_rate"] for crash in (200, 2_000))
    assert dying > calm


def test_13_luck_finds_the_bug_now_and_then_and_explore_always():
    """One run in 300; a gap ten times as long is hit about ten times as often."""
    played = play("13")
    hit, view = played.names["hit"], played.shown["random-tune"]
    assert "here one in 300" in played.prose
    assert hit(0.2, 60) == pytest.approx(1 / 300, rel=0.01)
    assert hit(1.0, 15) == pytest.approx(1.0 / 15, rel=0.3)
    assert hit(1.0, 30) == pytest.approx(1.0 / 30, rel=0.3)
    for runs in (10, 100, 1_000):
        luck, explore = (next(iter(each.values())) for each in at_setting(view, runs=runs))
        assert luck == pytest.approx(1 - (1 - hit(0.2, 60)) ** runs)
        assert explore == 1


def test_14_only_the_last_lies_on_the_floor_whatever_the_trouble():
    """Naive and reclaim climb on the left, claim on the right; the window is what it costs."""
    played = play("14")
    twice, dead = "duplicate_effect_rate", "dead_letter_rate"
    calm, day, terrible = (
        at_setting(played.shown["trouble-tune"], trouble=trouble) for trouble in (0.1, 1.0, 3.0)
    )
    for naive, claim, reclaim, with_key in (calm, day, terrible):
        assert with_key[twice] == with_key[dead] == claim[twice] == reclaim[dead] == 0
        assert naive[twice] > reclaim[twice]
        assert claim[dead] >= naive[dead]
    assert [each[0][twice] for each in (calm, day, terrible)] == sorted(
        each[0][twice] for each in (calm, day, terrible)
    )
    assert calm[1][dead] < day[1][dead] < terrible[1][dead]
    for window in (60, 300, 600, 1_200):
        with_key, _, naive = at_setting(played.shown["cost-tune"], window=window, trouble=1.0)
        assert with_key[twice] == 0 < naive[twice]
        assert window <= with_key["time_to_effect_p99"] < window + 120


def test_14_one_knob_begins_with_the_day_of_the_lesson():
    """At 1 the rates are those of the day; fewer customers, and neither deploy nor outage."""
    names, _, prose = lesson("14")
    day, troubled = names["day"], names["troubled"]()
    assert "100 customers of it, without the deploy and the outage" in prose
    assert troubled.jobs == 100
    assert (troubled.network, troubled.workers, troubled.broker) == (
        day.network,
        day.workers,
        day.broker,
    )
    assert [fault for fault in day.faults if isinstance(fault, sq.Pause)] == list(troubled.faults)
    assert f"{day.jobs} orders say" in prose
