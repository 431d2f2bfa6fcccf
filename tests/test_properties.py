"""Laws that hold in every run, on scenarios drawn at random over all knobs and faults.

The laws stand in `laws_of_messages`, `laws_of_leases`, `laws_of_order`, `laws_of_producers`,
`laws_of_workers`, `laws_of_handlers`, `laws_of_silence` and `laws_of_figures`, and judge a run by
its ledger alone. A long search:
``SIMQUEUE_SCENARIOS=10000 pytest tests/test_properties.py``.
"""

from __future__ import annotations

import os

import laws_of_figures
import laws_of_handlers
import laws_of_leases
import laws_of_messages
import laws_of_order
import laws_of_producers
import laws_of_silence
import laws_of_workers
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reenactment import observe, table
from scenarios_at_random import TEAMS, scenarios

import simqueue as sq
from simqueue.faults import At

SCENARIOS = int(os.environ.get("SIMQUEUE_SCENARIOS", "800"))
SEEDS = st.integers(0, 9)
LAWS = (
    *laws_of_messages.LAWS,
    *laws_of_leases.LAWS,
    *laws_of_order.LAWS,
    *laws_of_producers.LAWS,
    *laws_of_workers.LAWS,
    *laws_of_handlers.LAWS,
    *laws_of_silence.LAWS,
)


def examples(share: float):
    """How often a property is tried: this share of all scenarios.

    Failing scenarios are shrunk, but not explained: that would take longer than the search. They
    are large, so Hypothesis is told not to mind how long it takes to draw one.
    """
    return settings(
        max_examples=max(1, round(SCENARIOS * share)),
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        database=None,
    )


# Each kind of worker is its own test, so that they can run side by side.


@pytest.mark.parametrize("team", TEAMS)
def test_every_law_holds_in_every_run(team):
    """Conservation, leases, attempts, ties, order, limits, faults: all that the laws say."""

    @examples(1 / len(TEAMS))
    @given(scenario=scenarios(team), seed=SEEDS)
    def check(scenario, seed):
        run = observe(scenario, seed)
        for law in LAWS:
            law(run)

    check()


@examples(1 / 6)
@given(scenario=scenarios(), seed=SEEDS)
def test_figures_and_levels_are_what_their_definitions_say(scenario, seed):
    """Computed again in plain Python from the tables."""
    run = observe(scenario, seed)
    for law in laws_of_figures.LAWS:
        law(run)


@examples(1 / 6)
@given(scenario=scenarios(), seed=SEEDS)
def test_the_same_scenario_and_seed_give_the_same_events(scenario, seed):
    """To the last bit."""
    one, other = sq.simulate(scenario, seed), sq.simulate(scenario, seed)
    assert table(one).tobytes() == table(other).tobytes()
    assert one.tally.rows.words == other.tally.rows.words


@examples(1 / 6)
@given(scenario=scenarios(), seed=SEEDS, share=st.sampled_from([0.2, 0.5, 0.9]))
def test_a_longer_run_begins_as_the_shorter_one(scenario, seed, share):
    """The horizon cuts, and changes nothing before it."""
    short = sq.simulate(scenario.replace({"horizon": scenario.horizon * share}), seed)
    long = sq.simulate(scenario, seed)
    beginning, whole = table(short), table(long)
    assert whole[: len(beginning)].tobytes() == beginning.tobytes()
    assert all(whole[len(beginning) :, 0] >= scenario.horizon * share)


NEVER_SEEN = (
    sq.Crash(),
    sq.Crash(after=1, jobs=[]),
    sq.Network(),
    sq.Pause(seconds=10),
    sq.Deploy(at=10_000),
    sq.Partition(worker=1, window=(10_000, 10_001)),
    sq.Outage(service="payments", window=(10_000, 10_001)),
    sq.Slowness(service="store", window=(10_000, 10_001), seconds=5),
    At(step="work", job=99),
    At(step="ack", job=99),
    At(step="work", what="pause", job=99, seconds=5),
)


@examples(1 / 6)
@given(scenario=scenarios(), seed=SEEDS)
def test_faults_that_do_not_strike_change_nothing(scenario, seed):
    """With every fault in the scenario, but at no time or on no job of it: the same events."""
    more = scenario.replace({"faults": (*scenario.faults, *NEVER_SEEN)})
    assert table(sq.simulate(more, seed)).tobytes() == table(sq.simulate(scenario, seed)).tobytes()
