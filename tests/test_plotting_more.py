"""The strategy curve, the backoff curve, and the dashboard: what is drawn is what was found."""

from __future__ import annotations

import numpy as np
import pytest
from runs import run, scenario

import simqueue as sq
from simqueue import backoff, handlers

WHAT = scenario(sq.Fixed(10), workers=30, jobs=60, arrivals=sq.Poisson(1), lease=30, max_receives=4)
TABLE = sq.cross(
    WHAT,
    {"naive": {"handler": handlers.naive}, "claim": {"handler": handlers.claim}},
    {"nothing": {}, "acks lost": {"network.ack_lost": 0.5}},
    replications=3,
)


def test_cross_is_every_row_under_every_column():
    """The same numbers as the scenario changed by hand."""
    assert TABLE[["row", "column"]].drop_duplicates().values.tolist() == [
        ["naive", "nothing"], ["naive", "acks lost"], ["claim", "nothing"], ["claim", "acks lost"],
    ]  # fmt: skip
    by_hand = [
        sq.simulate(WHAT.replace({"network.ack_lost": 0.5}), seed).figures["duplicate_effect_rate"]
        for seed in range(3)
    ]
    cell = TABLE[
        (TABLE.row == "naive")
        & (TABLE.column == "acks lost")
        & (TABLE.figure == "duplicate_effect_rate")
    ]
    assert cell["mean"].item() == pytest.approx(np.mean(by_hand))


def test_the_bars_of_the_strategy_curve_are_the_means():
    """One panel for each fault, a bar for each strategy and figure."""
    drawing = sq.plot.strategies(TABLE)
    assert [ax.get_title(loc="left") for ax in drawing.axes] == ["nothing", "acks lost"]
    bars = drawing.axes[1].containers[1]
    mean = TABLE[(TABLE.column == "acks lost") & (TABLE.figure == "duplicate_effect_rate")]["mean"]
    assert [bar.get_width() for bar in bars] == pytest.approx(mean.tolist())
    assert "%" in drawing.axes[0].get_xlabel()
    assert "naive, nothing: nothing went wrong" in drawing.alt_text


def test_the_points_of_the_backoff_curve_are_the_means():
    """A line for each rule, over the first delay."""
    rules = [backoff.Exponential(base=1), backoff.Exponential(base=10), backoff.Constant(5)]
    table = sq.sweep(
        WHAT.replace({"network.response_lost": 0.3}), {"broker.retry_delay": rules}, replications=3
    )
    drawing = sq.plot.backoff(table, figure="deliveries_per_job")
    first = drawing.axes[0].lines[0]
    assert first.get_xdata().tolist() == [1, 10]
    means = table[table.figure == "deliveries_per_job"]["mean"].tolist()
    assert first.get_ydata().tolist() == pytest.approx(means[:2])
    assert "(seconds)" in drawing.axes[0].get_xlabel()
    assert "exponential: " in drawing.alt_text
    assert "constant: " in drawing.alt_text


def test_a_point_whose_runs_fall_into_two_groups_is_hollow():
    """Its mean describes neither."""
    table = sq.sweep(WHAT, {"broker.retry_delay": [backoff.Constant(5)]}, replications=2)
    table["groups"] = 2
    drawing = sq.plot.backoff(table)
    hollow = [line for line in drawing.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert any(len(line.get_xdata()) == 1 for line in hollow)


def test_the_dashboard_shows_the_time_series():
    """Depth, in flight, oldest age, dead letters, busy slots; crashes are marked."""
    result = run(
        10, jobs=20, workers=2, lease=30, arrivals=sq.Poisson(0.2),
        crash=sq.Crash(at=[(1, 15)], restart_after=5),
    )  # fmt: skip
    drawing = sq.plot.dashboard(result)
    series = result.timeseries
    columns = ["visible", "in_flight", "oldest_age", "dead_lettered", "busy"]
    for ax, column in zip(drawing.axes, columns, strict=True):
        assert ax.lines[0].get_ydata().tolist() == series[column].tolist()
    assert "(seconds)" in drawing.axes[-1].get_xlabel()
    assert "worker crashed" in drawing.axes[0].get_legend_handles_labels()[1]
    assert f"at most {series.visible.max()} messages waiting" in drawing.alt_text


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sq.plot.strategies(TABLE.drop(columns="row")), "a table of simqueue.cross"),
        (lambda: sq.plot.backoff(TABLE), "a sweep over broker.retry_delay"),
        (lambda: sq.plot.backoff(TABLE, figure="joy"), "figure must be one of"),
        (lambda: sq.cross(WHAT, {}, {"a": {}}), "rows must be one or more names"),
    ],
)
def test_wrong_tables_are_refused_with_one_sentence(call, sentence):
    """What is allowed, and what was given."""
    with pytest.raises(ValueError, match=sentence):
        call()
