"""Grader of exercise 02: logs of several shapes, and what the next month makes of the timeout."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pytest

import simqueue as sq
from simqueue.grading import Submission, check

YEAR: Final = 365 * 86_400
NEXT_MONTH: Final = 1_000


class Team(NamedTuple):
    """Whose jobs take so long, and what it was promised; in seconds."""

    who: str
    work: sq.Distribution
    duplicates: float
    recovery: float

    @property
    def needs(self) -> float:
        """The shortest timeout that makes no more duplicates than promised."""
        return float(self.work.quantile(1 - self.duplicates))

    def log(self, rows: int, seed: int) -> list[float]:
        """How long so many jobs took."""
        uniforms = np.random.default_rng([seed, rows]).random(rows)
        return [round(float(seconds), 3) for seconds in self.work.sample(uniforms)]

    def asks(self) -> str:
        """What it wants, in words."""
        return f"{self.who}, with {self.duplicates:.1%} and {self.recovery:g} s promised"


MAIL = sq.LogNormal(median=10, p99=90)
REPORTS = sq.Mixture([(98, sq.LogNormal(median=8, p99=20)), (2, sq.Uniform(290, 310))])
IMPORTS = sq.Pareto(minimum=5, shape=1.5)

POSSIBLE = (
    Team("a slow tail", MAIL, 0.01, 900),
    Team("one job in fifty takes 300 s", REPORTS, 0.01, 1_800),
    Team("one job in fifty takes 300 s", REPORTS, 0.05, 120),
    Team("a heavy tail", IMPORTS, 0.02, 600),
    Team("all between 20 and 40 s", sq.Uniform(20, 40), 0.01, 300),
    Team("many short jobs, few long ones", sq.Exponential(mean=30), 0.05, 200),
)
IMPOSSIBLE = (
    Team("a slow tail", MAIL, 0.01, 30),
    Team("one job in fifty takes 300 s", REPORTS, 0.01, 120),
    Team("a heavy tail", IMPORTS, 0.01, 40),
    Team("all between 20 and 40 s", sq.Uniform(20, 40), 0.01, 15),
)
SHORT_LOGS = (
    Team("a slow tail", MAIL, 0.01, 1_800),
    Team("a slow tail", MAIL, 0.002, 1_800),
    Team("one job in fifty takes 300 s", REPORTS, 0.01, 1_800),
    Team("a heavy tail", IMPORTS, 0.02, 3_600),
)


def chosen(submission: Submission, team: Team, logs: list[list[float]]) -> list[float | None]:
    """What the submission answers to `team` for each of these logs."""
    calls = [[log, team.duplicates, team.recovery] for log in logs]
    answers = submission.call_each("choose", calls)
    for answer in answers:
        number = isinstance(answer, int | float) and not isinstance(answer, bool)
        check(
            answer is None or (number and 0 < answer <= YEAR),
            f"A timeout must be a number of seconds, above 0 and up to a year, or None, not "
            f"{answer!r:.40}.",
        )
    return answers


def long_logs(submission: Submission) -> dict[Team, float | None]:
    """The answers to those teams that can have a timeout, after logs of 4,000 rows."""
    return {
        team: chosen(submission, team, [team.log(4_000, seed=1)])[0]
        for team in (*POSSIBLE, *IMPOSSIBLE)
    }


def timeouts(submission: Submission) -> dict[Team, float]:
    """What the teams get that can have a timeout: most of them must get one."""
    answers = submission.once(long_logs)
    found = {team: answers[team] for team in POSSIBLE if answers[team] is not None}
    check(
        len(found) > len(POSSIBLE) / 2,
        f"{len(POSSIBLE)} of the teams can have a timeout, and {len(found)} get one.",
    )
    return found


def next_month(team: Team, timeout: float, jobs: int, workers: sq.Workers) -> sq.Result:
    """Jobs of the same kind, one after another; none has to wait for a worker."""
    places = (np.arange(jobs) + 0.5) / jobs
    return sq.simulate(
        sq.Scenario(
            arrivals=sq.Times(np.arange(jobs) * 1.0),
            work=sq.Recorded(np.random.default_rng(2).permutation(team.work.quantile(places))),
            workers=workers,
            broker=sq.brokers.generic(lease=timeout, max_receives=2),
            handler=sq.handlers.naive,
        )
    )


@pytest.mark.points(2)
def test_duplicates_stay_within_the_promise(submission):
    """The share of jobs of the next month that are delivered twice."""
    for team, timeout in timeouts(submission).items():
        month = next_month(team, timeout, NEXT_MONTH, sq.Workers(concurrency=NEXT_MONTH))
        share = month.figures["duplicate_delivery_rate"]
        check(
            share <= 1.25 * team.duplicates,
            f"For {team.asks()}, you choose {timeout:.1f} s: {share:.1%} of the jobs are "
            "delivered twice.",
        )


@pytest.mark.points(2)
def test_the_timeout_is_as_long_as_needed(submission):
    """Neither half of what the promise needs, nor more than twice that."""
    for team, timeout in timeouts(submission).items():
        check(
            team.needs / 2 <= timeout <= 2 * team.needs,
            f"For {team.asks()}, you choose {timeout:.1f} s; {team.needs:.0f} s would do.",
        )


@pytest.mark.points(2)
def test_after_a_crash_the_job_is_back_in_time(submission):
    """Workers die at any moment of their jobs; right after the receive is the worst."""
    timeouts(submission)
    for team, timeout in submission.once(long_logs).items():
        if timeout is None:
            continue
        workers = sq.Workers(count=200, crash=sq.Crash(chance=0.3, restart_after=1.0))
        deliveries = next_month(team, timeout, 100, workers).deliveries
        first = deliveries[(deliveries.attempt == 1) & (deliveries.outcome == "crashed")]
        second = deliveries[deliveries.attempt == 2].set_index("job").received
        waits = second.reindex(first.job).to_numpy() - first.ended.to_numpy()
        check(
            waits.max() <= team.recovery,
            f"For {team.asks()}, you choose {timeout:.1f} s: a worker died, and the next one had "
            f"its job {waits.max():.0f} s later.",
        )


@pytest.mark.points(2)
def test_it_says_where_both_promises_cannot_be_kept(submission):
    """None there, and a number elsewhere, also if the longest job takes longer than recovery."""
    for team in POSSIBLE:
        timeout = submission.once(long_logs)[team]
        check(timeout is not None, f"There is a timeout for: {team.asks()}.")
    for team in IMPOSSIBLE:
        timeout = submission.once(long_logs)[team]
        check(
            timeout is None,
            f"For {team.asks()}, you choose {timeout or 0:.1f} s; {team.needs:.0f} s are needed.",
        )
    slow = Team("20 jobs, each of 500 s", sq.Fixed(500), 0.01, 100)
    (timeout,) = chosen(submission, slow, [slow.log(20, seed=0)])
    check(timeout is None, f"For {slow.asks()}, you choose {timeout or 0:.1f} s.")


@pytest.mark.points(2)
def test_few_rows_are_no_proof(submission):
    """Forty logs of each length: in nine of ten, both promises are kept."""
    for rows in (1, 20, 400):
        for team in SHORT_LOGS:
            logs = [team.log(rows, seed) for seed in range(40)]
            answers = chosen(submission, team, logs)
            kept = [
                timeout is not None
                and team.work.survival(timeout) <= team.duplicates
                and timeout <= team.recovery
                for timeout in answers
            ]
            check(
                sum(kept) >= 0.9 * len(logs),
                f"After {rows} rows, for {team.asks()}, the promises are kept after "
                f"{sum(kept)} of {len(logs)} such logs.",
            )
