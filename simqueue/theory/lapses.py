"""Leases that run out although the work is short: prefetching, pauses, crashes, lost replies."""

from __future__ import annotations

import math

import numpy as np

from simqueue.checks import fail, non_negative, number, positive, probability, whole
from simqueue.distributions import Distribution, Exponential, Fixed
from simqueue.theory.whole_leases import TIE, as_distribution


def prefetch_lapse_share(work: Distribution | float, lease: float, prefetch: int) -> float:
    """The share of a prefetched batch whose lease runs out before its work is done.

    One worker takes `prefetch` messages at once, all leases start then, and it works through them
    one by one. Item i is done after i pieces of work. Fixed work S: the first
    floor(lease / S) items are in time. Exponential work: the mean over i of P(Erlang(i) > lease),
    where P(Erlang(i) > t) is the sum over j < i of exp(-t/mean) * (t/mean)**j / j!. Derived; it
    does not depend on what a late ack does.

    Parameters
    ----------
    work
        Fixed work (a distribution or a number of seconds) or exponential work.
    lease
        Seconds, above 0.
    prefetch
        Messages taken at once, 1 or more.

    Raises
    ------
    ValueError
        If the work is neither fixed nor exponential, or a number is out of range.
    """
    lease = positive("lease", lease, "seconds")
    prefetch = whole("prefetch", prefetch, low=1)
    work = as_distribution(work)
    if isinstance(work, Fixed):
        in_time = math.floor(lease * TIE / work.seconds) if work.seconds > 0 else prefetch
        return max(0.0, 1 - in_time / prefetch)
    if isinstance(work, Exponential):
        mean_count = lease / work.mean
        finished = np.arange(prefetch)
        log_factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, prefetch)))))
        chances = np.exp(finished * math.log(mean_count) - mean_count - log_factorials)
        return float(np.minimum(np.cumsum(chances), 1.0).mean())
    raise fail("work", work, "Fixed or Exponential: no closed form is known for other work")


def heartbeat_lapse(pause: float, lease: float, interval: float) -> float:
    """The chance that one pause of the worker lets a lease with heartbeats run out.

    The pause, `pause` seconds long, begins at a random point between two heartbeats, `interval`
    seconds apart, each of which renews the lease of `lease` seconds. The last heartbeat was
    U seconds before, U uniform over the interval, so lease - U is left, and it runs out if
    U > lease - pause: (pause - (lease - interval)) / interval, kept within 0 to 1. Derived.

    Raises
    ------
    ValueError
        If the interval is not shorter than the lease, or a number is out of range.
    """
    pause = non_negative("pause", pause, "seconds")
    lease = positive("lease", lease, "seconds")
    if not 0 < number("interval", interval) < lease:
        raise fail("interval", interval, f"above 0 and below the lease, which is {lease!r}")
    return min(1.0, max(0.0, (pause - (lease - interval)) / interval))


def crash_recovery_delay(
    lease: float, crash_after: float, last_heartbeat: float | None = None
) -> float:
    """Seconds from a worker's crash until its message is handed out again.

    Nobody tells the broker, so it waits for the lease: lease - crash_after, or with heartbeats
    last_heartbeat + lease - crash_after; 0 where the lease ran out before the crash.

    Parameters
    ----------
    lease
        Seconds, above 0.
    crash_after
        Seconds from the delivery to the crash.
    last_heartbeat
        Seconds from the delivery to the last renewal of the lease before the crash; None if
        there was none.
    """
    lease = positive("lease", lease, "seconds")
    crash_after = non_negative("crash_after", crash_after, "seconds")
    renewed = non_negative("last_heartbeat", last_heartbeat or 0.0, "seconds")
    if renewed > crash_after:
        raise fail("last_heartbeat", renewed, f"at most crash_after, which is {crash_after!r}")
    return max(0.0, renewed + lease - crash_after)


def unseen_dead(lost_reply_chance: float, max_receives: int) -> float:
    """The share of messages that are dead-lettered without any worker having seen them.

    The broker counts a receive although its reply is lost, each with `lost_reply_chance`
    (0 to 1), independently; `max_receives` (1 or more) such receives in a row use the message up:
    lost_reply_chance ** max_receives.
    """
    chance = probability("lost_reply_chance", lost_reply_chance)
    return chance ** whole("max_receives", max_receives, low=1)
