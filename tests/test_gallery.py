"""The gallery of incidents: every one can be picked, and shows its figures and two timelines."""

from __future__ import annotations

import re
from typing import Any

import pytest

import simqueue as sq
from simqueue.incidents import registry
from simqueue.incidents.groups import by_mechanism, by_system
from simqueue.plotting.drawing import alt_text, img_tag
from simqueue.widgets import gallery, incident_gallery


def page(of: sq.widgets.Gallery) -> str:
    """What is shown below the lists."""
    return str(of.children[3].value)


def status(of: sq.widgets.Gallery) -> str:
    """The line that screen readers read out."""
    return str(of.children[2].value)


def alternatives(html: str) -> list[str]:
    """The alt text of each image."""
    return re.findall(r'<img [^>]*alt="([^"]*)"', html)


def without_pixels(figure: Any) -> str:
    """An image of a figure that is not rendered, since that takes most of the time."""
    return img_tag(b"", alt_text(figure), 1, 1)


@pytest.fixture(scope="module")
def shown() -> sq.widgets.Gallery:
    """One gallery, which the tests leave as it is when they change it."""
    return gallery()


@pytest.mark.parametrize("number", list(sq.incidents)[::10])  # test_incidents replays them all
def test_an_incident_can_be_picked(
    shown: sq.widgets.Gallery, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report and links, a row for each figure, two timelines with words and numbers, a status."""
    monkeypatch.setattr(incident_gallery, "image_html", without_pixels)
    shown.incidents.value = number
    incident, html = sq.incidents[number], page(shown)
    assert f"<h3>{number}: " in html
    assert all(f'href="{link}"' in html for link in incident.links)
    assert html.count("<tr>") == 1 + len(incident.before.expect) + len(incident.after.expect)
    before, after = alternatives(html)
    assert before.startswith("Before: ")
    assert after.startswith("After: ")
    alike = before.partition(". ")[2] == after.partition(". ")[2]
    assert alike == (incident_gallery.ALIKE in html)
    assert not alike or number == "INC-69"  # a relay's copies are no deliveries of the job
    assert all(re.search(r"\d", words) for words in (before, after))
    assert 'role="status"' in status(shown)
    assert f">{number}. Before the fix, " in status(shown)
    total = len(incident.before.expect) + len(incident.after.expect)
    assert f"{total} of {total} figures agree" in status(shown)


def test_it_begins_with_the_one_that_is_asked_for() -> None:
    """INC-01 by default; a wrong id is told in a sentence."""
    assert gallery().incidents.value == "INC-01"
    assert "<h3>INC-45: " in page(gallery("INC-45"))
    with pytest.raises(ValueError, match=r"the incident must be one of the \d+ .* not 'INC-00'"):
        gallery("INC-00")


def test_cases_that_are_not_shown_are_named() -> None:
    """INC-78 has nine cases, two of which are shown; INC-01 has no others."""
    assert "7 more cases: <code>sq.incidents['INC-78'].replay()" in page(gallery("INC-78"))
    assert "more case" not in page(gallery("INC-30"))


def test_a_group_narrows_the_list_and_keeps_what_is_shown_if_it_can() -> None:
    """Kafka's five; from INC-61 on, "partitions" still shows it, and SQS begins with its first."""
    one = gallery("INC-61")
    one.groups.label = "system: Kafka (5)"
    assert one.incidents.value == "INC-61"
    assert [number for _, number in one.incidents.options] == by_system()["Kafka"]
    one.groups.label = "system: SQS (5)"
    assert one.incidents.value == "INC-40"
    assert "<h3>INC-40: " in page(one)
    one.groups.label = incident_gallery.ALL
    assert one.incidents.value == "INC-40"
    assert len(one.incidents.options) == len(sq.incidents)


def test_a_label_names_number_system_and_title() -> None:
    """As in "INC-01 · Celery on Redis: A mail-merge job …"."""
    labels = [label for label, _ in gallery().incidents.options]
    assert labels[0].startswith("INC-01 · Celery on Redis: A mail-merge job")
    assert len(set(labels)) == len(sq.incidents)


def test_it_says_that_it_runs_before_it_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status is "running…" while the simulation is at work."""
    one = gallery()
    seen: list[str] = []
    replayed = incident_gallery._replayed

    def watched(incident: sq.incidents.Incident) -> tuple[str, str]:
        seen.append(status(one))
        return replayed(incident)

    monkeypatch.setattr(incident_gallery, "_replayed", watched)
    one.incidents.value = "INC-20"
    assert ["INC-20: running…" in said for said in seen] == [True]
    assert "running" not in status(one)


def test_what_was_simulated_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Picked again, it is shown at once."""
    one = gallery()
    first = page(one)
    one.incidents.value = "INC-30"
    monkeypatch.setattr(incident_gallery, "_replayed", None)
    one.incidents.value = "INC-01"
    assert page(one) == first


def test_one_that_fails_says_so_and_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is empty then, instead of showing the incident before."""
    one = gallery()

    def fails(incident: sq.incidents.Incident) -> tuple[str, str]:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(incident_gallery, "_replayed", fails)
    with pytest.raises(RuntimeError):
        one.incidents.value = "INC-30"
    assert page(one) == ""
    assert "INC-30 could not be replayed: no such luck" in status(one)


def test_without_a_kernel_the_first_one_stands_there() -> None:
    """The bundle for notebooks holds its page, and its words as plain text."""
    one = gallery("INC-30")
    one.incidents.value = "INC-01"
    bundle = one._repr_mimebundle_()
    assert "<h3>INC-30: " in bundle["text/html"]
    assert len(alternatives(bundle["text/html"])) == 2
    assert bundle["text/plain"].startswith("INC-30. Before the fix, ")
    assert "application/vnd.jupyter.widget-view+json" in bundle


# The groups


def test_every_incident_has_one_mechanism_and_a_system() -> None:
    """No group is empty, and none is forgotten."""
    mechanisms = [number for numbers in by_mechanism().values() for number in numbers]
    assert sorted(mechanisms) == list(sq.incidents)
    assert {number for numbers in by_system().values() for number in numbers} == set(sq.incidents)
    assert all(by_mechanism().values())
    assert all(by_system().values())


def test_mechanisms_are_all_modules_with_incidents() -> None:
    """Each once."""
    assert len({id(module) for module in registry.MECHANISMS.values()}) == len(registry.MECHANISMS)
