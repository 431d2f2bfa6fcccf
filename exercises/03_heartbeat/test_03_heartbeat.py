"""Grader of exercise 03: who had which film when, how many mails there were, how many extends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import simqueue as sq
from simqueue.grading import Submission, check
from simqueue.model.ledger import Event
from simqueue.story import story

MINUTE = 60.0
LONGEST = 118 * MINUTE
FILM = 10 * MINUTE
STALL, FROZEN = 59.0, 15 * MINUTE
ROUNDING = 0.01  # seconds: each slice ends on a whole microsecond
BACK_WITHIN, NOTICE_WITHIN = 5 * MINUTE, 2 * MINUTE
STALLS = (0.5, 2, 28, 64, 310, 580)
DEATHS = (1, 31, 64, 250, 476, 599)
FREEZES = (2, 61, 299, 450, 575, 599)


def studio(submission: Submission, films: Sequence[float], **parts: Any) -> sq.Result:
    """One worker for each film at first, as many in reserve, and films of these seconds."""
    settings = {
        "arrivals": sq.AllAtOnce(),
        "jobs": len(films),
        "work": sq.Recorded(films),
        "workers": sq.Workers(count=2 * len(films)),
        "broker": sq.brokers.generic(
            lease=MINUTE, lease_cap=120 * MINUTE, retry_delay=5 * MINUTE, max_receives=8
        ),
        "handler": sq.handlers.naive,
        "horizon": 240 * MINUTE,
    }
    return submission.simulate(sq.Scenario(**(settings | parts)))


def each_is_sent(result: sq.Result) -> None:
    """Check that each film is worked on to its end, each customer told, each message acked."""
    finished = result.deliveries[result.deliveries.outcome == "finished"]
    at_work = (finished.ended - finished.received).groupby(finished.job).max()
    for job, outcome, mails in result.jobs[["outcome", "effects"]].itertuples():
        check(
            mails > 0 and outcome == "acked",
            f"A film of {length(result, job)} ends as {outcome}, with {int(mails)} mails.",
            lambda job=job: told(result, job),
        )
        longest = at_work.get(job, 0.0)
        check(
            longest > result.scenario.work.values[job] - ROUNDING,
            f"A film of {length(result, job)} was worked on for {longest:.1f} s, and then mailed: "
            "do the shares add up to 1, and is each ctx.work awaited?",
            lambda job=job: told(result, job),
        )


def each_stays(result: sq.Result, what: str) -> None:
    """Check that no film is given to a second worker."""
    each_is_sent(result)
    for job, times in result.jobs.deliveries.items():
        check(
            times == 1,
            f"A film of {length(result, job)} was given to {times} workers, {what}.",
            lambda job=job: told(result, job),
        )


def length(result: sq.Result, job: int) -> str:
    """How long a film takes, in words."""
    seconds = result.scenario.work.values[job]
    return f"{seconds / MINUTE:.0f} minutes" if seconds > MINUTE else f"{seconds:.0f} seconds"


def undisturbed(submission: Submission) -> sq.Result:
    """Films that are longer than the lease, and nothing goes wrong."""
    return studio(submission, [FILM, 47 * MINUTE, LONGEST])


@pytest.mark.points(1)
def test_every_film_is_restored(submission):
    """Short ones, and nothing goes wrong."""
    each_is_sent(studio(submission, [2, 20, 55]))


@pytest.mark.points(2)
def test_a_long_film_stays_with_its_worker(submission):
    """From ten minutes to 118, and nothing goes wrong."""
    each_stays(submission.once(undisturbed), "though the first was at work all the time")


@pytest.mark.points(2)
def test_to_stand_still_for_a_minute_costs_nothing(submission):
    """At the beginning, in the middle, near the end; in films of several lengths."""
    films = [*[FILM] * len(STALLS), 70 * MINUTE]
    often = [(len(films), 34 + 211 * each) for each in range(19)]
    stalls = sq.Pause(seconds=STALL, at=[*enumerate(STALLS, 1), *often])
    each_stays(studio(submission, films, faults=[stalls]), "as the first stood still for a minute")


@pytest.mark.points(2)
def test_when_a_worker_dies_another_one_has_the_film_within_five_minutes(submission):
    """From its death on, at whatever moment."""
    deaths = sq.Crash(at=list(enumerate(DEATHS, 1)), restart_after=60 * MINUTE)
    result = studio(submission, [FILM] * len(DEATHS), faults=[deaths])
    each_is_sent(result)
    for worker, death in enumerate(DEATHS, 1):
        job = given_to(result, worker)
        received = result.deliveries[result.deliveries.job == job].received
        wait = min(received[received > death], default=float("inf")) - death
        when = f"{wait / MINUTE:.1f} minutes later" if wait < float("inf") else "never"
        check(
            wait <= BACK_WITHIN,
            f"A worker died {death} s after it got the film; the next one had it: {when}.",
            lambda job=job: told(result, job),
        )


@pytest.mark.points(2)
def test_whoever_has_lost_the_film_stops(submission):
    """A worker stands still for a quarter of an hour, while others are free, or nobody is."""
    frozen = sq.Pause(seconds=FROZEN, at=list(enumerate(FREEZES, 1)))
    result = studio(submission, [FILM] * len(FREEZES), faults=[frozen])
    each_is_sent(result)
    for worker, freeze in enumerate(FREEZES, 1):
        job = given_to(result, worker)
        check(
            result.jobs.effects[job] == 1,
            f"A worker stood still for a quarter of an hour, {freeze} s after it got the film; "
            f"the customer got {int(result.jobs.effects[job])} mails.",
            lambda job=job: told(result, job),
        )
        late = last_step(result, worker, job) - (freeze + FROZEN)
        check(
            late <= NOTICE_WITHIN,
            f"It woke up without the film, and worked on for {late / MINUTE:.1f} minutes.",
            lambda job=job: told(result, job),
        )
    alone = sq.Pause(seconds=FROZEN, at=[(1, 100)])
    each_is_sent(studio(submission, [FILM], workers=sq.Workers(count=1), faults=[alone]))


@pytest.mark.points(1)
def test_no_more_extends_than_were_promised(submission):
    """Three, and one for each half minute: of films that take seconds, minutes, hours."""
    for films in (submission.once(undisturbed), studio(submission, [5, 40, 150])):
        each_stays(films, "though the first was at work all the time")
        table = films.records.table
        extended = table[table[:, 1] == Event.EXTENDED][:, 2]
        for job, seconds in enumerate(films.scenario.work.values):
            count, allowed = int((extended == job).sum()), 3 + int(seconds // 30)
            check(
                count <= allowed,
                f"A film of {length(films, job)} took {count} extends; {allowed} were promised.",
            )


def given_to(result: sq.Result, worker: int) -> int:
    """The job that `worker` got first."""
    deliveries = result.deliveries
    return int(deliveries.job[deliveries.worker == worker].iloc[0])


def last_step(result: sq.Result, worker: int, job: int) -> float:
    """When `worker` let go of its first delivery of `job`, in seconds; infinity: it never did."""
    deliveries = result.deliveries
    mine = deliveries[(deliveries.worker == worker) & (deliveries.job == job)]
    return float(mine.ended.fillna(float("inf")).iloc[0])


def told(result: sq.Result, job: int) -> str:
    """The story of a job, without most of what comes again and again in a long film."""
    lines = story(result, job).splitlines()
    if len(lines) <= 40:
        return "\n".join(lines)
    return "\n".join([*lines[:20], f"… {len(lines) - 40} more …", *lines[-20:]])
