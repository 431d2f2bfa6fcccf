"""Scenario files: what is written can be read again, and every mistake is one clear sentence."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from runs import scenario

import simqueue as sq
from simqueue.kinds import KINDS
from simqueue.scenario_file import dumps, load, to_document

EXAMPLE = Path(__file__).parents[1] / "examples" / "visibility_timeout.toml"
BROKERS = ", ".join(KINDS["broker"])
GOOD = """
jobs = 10
handler = "naive"
[arrivals]
kind = "poisson"
rate = 2
[work]
kind = "lognormal"
median = 10
p99 = 90
[workers]
count = 4
[broker]
kind = "generic"
"""


def written(folder: Path, text: str) -> Path:
    """A scenario file with this text."""
    path = folder / "queue.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_is_the_scenario_of_the_readme():
    """The file that comes with simqueue says what the README's first example says."""
    assert load(EXAMPLE) == sq.Scenario(
        arrivals=sq.Poisson(rate=2.0),
        jobs=2_000,
        work=sq.LogNormal(median=10, p99=90),
        workers=sq.Workers(count=100, crash=sq.Crash(mean_time_between=3600, restart_after=30)),
        broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=5),
        handler=sq.handlers.naive,
    )


def test_what_a_file_leaves_out_is_the_class_default(tmp_path):
    """No [network], no concurrency, no lease: as if the class were called without them."""
    found = load(written(tmp_path, GOOD))
    assert found.network == sq.Network()
    assert found.workers == sq.Workers(count=4)
    assert found.broker == sq.brokers.generic()


MIXTURE = sq.Mixture(
    ((9, sq.Fixed(3)), (1, sq.Mixture(((1, sq.Pareto(1, 2)), (1, sq.Uniform(1, 2))))))
)
CHANGES = [
    {"work": MIXTURE},
    {"work": sq.Exponential(0.1)},
    {"work": sq.LogNormal(median=1, p95=3)},
    {"work": sq.Empirical([3.5, 1, 2])},
    {"work": sq.Recorded([3.5, 1, 2])},
    {"arrivals": sq.Times([0, 1.5, 7])},
    {"arrivals": sq.EvenlySpaced(interval=3)},
    {"arrivals": sq.EvenlySpaced(rate=1 / 3)},
    {"broker": sq.brokers.generic(lease=None, max_receives=3, retry_delay=0.5)},
    {"broker": sq.brokers.sqs(max_receive_count=None)},
    {"workers": sq.Workers(count=2, concurrency=3, prefetch=math.inf)},
    {"workers": sq.Workers(count=2, crash=sq.Crash(at=[(1, 4.5), (2, 0)], restart_after=1e-3))},
    {"network": sq.Network(ack_lost=np.float64(0.25)), "jobs": np.int64(2)},
    {"workers": sq.Workers(batch=3, ack_batch="whole"), "groups": 2},
    {"network": sq.Network(response_lost=0.5, publish_response_lost=0.25, resend_after=3)},
    {"broker": sq.brokers.generic(counts=(), ordering="group", sweep_period=5, two_passes=True)},
    {"broker": sq.brokers.generic(counts=["failure", "expiry"], own_duplicates=0.1)},
    {"broker": sq.brokers.generic(retry_delay=sq.backoff.FullJitter(base=1, cap=60))},
    {"broker": sq.brokers.generic(retry_delay=sq.backoff.Exponential(1))},
    {"broker": sq.brokers.generic(retry_delay=sq.backoff.Schedule((1, 5, 25)))},
    {"broker": sq.brokers.generic(retry_delay=sq.backoff.NoDelay())},
    {"store": sq.services.Store(latency=sq.LogNormal(median=1, p99=3)), "payments.latency": 0.5},
    {
        "faults": [
            sq.Pause(seconds=60, mean_time_between=100),
            sq.Deploy(at=5, push_back=True),
            sq.Outage(service="payments", window=(1, 2)),
            sq.Slowness(service="store", window=(1, 2), seconds=3),
            sq.Partition(worker=1, window=(0, 5)),
            sq.Crash(after=3, jobs=[1, 2]),
            sq.Network(ack_lost=0.5),
            sq.faults.At(step="work", turn=None),
        ]
    },
    {"horizon": 100.5, "warmup": 3, "work_per": "attempt", "handler": sq.handlers.claim},
]


@pytest.mark.parametrize("changes", CHANGES, ids=",".join)
def test_what_is_written_can_be_read_again(changes, tmp_path):
    """`load` of `dumps` is the scenario, for every kind of part."""
    there = scenario(jobs=3).replace(changes)
    assert load(written(tmp_path, dumps(there))) == there


def test_a_handler_of_ones_own_is_named_by_its_module(tmp_path, monkeypatch):
    """`module:function`, which is imported when the file is read."""
    (tmp_path / "my_handlers.py").write_text("async def charge(job, ctx):\n    await ctx.work()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = written(tmp_path, GOOD.replace('"naive"', '"my_handlers:charge"'))
    found = load(path)
    assert found.handler.__name__ == "charge"
    assert to_document(found)["handler"] == "my_handlers:charge"


def test_a_handler_without_a_name_cannot_be_written():
    """One that was made inside a function: no file could name it."""

    async def here(job, ctx):
        await ctx.work()

    with pytest.raises(ValueError, match="has no name that a file could call it by"):
        dumps(scenario(handler=here))


MISTAKES = [
    ("jobs = 10", "jobs = ", "is not valid TOML: "),
    ("jobs = 10", "jobs = 0", "jobs must be a whole number of 1 or more, not 0."),
    ("jobs = 10", 'jobs = "ten"', "jobs must be a whole number of 1 or more, not 'ten'."),
    ("jobs = 10", "", "jobs must be a whole number of 1 or more with these arrivals, not None."),
    ("jobs = 10", "job = 10", "there is no 'job' (did you mean 'jobs'?). Possible here: jobs, "),
    ("[workers]", "[worker]", "there is no 'worker' (did you mean 'workers'?). Possible here: "),
    ("count = 4", "cuont = 4", "[workers]: there is no 'cuont' (did you mean 'count'?)."),
    ("count = 4", "count = 4.5", "[workers]: workers.count must be a whole number of 1 or more, "),
    ("count = 4", "crash = 5", "workers.crash must be a section, a line [workers.crash] with"),
    (
        "count = 4",
        "crash = { at = [[1, -5]] }",
        "[workers.crash]: crash.at: the time must be a number of seconds of 0 or more, not -5.",
    ),
    ("[broker]", "[network]\nack_lost = 2\n[broker]", "network.ack_lost must be a number from 0"),
    ("[arrivals]", "[[arrivals]]", "arrivals must be a section, a line [arrivals] with its keys"),
    ('kind = "generic"', "", f"[broker] needs a kind, one of {BROKERS}."),
    ('kind = "generic"', 'kind = "sqqs"', f"broker can be {BROKERS}, but not 'sqqs' (did you"),
    ('kind = "generic"', "kind = 3", f"broker can be {BROKERS}, but not 3."),
    ('[broker]\nkind = "generic"', "", "needs a section [broker]."),
    ("rate = 2", "", "[arrivals]: poisson needs rate."),
    ("rate = 2", "rate = -2", "[arrivals]: rate must be a number of jobs a second above 0, not"),
    ("rate = 2", "rat = 2", "poisson has no 'rat' (did you mean 'rate'?); it has rate."),
    ("p99 = 90", "", "[work]: LogNormal needs exactly one of p99, p95 and p90 beside the median"),
    ("p99 = 90", "p99 = 9", "[work]: p99 must be above the median, which is 10.0, not 9.0."),
    ('handler = "naive"', "", "needs a line such as handler = 'naive'."),
    ('"naive"', '"naiv"', "your own as 'module:function', not 'naiv' (did you mean 'naive'?)."),
    ('"naive"', '"simqueue:nothing"', "simqueue has no handler 'nothing'."),
    ('"naive"', '"no_such_module:f"', "cannot be imported: ModuleNotFoundError: No module named"),
    ('"naive"', '"simqueue.context:Job"', "handler must be an async function of (job, ctx), not"),
    (
        'kind = "lognormal"\nmedian = 10\np99 = 90',
        'kind = "mixture"\nparts = [{ kind = "fixed", seconds = 3 }]',
        "[work]: part 1 of the mixture needs weight.",
    ),
    (
        'kind = "generic"',
        'kind = "generic"\nretry_delay = "soon"',
        "must be a number of seconds of",
    ),
    (
        'kind = "generic"',
        'kind = "generic"\nretry_delay = { kind = "full_jiter", base = 1 }',
        "[broker]: retry_delay can be no_delay, constant, linear, exponential, full_jitter, equal_",
    ),
    (
        'kind = "generic"',
        'kind = "generic"\nretry_delay = { base = 1 }',
        "[broker]: retry_delay needs a kind, one of no_delay, constant,",
    ),
    (
        "[broker]",
        "[[faults]]\nsecond = 3\n[broker]",
        "[faults] needs a kind, one of crash, pause, ",
    ),
    ("[broker]", '[[faults]]\nkind = "pause"\n[broker]', "[faults]: pause needs seconds."),
    ("[broker]", '[faults]\nkind = "pause"\n[broker]', "faults must be sections [[faults]], not"),
    (
        "[broker]",
        "[store]\nlatency = -1\n[broker]",
        "[store]: store.latency must be a number of se",
    ),
    (
        'kind = "lognormal"\nmedian = 10\np99 = 90',
        'kind = "mixture"\nparts = 3',
        "[work]: parts must be tables with a weight, a kind and its parameters, not 3.",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "sentence"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_a_mistake_is_one_sentence_that_begins_with_the_file(right, wrong, sentence, tmp_path):
    """Which file, which section and key, what is there, and what could be."""
    assert right in GOOD
    path = written(tmp_path, GOOD.replace(right, wrong))
    with pytest.raises(ValueError, match=r"queue\.toml") as raised:
        load(path)
    message = str(raised.value)
    assert message.startswith(str(path))
    assert sentence in message
    assert "\n" not in message


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    """Not there, a folder, or no text."""
    with pytest.raises(ValueError, match=r"nothing\.toml cannot be read: No such file"):
        load(tmp_path / "nothing.toml")
    with pytest.raises(ValueError, match=r"cannot be read: (Is a directory|Permission denied)"):
        load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="is not valid TOML: it is not UTF-8 text"):
        load(tmp_path / "binary.toml")


def test_kinds_are_found_in_any_spelling(tmp_path):
    """`LogNormal`, `log_normal`, `log-normal`: the same."""
    for name in ("LogNormal", "log_normal", "log-normal", "LOGNORMAL"):
        found = load(written(tmp_path, GOOD.replace('"lognormal"', f'"{name}"')))
        assert found.work == sq.LogNormal(median=10, p99=90)


def test_true_stays_true_in_a_file(tmp_path):
    """A number is a number, and a flag is a flag."""
    before = scenario(sweep_period=5, two_passes=True)
    assert "two_passes = true" in dumps(before)
    assert load(written(tmp_path, dumps(before))) == before


def test_producers_are_a_section(tmp_path):
    """With the sender that sends again as a section of its own."""
    before = scenario(producers=sq.Producers(replicas=2, resend=sq.Resend(every=4, most=3)))
    assert "[producers.resend]" in dumps(before)
    assert load(written(tmp_path, dumps(before))) == before
