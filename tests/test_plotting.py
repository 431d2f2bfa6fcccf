"""Rates against the lease, and advice: what is drawn is what was computed."""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from runs import scenario

import simqueue as sq
from simqueue.plotting.drawing import LINES
from simqueue.plotting.lease_theory import wait_after_crash
from simqueue.plotting.recommended import advice as draw_advice

TIMEOUTS = (5, 20, 60)


def swept(values: dict[str, Any] | None = None, **options: Any) -> Any:
    """A small sweep over the lease, and over `values`, in this process."""
    parts = {"work": sq.Exponential(20), "workers": 60, "jobs": 200, "max_receives": 3}
    base = scenario(**(parts | {"arrivals": sq.Poisson(rate=1)} | options))
    over = {"broker.lease": TIMEOUTS} | (values or {})
    return sq.sweep(base, over, replications=2, executor=InThisProcess(), progress=False)


class InThisProcess:
    """An executor that runs things at once: quick for small runs."""

    def submit(self, function: Any, *arguments: Any) -> Any:
        """Run it, and return what came of it as a future that is done."""
        future: Any = Future()
        future.set_result(function(*arguments))
        return future


def line(ax: Any, label: str) -> Any:
    """The line of that label."""
    (found,) = [each for each in ax.lines if each.get_label() == label]
    return found


def means(curve: Any, figure: str, **where: Any) -> list[float]:
    """The means of a figure, in order of the lease."""
    rows = curve[curve["figure"] == figure]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return [float(mean) for mean in rows.sort_values("broker.lease")["mean"]]


@pytest.fixture(scope="module")
def crashing() -> Any:
    """A sweep in which workers crash."""
    return swept(crash=sq.Crash(mean_time_between=200, restart_after=5))


@pytest.fixture(scope="module")
def handlers() -> Any:
    """A sweep over the lease and two handlers."""
    return swept({"handler": [sq.handlers.naive, sq.handlers.claim]})


def test_points_are_the_means_of_the_table(handlers: Any) -> None:
    """Each handler's line goes through its means, at the leases of the sweep."""
    (ax,) = sq.plot.duplicate_rate(handlers).axes
    for handler in (sq.handlers.naive, sq.handlers.claim):
        drawn = line(ax, handler.__name__)
        assert list(drawn.get_xdata()) == list(TIMEOUTS)
        expected = means(handlers, "duplicate_effect_rate", handler=handler)
        assert_allclose(drawn.get_ydata(), expected)


def test_band_is_the_interval_of_the_table_within_0_and_1(crashing: Any) -> None:
    """The band's edges are low and high, cut at what a share can be."""
    ax = sq.plot.duplicate_rate(crashing).axes[0]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    rows = crashing[crashing["figure"] == "duplicate_effect_rate"]
    for x, low, high in zip(rows["broker.lease"], rows["low"], rows["high"], strict=True):
        there = corners[corners[:, 0] == x, 1]
        assert_allclose([there.min(), there.max()], np.clip([low, high], 0, 1), atol=1e-12)


def test_theory_line_is_the_theory(crashing: Any) -> None:
    """The dashed line is simqueue.theory's share of jobs that outlast the lease."""
    ax = sq.plot.duplicate_rate(crashing).axes[0]
    drawn = line(ax, "theory: P(work > lease)")
    assert drawn.get_linestyle() != "-"
    expected = sq.theory.duplicate_delivery_rate(sq.Exponential(20), drawn.get_xdata())
    assert_allclose(drawn.get_ydata(), expected)


def test_each_distribution_of_work_has_its_own_theory() -> None:
    """Two means of the work give two dashed lines; two handlers share one."""
    (ax,) = sq.plot.duplicate_rate(swept({"work.mean": [5, 40]})).axes
    drawn = [each for each in ax.lines if each.get_label() == "theory: P(work > lease)"]
    assert [float(each.get_ydata()[0]) for each in drawn] == pytest.approx(
        [math.exp(-1), math.exp(-1 / 8)]
    )


def test_no_theory_without_a_scenario_or_for_other_figures(crashing: Any) -> None:
    """A table that lost its scenario, or a share theory does not speak of, has no dashed line."""
    bare = crashing.copy()
    bare.attrs = {}
    assert len(sq.plot.duplicate_rate(bare).axes[0].lines) == 1
    drawn = sq.plot.duplicate_rate(crashing, figure="dead_letter_rate")
    assert len(drawn.axes[0].lines) == 1


def test_recovery_stands_beside_where_workers_crash(crashing: Any, handlers: Any) -> None:
    """The second panel shows the mean wait after a crash; without crashes there is none."""
    _, right = sq.plot.duplicate_rate(crashing).axes
    assert_allclose(line(right, "simulated").get_ydata(), means(crashing, "recovery_mean"))
    assert len(sq.plot.duplicate_rate(handlers).axes) == 1


def test_axes_have_units(crashing: Any) -> None:
    """Both axes of both panels say in what they count."""
    left, right = sq.plot.duplicate_rate(crashing).axes
    assert left.get_xlabel() == right.get_xlabel() == "lease (seconds)"
    assert left.get_ylabel() == "jobs with a duplicate effect (%)"
    assert right.get_ylabel() == "mean wait after a crash (seconds)"
    assert left.yaxis.get_major_formatter()(0.25, 0) == "25 %"


def test_lines_are_named_beside_them(handlers: Any) -> None:
    """Each line's name stands in the picture, in its colour, and no two names overlap."""
    drawing = sq.plot.duplicate_rate(handlers)
    (ax,) = drawing.axes
    names = {text.get_text(): text for text in ax.texts}
    assert set(names) == {"naive", "claim", "theory: P(work > lease)"}
    assert names["naive"].get_color() == line(ax, "naive").get_color()
    boxes = [text.get_window_extent() for text in ax.texts]
    overlaps = [a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k]]
    assert not any(overlaps)


def test_alt_text_tells_the_numbers(crashing: Any) -> None:
    """The text alternative names the first and the last point, and what theory says."""
    text = sq.plot.duplicate_rate(crashing, figure="duplicate_delivery_rate").alt_text
    first, *_, last = means(crashing, "duplicate_delivery_rate")
    assert f"Simulated: {100 * first:.3g} % at 5 s, {100 * last:.3g} % at 60 s." in text
    assert f"{100 * math.exp(-0.25):.3g} % at 5 s" in text
    assert "wait from a worker's crash" in text


def test_lines_differ_in_grey_and_in_shape() -> None:
    """No two lines have the same marker, and the first four differ in brightness too."""
    assert len({marker for _, marker in LINES}) == len(LINES)
    greys = sorted(float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) for colour, _ in LINES[:4])
    assert min(np.diff(greys)) > 0.02


def test_given_axes_are_drawn_into(crashing: Any) -> None:
    """One pair of axes, or a single one: the figure that comes back is theirs."""
    mine = Figure()
    assert sq.plot.duplicate_rate(crashing, ax=mine.subplots(1, 2)) is mine
    assert sq.plot.alt_text(mine) != ""
    single = Figure()
    sq.plot.duplicate_rate(crashing, ax=single.subplots())
    assert len(single.axes) == 1


def test_log_axis_shows_decades(crashing: Any) -> None:
    """With log=True the shares stand on a logarithmic axis that ends at 100 %."""
    ax = sq.plot.duplicate_rate(crashing, figure="duplicate_delivery_rate", log=True).axes[0]
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[1] == 1


def test_pyplot_is_left_alone(crashing: Any) -> None:
    """No figure of ours is among pyplot's, so none is kept in memory or shown twice."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    sq.plot.duplicate_rate(crashing)
    assert plt.get_fignums() == before


def test_notebooks_get_an_image_with_its_text(crashing: Any) -> None:
    """As the last line of a cell, a figure is an <img> with its text, its quotes made safe."""
    drawing = sq.plot.duplicate_rate(crashing)
    drawing.alt_text = 'a "quoted" <text>'
    shown = drawing._repr_html_()
    assert 'alt="a &quot;quoted&quot; &lt;text&gt;"' in shown
    assert 'src="data:image/png;base64,' in shown
    assert sq.plot.show(drawing).data == shown


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda _table: 7, "curve must be a table that simqueue.sweep returned"),
        (
            lambda table: table.rename(columns={"broker.lease": "jobs"}),
            "curve must be a sweep over one of broker.visibility_timeout, broker.lease",
        ),
        (
            lambda table: table[table["figure"] == "jobs"],
            "figure must be one that the table has, not 'duplicate_effect_rate'",
        ),
    ],
)
def test_other_tables_are_refused(crashing: Any, change: Any, sentence: str) -> None:
    """What is no sweep over a lease is refused in one sentence."""
    with pytest.raises(ValueError, match=sentence):
        sq.plot.duplicate_rate(change(crashing))


def test_unknown_figures_are_refused(crashing: Any) -> None:
    """The sentence lists the figures that can be drawn."""
    with pytest.raises(ValueError, match=r"figure must be one of 'duplicate_effect_rate', .*'x'"):
        sq.plot.duplicate_rate(crashing, figure="x")


# The mean wait after a crash


def test_wait_after_a_crash_of_fixed_work() -> None:
    """Work of 10 s, a crash anywhere in it: a lease of 30 s leaves 25 s, one of 6 s 1.8 s."""
    waits = wait_after_crash(sq.Fixed(10), np.array([30.0, 6.0]))
    assert_allclose(waits, [25, 6**2 / 2 / 10], rtol=1e-6)


def test_wait_after_a_crash_of_exponential_work() -> None:
    """The crash of exponential work is exponential too: T - m (1 - exp(-T / m))."""
    leases = np.array([1.0, 10.0, 100.0])
    expected = leases - 10 * (1 - np.exp(-leases / 10))
    assert_allclose(wait_after_crash(sq.Exponential(10), leases), expected, rtol=1e-4)


def test_wait_after_a_crash_needs_a_mean() -> None:
    """Work without a finite mean has no mean crash time: NaN."""
    assert np.isnan(wait_after_crash(sq.Pareto(minimum=1, shape=0.9), np.array([5.0]))).all()


# Advice


@pytest.fixture(scope="module")
def advice() -> Any:
    """Advice on 200 jobs of exponential durations."""
    from simqueue.trace import JobLog

    durations = sq.Exponential(10).quantile(np.linspace(0.001, 0.999, 200))
    log = JobLog(
        arrivals=np.arange(200) * 5.0, durations=np.random.default_rng(1).permutation(durations)
    )
    return sq.advise(log, workers=8, timeouts=[5, 20, 40, 80], target=0.05)


def test_advice_shows_the_log_and_the_replay(advice: Any) -> None:
    """The stepped line is the log's own share, the squares are the predicted rates."""
    left, right = sq.plot.advice(advice).axes
    exact = line(left, "jobs that outlast it")
    for x, y in list(zip(exact.get_xdata(), exact.get_ydata(), strict=True))[::50]:
        assert y == advice.log.share_over(x)
    assert_allclose(line(left, "delivered again").get_ydata(), advice.table["duplicate_rate"])
    assert_allclose(line(right, "median").get_ydata(), advice.table["recovery_p50"])


@pytest.mark.parametrize("target", [0.5, 0.05, 0.015])
def test_no_name_of_an_advice_is_struck_through_by_the_target(advice: Any, target: float) -> None:
    """The names of the lines stay clear of the dashed line."""
    drawing = sq.plot.advice(dataclasses.replace(advice, target=target))
    drawing.canvas.draw()
    left = drawing.axes[0]
    height = left.transData.transform((0, target))[1]
    boxes = [each.get_window_extent() for each in left.texts if "\n" in each.get_text()]
    assert len(boxes) == 2
    assert not any(box.y0 < height < box.y1 for box in boxes)


def test_advice_marks_the_recommendation(advice: Any) -> None:
    """A line at the recommended timeout in both panels, and its number in words."""
    drawing = sq.plot.advice(advice)
    assert advice.recommendation == 40
    for ax in drawing.axes:
        assert [40, 40] in [list(each.get_xdata()) for each in ax.lines]
    assert any("recommended:\n40 s" in text.get_text() for text in drawing.axes[1].texts)
    assert drawing.alt_text.endswith("Recommended: 40 s.")


def test_advice_without_a_recommendation_says_so(advice: Any) -> None:
    """Where no timeout is good enough none is marked, and the text says it."""
    strict = dataclasses.replace(advice, predictions=advice.predictions[:2])
    drawing = draw_advice(strict)
    assert "None of these timeouts is long enough." in drawing.alt_text
    assert not any("recommended" in text.get_text() for text in drawing.axes[1].texts)


def test_advice_shows_zero_shares(advice: Any) -> None:
    """The shares stand on an axis that has room for 0 and for the target."""
    low, high = sq.plot.advice(advice).axes[0].get_ylim()
    assert low < 0 < advice.target < high
