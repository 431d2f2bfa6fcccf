"""The studies as a page of Markdown: `docs/studies.md` is what this module writes, in minutes.

``python -m simqueue.studies.page [docs/studies.md]``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simqueue.intervals import Interval, interval
from simqueue.studies import aws_backoff, claims, collapse, published, retries
from simqueue.studies.aws_backoff import RULES, Measured
from simqueue.studies.published import Figure

TRIALS = 400
CLIENTS = tuple(range(10, 200, 10))
SERVICES = (0.0, 0.5, 1.0, 2.0)
SPIKES = 200
SEED = 1

HEAD = """\
# Published studies, rebuilt

Three well-known studies of retries, each rebuilt as a SimPy model of a page in `simqueue/studies/`,
and held against the numbers of the original programs (`tests/test_studies.py`). ± is the half-width
of a 95 % interval; the published numbers come from runs of the original programs. This page is
written by `python -m simqueue.studies.page`.
"""


def page(trials: int = TRIALS, spikes: int = SPIKES) -> str:
    """Return the page, from so many `trials` of the first two studies and runs of the third."""
    measured = {
        rule: [aws_backoff.measure(rule, clients, trials, SEED) for clients in CLIENTS]
        for rule in RULES
    }
    parts = (
        [HEAD],
        _aws(measured, trials),
        _claims(measured),
        _server(max(trials // 8, 2)),
        _retries(max(trials // 10, 2)),
        _collapse(spikes),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _aws(measured: dict[str, list[Measured]], trials: int) -> Iterator[str]:
    yield "## Exponential backoff and jitter (AWS, 2015)\n"
    yield f"Clients that contend for one row, {trials} trials. Each cell: published, then ours.\n"
    for title, figure, known in (
        ("Time until the last is done (ms)", "time", published.AWS_TIME),
        ("Writes tried", "calls", published.AWS_CALLS),
    ):
        yield _line([title, *map(str, published.AWS_CLIENTS)])
        yield _rule(1 + len(published.AWS_CLIENTS))
        for rule in RULES:
            ours = [
                getattr(measured[rule][CLIENTS.index(clients)], figure)
                for clients in published.AWS_CLIENTS
            ]
            cells = [
                f"{_figure(theirs)}; **{_interval(mine)}**"
                for theirs, mine in zip(known[rule], ours, strict=True)
            ]
            yield _line([rule, *cells])
        yield ""
    first = measured["exponential"][0]
    yield (
        f"Plain exponential backoff with 10 clients takes {first.time.mean:,.0f} ms on average, "
        f"with a standard deviation of {first.spread:,.0f} ms "
        f"(published: {published.AWS_SPREAD_AT_10:,.0f}): a mean alone hides it.\n"
    )


def _claims(measured: dict[str, list[Measured]]) -> Iterator[str]:
    at_100 = CLIENTS.index(100)
    ratio = measured["exponential"][at_100].calls.mean / measured["full jitter"][at_100].calls.mean
    yield "### Which claims hold\n"
    yield _line(["claim", "found"])
    yield _rule(2)
    yield _line(
        ["jitter cuts the calls by more than half (100 clients)", f"holds: {ratio:.1f} times fewer"]
    )
    equal, full, other_jitter = "equal jitter", "full jitter", "decorrelated jitter"
    for text, one, other, figure in (
        (f"{equal} makes more calls than {full}", equal, full, "calls"),
        (f"{full} takes more time than {other_jitter}", full, other_jitter, "time"),
        (f"no backoff takes less time than {full}", "none", full, "time"),
    ):
        found = claims.verdicts(measured[one], measured[other], figure)
        yield _line([text, _in_words(found)])
    yield ""


def _in_words(found: Sequence[claims.Verdict]) -> str:
    turns = claims.reversal(CLIENTS, found)
    word = {"less": "less", "more": "more"}
    if turns is None:
        (clear,) = {each for each in found if each != "undecided"}
        where = [n for n, each in zip(CLIENTS, found, strict=True) if each == "undecided"]
        more = f"; undecided at {', '.join(map(str, where))}" if where else ""
        return f"always {word[clear]}{more}"
    first = next(each for each in found if each != "undecided")
    last = next(each for each in reversed(found) if each != "undecided")
    return (
        f"{word[first]} up to {turns[0]} clients, **the reverse** ({word[last]}) from {turns[1]} on"
    )


def _server(trials: int) -> Iterator[str]:
    yield "### What the model leaves out\n"
    yield (
        "Its server answers any number of requests at once. Give it some milliseconds of work for "
        'each read and write, one after the other, and "no backoff" is no longer the fastest '
        f"(100 clients, {trials} trials, time in ms):\n"
    )
    yield _line(["service (ms)", *RULES])
    yield _rule(1 + len(RULES))
    for service in SERVICES:
        times = [
            aws_backoff.measure(rule, 100, trials, SEED, service=service).time for rule in RULES
        ]
        yield _line([f"{service:g}", *map(_interval, times)])
    yield ""


def _retries(trials: int) -> Iterator[str]:
    yield "## Retries, a token bucket, a breaker (Brooker, 2022)\n"
    yield (
        "Attempts for each call, and the share of calls that succeed, by the chance f that an "
        f"attempt fails; {trials} trials. Each cell: published, then ours. Theory, for three "
        "retries: 1 + f + f² + f³ attempts, and a share of 1 - f⁴.\n"
    )
    for title, figure, known in (
        ("attempts per call", "load", published.LOAD),
        ("share that succeeds", "availability", published.AVAILABILITY),
    ):
        yield _line([title, *(f"f = {failure:g}" for failure in published.FAILURES)])
        yield _rule(1 + len(published.FAILURES))
        for policy in retries.POLICIES:
            ours = [
                getattr(retries.measure(policy, failure, trials, SEED), figure)
                for failure in published.FAILURES
            ]
            cells = [
                f"{theirs:.4f}; **{mine.mean:.4f} ±{mine.half_width:.4f}**"
                for theirs, mine in zip(known[policy], ours, strict=True)
            ]
            yield _line([policy, *cells])
        theory = [getattr(retries.theory(failure), figure) for failure in published.FAILURES]
        yield _line(["three retries, theory", *(f"{value:.4f}" for value in theory)])
        yield ""
    yield (
        "The bucket keeps the extra load at 10 to 14 % whatever the failure rate; the breaker "
        "gives the benefit of retries up. At 95 %, one comparison in twenty misses by chance: the "
        "tests use 99.9 %.\n"
    )


def _collapse(trials: int) -> Iterator[str]:
    yield "## Timeouts, retries and collapse (Brooker)\n"
    yield _line(["load", "backoff and jitter", "published", "ours"])
    yield _rule(4)
    for (load, backoff), theirs in published.SUCCESS.items():
        runs = collapse.outcomes(load, trials, SEED, backoff=backoff)
        mine = interval([each.success for each in runs])
        cells = [load, "yes" if backoff else "no", f"{theirs:.4g}"]
        yield _line([*cells, f"**{mine.mean:.4f} ±{mine.half_width:.4f}**"])
        if (load, backoff) == ("spike", False):
            fallen = runs
    yield ""
    yield (
        "The share of requests that are answered in time. Backoff is worth about one in a hundred "
        "requests where the overload lasts; after a spike it decides.\n"
    )
    found = collapse.groups(fallen)
    assert found is not None
    down, up = found
    share = len(up) / trials
    reach = 1.96 * math.sqrt(share * (1 - share) / trials)
    known = published.SPIKE_RECOVERS
    yield (
        f"The spike without backoff has no typical run. Of {trials}, {len(up)} recover and answer "
        f"{_mean(up):.0f} requests a second from 60 s on; {len(down)} answer {_mean(down):.2g}. "
        f"That is a share of {share:.2f} ±{reach:.2f} (published: {known[0]} of {known[1]}). The "
        f"mean of all, {_mean(up + down):.1f} a second, is what no run does: "
        "`intervals.two_groups` tells."
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def _figure(figure: Figure) -> str:
    reach = f" ±{_number(figure.half_width)}" if figure.half_width else ""
    return f"{_number(figure.mean)}{reach}"


def _interval(found: Interval) -> str:
    return f"{_number(found.mean)} ±{_number(found.half_width)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"


if __name__ == "__main__":
    import pathlib
    import sys

    there = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/studies.md")
    there.write_text(page(), encoding="utf-8")
