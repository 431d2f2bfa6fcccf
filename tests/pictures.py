"""Every kind of picture that the package makes, each of two runs; and the words of an image."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.figure import Figure

import simqueue as sq
from simqueue import backoff, handlers
from simqueue.plotting import timeline_marks
from simqueue.plotting.drawing import alt_text, img_tag, new_drawing
from simqueue.side_by_side import compare_brokers
from simqueue.studies import aws_backoff, collapse
from simqueue.trace import JobLog

TROUBLE = sq.Scenario(
    arrivals=sq.EvenlySpaced(interval=4),
    jobs=12,
    work=sq.LogNormal(median=10, p99=60),
    workers=sq.Workers(count=4, crash=sq.Crash(at=[(2, 20)], restart_after=15)),
    broker=sq.brokers.sqs(visibility_timeout=20, max_receive_count=3),
    handler=handlers.reclaim,
)
"""With a crash, duplicates, dead letters: most signs of a picture are in it."""
MANY = sq.Scenario(
    arrivals=sq.Poisson(rate=1),
    jobs=60,
    work=sq.Exponential(20),
    workers=sq.Workers(count=30, crash=sq.Crash(mean_time_between=200, restart_after=5)),
    broker=sq.brokers.generic(lease=30, max_receives=4),
    handler=handlers.naive,
)


class InThisProcess:
    """An executor that runs things at once: quick for small runs."""

    def submit(self, function: Any, *arguments: Any) -> Any:
        """Run it, and return what came of it as a future that is done."""
        future: Any = Future()
        future.set_result(function(*arguments))
        return future


HERE: dict[str, Any] = {"executor": InThisProcess(), "progress": False}


def a_run(seed: int) -> sq.Result:
    """One run of `TROUBLE`."""
    return sq.simulate(TROUBLE, seed)


def rates(seed: int) -> Any:
    """Two handlers and a crash, against the lease."""
    over = {"broker.lease": (5, 20, 60), "handler": [handlers.naive, handlers.claim]}
    return sq.sweep(MANY.replace({"jobs": 60 + 20 * seed}), over, replications=2, **HERE)


def rules(seed: int) -> Any:
    """Three rules of waiting."""
    kinds = (backoff.Exponential, backoff.FullJitter)
    waits = [kind(base=base) for kind in kinds for base in (1, 10)]
    over = {"broker.retry_delay": [*waits, backoff.Constant(5)]}
    lossy = MANY.replace({"network.response_lost": 0.2 + seed / 10})
    return sq.plot.backoff(sq.sweep(lossy, over, replications=2, **HERE))


def bars(seed: int) -> Any:
    """Two handlers, with and without lost acks."""
    rows = {name: {"handler": getattr(handlers, name)} for name in ("naive", "claim")}
    columns: dict[str, Any] = {"nothing": {}, "acks lost": {"network.ack_lost": 0.2 + seed / 5}}
    return sq.plot.strategies(sq.cross(MANY, rows, columns, replications=2, **HERE))


def brokers(seed: int) -> Any:
    """Four brokers, with all that can become of a job."""
    some = {
        "SQS": sq.brokers.sqs(visibility_timeout=20 + 20 * seed),
        "RabbitMQ": sq.brokers.rabbitmq(),
        "Sidekiq": sq.brokers.sidekiq(),
        "BullMQ": sq.brokers.bullmq(),
    }
    return sq.plot.brokers(compare_brokers(some, replications=1))


def contention(seed: int) -> Any:
    """All rules of the study, at two numbers of clients."""
    clients = (5, 10 + seed)
    curves = {
        rule: [aws_backoff.measure(rule, count, 5) for count in clients]
        for rule in aws_backoff.RULES
    }
    return sq.plot.contention(curves, clients)


def advice(seed: int) -> Any:
    """What each of four timeouts would do to two hundred jobs."""
    durations = sq.Exponential(10 + seed).quantile(np.linspace(0.001, 0.999, 200))
    log = JobLog(
        arrivals=np.arange(200.0) * 5, durations=np.random.default_rng(1).permutation(durations)
    )
    return sq.plot.advice(sq.advise(log, workers=8, timeouts=[5, 20, 40, 80], target=0.05))


def every_sign() -> Any:
    """All bars and points that a timeline may have, one beside the other."""
    figure, (ax,) = new_drawing(9, 3)
    kinds: set[str] = set()
    for place, kind in enumerate(timeline_marks.BARS):
        timeline_marks.bar(ax, kind, 2 * place, 2 * place + 1, 0, 0.5, kinds)
    for place, kind in enumerate(timeline_marks.POINTS):
        timeline_marks.point(ax, kind, place, 1, kinds)
    timeline_marks.lease(ax, 0, 9, 2, kinds, goes_on=True)
    timeline_marks.legend(ax, kinds)
    return figure


def replay(seed: int) -> Any:
    """A run at its most telling moment."""
    widget = sq.widgets.replay(a_run(seed))
    widget.go_to_key_moment()
    return widget


def tune(seed: int) -> Any:
    """A slider over the timeout, and what it does to one figure."""
    return sq.widgets.tune(MANY, {"broker.lease": (5, 60)}, seed=seed)


PLOTS: dict[str, Callable[[int], Any]] = {
    "advice": advice,
    "backoff": rules,
    "brokers": brokers,
    "contention": contention,
    "dashboard": lambda seed: sq.plot.dashboard(a_run(seed)),
    "duplicate_rate": lambda seed: sq.plot.duplicate_rate(rates(seed)),
    "recoveries": lambda seed: sq.plot.recoveries(
        collapse.outcomes("spike", 7 + seed, backoff=False)
    ),
    "strategies": bars,
    "timeline": lambda seed: sq.plot.timeline(a_run(seed), job=3),
}
"""For each function of `sq.plot` that draws: its figure of run 1, 2, and so on."""
DRAWN = PLOTS | {"every sign of a timeline": lambda _: every_sign()}
"""The same, and a figure for eyes only."""
NO_PLOTS = {"Drawing", "alt_text", "show"}

WIDGETS: dict[str, Callable[[int], Any]] = {
    "gallery": lambda seed: sq.widgets.gallery(("INC-01", "INC-30", "INC-45")[seed]),
    "replay": replay,
    "tune": tune,
}
"""For each function of `sq.widgets` with a picture: the widget for run 1, 2, and so on."""
NO_PICTURES = {"predict", "quiz"}


def html_of(shown: Any) -> str:
    """All HTML of what a cell shows: a figure's image, the parts of a widget, a table."""
    if isinstance(shown, Figure):
        # Rendered by its words alone, which is quick. A figure of none of ours has no words.
        return img_tag(b"", alt_text(shown), 1, 1)
    if isinstance(shown, ipywidgets.HTML):
        return str(shown.value)
    if isinstance(shown, ipywidgets.Box):
        return "".join(map(html_of, shown.children))
    made = getattr(shown, "_repr_html_", None)
    return (made() or "") if callable(made) and not isinstance(shown, type) else ""


def texts_of(shown: str) -> list[str]:
    """What each picture in this HTML says to those who do not see it; nothing said is ""."""
    found = []
    for tag in re.findall(r"<(?:img|svg)\b[^>]*>", shown):
        said = re.search(r'\s(?:alt|aria-label)="([^"]*)"', tag)
        found.append(html.unescape(said[1]) if said else "")
    return found
