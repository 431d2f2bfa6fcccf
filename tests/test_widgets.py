"""Sliders and guesses, without a browser: what the picture, the words and the code say."""

from __future__ import annotations

import asyncio
import base64
import gc
import html
import io
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image
from runs import scenario

import simqueue as sq
from simqueue.widgets import curve_axis, meanwhile, subject

if TYPE_CHECKING:
    from collections.abc import Iterator

LEASE, MEAN = "broker.lease", "work.mean"
BOTH = {LEASE: (1, 60), MEAN: (5, 40)}


def small(**options: Any) -> sq.Scenario:
    """Sixty jobs of 20 s on average under a lease of 30 s, with some crashes."""
    parts = {
        "work": sq.Exponential(20),
        "workers": 60,
        "jobs": 60,
        "arrivals": sq.Poisson(rate=1),
        "max_receives": 3,
        "crash": sq.Crash(mean_time_between=300, restart_after=5),
    }
    return scenario(**(parts | options))


def tuned(parameters: Any = None, **options: Any) -> Any:
    """`tune` on the small scenario, with sliders for the lease and the mean of the work."""
    return sq.widgets.tune(small(), parameters or BOTH, **options)


def parts(widget: Any) -> Iterator[Any]:
    """The widget and all that it holds."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)


def shown(widget: Any, sign: str) -> str:
    """The text of the part that holds `sign`."""
    (found,) = [
        each.value
        for each in parts(widget)
        if isinstance(each, ipywidgets.HTML) and sign in each.value
    ]
    return html.unescape(str(found)).replace("\xa0", " ")


def picture(widget: Any) -> str:
    """The <img> with its picture and its text."""
    return shown(widget, "<img")


def status(widget: Any) -> str:
    """What the line for screen readers says."""
    return shown(widget, "aria-live")


class Redraws:
    """Counts how often a widget shows another picture."""

    def __init__(self, widget: Any) -> None:
        self.count = 0
        (image,) = [each for each in parts(widget) if "<img" in str(getattr(each, "value", ""))]
        image.observe(self._note, "value")

    def _note(self, _: Any) -> None:
        self.count += 1


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """Which runs are made, as (lease, mean work)."""
    made: list[tuple[float, float]] = []
    in_slices = subject.in_slices

    def noted(one: sq.Scenario, seed: int, events: int) -> Any:
        made.append((float(one.broker.lease), float(one.work.mean)))  # type: ignore[attr-defined]
        return in_slices(one, seed, events)

    monkeypatch.setattr(subject, "in_slices", noted)
    return made


# Sliders


def test_sliders_start_at_the_scenario_and_have_units() -> None:
    """A slider for each parameter, named in words with its unit, at the scenario's value."""
    view = tuned({LEASE: (1, 60), MEAN: (5, 40), "network.ack_lost": (0, 0.5)})
    assert [each.description for each in view.sliders.values()] == [
        "Lease (seconds)",
        "Work, mean (seconds)",
        "Acks that get lost (share)",
    ]
    assert view.settings == {LEASE: 30, MEAN: 20, "network.ack_lost": 0.0}
    assert [isinstance(each, ipywidgets.IntSlider) for each in view.sliders.values()] == [
        True,
        True,
        False,
    ]


def test_sliders_take_a_step_and_move_while_they_are_dragged() -> None:
    """(low, high, step) sets the step; the keyboard and a drag act at once."""
    slider = tuned({LEASE: (10, 60, 5)}).sliders[LEASE]
    assert (slider.min, slider.max, slider.step, slider.continuous_update) == (10, 60, 5, True)


def test_neither_output_nor_interact_is_used() -> None:
    """Both hide errors: the widget is made of sliders, a button and HTML."""
    kinds = {type(each).__name__ for each in parts(tuned())}
    assert kinds == {"Tune", "IntSlider", "Button", "HTML"}


# What a move does


def test_a_move_changes_picture_words_and_code() -> None:
    """Everything follows the slider."""
    view = tuned()
    before = picture(view)
    view.sliders[LEASE].value = 45
    assert picture(view) != before
    assert "With the lease at 45 s: " in status(view)
    assert f'scenario.replace({{"{LEASE}": 45, "{MEAN}": 20}})' in shown(view, "<code>")
    assert view.scenario.broker.lease == 45


def test_the_ring_is_the_run_at_the_setting() -> None:
    """The marked points are the figures of `simulate` at the sliders' values, seed and all."""
    view = tuned(seed=7)
    view.sliders[LEASE].value, view.sliders[MEAN].value = 12, 10
    changed = small().replace({LEASE: 12, MEAN: 10})
    figures = sq.simulate(changed, seed=7).figures
    assert view.figures == figures
    x, y = view._shown.panels[0].rings[0].get_data()
    assert (x[0], y[0]) == (12, pytest.approx(figures["duplicate_delivery_rate"]))
    assert view._shown.panels[1].rings[0].get_ydata()[0] == pytest.approx(figures["recovery_mean"])
    assert f"{100 * figures['duplicate_delivery_rate']:.3g} %" in status(view)


def test_the_dashed_line_is_the_theory_of_the_setting() -> None:
    """Theory follows the slider of the work."""
    view = tuned()
    view.sliders[MEAN].value = 10
    x, y = view._shown.panels[0].theory.get_data()
    assert_allclose(y, np.maximum(np.exp(-x / 10), view._shown.panels[0]._least / 10))


def test_settle_draws_the_whole_curve() -> None:
    """The blue points are runs at each lease of the grid, its ends included, and at the ring."""
    view = tuned()
    assert len(view._shown.panels[0].lines[0].get_xdata()) < curve_axis.POINTS
    view.settle()
    x, y = view._shown.panels[0].lines[0].get_data()
    assert (x[0], x[-1], len(x)) == (1, 60, curve_axis.POINTS + 1)  # and where the slider is
    expected = sq.simulate(small().replace({LEASE: int(x[5])}), seed=1).figures
    assert y[5] == pytest.approx(expected["duplicate_delivery_rate"])


def test_shares_of_zero_are_drawn_at_the_bottom() -> None:
    """On a logarithmic axis 0 has no place: it stands on the axis, and its name is "none"."""
    view = sq.widgets.tune(small(crash=None), BOTH)
    view.sliders[MEAN].value, view.sliders[LEASE].value = 5, 60
    assert view.figures["duplicate_delivery_rate"] == 0
    left = view._shown.panels[0]
    assert left.rings[0].get_ydata()[0] == left.rings[0].axes.get_ylim()[0]
    assert left._values[0].get_text() == "none"


def test_axes_stay_as_they_are() -> None:
    """Limits are fixed, so that a change is seen as a change of the curve."""
    view = tuned()
    axes = [view._shown.panels[0].rings[0].axes, view._shown.panels[1].rings[0].axes]
    before = [(ax.get_xlim(), ax.get_ylim()) for ax in axes]
    view.sliders[MEAN].value = 40
    view.settle()
    assert [(ax.get_xlim(), ax.get_ylim()) for ax in axes] == before
    assert 'width="820" height="360"' in picture(view)


def test_reset_brings_everything_back_in_one_redraw() -> None:
    """Both sliders, the picture and the words, without an image of the way there."""
    view = tuned()
    first = picture(view), status(view)
    view.sliders[LEASE].value, view.sliders[MEAN].value = 5, 40
    redraws = Redraws(view)
    (button,) = [each for each in parts(view) if isinstance(each, ipywidgets.Button)]
    button.click()
    assert (picture(view), status(view)) == first
    assert redraws.count == 1
    assert view.settings == {LEASE: 30, MEAN: 20}


def test_the_picture_is_sharp_at_rest() -> None:
    """While the sliders move it has a pixel for each of the page's; at rest it has four."""
    view = tuned()
    assert size(view) == (820, 360)
    view.settle()
    assert size(view) == (1640, 720)
    view.sliders[LEASE].value = 31
    assert size(view) == (820, 360)


def size(widget: Any) -> tuple[int, int]:
    """Width and height of the picture itself, in its own pixels."""
    png = base64.b64decode(picture(widget).partition("base64,")[2].partition('"')[0])
    return Image.open(io.BytesIO(png)).size


def test_the_text_of_the_picture_tells_numbers() -> None:
    """The alt text has the setting's figures and the curve's ends."""
    view = tuned()
    view.settle()
    text = picture(view).partition('alt="')[2]
    assert "With the lease at 30 s" in text
    assert "At 1 s: " in text
    assert "At 60 s: " in text


# No run is made twice


def test_moving_the_lease_leaves_the_curve(runs: list[tuple[float, float]]) -> None:
    """After the curve is there, another lease costs one run, and going back costs none."""
    view = tuned()
    view.settle()
    runs.clear()
    view.sliders[LEASE].value = 33
    view.settle()
    assert runs == [(33, 20)]
    view.sliders[LEASE].value = 30
    view.settle()
    assert runs == [(33, 20)]


def test_going_back_to_known_settings_costs_nothing(runs: list[tuple[float, float]]) -> None:
    """Also the other sliders' curves are remembered."""
    view = tuned()
    view.settle()
    view.sliders[MEAN].value = 10
    view.settle()
    runs.clear()
    view.sliders[MEAN].value = 20
    assert len(view._shown.panels[0].lines[0].get_xdata()) == curve_axis.POINTS + 1
    assert runs == []


# In a running event loop, as in a notebook


async def rest(view: Any) -> None:
    """Wait until the curve is complete, or failed."""
    if view._meanwhile.task is not None:
        await asyncio.wait([view._meanwhile.task])


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with the next move, and with the rest of the curve, at once."""
    monkeypatch.setattr(meanwhile, "LULL", 0.0)
    monkeypatch.setattr(meanwhile, "PAUSE", 0.0)
    monkeypatch.setattr(meanwhile, "BREATH", 0.0)


@pytest.mark.usefixtures("no_pause")
def test_the_curve_completes_by_itself() -> None:
    """With a loop, the points come without anybody asking, and equal `settle`'s."""

    async def session() -> Any:
        view = tuned()
        await rest(view)
        return view

    view, other = asyncio.run(session()), tuned()
    other.settle()
    assert picture(view) == picture(other)


@pytest.mark.usefixtures("no_pause")
def test_a_new_move_ends_the_work_for_the_old_one(runs: list[tuple[float, float]]) -> None:
    """Of settings that were passed by only their own point is simulated, and drawn, once each."""

    async def session() -> None:
        view = tuned()
        await rest(view)
        runs.clear()
        redraws = Redraws(view)
        for mean in (30, 31, 32):
            view.sliders[MEAN].value = mean
        await rest(view)
        drawn = redraws.count
        await asyncio.sleep(0.01)
        at_rest = curve_axis.POINTS // meanwhile.AT_ONCE + 1
        assert redraws.count == drawn == 3 + at_rest

    asyncio.run(session())
    assert [mean for _, mean in runs] == [30, 31, 32, 33] + [32] * curve_axis.POINTS


@pytest.mark.usefixtures("no_pause")
def test_a_move_in_the_middle_of_the_curve_starts_the_new_one(
    runs: list[tuple[float, float]],
) -> None:
    """The half-finished curve is dropped: no point of it is simulated after the move."""

    async def session() -> None:
        view = tuned()
        while len(runs) < 5:
            await asyncio.sleep(0)
        view.sliders[MEAN].value = 10
        await rest(view)

    asyncio.run(session())
    means = [mean for _, mean in runs]
    assert means == sorted(means, reverse=True)
    assert 5 <= means.count(20) < curve_axis.POINTS


@pytest.mark.usefixtures("no_pause")
def test_a_move_need_not_wait_for_the_end_of_a_run(
    runs: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run for the curve stops each few events, and is left where it is when a move comes."""
    monkeypatch.setattr(subject, "EVENTS_AT_ONCE", 10)

    async def session() -> None:
        view = tuned()
        while len(runs) < 2:
            await asyncio.sleep(0)
        place = runs[-1][0]
        for _ in range(5):  # a whole run has some forty times ten events
            await asyncio.sleep(0)
        assert len(runs) == 2
        assert not view._curve.outcomes.knows(view.settings | {LEASE: place})
        view.sliders[MEAN].value = 10
        await rest(view)
        view.settle()

    asyncio.run(session())


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize(
    ("moves", "ahead"),
    [([31], [32]), ([31, 33], [35]), ([25], [20]), ([32, 31], []), ([58, 60], []), ([2, 1], [])],
)
def test_one_more_move_like_the_last_is_made_before_it_comes(
    runs: list[tuple[float, float]], moves: list[int], ahead: list[int]
) -> None:
    """Before the rest of the curve; not what is known already, nor beyond an end."""

    async def session() -> None:
        view = tuned({LEASE: (1, 60)})
        runs.clear()
        for lease in moves:
            view.sliders[LEASE].value = lease
        expected = [*moves, *ahead]
        while len(runs) <= len(expected):
            await asyncio.sleep(0)
        *made, first_of_curve = [lease for lease, _ in runs]
        assert made == expected
        assert first_of_curve in {1, 31, 42}
        view._meanwhile.stop()

    asyncio.run(session())


@pytest.mark.usefixtures("no_pause")
def test_a_move_that_was_foreseen_goes_on_with_its_run(
    runs: list[tuple[float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run is not begun again, and is the same as at once."""
    monkeypatch.setattr(subject, "EVENTS_AT_ONCE", 10)

    async def session() -> Any:
        view = tuned({LEASE: (1, 60)})
        runs.clear()
        view.sliders[LEASE].value = 29
        while len(runs) < 2:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        view.sliders[LEASE].value = 28
        view._meanwhile.stop()
        assert [lease for lease, _ in runs] == [29, 28]
        return view

    view, at_once = asyncio.run(session()), tuned({LEASE: (1, 60)})
    at_once.sliders[LEASE].value = 28
    assert view.figures == at_once.figures


@pytest.mark.usefixtures("no_pause")
def test_the_sharp_picture_is_made_before_the_curve(runs: list[tuple[float, float]]) -> None:
    """It takes long, and would hold up a move that comes when the curve is there."""

    async def session() -> None:
        view = tuned()
        made = "_sharp" in vars(view)
        while len(runs) < 2:
            await asyncio.sleep(0)
        assert not made
        assert "_sharp" in vars(view)
        view._meanwhile.stop()

    asyncio.run(session())


def test_a_slider_that_is_dragged_begins_no_run_ahead(runs: list[tuple[float, float]]) -> None:
    """One move follows the other before the lull is over."""

    async def session() -> None:
        view = tuned({LEASE: (1, 60)})
        runs.clear()
        for lease in (31, 32, 33):
            view.sliders[LEASE].value = lease
            for _ in range(20):
                await asyncio.sleep(0)
        view._meanwhile.stop()

    asyncio.run(session())
    assert [lease for lease, _ in runs] == [31, 32, 33]


@pytest.mark.usefixtures("no_pause")
def test_what_would_go_wrong_further_on_is_told_only_there() -> None:
    """One more such move, and the 99th percentile is below the median: nobody is there yet."""

    async def session() -> Any:
        view = sq.widgets.tune(
            small(work=sq.LogNormal(median=10, p99=40)),
            {"work.median": (1, 30), "work.p99": (20, 90)},
            x=LEASE,
        )
        view.sliders["work.median"].value = 25
        view.sliders["work.p99"].value = 30
        await rest(view)
        assert view.error is None
        view.sliders["work.p99"].value = 20
        return view

    view = asyncio.run(session())
    assert "p99" in shown(view, 'role="alert"')


def test_no_garbage_is_collected_while_a_reader_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a move the collector is off, and after it, as before, on: also if the move fails."""
    states: list[bool] = []

    def broken(*_: Any) -> Any:
        states.append(gc.isenabled())
        raise sq.HandlerError("it awaited a stranger")

    view = tuned()
    monkeypatch.setattr(subject, "in_slices", broken)
    with pytest.raises(sq.HandlerError):
        view.sliders[LEASE].value = 31
    assert states == [False]
    assert gc.isenabled()


# What goes wrong is seen


def test_settings_that_do_not_go_together_are_explained() -> None:
    """A 99th percentile below the median gives a sentence; the picture waits for the next move."""
    view = sq.widgets.tune(
        small(work=sq.LogNormal(median=10, p99=40)),
        {LEASE: (1, 60), "work.median": (1, 30), "work.p99": (20, 90)},
    )
    before = picture(view)
    view.sliders["work.p99"].value = 20
    view.sliders["work.median"].value = 25
    alert = shown(view, 'role="alert"')
    assert "p99" in alert
    assert "25" in alert
    assert isinstance(view.error, ValueError)
    view.reset()
    assert view.error is None
    assert picture(view) == before


def test_an_error_in_a_run_reaches_the_caller_and_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the handler should not do is raised at the move, and stands in the status line."""

    def broken(*_: Any) -> Any:
        raise sq.HandlerError("it awaited a stranger")

    view = tuned()
    monkeypatch.setattr(subject, "in_slices", broken)
    with pytest.raises(sq.HandlerError, match="stranger"):
        view.sliders[LEASE].value = 31
    assert "it awaited a stranger" in shown(view, 'role="alert"')


@pytest.mark.usefixtures("no_pause")
def test_an_error_in_the_background_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The status line tells it, the task holds it, and `settle` raises it."""

    def broken(*_: Any) -> Any:
        raise sq.HandlerError("it awaited a stranger")

    async def session() -> Any:
        view = tuned()
        monkeypatch.setattr(subject, "in_slices", broken)
        await rest(view)
        assert isinstance(view._meanwhile.task.exception(), sq.HandlerError)
        return view

    view = asyncio.run(session())
    assert "it awaited a stranger" in shown(view, 'role="alert"')
    with pytest.raises(sq.HandlerError, match="stranger"):
        view.settle()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({}, "parameters must be dotted names"),
        ({"work.median": (1, 9)}, "the slider's parameter must be one that the scenario has"),
        ({LEASE: 5}, r"the range of broker.lease must be \(low, high\)"),
        ({LEASE: (60, 1)}, r"the range of broker.lease must be \(low, high\)"),
        ({LEASE: (1, 60, 0)}, r"the range of broker.lease must be \(low, high\)"),
        ({LEASE: (1, "x")}, "the range of broker.lease must be a finite number, not 'x'"),
        (
            {LEASE: (40, 60)},
            "broker.lease, where its slider starts, must be a number from 40 to 60",
        ),
        ({LEASE: (0, 60)}, "broker.lease must be a number of seconds above 0, not 0"),
    ],
)
def test_sliders_that_can_not_be_are_refused(parameters: Any, sentence: str) -> None:
    """One sentence, when the widget is made, not when somebody has dragged it there."""
    with pytest.raises(ValueError, match=sentence):
        sq.widgets.tune(small(), parameters)


def test_a_scenario_that_may_never_end_is_refused() -> None:
    """Without a limit of receives, a slow job would go round until somebody stops the kernel."""
    with pytest.raises(ValueError, match="the scenario must end although jobs outlast their lease"):
        sq.widgets.tune(small(max_receives=None), BOTH)
    sq.widgets.tune(small(max_receives=None, late_ack="deletes"), BOTH)
    sq.widgets.tune(small(max_receives=None, horizon=200), BOTH)
    sq.widgets.tune(small(max_receives=None, lease=None), {MEAN: (5, 40)})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"figures": "duplicates"}, "figures must be one of"),
        ({"goals": {"few": {"duplicates": 1}}}, "figures must be one of"),
        (
            {"goals": {"few": {"crashes": "x"}}},
            "goals: the most of crashes must be a finite number",
        ),
        ({"x": "work.median"}, "the slider's parameter must be one that the scenario has"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_other_options_are_checked(options: Any, sentence: str) -> None:
    """Names and numbers, in one sentence."""
    with pytest.raises(ValueError, match=sentence):
        tuned(**options)


# What is on the x axis


def test_without_a_slider_for_the_lease_the_brokers_own_is_on_the_x_axis() -> None:
    """The curve reaches to four times the lease; the ring stands at the lease."""
    view = tuned({MEAN: (5, 40)})
    view.settle()
    x = view._shown.panels[0].lines[0].get_xdata()
    assert (x[0], x[-1]) == (5, 120)
    assert view._shown.panels[0].rings[0].get_xdata()[0] == 30
    assert shown(view, "<code>").count("broker.lease") == 0


def test_without_any_lease_the_first_slider_is_on_the_x_axis() -> None:
    """Duplicate effects against it: there is no trade to show."""
    view = sq.widgets.tune(small(lease=None, crash=None), {MEAN: (5, 40), "jobs": (10, 90)})
    assert len(view._shown.panels) == 1
    assert view._shown.panels[0].settings.figure == "duplicate_effect_rate"
    assert "With the work, mean at 20 s: " in status(view)


# Goals and guesses


def test_goals_are_ticked_when_found_and_stay_ticked() -> None:
    """A goal is open, then found, and remains so when the slider moves on."""
    view = tuned(goals={"Few <twice>": {"duplicate_delivery_rate": 0.2}})
    assert "☐ Few <twice>" in shown(view, "<ul")
    view.sliders[LEASE].value = 60
    assert "☑ Few <twice>" in shown(view, "<ul")
    view.sliders[LEASE].value = 10
    assert "☑ Few <twice>" in shown(view, "<ul")


def test_a_goal_once_found_is_ticked_in_a_later_session() -> None:
    """It is remembered by its text, and others are not ticked for it."""
    goals = {
        "Few <twice>": {"duplicate_delivery_rate": 0.2},
        "None": {"duplicate_delivery_rate": 0},
    }
    tuned(goals=goals).sliders[LEASE].value = 60
    items = shown(tuned(goals=goals), "<ul")
    assert "☑ Few <twice>" in items
    assert "☐ None" in items


def keep(guess: Any, value: float) -> None:
    """Make a guess as a reader does."""
    guess.box.value = value
    guess.button.click()


def test_a_guess_is_kept_only_when_it_is_made() -> None:
    """None before; the number after; the widget says what it kept."""
    guess = sq.widgets.predict("How often?", low=0, high=10, unit="times")
    assert guess.value is None
    keep(guess, 4)
    assert guess.value == 4
    assert "Kept: 4 times." in status(guess)
    assert guess.box.description == "Your guess (times)"


def test_a_guess_is_drawn_on_the_curve() -> None:
    """As a diamond at the lease that was asked about, as soon as it is made."""
    guess = sq.widgets.predict("Which share?", unit="%")
    view = tuned(guess=guess)
    assert not view._shown.guess.get_visible()
    before = picture(view)
    keep(guess, 40)
    assert picture(view) != before
    assert view._shown.guess.get_visible()
    assert [each[0] for each in view._shown.guess.get_data()] == [30, 0.4]


def test_a_guess_is_compared_with_what_happened() -> None:
    """Before, after, right or wrong: one sentence each, which follows the guess."""
    guess = sq.widgets.predict("How often?", low=0, high=10)
    verdict = guess.compared_with(3)
    assert "It is 3. (You made no guess above.)" in verdict.value
    keep(guess, 1)
    assert "You guessed 1; it is 3." in verdict.value
    keep(guess, 3)
    assert "You guessed 3, and so it is." in verdict.value


def test_guesses_have_a_range() -> None:
    """The range must be one."""
    with pytest.raises(ValueError, match="high must be a number above low, which is 5, not 5"):
        sq.widgets.predict("How often?", low=5, high=5)
