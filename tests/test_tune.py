"""`tune` beyond the lease: other parameters, figures, functions, lines to compare."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
import pytest
from runs import scenario
from test_widgets import keep, picture, shown, status

import simqueue as sq
from simqueue.figures import DESCRIPTIONS
from simqueue.plotting.drawing import BLACK
from simqueue.plotting.figure_axes import FIGURE_AXES, FigureAxis, axis_named
from simqueue.widgets import curve_axis, curve_picture


def shop(**options: Any) -> sq.Scenario:
    """Eighty jobs of 10 s or so, delivered again after 15 s, on workers that die."""
    parts = {
        "work": sq.Exponential(10),
        "workers": 30,
        "jobs": 80,
        "arrivals": sq.Poisson(rate=1),
        "lease": 15,
        "late_ack": "deletes",
        "retry_delay": 20,
        "max_receives": 50,
        "crash": sq.Crash(mean_time_between=200, restart_after=5),
    }
    return scenario(**(parts | options))


def with_window(window: float = 60, mean: float = 10) -> sq.Scenario:
    """The shop, whose claims are taken over when they are older than the window."""

    async def handler(job: Any, ctx: Any) -> None:
        await sq.handlers.reclaim(job, ctx, stale_after=window)

    return shop(handler=handler, work=sq.Exponential(mean))


def calls(clients: int = 10, factor: float = 2.0) -> dict[str, float]:
    """Figures of one's own: no simulation at all."""
    return {"calls per client (calls)": clients * factor, "nothing (%)": 0.25}


WINDOW = {"window": (20, 200, 20)}
STRATEGIES = {"naive": {"handler": sq.handlers.naive}, "claim": {"handler": sq.handlers.claim}}


# A function instead of a scenario


def test_a_functions_parameters_have_sliders_that_start_at_its_defaults() -> None:
    """With labels in words; the code to copy is a call."""
    view = sq.widgets.tune(
        with_window,
        {**WINDOW, "mean": (5, 20)},
        figures="duplicate_effect_rate",
        labels={"window": "Stale window (seconds)"},
    )
    assert view.settings == {"window": 60, "mean": 10}
    assert [each.description for each in view.sliders.values()] == [
        "Stale window (seconds)",
        "Mean",
    ]
    view.sliders["window"].value = 80
    assert "with_window(window=80, mean=10)" in shown(view, "<code>")
    assert "With the stale window at 80 s: " in status(view)
    assert view.figures == sq.simulate(with_window(80), 1).figures
    assert view.scenario.work == sq.Exponential(10)


def test_a_function_may_return_figures_of_its_own() -> None:
    """They are named with their unit, and each slider acts."""
    view = sq.widgets.tune(
        calls, {"clients": (5, 60), "factor": (1, 4)}, figures="calls per client (calls)"
    )
    view.settle()
    x, y = view._shown.panels[0].lines[0].get_data()
    np.testing.assert_allclose(y, 2 * np.array(x))
    view.sliders["factor"].value = 3
    assert "With the clients at 10: calls per client 30 calls." in status(view)


def test_shares_of_its_own_are_shown_in_percent() -> None:
    """A unit of % says that the figure is a share from 0 to 1."""
    view = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="nothing (%)")
    assert "nothing 25 %" in status(view)


def without_default(window: float) -> sq.Scenario:
    """Nowhere for a slider to start."""
    return with_window(window)


def number(window: float = 30) -> Any:
    """Neither a scenario nor figures."""
    return window


def endless(window: float = 30) -> sq.Scenario:
    """Slow jobs go round for ever."""
    return with_window(window).replace(
        {"broker.max_receives": None, "broker.late_ack": "latest_receipt"}
    )


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (without_default, "must have a default, where its slider starts; 'window' has none"),
        (number, "what number returns must be a Scenario, or a dict of figures by name, not 30"),
        (calls, "the slider's parameter must be a parameter of calls, not 'window'"),
        (endless, "the scenario must end although"),
        ("shop", "scenario must be a Scenario, or a function that returns one, not 'shop'"),
    ],
)
def test_functions_that_do_not_serve_are_refused(function: Any, sentence: str) -> None:
    """In one sentence, when the widget is made."""
    with pytest.raises(ValueError, match=sentence):
        sq.widgets.tune(function, {"window": (1, 60)}, figures="duplicate_effect_rate")


# Lines to compare


def test_each_line_is_a_run_of_its_own() -> None:
    """At the ring and along the curve, with the same seed, and told by name."""
    view = sq.widgets.tune(
        shop(), {"broker.lease": (5, 60)}, figures="extra_effects", lines=STRATEGIES
    )
    view.settle()
    (panel,) = view._shown.panels
    for index, changes in enumerate(STRATEGIES.values()):
        expected = sq.simulate(shop().replace(changes), 1).figures["extra_effects"]
        assert panel.rings[index].get_ydata()[0] == expected
        x, y = panel.lines[index].get_data()
        there = sq.simulate(shop().replace({**changes, "broker.lease": int(x[0])}), 1)
        assert y[0] == there.figures["extra_effects"]
    assert "duplicate effects per job: naive " in status(view)
    assert ", claim 0." in status(view)


def test_lines_of_a_function_are_other_arguments() -> None:
    """And the curve has fewer places, so that it takes no longer."""
    lines = {"two": {"factor": 2.0}, "three": {"factor": 3.0}}
    view = sq.widgets.tune(
        calls, {"clients": (5, 60)}, figures="calls per client (calls)", lines=lines
    )
    view.settle()
    two, three = (line.get_data() for line in view._shown.panels[0].lines)
    np.testing.assert_allclose(three[1], 1.5 * np.array(two[1]))
    assert len(two[0]) == curve_axis.POINTS // 2


def test_lines_differ_without_colour() -> None:
    """Each has its own marker."""
    view = sq.widgets.tune(
        calls,
        {"clients": (5, 60)},
        figures="calls per client (calls)",
        lines={str(n): {"factor": float(n)} for n in range(1, 5)},
    )
    markers = [line.get_marker() for line in view._shown.panels[0].lines]
    assert len(set(markers)) == 4


def test_values_of_lines_that_meet_are_written_apart() -> None:
    """No two texts closer than their height."""
    view = sq.widgets.tune(
        calls,
        {"clients": (5, 60)},
        figures="calls per client (calls)",
        lines={"a": {"factor": 2.0}, "b": {"factor": 2.01}, "c": {"factor": 2.02}},
    )
    view.settle()
    panel = view._quick.panels[0]
    heights = sorted(
        panel._ax.transData.transform(text.xy)[1] * 72 / 100 + text.get_position()[1]
        for text in panel._values
        if text.get_visible()
    )
    assert len(heights) == 3
    assert all(np.diff(heights) >= 13.9)


def test_the_same_value_at_the_same_place_is_written_once() -> None:
    """In no line's colour, since it is that of several."""
    lines = {"a": {"factor": 2.0}, "b": {"factor": 2.0}, "c": {"factor": 4.0}}
    view = sq.widgets.tune(
        calls, {"clients": (5, 60)}, figures="calls per client (calls)", lines=lines
    )
    texts = [each for each in view._quick.panels[0]._values if each.get_visible()]
    assert [each.get_text() for each in texts] == ["20 calls", "40 calls"]
    assert texts[0].get_color() == BLACK != texts[1].get_color()


def test_long_numbers_have_room_beside_the_axis() -> None:
    """Also on an axis that has grown: nothing is cut off at the left."""
    view = sq.widgets.tune(
        calls, {"clients": (5, 60), "factor": (1, 900)}, figures="calls per client (calls)"
    )
    view.sliders["factor"].value = 900
    panel = view._quick.panels[0]
    assert panel._ax.get_ylim()[1] == 15_000
    assert panel._ax.yaxis.label.get_window_extent().x0 >= 0


@pytest.mark.parametrize("lines", [{}, {str(n): {} for n in range(5)}, ["naive"]])
def test_more_lines_than_can_be_told_apart_are_refused(lines: Any) -> None:
    """One to four, by name."""
    with pytest.raises(ValueError, match="lines must be 1 to 4 names"):
        sq.widgets.tune(shop(), {"broker.lease": (5, 60)}, lines=lines)


def test_a_line_with_a_parameter_that_the_function_has_not_is_refused() -> None:
    """With the parameters that it has."""
    sentence = "lines: the parameter of calls must be one of 'clients', 'factor', not 'speed'"
    with pytest.raises(ValueError, match=sentence):
        sq.widgets.tune(
            calls,
            {"clients": (5, 60)},
            figures="nothing (%)",
            lines={"quick": {"speed": 2}},
        )


# Axes


def test_an_axis_without_a_slider_needs_a_length() -> None:
    """Around 0 there is nothing to draw."""
    with pytest.raises(ValueError, match="x must be a parameter above 0, or one that has a slider"):
        sq.widgets.tune(shop(), {"broker.lease": (5, 60)}, x="network.ack_lost")


def test_every_figure_has_an_axis() -> None:
    """None is forgotten, and shares are shares."""
    assert FIGURE_AXES.keys() == DESCRIPTIONS.keys()
    for name, axis in FIGURE_AXES.items():
        assert axis.is_share == DESCRIPTIONS[name].startswith("share"), name


@pytest.mark.parametrize(
    ("axis", "value", "text"),
    [
        (FigureAxis("jobs lost", "%"), 0.0123, "1.2 %"),
        (FigureAxis("wait", "seconds"), 1234.5, "1,234 s"),
        (FigureAxis("crashes"), 3.0, "3"),
        (FigureAxis("effects"), 0.12345, "0.123"),
        (axis_named("Arrivals (jobs per second)"), 2, "2 jobs per second"),
        (axis_named("Arrivals (jobs per second)"), 1.0, "1 job per second"),
        (axis_named("Acks that get lost (share)"), 0.05, "0.05"),
    ],
)
def test_values_have_their_unit(axis: FigureAxis, value: float, text: str) -> None:
    """Three digits at most."""
    assert axis.text(value) == text


def test_an_axis_grows_by_round_steps_and_never_shrinks_until_reset() -> None:
    """So that a move is seen as a move of the curve."""
    view = sq.widgets.tune(
        calls, {"clients": (5, 60), "factor": (1, 8)}, figures="calls per client (calls)"
    )
    first = picture(view)
    ax = view._quick.panels[0]._ax
    low = ax.get_ylim()[1]
    view.sliders["factor"].value = 8
    high = ax.get_ylim()[1]
    assert (low, high) == (30, 100)
    view.sliders["factor"].value = 1
    assert ax.get_ylim()[1] == high
    view.reset()
    assert ax.get_ylim()[1] == low
    assert picture(view) == first


@pytest.mark.parametrize(
    ("value", "top"), [(0, 0.01), (0.1, 0.1), (0.11, 0.15), (0.6, 0.7), (8, 10), (10.5, 15)]
)
def test_tops_are_round(value: float, top: float) -> None:
    """1, 1.5, 2, 3, 4, 5, 7 times a power of ten."""
    assert math.isclose(curve_picture._round_up(value), top)


def test_a_guess_has_its_place_on_the_axis() -> None:
    """Far above the curve: the axis grows to it. In the figure's own unit."""
    guess = sq.widgets.predict("How many calls?", high=1000)
    view = sq.widgets.tune(
        calls, {"clients": (5, 60)}, figures="calls per client (calls)", guess=guess
    )
    keep(guess, 400)
    assert [each[0] for each in view._quick.guess.get_data()] == [10, 400]
    assert view._quick.panels[0]._ax.get_ylim()[1] == 500


def test_a_share_never_reaches_above_all() -> None:
    """The axis ends above 100 %, as far as the value needs that is written there."""

    def everybody(clients: int = 10) -> dict[str, float]:
        return {"all (%)": clients / clients}

    view = sq.widgets.tune(everybody, {"clients": (5, 60)}, figures="all (%)")
    assert view._quick.panels[0]._ax.get_ylim()[1] == curve_picture.TOP_OF_ALL
    value = view._quick.panels[0]._values[0]
    renderer = view._quick._canvas.get_renderer()
    line = view._quick.panels[0]._ax.transData.transform((10, 1))[1]
    assert value.get_text() == "100 %"
    assert value.get_window_extent(renderer).y0 > line


# Goals


def test_a_goal_may_ask_for_a_range() -> None:
    """At least and at most, both included."""
    goals = {"twenty to thirty": {"calls per client (calls)": (24, 30)}}
    view = sq.widgets.tune(
        calls, {"clients": (5, 60)}, figures="calls per client (calls)", goals=goals
    )
    view.sliders["clients"].value = 16
    assert "☐ twenty to thirty" in shown(view, "<ul")
    view.sliders["clients"].value = 15
    assert "☑ twenty to thirty" in shown(view, "<ul")


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ((1, 2, 3), r"must be the most, or \(least, most\)"),
        ((1, "x"), "must be a finite number, not 'x'"),
        ("x", "the most of nothing .* must be a finite number, not 'x'"),
    ],
)
def test_goals_that_can_not_be_are_refused(wanted: Any, sentence: str) -> None:
    """One sentence each."""
    with pytest.raises(ValueError, match=sentence):
        sq.widgets.tune(
            calls,
            {"clients": (5, 60)},
            figures="nothing (%)",
            goals={"g": {"nothing (%)": wanted}},
        )


@pytest.mark.parametrize("figures", [[], ["jobs", "crashes", "failures"]])
def test_one_or_two_panels(figures: list[str]) -> None:
    """With three, none would be legible."""
    with pytest.raises(ValueError, match="figures must be one or two names"):
        sq.widgets.tune(shop(), {"broker.lease": (5, 60)}, figures=figures)


# Where nothing runs


def test_without_a_kernel_picture_and_words_stand_in_its_place() -> None:
    """An image with its text, beside what every widget gives."""
    view = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="nothing (%)")
    bundle = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "nothing 25 %" in bundle["text/html"]
    assert "<img" in bundle["text/html"]


def test_the_picture_at_rest_is_the_same_every_time() -> None:
    """As a file of text: no date, no random names."""

    def drawn() -> str:
        view = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="calls per client (calls)")
        view.settle()
        return str(view.picture_at_rest)

    first = drawn()
    assert first == drawn()
    assert "at this setting</text>" in first


def test_the_picture_still_moves_after_it_was_written_to_a_file() -> None:
    """Writing it leaves the widget as it was."""
    view = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="calls per client (calls)")
    other = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="calls per client (calls)")
    assert view.picture_at_rest
    view.sliders["clients"].value = other.sliders["clients"].value = 20
    assert picture(view) == picture(other)


def test_a_move_leaves_nothing_behind_at_the_edge() -> None:
    """What is drawn anew from is the whole image, to its last column."""
    view = sq.widgets.tune(calls, {"clients": (5, 60)}, figures="calls per client (calls)")
    for each in (view._quick, view._sharp):
        assert each._background.get_extents()[2:] == each._canvas.get_width_height()


@pytest.mark.parametrize(("low", "high", "step"), [(5, 60, 1), (5, 60, 5), (0, 1000, 10)])
def test_the_curve_has_its_points_where_the_slider_can_stand(
    low: int, high: int, step: int
) -> None:
    """From end to end, so that the ring of a setting meets it."""
    lines: dict[str, dict[str, float]] = {"a": {}, "b": {"factor": 3.0}}
    name = "calls per client (calls)"
    view = sq.widgets.tune(calls, {"clients": (low, high, step)}, figures=name, lines=lines)
    view.settle()
    x = view._shown.panels[0].lines[0].get_xdata()
    assert (x[0], x[-1]) == (low, high)
    assert set(x) <= set(range(low, high + 1, step))


@pytest.mark.parametrize(("lease", "below"), [(5, False), (45, True), (60, False)])
def test_the_wait_is_written_where_neither_axis_nor_curve_is(lease: int, below: bool) -> None:
    """Below the ring, but not below the axis; at the right end above it, where no curve is."""
    view = sq.widgets.tune(shop(), {"broker.lease": (5, 60)})
    view.sliders["broker.lease"].value = lease
    panel = view._quick.panels[1]
    (text,) = panel._values
    points = 72 / 100
    ring = panel._ax.transData.transform(text.xy)[1] * points
    bottom = ring + text.get_position()[1]
    assert bottom > panel._ax.bbox.y0 * points
    assert (bottom < ring) == below


def test_values_at_the_top_stay_below_the_title() -> None:
    """And apart from each other."""

    def all_or_nearly(clients: int = 10, share: float = 1.0) -> dict[str, float]:
        return {"done (%)": share}

    lines = {"all": {}, "nearly": {"share": 0.98}, "most": {"share": 0.96}}
    view = sq.widgets.tune(all_or_nearly, {"clients": (5, 60)}, figures="done (%)", lines=lines)
    panel = view._quick.panels[0]
    heights = [
        panel._ax.transData.transform(text.xy)[1] * 72 / 100 + text.get_position()[1]
        for text in panel._values
    ]
    assert max(heights) <= panel._ax.bbox.y1 * 72 / 100 - 7.9
    assert all(np.diff(sorted(heights)) >= 13.9)


@pytest.mark.parametrize(("low", "high", "value"), [(0, 0.3, 0.05), (0.5, 3, 2), (1, 4, 3.3)])
def test_a_slider_starts_on_one_of_its_steps(low: float, high: float, value: float) -> None:
    """Where it stood between two, a browser would move it."""

    def cost(factor: float = value) -> dict[str, float]:
        return {"cost (calls)": factor}

    view = sq.widgets.tune(cost, {"factor": (low, high)}, figures="cost (calls)")
    slider = view.sliders["factor"]
    steps = (slider.value - low) / slider.step
    assert steps == pytest.approx(round(steps))
    assert (high - low) / slider.step == pytest.approx(round((high - low) / slider.step))
    assert 100 <= round((high - low) / slider.step) < 200


@pytest.mark.parametrize(
    ("low", "high", "value", "step", "shown"),
    [
        (0, 0.3, 0.05, 0.0025, ".4f"),
        (0, 0.5, 0.25, 0.005, ".3f"),
        (0.5, 3, 2, 0.025, ".3f"),
        (1, 3, 1.5, 0.02, ".2f"),
        (0, 12.5, 2.5, 0.1, ".1f"),
        (0, 0.001, 0.0005, 0.00001, ".5f"),
        (0.125, 0.625, 0.325, 0.005, ".3f"),
        (0, 1, 1 / 3, 1 / 102, ".5f"),  # no round one fits
    ],
)
def test_steps_are_round_and_all_their_digits_are_shown(
    low: float, high: float, value: float, step: float, shown: str
) -> None:
    """Else the settings to copy would be long numbers, and the one beside the slider not whole."""

    def cost(factor: float = value) -> dict[str, float]:
        return {"cost (calls)": factor}

    slider = sq.widgets.tune(cost, {"factor": (low, high)}, figures="cost (calls)").sliders[
        "factor"
    ]
    assert slider.step == pytest.approx(step)
    assert slider.readout_format == shown


def test_settings_have_no_digits_that_nobody_chose() -> None:
    """A browser's third step of 0.1 is 0.30000000000000004."""

    def cost(factor: float = 0.1) -> dict[str, float]:
        return {"cost (calls)": factor}

    view = sq.widgets.tune(cost, {"factor": (0, 1, 0.1)}, figures="cost (calls)")
    view.sliders["factor"].value = 0.1 + 0.2
    assert view.settings == {"factor": 0.3}
    assert "cost(factor=0.3)" in shown(view, "<code")
    assert view.figures == {"cost (calls)": 0.3}


def test_a_start_with_many_digits_keeps_them() -> None:
    """The sliders begin at the settings that were given, not near them."""

    def cost(factor: float = 1 / 3) -> dict[str, float]:
        return {"cost (calls)": factor}

    view = sq.widgets.tune(cost, {"factor": (0, 1)}, figures="cost (calls)")
    assert view.settings == {"factor": 1 / 3}


def test_the_curve_completes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with several lines, in a running loop."""
    monkeypatch.setattr("simqueue.widgets.meanwhile.LULL", 0.0)
    monkeypatch.setattr("simqueue.widgets.meanwhile.PAUSE", 0.0)
    monkeypatch.setattr("simqueue.widgets.meanwhile.BREATH", 0.0)

    async def session() -> Any:
        view = sq.widgets.tune(shop(), {"broker.lease": (5, 60)}, lines=STRATEGIES)
        await asyncio.wait([view._meanwhile.task])
        return view

    view = asyncio.run(session())
    assert [len(line.get_xdata()) for line in view._shown.panels[0].lines] == [
        curve_axis.POINTS // 2
    ] * 2
