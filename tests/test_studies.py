"""Published studies: the models meet the published numbers, and the claims hold where they do."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import simqueue as sq
from simqueue.intervals import Interval, interval, student_t_quantile
from simqueue.studies import aws_backoff, claims, collapse, page, published, retries

CONFIDENCE = 0.999
WIDER = 3.29 / 1.96
"""From a half-width at 95 % to one at 99.9 %."""
TRIALS = {10: 100, 50: 200, 100: 80, 190: 25}
EXACT = {"time": 0.04, "calls": 0.01}
"""How narrow our interval at 95 % must be from 50 clients on, as a share of the mean."""


def rng(seed=1):
    """A generator of its own."""
    return np.random.default_rng(seed)


# Backoff and jitter.


@lru_cache
def measured(rule, clients):
    """The rule with so many clients, at 99.9 %."""
    return aws_backoff.measure(rule, clients, TRIALS[clients], confidence=CONFIDENCE)


@pytest.mark.parametrize("clients", TRIALS)
@pytest.mark.parametrize("rule", aws_backoff.RULES)
def test_times_and_calls_of_the_backoff_study(rule, clients):
    """The published mean lies within our 99.9 % interval and its own, and ours is narrow."""
    place = published.AWS_CLIENTS.index(clients)
    for figure, known in (("time", published.AWS_TIME), ("calls", published.AWS_CALLS)):
        ours, theirs = getattr(measured(rule, clients), figure), known[rule][place]
        assert abs(ours.mean - theirs.mean) <= math.hypot(
            ours.half_width, theirs.half_width * WIDER
        )
        if clients >= 50:
            assert ours.half_width / WIDER <= EXACT[figure] * ours.mean * (
                1.3 if clients == 190 else 1
            )


def test_one_client_needs_four_hops_and_one_call():
    """A read and a write, there and back, at 10 ms each: 39.6 ± 0.4 published."""
    alone = aws_backoff.measure("full jitter", 1, 400, confidence=CONFIDENCE)
    assert 40 in alone.time
    assert alone.time.half_width < 1
    assert alone.calls.mean == 1


def test_jitter_cuts_the_calls_by_more_than_half():
    """At 100 clients, and by 2.3 times."""
    plain, jittered = (measured(rule, 100).calls for rule in ("exponential", "full jitter"))
    assert plain.low > 2 * jittered.high
    assert plain.mean / jittered.mean == pytest.approx(2.3, abs=0.05)


@lru_cache
def at_190(rule):
    """The rule with 190 clients, and enough trials to tell the jitters apart at 95 %."""
    return aws_backoff.measure(rule, 190, 80, seed=2)


def in_turn(one, other, figure):
    """What one rule needs beside the other, with 100 clients and with 190."""
    return [
        claims.compare(getattr(with_clients(one), figure), getattr(with_clients(other), figure))
        for with_clients in (lambda rule: measured(rule, 100), at_190)
    ]


def test_equal_jitter_makes_more_calls_than_full_jitter_until_it_makes_fewer():
    """The claim holds at 100 clients and is reversed at 190."""
    assert in_turn("equal jitter", "full jitter", "calls") == ["more", "less"]


def test_full_jitter_takes_longer_than_decorrelated_until_it_takes_less():
    """The claim holds at 100 clients and is reversed at 190."""
    assert in_turn("full jitter", "decorrelated jitter", "time") == ["more", "less"]


def test_no_backoff_is_fastest_and_does_most_calls_until_the_server_needs_time():
    """2 ms for each read and write, one after the other, and it takes longer than full jitter."""
    none, full = measured("none", 100), measured("full jitter", 100)
    assert claims.compare(none.time, full.time) == "less"
    assert claims.compare(none.calls, full.calls) == "more"
    none, full = (
        aws_backoff.measure(rule, 100, 12, service=2, confidence=CONFIDENCE)
        for rule in ("none", "full jitter")
    )
    assert claims.compare(none.time, full.time) == "more"


def test_the_mean_of_plain_backoff_hides_its_spread():
    """With 10 clients the standard deviation is more than a third of the mean."""
    plain = aws_backoff.measure("exponential", 10, 400)
    assert plain.spread == pytest.approx(published.AWS_SPREAD_AT_10, rel=0.15)


def test_a_server_that_needs_time_needs_it_for_each_read_and_write():
    """One client, alone: four hops, and twice the service time."""
    with_service = aws_backoff.run("none", 1, rng(), service=100)
    assert with_service.time == pytest.approx(aws_backoff.run("none", 1, rng()).time + 200)


# Claims.


def test_what_chance_may_explain_is_undecided():
    """The half-width of a difference is the root of the sum of squares: 5 for 3 and 4."""
    assert claims.compare(Interval(10, 3, 9), Interval(15, 4, 9)) == "undecided"
    assert claims.compare(Interval(10, 3, 9), Interval(15.1, 4, 9)) == "less"
    assert claims.compare(Interval(15.1, 3, 9), Interval(10, 4, 9)) == "more"


@pytest.mark.parametrize(
    ("found", "where"),
    [
        (["more", "undecided", "less", "less"], (10, 30)),
        (["undecided", "more", "more", "less"], (30, 40)),
        (["more", "more", "undecided", "more"], None),
        (["undecided"] * 4, None),
        (["more", "less", "more", "less"], (30, 40)),
    ],
)
def test_where_a_claim_is_reversed(found, where):
    """Between the last number with the one verdict, and the first after it with the other."""
    assert claims.reversal([10, 20, 30, 40], found) == where


# Retries.


def published_lies_near(ours, theirs, trials, theirs_from=5):
    """Whether the difference of two means of runs alike may be chance, at 99.9 %; and how much."""
    deviation = ours.half_width * math.sqrt(trials) / student_t_quantile(0.975, trials - 1)
    reach = student_t_quantile(0.9995, trials - 1) * deviation
    reach *= math.sqrt(1 / trials + 1 / theirs_from)
    return abs(ours.mean - theirs) <= max(reach, 6e-5), reach


@pytest.mark.parametrize("failure", published.FAILURES)
@pytest.mark.parametrize("policy", retries.POLICIES)
def test_load_and_availability_of_the_retry_study(policy, failure):
    """Each published mean, of 5 trials too, may come from this model; and the test could tell."""
    place = published.FAILURES.index(failure)
    ours = retries.measure(policy, failure, 5)
    for mine, known in ((ours.load, published.LOAD), (ours.availability, published.AVAILABILITY)):
        near, reach = published_lies_near(mine, known[policy][place], 5)
        assert near, (mine, known[policy][place])
        assert reach < 0.1


def test_three_retries_follow_their_closed_form():
    """1 + f + f² + f³ attempts and 1 - f⁴, within our 99.9 % intervals, which are narrow."""
    ours = retries.measure("three retries", 0.5, 12, seed=3, confidence=CONFIDENCE)
    theory = retries.theory(0.5)
    assert theory.load in ours.load
    assert theory.availability in ours.availability
    assert ours.load.half_width < 0.02 * theory.load
    assert (retries.theory(0.5).load, retries.theory(0.5).availability) == (1.875, 0.9375)


def test_the_bucket_holds_five_and_a_call_brings_a_tenth():
    """Four retries at once (a token must be over one), and then one more after nine calls."""
    bucket = retries.TokenBucket()
    bucket.begin()
    assert [bucket.allows(0) for _ in range(6)] == [True] * 4 + [False] * 2
    for _ in range(9):
        bucket.begin()
    assert [bucket.allows(0) for _ in range(2)] == [True, False]


def test_the_breaker_opens_above_its_share():
    """One failure in ten calls may be retried, two may not."""
    breaker = retries.Breaker()
    for _ in range(10):
        breaker.begin()
    assert [breaker.allows(0), breaker.allows(0)] == [True, False]
    for _ in range(20):
        breaker.begin()
    assert [breaker.allows(3), breaker.allows(2)] == [False, False]


# Collapse.


@lru_cache
def runs(load, backoff):
    """Some runs of the collapse study."""
    trials = {("spike", False): 24, ("spike", True): 6}.get((load, backoff), 8)
    return collapse.outcomes(load, trials, backoff=backoff)


@pytest.mark.parametrize(("load", "backoff"), published.SUCCESS)
def test_success_in_the_collapse_study(load, backoff):
    """Each published share, of 30 runs, may come from this model."""
    found = runs(load, backoff)
    ours = interval([each.success for each in found])
    near, reach = published_lies_near(ours, published.SUCCESS[load, backoff], len(found), 30)
    assert near, ours
    assert reach < (0.35 if (load, backoff) == ("spike", False) else 0.08)


def test_backoff_hardly_helps_where_the_overload_lasts():
    """Under the ramp, the shares with and without differ by a few in a hundred at most."""
    without, with_backoff = (
        interval([each.success for each in runs("ramp", backoff)]) for backoff in (False, True)
    )
    assert abs(without.mean - with_backoff.mean) < 0.05


def test_after_a_spike_runs_fall_into_two_groups():
    """Without backoff they come back to 40 a second or stay at none; their mean is neither."""
    found = collapse.groups(runs("spike", False))
    assert found is not None
    down, up = found
    assert max(down) == 0
    assert all(35 < each < 45 for each in up)
    mean = sum(down + up) / len(down + up)
    assert min(abs(each - mean) for each in down + up) > 4
    recovered, of = published.SPIKE_RECOVERS
    share = recovered / of
    reach = 3.29 * math.sqrt(share * (1 - share) * (1 / of + 1 / len(down + up)))
    assert abs(len(up) / len(down + up) - share) < reach


def test_after_a_spike_backoff_brings_every_run_back():
    """One group, at 40 a second."""
    with_backoff = runs("spike", True)
    assert collapse.groups(with_backoff) is None
    assert all(35 < each.goodput_late < 45 for each in with_backoff)


def test_who_is_not_answered_asks_three_times():
    """Where it stays down, three requests are sent for each that is begun, 3 s apart."""
    down = min(runs("spike", False), key=lambda each: each.goodput_late)
    assert sum(down.sent[66:]) == pytest.approx(3 * sum(down.started[63:77]), rel=0.1)


def test_the_loads_are_those_of_the_study():
    """The ramp goes from 40 to 80 at 25 s and ends at 75 s; the spike lasts from 20 to 25 s."""
    assert [collapse.ramp(time) for time in (0, 25, 50, 75)] == pytest.approx([40, 80, 40, 0])
    assert [collapse.spike(time) for time in (19.9, 20, 25, 25.1)] == [40, 80, 80, 40]


# All of them.


@pytest.mark.parametrize(
    "one",
    [
        lambda seed: aws_backoff.run("decorrelated jitter", 20, rng(seed)),
        lambda seed: retries.run("token bucket", 0.3, rng(seed)),
        lambda seed: collapse.run("spike", rng(seed), backoff=True),
    ],
)
def test_the_same_seed_gives_the_same_run(one):
    """To the last bit; and another seed another run."""
    assert one(5) == one(5)
    assert one(5) != one(6)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: aws_backoff.run("quadratic", 2, rng()), "rule must be one of"),
        (lambda: aws_backoff.run("none", 0, rng()), "clients must be a whole number"),
        (lambda: aws_backoff.run("none", 2, rng(), service=-1), "service must be"),
        (lambda: retries.run("hope", 0.1, rng()), "policy must be one of"),
        (lambda: retries.run("no retries", 1.5, rng()), "failure must be"),
        (lambda: collapse.run("wave", rng(), backoff=True), "load must be one of"),
        (lambda: collapse.outcomes("ramp", 0, backoff=True), "trials must be a whole number"),
        (lambda: claims.verdicts([], [], "cost"), "figure must be one of"),
    ],
)
def test_bad_parameters_are_named(call, said):
    """One sentence with the name, and what is allowed."""
    with pytest.raises(ValueError, match=said):
        call()


# The page.


def test_the_page_holds_the_published_numbers_and_the_reversals():
    """`docs/studies.md` was written from these numbers, and says where the claims turn."""
    text = (Path(__file__).parents[1] / "docs" / "studies.md").read_text(encoding="utf-8")
    for known in (published.AWS_TIME, published.AWS_CALLS):
        for figures in known.values():
            cells = [f" {page._figure(each)}; **" for each in figures]
            assert [cell for cell in cells if cell not in text] == []
    for table in (published.LOAD, published.AVAILABILITY):
        for values in table.values():
            assert [value for value in values if f" {value:.4f}; **" not in text] == []
    assert text.count("**the reverse** (less)") == 2


# Pictures.


def test_the_picture_of_contention_says_what_each_rule_needs():
    """A line for each rule on both axes, and the numbers at its end in words."""
    clients = (5, 10)
    curves = {
        rule: [aws_backoff.measure(rule, count, 5) for count in clients]
        for rule in ("none", "full jitter")
    }
    figure = sq.plot.contention(curves, clients)
    assert [len(ax.lines) for ax in figure.axes] == [2, 2]
    for ax in figure.axes:  # numbers in full, no powers of ten
        shown = [label.get_text() for label in ax.get_yticklabels()]
        assert shown
        assert all(each.replace(",", "").replace(".", "").isdigit() for each in shown)
    last = curves["none"][-1]
    said = f"At 10: none: {last.time.mean:,.0f} ms and {last.calls.mean:,.0f} writes"
    assert said in figure.alt_text
    with pytest.raises(ValueError, match="curves: none must be a point for each of 1"):
        sq.plot.contention(curves, (5,))


def test_the_picture_of_recoveries_tells_both_groups_apart():
    """As many lines as runs, in two kinds, and the mean; each kind says how many it has."""
    found = runs("spike", False)
    down, up = collapse.groups(found)
    figure = sq.plot.recoveries(found)
    (ax,) = figure.axes
    assert sorted(line.get_linestyle() for line in ax.lines) == sorted(
        ["-"] * len(up) + [":"] * len(down) + ["--"]
    )
    assert f"24 runs: {len(up)} recover and {len(down)} stay down" in figure.alt_text
    assert ax.get_title(loc="left") == "One mean over two groups"
    (calm,) = sq.plot.recoveries(runs("spike", True)).axes
    assert calm.get_title(loc="left") == "One group"
    with pytest.raises(ValueError, match="runs must be one run or more"):
        sq.plot.recoveries([])
