"""What can be observed of a run, by name: each a small function of what happened.

A name is about all jobs of the run, or, with "of job 3" behind it, about that one.
"""

from __future__ import annotations

import numpy as np

from simqueue.incidents.observing import OBSERVABLES, check_name, observable, observe
from simqueue.incidents.view import View
from simqueue.model.ledger import Event

__all__ = ["OBSERVABLES", "check_name", "observe"]

# When it happened.


@observable
def received(view: View) -> list[float]:
    """When messages were delivered, in seconds."""
    return [float(time) for time in view.tally.delivery_received[view.deliveries]]


@observable
def starts(view: View) -> list[float]:
    """When handlers started, in seconds."""
    return [float(time) for time in view.executions[0]]


@observable
def ends(view: View) -> list[float]:
    """When handlers ended, in seconds, in order of their starts; of those that ended."""
    return [float(time) for time in view.executions[1] if time < np.inf]


@observable
def effect_times(view: View) -> list[float]:
    """When effects were applied, in seconds."""
    return view.times(Event.EFFECT)


@observable
def settled_at(view: View) -> float | None:
    """When the last message was settled, in seconds; never, if one was not."""
    last = float(np.max(view.tally.settled[view.jobs]))
    return None if np.isnan(last) else last


@observable
def dead_lettered_at(view: View) -> list[float]:
    """When messages were given up, in seconds; an ack may have overridden that later."""
    return view.times(Event.DEAD_LETTERED)


@observable
def settled_after_soonest(view: View) -> float:
    """Seconds from a job's publish until it is settled: the shortest."""
    return float(view.settled_after().min())


@observable
def settled_after_mean(view: View) -> float:
    """Seconds from a job's publish until it is settled: the mean."""
    return float(view.settled_after().mean())


@observable
def settled_after_latest(view: View) -> float:
    """Seconds from a job's publish until it is settled: the longest."""
    return float(view.settled_after().max())


@observable
def producer_gave_up_at(view: View) -> list[float]:
    """When producers gave up sending again, in seconds."""
    return view.times(Event.PRODUCER_GAVE_UP)


@observable
def redelivery_soonest(view: View) -> float:
    """Seconds from a job's first to its second delivery: the shortest."""
    return float(view.redelivered_after().min())


@observable
def redelivery_mean(view: View) -> float:
    """Seconds from a job's first to its second delivery: the mean."""
    return float(view.redelivered_after().mean())


@observable
def redelivery_latest(view: View) -> float:
    """Seconds from a job's first to its second delivery: the longest."""
    return float(view.redelivered_after().max())


@observable
def recovered_after(view: View) -> list[float]:
    """Seconds from each crash to the next delivery of what it took down."""
    return [float(seconds) for seconds in view.tally.recovery]


# How often it happened.


@observable
def sends(view: View) -> int:
    """Publishes, also of what the broker then swallowed."""
    return len(view.rows(Event.PUBLISHED))


@observable
def messages(view: View) -> int:
    """Messages that were stored: more than one for a job whose producer sends again."""
    return sends(view) - len(view.rows(Event.DEDUPLICATED))


@observable
def second_messages(view: View) -> int:
    """Messages beyond the first of each job."""
    return messages(view) - int(np.count_nonzero(~np.isnan(view.tally.published[view.jobs])))


@observable
def replies_lost(view: View) -> int:
    """Replies to a publish that its producer never got."""
    return len(view.rows(Event.PUBLISH_RESPONSE_LOST))


@observable
def deliveries(view: View) -> int:
    """Deliveries."""
    return len(view.deliveries)


@observable
def delivered_again(view: View) -> int:
    """Jobs that were delivered more than once."""
    return int(np.count_nonzero(view.tally.deliveries[view.jobs] > 1))


@observable
def executions(view: View) -> int:
    """Starts of the handler."""
    return len(view.executions[0])


@observable
def effects(view: View) -> int:
    """Effects that were applied."""
    return len(view.rows(Event.EFFECT))


@observable
def duplicates(view: View) -> int:
    """Effects beyond each job's first of their kind."""
    return int(view.tally.extra_effects[view.jobs].sum())


@observable
def overlap_peak(view: View) -> int:
    """The most handlers that ran at the same time."""
    started, ended = view.executions
    running = [int(np.count_nonzero((started <= time) & (ended > time))) for time in started]
    return max(running, default=0)


@observable
def failures(view: View) -> int:
    """Handlers that raised."""
    return len(view.rows(Event.FAILED))


@observable
def acks_refused(view: View) -> int:
    """Acks that the broker did not accept, whether it said so or not."""
    return len(view.rows(Event.ACK_REFUSED)) + len(view.rows(Event.ACK_IGNORED))


@observable
def still_running(view: View) -> int:
    """Handlers that were at work when the run ended."""
    return int(np.count_nonzero(np.isinf(view.executions[1])))


# What became of it.


@observable
def recorded(view: View) -> str:
    """What the broker has on record in the end, whatever really happened."""
    tally, jobs = view.tally, view.jobs
    words = {
        "unfinished": tally.unsettled,
        "dead-lettered": tally.dead,
        "acked": tally.acked,
        "lost": tally.lost,
        "expired": tally.expired,
    }
    found = [word for word, counts in words.items() if (counts[jobs] > 0).any()]
    return ", ".join(found) or "unpublished"


@observable
def acked(view: View) -> int:
    """Jobs with a message that was acked."""
    return int(np.count_nonzero(view.tally.acked[view.jobs] > 0))


@observable
def dead_lettered(view: View) -> int:
    """Jobs in the dead-letter queue."""
    return int(np.count_nonzero(view.tally.dead[view.jobs] > 0))


@observable
def dead_unrun(view: View) -> int:
    """Jobs in the dead-letter queue whose handler was never started."""
    unrun = (view.tally.dead > 0) & (view.tally.executions == 0)
    return int(np.count_nonzero(unrun[view.jobs]))


@observable
def lost(view: View) -> int:
    """Jobs without any effect, of which no queue holds a message any more."""
    tally = view.tally
    gone = (tally.effects == 0) & (tally.dead == 0) & (tally.unsettled == 0)
    gone[tally.delivery_job[tally.still_running]] = False
    return int(np.count_nonzero(gone[view.jobs]))


@observable
def unfinished(view: View) -> int:
    """Jobs with a message that was not settled when the run ended."""
    return int(np.count_nonzero(view.tally.unsettled[view.jobs] > 0))


# Shares and means over jobs.


@observable
def delivered_again_share(view: View) -> float:
    """Share of jobs that were delivered more than once."""
    return delivered_again(view) / int(view.jobs.sum())


@observable
def dead_lettered_share(view: View) -> float:
    """Share of jobs in the dead-letter queue."""
    return dead_lettered(view) / int(view.jobs.sum())


@observable
def deliveries_per_job(view: View) -> float:
    """Deliveries per job."""
    return deliveries(view) / int(view.jobs.sum())


@observable
def executions_per_job(view: View) -> float:
    """Starts of the handler per job."""
    return executions(view) / int(view.jobs.sum())


@observable
def effects_per_job(view: View) -> float:
    """Effects per job."""
    return effects(view) / int(view.jobs.sum())


@observable
def second_messages_per_job(view: View) -> float:
    """Messages beyond the first, per job."""
    return second_messages(view) / int(view.jobs.sum())
