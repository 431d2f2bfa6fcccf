"""Every real broker with parameters, teams and faults drawn at random obeys the laws of the model.

`laws_of_the_log` judges Kafka, the other laws all others; each judges a run by its ledger alone. A
long search: ``SIMQUEUE_SCENARIOS=10000 pytest tests/test_properties_of_brokers.py``.
"""

from __future__ import annotations

import dataclasses

import laws_of_figures
import laws_of_messages
import laws_of_the_log
import pytest
from brokers_at_random import DRAWN, scenarios_on
from hypothesis import given
from reenactment import observe, table
from test_properties import LAWS, SEEDS, examples

import simqueue as sq
from simqueue.brokers.all_facts import KINDS

OF_ALL = (laws_of_messages.conservation, laws_of_figures.settled, laws_of_figures.levels)
ALL = pytest.mark.parametrize("name", KINDS)


@ALL
def test_every_law_holds_on_every_broker(name):
    """Each message is in one state, its outcome is what the rows say, and nothing is impossible."""

    @examples(1 / 20)
    @given(scenario=scenarios_on(name), seed=SEEDS)
    def check(scenario, seed):
        run = observe(scenario, seed)
        laws = laws_of_the_log.LAWS if name == "kafka" else LAWS
        for law in (*OF_ALL, *laws):
            law(run)

    check()


@ALL
def test_the_same_scenario_and_seed_give_the_same_events_on_every_broker(name):
    """To the last bit."""

    @examples(1 / 160)
    @given(scenario=scenarios_on(name), seed=SEEDS)
    def check(scenario, seed):
        one, other = sq.simulate(scenario, seed), sq.simulate(scenario, seed)
        assert table(one).tobytes() == table(other).tobytes()
        assert one.tally.rows.words == other.tally.rows.words

    check()


@ALL
def test_every_parameter_of_every_broker_is_drawn(name):
    """But for those of which a short run shows nothing."""
    names = {field.name for field in dataclasses.fields(KINDS[name])}
    assert set(DRAWN[name]) <= names
    assert names - set(DRAWN[name]) <= NOT_DRAWN.get(name, set())


NOT_DRAWN = {
    "bullmq": {"debounce"},
    "sidekiq_super_fetch": {"processes"},
    "pubsub": {"message_retention_duration"},
}
