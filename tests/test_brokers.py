"""What holds for all brokers: facts with sources and tests, names in files, defaults."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import simqueue as sq
from simqueue import kinds, scenario_file
from simqueue.brokers.all_facts import KINDS, NAMES, as_markdown, facts_of, file_of_tests

ROOT = Path(__file__).parent.parent
NEEDED = {"pgmq": {"vt": 30.0}, "status_column": {"rescue_after": 900.0, "rescue_every": 60.0}}
ALL = pytest.mark.parametrize("name", NAMES)


def broker(name):
    """The broker with this name, as it is unless something is set."""
    return KINDS[name](**NEEDED.get(name, {}))


def test_every_broker_has_its_facts():
    """All kinds of the registry, but the generic one, which is none."""
    assert set(NAMES) == set(KINDS) == set(kinds.KINDS["broker"]) - {"generic"}
    assert all(getattr(sq.brokers, name) is kind for name, kind in KINDS.items())


@ALL
def test_every_fact_has_a_source_and_a_test_or_a_reason(name):
    """And its test is there, by that name."""
    tests = (ROOT / file_of_tests(name)).read_text(encoding="utf-8")
    for fact in facts_of(name):
        assert fact.what, fact
        assert fact.value, fact
        assert fact.source, fact
        assert bool(fact.test) != bool(fact.left_out), fact
        assert not fact.test or re.search(rf"^def {fact.test}\(", tests, re.MULTILINE), fact


@ALL
def test_the_facts_are_a_table(name):
    """One row each, for notebooks."""
    table = sq.brokers.as_table(broker(name).facts())
    assert len(table) == len(facts_of(name))
    assert list(table.columns) == ["what", "value", "source", "test", "left_out"]


def test_the_documentation_has_every_fact():
    """`docs/brokers.md` is what the command prints."""
    assert (ROOT / "docs" / "brokers.md").read_text(encoding="utf-8") == as_markdown()


@ALL
def test_every_parameter_is_explained(name):
    """In the docstring of its class, and has a sentence of its own when it is wrong."""
    kind = KINDS[name]
    told = "".join(part.__doc__ or "" for part in kind.__mro__[:-1])
    for field in dataclasses.fields(kind):
        assert re.search(rf"\b{field.name}\b", told), field.name


@ALL
def test_a_scenario_file_gives_it_back(name, tmp_path):
    """To the last parameter."""
    scenario = sq.Scenario(
        arrivals=sq.AllAtOnce(), jobs=1, work=sq.Fixed(1), broker=broker(name),
        handler=sq.handlers.naive,
    )  # fmt: skip
    path = tmp_path / "scenario.toml"
    path.write_text(scenario_file.dumps(scenario), encoding="utf-8")
    assert scenario_file.load(path) == scenario


@ALL
def test_a_job_without_trouble_runs_once_on_it(name):
    """Twenty jobs, two workers, nothing goes wrong: twenty effects, and nothing is left."""
    scenario = sq.Scenario(
        arrivals=sq.Poisson(rate=1), jobs=20, work=sq.Exponential(mean=1), broker=broker(name),
        workers=sq.Workers(count=2), handler=sq.handlers.naive,
    )  # fmt: skip
    result = sq.simulate(scenario)
    assert result.jobs.outcome.tolist() == ["acked"] * 20
    assert result.jobs.effects.tolist() == [1] * 20
