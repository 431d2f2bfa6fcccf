"""Public incidents: every expected figure, before and after the fix; and how they are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

import simqueue as sq
from simqueue.cli.app import cli
from simqueue.incidents import Case, Incident, Mean, SameAs, Within, rate
from simqueue.incidents.building import build, queue
from simqueue.incidents.expected import REACH, agrees, text
from simqueue.incidents.observed import OBSERVABLES, observe
from simqueue.incidents.page import page
from simqueue.incidents.replay import Replay, shortened

ROOT = Path(__file__).parents[1]
CASES = [(number, case) for number, one in sq.incidents.items() for case in one.cases]


# Every incident


@pytest.mark.parametrize(
    ("number", "case"), CASES, ids=[f"{number}: {case.name}" for number, case in CASES]
)
def test_the_simulation_agrees_with_the_report(number, case):
    """Every expected value of every case."""
    replay = Replay(sq.incidents[number])
    wrong = [check.words for check in replay.checks_of(case) if not check.agrees]
    assert not wrong


@pytest.mark.parametrize("number", sq.incidents)
def test_an_incident_says_what_was_reported_and_where(number):
    """Report, cause and fix in sentences of our own; at least one link."""
    incident = sq.incidents[number]
    assert re.fullmatch(r"INC-\d\d", incident.id)
    assert all(link.startswith(("https://", "http://")) for link in incident.links)
    assert incident.links
    for words in (incident.report, incident.cause, incident.fix):
        assert words.endswith(".")
        assert len(words) > 30
    assert not incident.note or incident.note.endswith(".")
    assert len({case.name for case in incident.cases}) == len(incident.cases)


@pytest.mark.parametrize("number", sq.incidents)
def test_a_fix_changes_something(number):
    """What was expected before the fix does not all hold after it."""
    replay = sq.incidents[number].replay()
    before = replay.incident.before.expect
    after = {name: observe(replay.after, name) for name in before if _has(replay.after, name)}
    assert after.keys() != before.keys() or not all(
        agrees(before[name], after[name], after | _lost(replay.after)) for name in before
    )


def _lost(result):
    return {"replies_lost": observe(result, "replies_lost")}


def _has(result, name):
    job = re.search(r"of job (\d+)", name)
    return job is None or int(job[1]) < result.tally.job_count


# The collection


def test_incidents_are_a_mapping_in_the_order_of_their_numbers():
    """Ids, in order; and a package like any other."""
    assert isinstance(sq.incidents, Mapping)
    assert list(sq.incidents) == sorted(sq.incidents)
    assert len(sq.incidents) == len(list(sq.incidents)) > 3
    assert sq.incidents["INC-01"].id == "INC-01"
    assert "INC-01" in sq.incidents
    assert "INC-00" not in sq.incidents
    assert sq.incidents.Incident is Incident
    assert sq.incidents in {sq.incidents}


def test_an_unknown_incident_is_told_in_a_sentence():
    """A KeyError that reads like the package's other errors, and `get` works."""
    with pytest.raises(KeyError) as error:
        sq.incidents["INC-00"]
    assert str(error.value) == (
        f"the incident must be one of the {len(sq.incidents)} in simqueue.incidents, "
        f"INC-01 to {list(sq.incidents)[-1]}, not 'INC-00'."
    )
    assert sq.incidents.get("INC-00") is None


# Expectations


@pytest.mark.parametrize(
    ("expected", "value", "fits"),
    [
        (4, 4, True), (4, 5, False), (4.0, 4.0000005, True), (4.0, 4.001, False),
        (None, None, True), (None, 3.0, False), (3.0, None, False),
        ("acked", "acked", True), ("acked", "lost", False),
        ([0, 30], [0.0, 30.0], True), ([0, 30], [0.0], False), ([0, 30], [0.0, 31.0], False),
        ([0, Within(30, 40)], [0.0, 33.0], True), ([0, Within(30, 40)], [0.0, 41.0], False),
        (Within(1, 2), 2.0, True), (Within(1, 2), 2.1, False), (Within(1, 2), None, False),
        (Within(1, 2), [1.0, 1.5], True), (Within(1, 2), [1.0, 3.0], False),
        (Within(1, 2), [], False),
        (SameAs("effects"), 3, True), (SameAs("starts"), 3, False),
    ],
)  # fmt: skip
def test_what_agrees(expected, value, fits):
    """To the microsecond, within both ends, or the same as another observable."""
    assert agrees(expected, value, {"effects": 3, "starts": 4}) is fits


def test_a_mean_is_allowed_its_999_per_mille_interval():
    """Half width: 3.29 standard deviations of the mean of so many values."""
    share = rate(0.5, 10_000)
    assert share.half_width == pytest.approx(REACH * 0.5 / 100)
    assert agrees(share, 0.5 + 0.016, {})
    assert not agrees(share, 0.5 + 0.017, {})
    assert not agrees(Mean(1, 0, 5), 1.1, {})


def test_expectations_are_checked_when_made():
    """A range the wrong way round, a probability above 1."""
    with pytest.raises(ValueError, match="low must be 1 or less, which is high, not 2"):
        Within(2, 1)
    with pytest.raises(ValueError, match="probability must be a number from 0 to 1, not 2"):
        rate(2, 10)


def test_values_are_written_short():
    """Times without needless zeros; of a long list the beginning; None is never."""
    assert text([0.0, 3600.0, 12826.5]) == "0, 3,600, 12,826.5"
    assert text(list(range(9))) == "0, 1, 2, 3, 4, 5, … (9 in all)"
    assert text(None) == "never"
    assert text(Within(1, 2.5)) == "1 to 2.5"


# Observables


def three_copies():
    """Ninety seconds of work in a lease of thirty, and a second job that waits for a worker."""
    return sq.simulate(build(work=90, workers=3, lease=30, late_ack="deletes", jobs=1))


def test_observables_of_three_copies():
    """F1a, looked at from all sides."""
    result = three_copies()
    expected = {
        "received": [0, 30, 60], "starts": [0, 30, 60], "ends": [90, 120, 150], "executions": 3,
        "effect_times": [90, 120, 150], "settled_at": 90, "redelivery_soonest": 30, "deliveries": 3,
        "redelivery_mean": 30, "redelivery_latest": 30, "recovered_after": [], "messages": 1,
        "second_messages": 0, "replies_lost": 0, "delivered_again": 1, "effects": 3,
        "duplicates": 2, "overlap_peak": 3, "failures": 0, "acks_refused": 2, "recorded": "acked",
        "acked": 1, "dead_lettered": 0, "dead_unrun": 0, "lost": 0, "unfinished": 0,
        "delivered_again_share": 1, "deliveries_per_job": 3, "executions_per_job": 3,
        "effects_per_job": 3, "second_messages_per_job": 0, "sends": 1, "still_running": 0,
        "settled_after_soonest": 90, "settled_after_mean": 90, "settled_after_latest": 90,
        "producer_gave_up_at": [], "dead_lettered_share": 0, "dead_lettered_at": [],
    }  # fmt: skip
    assert expected.keys() == OBSERVABLES.keys()
    seen = {name: observe(result, name) for name in expected}
    assert {name for name in expected if not agrees(expected[name], seen[name], seen)} == set()


def test_an_observable_of_one_job():
    """With "of job 1" the others are left out; jobs are counted from 0."""
    result = sq.simulate(build(work=10, workers=1, jobs=2))
    assert observe(result, "starts of job 1") == [10]
    assert observe(result, "starts") == [0, 10]
    with pytest.raises(ValueError, match="whole number from 0 to 1, not 2"):
        observe(result, "starts of job 2")


def test_what_is_recorded_is_apart_from_what_happened():
    """A job that succeeds once and is dead-lettered; one that is lost; one that is cut off."""
    refused = {"work": 90, "lease": 30, "late_ack": "unexpired"}
    dead = sq.simulate(build(**refused, max_receives=1))
    assert (observe(dead, "recorded"), observe(dead, "effects")) == ("dead-lettered", 1)
    assert observe(dead, "dead_unrun") == 0
    gone = sq.simulate(build(work=9, ack_when="received", crash=sq.Crash(after=1)))
    assert (observe(gone, "recorded"), observe(gone, "lost")) == ("lost", 1)
    cut = sq.simulate(build(**refused, horizon=100))
    assert (observe(cut, "recorded"), observe(cut, "settled_at")) == ("unfinished", None)
    assert observe(cut, "unfinished") == 1


# Declarations


def an_incident(*cases):
    """An incident with these cases."""
    return Incident(
        id="INC-00", title="T", system="S", links=(), report="R", cause="C", fix="F", cases=cases
    )


def a_case(**parts):
    """A case that expects one execution."""
    return Case(**({"name": "n", "scenario": queue(), "expect": {"executions": 1}} | parts))


def test_a_declaration_is_checked_when_made():
    """An unknown observable, nothing expected, no case before, none after."""
    with pytest.raises(ValueError, match="an observable must be one of received, starts, "):
        a_case(expect={"start": 1})
    with pytest.raises(ValueError, match="expect of case 'n' must be at least one value"):
        a_case(expect={})
    with pytest.raises(ValueError, match="the first case of INC-00 must be not fixed yet"):
        an_incident(a_case(fixed=True))
    with pytest.raises(ValueError, match="the cases of INC-00 must be at least one fixed, not 1"):
        an_incident(a_case())


def test_a_wrong_figure_does_not_agree():
    """A check can fail, and the table says so."""
    replay = an_incident(a_case(), a_case(name="m", fixed=True, expect={"executions": 2})).replay()
    assert [check.agrees for check in replay.checks] == [True, False]
    assert not replay.agrees
    assert replay.checks[1].words == ("after: m", "executions", "2", "1", "NO")
    assert str(replay).splitlines()[-1].endswith("NO")


# How they are shown


@pytest.fixture(scope="module")
def mail_merge():
    """The first incident, replayed."""
    return sq.incidents["INC-01"].replay()


def test_a_replay_tells_both_stories_and_all_figures(mail_merge):
    """As text: the story before, the one after, then a row for each check."""
    said = str(mail_merge)
    assert said.startswith("INC-01: A mail-merge job")
    assert said.index("Before: four idle workers") < said.index("After: a timeout of five hours")
    assert said.count("Job 0\n") == 2
    assert said.count("yes") == len(mail_merge.checks)
    assert repr(mail_merge) == said


def test_a_replay_in_a_notebook_is_a_table_with_links(mail_merge):
    """HTML with a row for each check, its headings marked as such, and nothing unescaped."""
    html = mail_merge._repr_html_()
    assert html.count("<tr>") == 1 + len(mail_merge.checks)
    assert html.count('<th scope="col"') == 5
    assert 'href="https://github.com/pretix/pretix/issues/2058"' in html
    assert html.count("<pre>") == 2


@pytest.mark.parametrize("number", sq.incidents)
def test_every_incident_can_be_shown(number):
    """As text and as HTML, in a length that one reads."""
    replay = sq.incidents[number].replay()
    assert len(str(replay).splitlines()) < 120
    assert replay._repr_html_().count("<pre>") == 2


def test_the_collection_shows_itself_as_a_table():
    """A row for each incident."""
    assert sq.incidents._repr_html_().count("<tr>") == 1 + len(sq.incidents)


def test_a_replay_is_drawn_in_two_panels_with_one_legend(mail_merge):
    """Before above after, and a text alternative that tells both."""
    figure = mail_merge.plot()
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "Before: four idle workers",
        "After: a timeout of five hours",
    ]
    assert len(figure.legends) == 1
    assert figure.alt_text.startswith("Before: four idle workers. Timeline of job 0")
    assert "After: a timeout of five hours. Timeline of job 0" in figure.alt_text


def test_a_long_story_is_cut_in_the_middle():
    """Its beginning and its end stay."""
    tale = "\n".join(map(str, range(100)))
    assert shortened(tale, 10).splitlines() == [
        *map(str, range(6)), "  … 90 more lines", "96", "97", "98", "99",
    ]  # fmt: skip
    assert shortened("a\nb", 2) == "a\nb"


def said(*arguments):
    """What `simqueue incident` prints, in a wide terminal."""
    done = CliRunner(env={"COLUMNS": "160"}).invoke(cli, ["incident", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_lists_all_incidents():
    """Without a number."""
    listed = re.findall(r"^INC-\d\d", said(), flags=re.M)
    assert listed == list(sq.incidents)
    assert list(json.loads(said("--json"))) == list(sq.incidents)


def test_the_command_replays_one():
    """Both stories, and the table; a number in small letters will do."""
    text = said("inc-01")
    assert "Before: four idle workers" in text
    assert "After: a timeout of five hours" in text
    assert "0, 3,600, 7,200, 10,800" in text
    document = json.loads(said("INC-01", "--json"))
    assert document["agrees"] is True
    assert document["checks"][1]["simulated"] == 4


def test_the_command_refuses_an_unknown_number_in_a_sentence():
    """Exit code 2, no traceback."""
    done = CliRunner().invoke(cli, ["incident", "INC-00"])
    assert done.exit_code == 2
    assert "Error: the incident must be one of the" in " ".join(done.output.split())


def test_the_page_is_in_step_with_the_incidents():
    """docs/incidents.md is what `python -m simqueue.incidents.page` writes."""
    assert (ROOT / "docs" / "incidents.md").read_text(encoding="utf-8") == page()
