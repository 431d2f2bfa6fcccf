"""Sweeps: tidy, reproducible, on any executor, and gone without a trace when interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from runs import scenario

import simqueue as sq
from simqueue import pool
from simqueue.figures import DESCRIPTIONS
from simqueue.intervals import interval

WHAT = scenario(sq.Exponential(5), workers=20, jobs=200, arrivals=sq.Poisson(1), late_ack="deletes")
OVER = {"broker.lease": [5, 20], "handler": [sq.handlers.naive, sq.handlers.claim]}


def test_a_sweep_is_tidy():
    """A row for each point and figure, in the order of the values."""
    table = sq.sweep(WHAT, OVER, replications=3)
    assert list(table.columns) == [
        "broker.lease", "handler", "figure", "mean", "low", "high", "half_width", "replications",
        "groups",
    ]  # fmt: skip
    assert len(table) == 4 * len(DESCRIPTIONS)
    assert table["broker.lease"].unique().tolist() == [5, 20]
    assert table.attrs["parameters"] == ["broker.lease", "handler"]


def test_a_point_is_the_mean_of_its_runs_with_their_interval():
    """Run k uses seed + k, so anyone can repeat a single run of it."""
    table = sq.sweep(WHAT, {"broker.lease": [5]}, replications=4, seed=10)
    row = table[table.figure == "duplicate_delivery_rate"].iloc[0]
    runs = [
        sq.simulate(WHAT.replace({"broker.lease": 5}), seed).figures["duplicate_delivery_rate"]
        for seed in range(10, 14)
    ]
    expected = interval(runs)
    assert row["mean"] == expected.mean
    assert row["half_width"] == expected.half_width
    assert (row["low"], row["high"]) == (expected.low, expected.high)


class Here(ThreadPoolExecutor):
    """Runs everything at once, in the calling thread."""

    def submit(self, fn, /, *args, **kwargs):
        """Call it, and return the finished future."""
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def in_processes(monkeypatch):
    """Also few jobs are simulated by other processes."""
    monkeypatch.setattr(pool, "FEW_JOBS", 0)


@pytest.mark.parametrize(
    ("jobs", "options", "pools"),
    [
        (2_500, {}, 0),
        (2_501, {}, 1),
        (10, {"precision": {"wait_mean": 1e9}}, 1),
        (2_500, {"producers": sq.Producers(replicas=2)}, 1),
    ],
)
def test_few_jobs_are_simulated_before_a_process_would_have_started(
    jobs, options, pools, monkeypatch
):
    """Six runs of 2,500 jobs are as many as FEW_JOBS; how many there will be may be unknown."""
    opened = []

    def open_pool(*_, **__):
        opened.append(1)

    monkeypatch.setattr(pool, "_own_executor", open_pool)
    precision = options.pop("precision", None)
    what = WHAT.replace({"jobs": jobs, **options})
    sq.sweep(what, {"broker.lease": [5, 10, 20]}, replications=2, precision=precision)
    assert len(opened) == pools
    assert pool.FEW_JOBS == 6 * 2_500


@pytest.mark.usefixtures("in_processes")
def test_any_executor_gives_the_same_table():
    """Processes, threads, or none: the numbers are the scenario's and the seed's."""
    own = sq.sweep(WHAT, OVER, replications=2)
    with ThreadPoolExecutor(2) as threads, Here() as here:
        for executor in (threads, here):
            assert own.equals(sq.sweep(WHAT, OVER, replications=2, executor=executor))


@pytest.mark.usefixtures("in_processes")
def test_without_loky_a_sweep_runs_in_this_process(monkeypatch):
    """Slower, but the same."""
    expected = sq.sweep(WHAT, OVER, replications=2)
    monkeypatch.setitem(sys.modules, "loky", None)
    assert expected.equals(sq.sweep(WHAT, OVER, replications=2))


@pytest.mark.usefixtures("in_processes")
def test_a_handler_that_only_this_process_knows_can_be_swept():
    """One defined in a notebook or a test, even a closure."""
    charged = 2

    async def charges_twice(job, ctx):
        for _ in range(charged):
            await ctx.payments.charge(job.customer, job.amount)

    table = sq.sweep(WHAT, {"handler": [charges_twice]}, replications=2)
    assert table.set_index("figure")["mean"]["duplicate_effect_rate"] == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sq.sweep(WHAT, {"broker.leas": [5]}), "one of broker.lease"),
        (lambda: sq.sweep(WHAT, {"broker.lease": [5, -5]}), "broker.lease must be"),
        (lambda: sq.sweep(WHAT, {"broker.lease": []}), "at least one value each"),
        (lambda: sq.sweep(WHAT, OVER, replications=0), "replications must be a whole number"),
        (lambda: sq.sweep(WHAT, OVER, confidence=1), "confidence must be a number above 0 and"),
    ],
)
def test_a_wrong_sweep_is_refused_before_anything_runs(call, sentence, monkeypatch):
    """No run is started for a sweep that would fail later."""
    monkeypatch.setattr("simqueue.experiments.run", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.usefixtures("in_processes")
def test_an_error_in_a_run_is_raised_and_leaves_no_process():
    """The first one; what has not begun is not begun any more."""
    endless = scenario(100, workers=4, lease=30, late_ack="unexpired")
    with pytest.raises(sq.NeverSettles):
        sq.sweep(endless, {"broker.lease": [20, 30]}, replications=2)


INTERRUPTED = """
    import os, signal, subprocess, threading, time
    import simqueue as sq
    what = sq.Scenario(
        arrivals=sq.Poisson(1), jobs=20_000, work=sq.Exponential(5), handler=sq.handlers.naive,
        workers=sq.Workers(count=20), broker=sq.brokers.generic(lease=20),
    )
    def children():
        listed = subprocess.run(
            ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True
        ).stdout.splitlines()
        return [line for line in listed if "loky" in line and "resource_tracker" not in line]
    def interrupt():
        while not children():
            pass
        print("workers:", len(children()) > 0, flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        sq.sweep(what, {"broker.lease": range(1, 200)}, replications=20)
    except KeyboardInterrupt:
        print("interrupted; left:", children(), flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/proc"), reason="lists processes as Linux does")
def test_an_interrupted_sweep_raises_and_leaves_no_process_behind():
    """As with Ctrl-C: KeyboardInterrupt, and no worker is alive any more, nor complains.

    It comes when the first of them was begun, and the others were not.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stdout.splitlines() == ["workers: True", "interrupted; left: []"]
    assert done.stderr == ""


IN_THE_START = """
    import os, signal
    from loky.process_executor import ProcessPoolExecutor
    start = ProcessPoolExecutor._start_executor_manager_thread
    def interrupted(pool):
        os.kill(os.getpid(), signal.SIGINT)
        start(pool)
    ProcessPoolExecutor._start_executor_manager_thread = interrupted
"""
"""Ctrl-C when the processes were begun and nobody looks after them yet."""

SLOW_FEEDER = """
    import threading
    from loky.backend.queues import Queue
    feed, join, waited_for = Queue._feed, threading.Thread.join, threading.Event()
    def slow(*args):
        feed(*args)
        waited_for.wait(10)
    def noted(thread, *args):
        if thread.name == "QueueFeederThread":
            waited_for.set()
        join(thread, *args)
    Queue._feed, threading.Thread.join = slow, noted
"""
"""A thread of the pool that ends only when somebody waits for it."""

SWEEP = """
    import threading
    import simqueue as sq
    what = sq.Scenario(
        arrivals=sq.Poisson(1), jobs=5_000, work=sq.Exponential(5), handler=sq.handlers.naive,
        workers=sq.Workers(count=20), broker=sq.brokers.generic(lease=20, late_ack="deletes"),
    )
    try:
        sq.sweep(what, {"broker.lease": [10, 20]}, replications=2, progress=False)
    except KeyboardInterrupt:
        print("interrupted")
    print([each.name for each in threading.enumerate() if each.name == "QueueFeederThread"])
"""


@pytest.mark.skipif(os.name != "posix", reason="interrupts a process as POSIX systems do")
@pytest.mark.parametrize(
    ("worst_case", "printed"), [(IN_THE_START, ["interrupted", "[]"]), (SLOW_FEEDER, ["[]"])]
)
def test_a_pool_neither_starts_nor_ends_by_halves(worst_case, printed):
    """Half started processes would complain, and semaphores of a half ended pool be missed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(worst_case) + textwrap.dedent(SWEEP)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == printed


# Precision and comparison.


def test_precision_repeats_a_point_until_its_interval_is_narrow():
    """The noisy point is run more often than the quiet one, and both are narrow enough."""
    what = WHAT.replace({"work_per": "attempt"})
    table = sq.sweep(
        what,
        {"broker.lease": [3, 500]},
        replications=4,
        precision={"duplicate_delivery_rate": 0.012},
    )
    rows = table[table.figure == "duplicate_delivery_rate"].set_index("broker.lease")
    assert (rows.half_width <= 0.012).all()
    assert rows.replications[500] == 4
    assert rows.replications[3] > 4


def test_precision_of_an_unknown_figure_is_refused():
    """One clear sentence."""
    with pytest.raises(ValueError, match="precision must be one of 'jobs'"):
        sq.sweep(WHAT, {"broker.lease": [5]}, precision={"happiness": 1})


def test_a_difference_is_taken_run_by_run():
    """Common random numbers: its interval is far narrower than those of the two means."""
    table = sq.compare(
        {"20 s": WHAT.replace({"broker.lease": 20}), "21 s": WHAT.replace({"broker.lease": 21})},
        replications=10,
    )
    row = table[(table.scenario == "21 s") & (table.figure == "duplicate_delivery_rate")].iloc[0]
    runs = [
        [
            sq.simulate(WHAT.replace({"broker.lease": lease}), seed).figures[
                "duplicate_delivery_rate"
            ]
            for seed in range(10)
        ]
        for lease in (20, 21)
    ]
    expected = interval([b - a for a, b in zip(*runs, strict=True)])
    assert row.difference == expected.mean < 0
    assert row.difference_half_width == expected.half_width < row.half_width / 1.5
    assert row.differs


def test_a_scenario_does_not_differ_from_itself():
    """Not by a hair."""
    table = sq.compare({"a": WHAT, "b": WHAT}, replications=2, baseline="b")
    assert not table.differs.any()
    assert (table.difference.dropna() == 0).all()


def test_compare_wants_two_scenarios_and_a_baseline_among_them():
    """One clear sentence each."""
    with pytest.raises(ValueError, match="scenarios must be two or more"):
        sq.compare({"a": WHAT})
    with pytest.raises(ValueError, match="baseline must be one of 'a', 'b', not 'c'"):
        sq.compare({"a": WHAT, "b": WHAT}, baseline="c")
