"""What must be true of those who publish: each law a function of a `Run`."""

from __future__ import annotations

from collections import defaultdict

from reenactment import Run, microseconds

import simqueue as sq
from simqueue.model.ledger import Event


def replicas(run: Run) -> None:
    """Each replica publishes each job once, at its own offset."""
    producers = run.scenario.producers
    if producers.resend is not None or run.settings.own_duplicates:
        return
    if run.on(sq.Network, publish_response_lost=True):
        return
    offsets = [microseconds(offset) for offset in producers.offsets]
    own = sorted(offsets[n % len(offsets)] for n in range(producers.replicas))
    published: dict[int, list[float]] = defaultdict(list)
    for row in run.rows:
        if row.event == Event.PUBLISHED:
            published[row.job].append(row.time)
    for job, times in published.items():
        due = [times[0] - own[0] + offset for offset in own]
        here = [time for time in due if time < run.end - 1]
        assert len(times) >= len(here), f"job {job}: {times}"
        close = [abs(a - b) <= 1 for a, b in zip(times, due, strict=False)]
        assert len(times) <= len(due), f"job {job}: {times}"
        assert all(close), f"job {job}: {times}, and not {due}"


def resends(run: Run) -> None:
    """A sender sends at its intervals until one of the job's messages is acked, or it gives up."""
    resend = run.scenario.producers.resend
    if resend is None or run.scenario.producers.replicas > 1 or run.settings.own_duplicates:
        return
    if run.on(sq.Network, publish_response_lost=True):
        return
    every = microseconds(resend.every)
    patience = every if resend.patience is None else microseconds(resend.patience)
    sent: dict[int, list[float]] = defaultdict(list)
    acked: dict[int, float] = {}
    gave_up: dict[int, float] = {}
    for row in run.rows:
        if row.event == Event.PUBLISHED:
            sent[row.job].append(row.time)
        elif row.event == Event.ACKED:
            acked.setdefault(row.job, row.time)
        elif row.event == Event.PRODUCER_GAVE_UP:
            gave_up[row.job] = row.time
    for job, times in sent.items():
        heard = acked.get(job, run.end)
        due = [times[0] + n * every for n in range(resend.most)]
        surely = [time for time in due if time < heard]
        perhaps = [time for time in due if time <= heard]
        assert times in (surely, perhaps), f"job {job}, acked at {heard / 1e6}: {times}"
        end = due[-1] + patience
        if job in gave_up:
            assert gave_up[job] == end <= heard, f"job {job}, acked at {heard / 1e6}"
        else:
            assert end >= heard, f"job {job} should have been given up at {end / 1e6}"


LAWS = (replicas, resends)
