"""The brokers side by side: the page in the docs, the words, the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

import simqueue as sq
from simqueue.side_by_side import as_markdown, compare_brokers, everyone, exhaustion, late_ack

PAGE = Path(__file__).parent.parent / "docs" / "brokers_compared.md"


@pytest.fixture(scope="module")
def table():
    """All brokers, as in the docs."""
    return compare_brokers()


def test_the_page_is_what_the_comparison_gives(table):
    """Number by number, and the picture's words too."""
    page = PAGE.read_text(encoding="utf-8")
    assert as_markdown(table) in page
    assert sq.plot.alt_text(sq.plot.brokers(table)) in page


def test_every_broker_is_compared():
    """All of the registry, by its class."""
    from simqueue.brokers.all_facts import KINDS

    compared = {type(broker) for broker in everyone().values()}
    assert {kind.__name__ for kind in KINDS.values()} - {kind.__name__ for kind in compared} <= {
        "GoodJob"
    }


def test_the_words_are_those_of_small_runs():
    """Each answer once, on brokers of which it is known."""
    generic = sq.brokers.generic
    assert late_ack(generic(lease=10, late_ack="deletes")) == "accepted, under the other's hands"
    assert late_ack(generic(lease=10, late_ack="ignored")) == "ignored, in silence"
    assert late_ack(generic(lease=10, late_ack="unexpired")) == "refused, and the worker is told"
    assert late_ack(generic(lease=None)) == "never late: nobody else gets the job"
    failing = {"retry_delay": 1, "counts": ["failure"]}
    assert exhaustion(generic(max_receives=3, **failing)) == "dead-letter queue after 3 runs"
    dropped = generic(max_receives=1, exhausted="drop", **failing)
    assert exhaustion(dropped) == "dropped after 1 run"
    assert exhaustion(generic(on_failure="ack")) == "acked all the same after 1 run"
    assert exhaustion(generic(retention=60)).startswith("expires after")
    assert exhaustion(generic()) == "goes round for ever"


def test_the_picture_needs_the_comparison():
    """One clear sentence."""
    import pandas as pd

    with pytest.raises(ValueError, match="a table of compare_brokers"):
        sq.plot.brokers(pd.DataFrame({"x": [1]}))


def test_the_picture_says_who_never_gets_a_job_back(table):
    """In its words, and in its panel."""
    figure = sq.plot.brokers(table)
    assert "Sidekiq: 0 % charged twice" in sq.plot.alt_text(figure)
    assert "never back" in sq.plot.alt_text(figure)
    assert "never" in [text.get_text() for text in figure.axes[2].texts]
