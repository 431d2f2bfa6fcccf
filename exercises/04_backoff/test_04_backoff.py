"""Grader of exercise 04: the delays by themselves, then what they do to a provider that is down."""

import math

import numpy as np
import pytest

import simqueue as sq
from simqueue.grading import Submission, check, random_source
from simqueue.model.ledger import Event

BASE, CAP = 1.0, 60.0
JOBS, OUTAGE = 100, 45.0


def window(attempt: int) -> float:
    """The longest delay after so many failures, in seconds."""
    return min(CAP, BASE * 2.0 ** min(attempt - 1, 50))


def delays(submission: Submission, attempt: int, count: int) -> list[float]:
    """What `count` clients wait, each with dice of its own."""
    calls = [[attempt, random_source(1_000 * attempt + client)] for client in range(count)]
    return [number(value) for value in submission.call_each("delay", calls)]


def number(value: object) -> float:
    """The value, if it is a delay."""
    sound = isinstance(value, int | float) and math.isfinite(value) and value >= 0
    check(sound, f"A delay must be a finite number of seconds, 0 or more, not {value!r:.40}.")
    return float(value)


@pytest.mark.points(2)
def test_within_the_window(submission):
    """Never below 0, and never beyond the window, even after thousands of failures."""
    for attempt in (1, 2, 3, 5, 7, 8, 30, 100, 5_000):
        longest = max(delays(submission, attempt, 60))
        check(
            longest <= window(attempt) + 1e-9,
            f"After failure {attempt:,}, some wait {longest:.3g} s; "
            f"the longest allowed is {window(attempt):g} s.",
        )


@pytest.mark.points(3)
def test_spread_over_the_whole_window(submission):
    """Every delay from 0 to the window is as likely as any other."""
    for attempt in (1, 2, 4, 7, 12):
        sample = np.sort(delays(submission, attempt, 800)) / window(attempt)
        steps = np.arange(1, len(sample) + 1) / len(sample)
        gap = max(np.abs(steps - sample).max(), np.abs(steps - 1 / len(sample) - sample).max())
        below = np.searchsorted(sample, 0.5) / len(sample)
        check(
            gap < 2.2 / math.sqrt(len(sample)),
            f"After failure {attempt}, {below:.0%} of the delays lie below half of the window of "
            f"{window(attempt):g} s, and {(sample > 1).mean():.0%} beyond it; they should be "
            "spread evenly over it.",
        )


@pytest.mark.points(1)
def test_the_dice_are_those_that_were_given(submission):
    """The same dice give the same delay, so a run can be repeated."""
    first, again = delays(submission, 6, 20), delays(submission, 6, 20)
    check(first == again, "The same rng gives another delay each time: where does it come from?")
    check(len(set(first)) > 1, "Twenty clients with different dice all wait for the same time.")


@pytest.mark.points(2)
def test_no_herd_when_the_provider_is_down(submission):
    """100 clients fail at once. They must not come back all at once."""
    found = submission.once(storm)
    starts = np.concatenate([attempts[1:] for attempts in found])
    per_tenth = np.bincount((starts * 10).astype(int))
    moment = per_tenth.argmax()
    check(
        per_tenth.max() <= 40,
        f"{per_tenth.max()} of {JOBS} clients come back within one tenth of a second, "
        f"{moment / 10:.1f} s after the outage began. Evenly spread, it would be some 10.",
    )


@pytest.mark.points(2)
def test_patient_while_the_outage_lasts_and_prompt_after(submission):
    """Few useless calls while the provider is down; everybody is served soon after."""
    found = submission.once(storm)
    calls = np.mean([len(attempts) for attempts in found])
    check(calls <= 15, f"Each client calls {calls:.0f} times during an outage of {OUTAGE:g} s.")
    last = max(attempts[-1] for attempts in found)
    latest = OUTAGE + CAP
    check(last <= latest, f"The last client is served after {last:.0f} s, not by {latest:g} s.")


def storm(submission: Submission) -> list[np.ndarray]:
    """When each of 100 clients calls a provider that is down at first, in seconds."""

    def rule(attempt: int, _previous: float, rng: np.random.Generator) -> float:
        seed = int(rng.integers(2**31))
        return number(submission.call("delay", attempt, random_source(seed)))

    scenario = sq.Scenario(
        arrivals=sq.AllAtOnce(),
        jobs=JOBS,
        work=sq.Fixed(0.0),
        workers=sq.Workers(count=JOBS),
        broker=sq.brokers.generic(lease=1_000.0, retry_delay=rule),
        faults=(sq.Outage(service="payments", window=(0.0, OUTAGE)),),
        handler=sq.handlers.naive,
        horizon=3 * OUTAGE + 2 * CAP,
    )
    table = sq.simulate(scenario, seed=4).records.table
    started = table[table[:, 1] == Event.STARTED]
    return [started[started[:, 2] == job][:, 0] for job in range(JOBS)]
