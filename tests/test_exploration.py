"""Exploration: which plans there are, what each does to a run, and what is reported."""

from __future__ import annotations

import math
from functools import partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

import simqueue as sq
from simqueue import handlers, services
from simqueue.exploration import EXACTLY_ONCE, explore, table

mpl.use("Agg")

SWEEPER = {"store": services.Store(sweep_after=60, sweep_every=10)}
"""A sweeper that sets stale claims to failed."""

STRATEGIES = {
    "naive": handlers.naive,
    "lock": handlers.lock,
    "check then act": handlers.check_then_act,
    "claim": handlers.claim,
    "reclaim": handlers.reclaim,
    "reclaim, window too short": partial(handlers.reclaim, stale_after=5.0),
    "reclaim with key": handlers.reclaim_with_key,
    "one transaction": handlers.one_transaction,
    "outbox": handlers.outbox,
    "outbox with key": (handlers.outbox, {"database": services.Database(relay_uses_key=True)}),
}

TRAPS = {
    "insert only, with a sweeper": (handlers.insert_only, SWEEPER),
    "key of the day, near midnight": (
        handlers.key_of_the_day,
        {"arrivals": sq.AllAtOnce(86_380)},
    ),
    "return if locked": handlers.return_if_locked,
    "e-mail after done": handlers.email_after_done,
}

D_LATER = "; D if the pause lasts longer"
RELAY = "; D if the relay dies between send and mark"

TABLE = {
    "naive": ("D", "D", "1", "D", "D"),
    "lock": ("D", "D", "1", "D", "D"),
    "check then act": ("D", "D", "1", "1", "D"),
    "claim": ("1 DLQ", "1", "0 DLQ", "1", "1 DLQ"),
    "reclaim": ("D", "1" + D_LATER, "1", "1", "D"),
    "reclaim, window too short": ("D", "D", "1", "1", "D"),
    "reclaim with key": ("1", "1", "1", "1", "1"),
    "one transaction": ("1", "1", "1", "1", "1"),
    "outbox": ("1" + RELAY, "1", "1", "1", "1"),
    "outbox with key": ("1", "1", "1", "1", "1"),
    "insert only, with a sweeper": ("1 DLQ", "1", "0 DLQ", "1", "1 DLQ"),
    "key of the day, near midnight": ("D", "D", "1", "D", "D"),
    "return if locked": ("D", "D", "0", "D", "D"),
    "e-mail after done": ("0", "1" + D_LATER, "1", "1", "1"),
}


def words(report: sq.exploration.Report, kind: str = "") -> list[str]:
    """The plans of one kind of fault, or all of them, in words."""
    return [str(trial.plan) for trial in report.trials if kind in ("", trial.plan.kind)]


def broken(report: sq.exploration.Report) -> dict[str, dict[str, str]]:
    """What each plan that breaks something breaks."""
    return {str(trial.plan): trial.broken for trial in report.trials if trial.broken}


# The table.


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    """The table of all strategies and traps, by exploration alone."""
    return table(STRATEGIES | TRAPS)


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_strategies(found, name):
    """Each row comes out by exploration as it is known."""
    assert tuple(found.loc[name]) == TABLE[name]


def test_the_docs_show_the_table(found, request):
    """As it is printed, character by character."""
    page = (request.config.rootpath / "docs" / "exploration.md").read_text(encoding="utf-8")
    assert sq.exploration.as_markdown(found) in page
    assert str(explore(handlers.check_then_act)) in page


def test_a_claim_that_takes_failed_rows_over_is_not_stuck():
    """With the sweeper of the trap, a crash before the effect costs nothing."""
    assert table({"claim": (handlers.claim, SWEEPER)})["crash before effect"].item() == "1"


def test_an_honest_second_charge_is_swallowed_without_any_fault():
    """Two jobs of one customer on one day: the run without fault already loses one."""
    report = explore(
        handlers.key_of_the_day, jobs=2, customers=1, workers=sq.Workers(count=1), faults_at_once=1
    )
    assert report.shortest.plan.faults == ()
    assert report.shortest.broken == {
        "nothing lost": "charge never applied, and no queue holds the job (job 1)"
    }
    assert report.shortest.job == 1
    assert "Job 1" in report.shortest.timeline()


# Which plans there are.


async def two_steps(job, ctx):
    """Work, then charge under the job's key: no fault hurts."""
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)


def test_the_plans_with_one_fault():
    """Before and after each step, in the order of time; an answer is lost only of a service."""
    report = explore(two_steps, faults_at_once=1)
    assert words(report, "no fault") == ["no fault"]
    assert words(report, "crash") == [
        "the worker crashes before work of delivery 1",
        "the worker crashes after work of delivery 1",
        "the worker crashes after payments.charge of delivery 1",
    ]
    assert words(report, "response lost") == ["the answer of payments.charge in delivery 1 is lost"]
    assert words(report, "ack lost") == ["the ack of delivery 1 is lost"]
    assert report.passed


def test_a_pause_ends_at_each_step_of_the_other_delivery():
    """Before and after each of them, at its ack, or long afterwards."""
    pauses = words(explore(two_steps, faults_at_once=1), "pause")
    until = [said.partition(", ")[2] for said in pauses if "after work of delivery 1" in said[:50]]
    assert sorted(until) == sorted(
        [
            "for very long",
            "until before work of delivery 2",
            "until after work of delivery 2",
            "until after payments.charge of delivery 2",
            "until at ack of delivery 2",
        ]
    )
    assert len(pauses) == 3 * 5


def test_every_plan_is_run_once():
    """No two plans are the same."""
    said = words(explore(handlers.reclaim_with_key, faults_at_once=2))
    assert len(said) == len(set(said)) > 1_000


def test_exploration_is_deterministic():
    """The same handler gives the same report, word for word."""
    first, second = (explore(handlers.claim, faults_at_once=1) for _ in range(2))
    assert words(first) == words(second)
    assert str(first) == str(second)


def test_pairs_strike_what_only_a_faulty_run_does():
    """The second delivery of a job is there only after a first fault; its steps are struck too."""
    pairs = words(explore(two_steps, faults_at_once=2), "crash + crash")
    assert (
        "the worker crashes after work of delivery 1; "
        "then the worker crashes after payments.charge of delivery 2" in pairs
    )


def test_steps_of_an_error_branch_are_struck():
    """What a handler does after a lost answer is found in the run that loses it."""

    async def careful(job, ctx):
        try:
            await ctx.payments.charge(job.customer, job.amount, key=job.key)
        except Exception:
            await ctx.store.fail(job.key)
            raise

    pairs = words(explore(careful, faults_at_once=2))
    assert (
        "the answer of payments.charge in delivery 1 is lost; "
        "then the worker crashes after store.fail of delivery 1" in pairs
    )
    assert (
        "the answer of payments.charge in delivery 1 is lost; "
        "then the worker crashes before store.fail of delivery 1" in pairs
    )


def test_two_faults_can_break_what_one_cannot():
    """The first delivery dies after its charge, and the answer about it is lost to the second."""

    async def asks_twice(job, ctx):
        if await ctx.store.is_done(job.key):
            return
        await ctx.store.complete(job.key)
        await ctx.payments.charge(job.customer, job.amount, key=job.key)

    one = explore(asks_twice, faults_at_once=1)
    assert "nothing lost" in one.shortest.broken

    async def gives_up_on_second(job, ctx):
        """Does not try a third time."""
        if ctx.attempt > 2:
            return
        await ctx.payments.charge(job.customer, job.amount, key=job.key)

    assert explore(gives_up_on_second, faults_at_once=1).passed
    two = explore(gives_up_on_second, faults_at_once=2)
    assert [fault.moment.turn for fault in two.shortest.plan.faults] == [1, 2]
    assert "nothing lost" in two.shortest.broken


def test_a_broken_plan_is_not_tried_with_another_fault():
    """The shorter story says it already."""
    report = explore(handlers.naive, faults_at_once=2)
    bad = {t.plan.strikes for t in report.trials if t.broken and len(t.plan.faults) == 1}
    assert bad
    assert not [
        t.plan for t in report.trials if len(t.plan.faults) == 2 and t.plan.strikes[:-1] in bad
    ]


def test_a_step_that_raised_has_a_moment_behind_it():
    """A unique violation leads to a return, and the worker can die before its ack."""
    pairs = words(explore(handlers.one_transaction, faults_at_once=2), "crash + crash")
    assert any("before ack of delivery 2" in said for said in pairs)


def test_deliveries_beyond_the_bound_are_not_struck():
    """With `deliveries=1`, the second one just runs."""
    report = explore(two_steps, faults_at_once=2, deliveries=1)
    assert all(fault.moment.turn == 1 for t in report.trials for fault in t.plan.faults)


# What a plan does to a run.


def trial_of(report: sq.exploration.Report, said: str) -> sq.exploration.Breaking:
    """The plan that these words say, run once more."""
    return next(report.replay(t) for t in report.trials if str(t.plan) == said)


def test_a_crash_runs_nothing_more_of_the_process():
    """No except, no finally, no __aexit__: none of them is ever run for a crashed delivery."""
    ran = []

    class Guard:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            ran.append("__aexit__")

    async def guarded(job, ctx):
        if ctx.attempt > 1:
            await ctx.payments.charge(job.customer, job.amount, key=job.key)
            return
        try:
            async with Guard():
                await ctx.store.is_done(job.key)
                raise sq.Retry("never comes here") if ran else ValueError
        except BaseException:
            ran.append("except")
            raise
        finally:
            ran.append("finally")

    report = explore(guarded, faults_at_once=1, promises=["settles"])
    crashes = [
        t for t in report.trials if t.plan.kind == "crash" and t.plan.faults[0].moment.turn == 1
    ]
    assert len(crashes) == 2
    ran.clear()
    for trial in crashes:
        result = report.replay(trial).result
        assert result.deliveries.outcome[0] == "crashed"
    assert ran == []


def test_a_paused_worker_goes_on_before_the_other_one():
    """At the moment where the pause ends, the zombie's charge comes first."""
    report = explore(handlers.naive, faults_at_once=1)
    said = "the worker stands still after work of delivery 1, until after work of delivery 2"
    effects = trial_of(report, said).result.effects
    assert effects.time.tolist() == [40.0, 40.0]
    assert effects.delivery.tolist() == [0, 1]


def test_a_pause_can_end_just_after_the_other_ones_effect():
    """Then the other one's charge comes first."""
    report = explore(handlers.naive, faults_at_once=1)
    said = (
        "the worker stands still after work of delivery 1, "
        "until after payments.charge of delivery 2"
    )
    assert trial_of(report, said).result.effects.delivery.tolist() == [1, 0]


def test_a_pause_that_nothing_ends_lasts_as_long_as_pauses_can():
    """It ends `longest_pause` after it began."""
    report = explore(handlers.naive, faults_at_once=1, longest_pause=500)
    said = "the worker stands still after work of delivery 1, for very long"
    assert trial_of(report, said).result.effects.time.tolist() == [40.0, 510.0]


def test_a_paused_worker_renews_nothing():
    """The client library's heartbeats stop with the process, so the lease runs out."""
    report = explore(
        handlers.naive, faults_at_once=1,
        broker=sq.brokers.generic(lease=30, renew_every=10, retry_delay=60, max_receives=5),
    )  # fmt: skip
    said = "the worker stands still before work of delivery 1, until before work of delivery 2"
    assert trial_of(report, said).result.deliveries.expired[0] == 30.0


def test_a_lost_answer_is_an_exception_after_the_effect():
    """The handler sees ResponseLost; the charge is there."""
    caught = []

    async def notes(job, ctx):
        try:
            await ctx.payments.charge(job.customer, job.amount, key=job.key)
        except sq.context.ResponseLost as error:
            caught.append(str(error))

    report = explore(notes, faults_at_once=1)
    assert report.passed
    assert "no answer from payments.charge" in caught


def test_a_relay_crash_is_struck_only_where_there_is_a_relay():
    """The outbox's letter is sent again; a handler without one has no such plan."""
    report = explore(handlers.outbox, faults_at_once=1)
    assert words(report, "relay crash") == ["the relay dies between its send and its mark"]
    assert words(explore(handlers.naive, faults_at_once=1), "relay crash") == []
    assert "the outbox's relay dies before it marks what it sent" in report.shortest.timeline()


def test_a_transaction_whose_commit_gets_no_answer_is_over():
    """The next delivery finds the key, and does not wait for the first one's lock."""
    report = explore(handlers.one_transaction, faults_at_once=2)
    assert report.passed
    assert "the answer of database.commit in delivery 1 is lost" in words(report)


def test_a_handler_without_steps_can_be_explored():
    """Only its ack can get lost; and it has no effect."""

    async def nothing(job, ctx):
        pass

    report = explore(nothing, faults_at_once=1)
    assert words(report) == [
        "no fault",
        "the worker crashes before ack of delivery 1",
        "the worker stands still before ack of delivery 1, for very long",
        "the ack of delivery 1 is lost",
        "the worker stands still before ack of delivery 1, until before ack of delivery 2",
        "the worker stands still before ack of delivery 1, until at ack of delivery 2",
    ]
    assert report.trials[0].broken == {"nothing lost": "no effect at all, even without a fault"}


# Promises.


def test_a_dead_letter_is_not_settled_and_not_lost():
    """Some queue still holds it, so somebody can still do the job."""
    report = explore(handlers.claim)
    said = "the worker crashes after store.claim of delivery 1"
    assert broken(report)[said] == {"settles": "dead-lettered"}


def test_what_nobody_holds_any_more_is_lost():
    """The second delivery finds the lock of a dead worker, returns, and acks."""
    report = explore(handlers.return_if_locked)
    said = "the worker crashes after locks.acquire of delivery 1"
    assert broken(report)[said] == {
        "nothing lost": "charge never applied, and no queue holds the job"
    }


def test_promises_of_ones_own():
    """A function gets the result of each plan; its sentence is reported."""

    def quick(result):
        settled = result.jobs.settled[0]
        return True if settled < 60 else f"settled only at {settled:g} s"

    report = explore(two_steps, faults_at_once=1, promises=[*EXACTLY_ONCE, quick])
    said = broken(report)["the answer of payments.charge in delivery 1 is lost"]
    assert said == {"quick": "settled only at 320 s"}
    assert {name for what in broken(report).values() for name in what} == {"quick"}


def test_a_promise_may_answer_false():
    """Then the report says no more than that it was broken."""

    def never(result):
        return False

    report = explore(two_steps, faults_at_once=1, promises=[never])
    assert report.shortest.broken == {"never": "broken"}
    assert not report.shortest.plan.faults


@pytest.mark.parametrize("answer", [None, math.nan])
def test_a_promise_that_says_nothing_is_an_error(answer):
    """A forgotten return must not count as kept."""

    def forgets(result):
        return answer

    with pytest.raises(ValueError, match="promise 'forgets' must return True, False or a sentence"):
        explore(two_steps, faults_at_once=1, promises=[forgets])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"promises": "settles"}, "promises must be names among"),
        ({"promises": ["settels"]}, "promises must be one of"),
        ({"promises": []}, "promises must be one or more"),
        ({"promises": ["settles", "settles"]}, "promises must be of different names"),
        ({"promises": [3]}, "promises must be names among"),
        ({"faults_at_once": 0}, "faults_at_once must be a whole number of 1 or more, not 0"),
        ({"deliveries": 0}, "deliveries must be a whole number of 1 or more"),
        ({"longest_pause": 0}, "longest_pause must be a number of seconds above 0"),
        ({"most_plans": 10}, "most_plans must be more than there are plans"),
        ({"work": -1}, "work must be a number of seconds of 0 or more"),
        ({"handler": None}, "handler must be an async function"),
    ],
)
def test_wrong_parameters(options, sentence):
    """One sentence with the name, the value and what is allowed."""
    with pytest.raises(ValueError, match=sentence):
        explore(**({"handler": two_steps} | options))


# The broker and the scenario.


def test_a_broker_without_a_limit_of_receives():
    """What is not settled after hours is stuck; the exploration ends."""
    report = explore(
        handlers.claim, faults_at_once=1, deliveries=3,
        broker=sq.brokers.generic(lease=600, retry_delay=600),
    )  # fmt: skip
    said = "the worker crashes after store.claim of delivery 1"
    assert broken(report)[said] == {"settles": "not settled when the run ended"}


def test_a_broker_without_leases():
    """A worker that stands still keeps its message, and goes on: nobody else gets it."""
    report = explore(
        handlers.naive, faults_at_once=1,
        broker=sq.brokers.generic(lease=None, on_disconnect="requeue", max_receives=5),
    )  # fmt: skip
    pauses = [t for t in report.trials if t.plan.kind == "pause"]
    assert len(pauses) == 3
    assert not any(t.broken for t in pauses)


def test_a_broker_that_retries_at_once_and_for_ever():
    """No report, but a sentence: which run it was, and what to do."""
    with pytest.raises(sq.NeverSettles, match=r"give the broker a retry delay.*This is the run"):
        explore(handlers.claim, broker=sq.brokers.generic(lease=30, retry_delay=0))


def test_a_scenario_is_the_base_and_parameters_go_before_it():
    """Its broker and its services are kept; what is given beside it replaces a part."""
    base = sq.Scenario(
        arrivals=sq.AllAtOnce(5.0), jobs=1, work=sq.Fixed(1), workers=sq.Workers(count=2),
        broker=sq.brokers.sqs(visibility_timeout=20, max_receive_count=5), handler=handlers.naive,
    )  # fmt: skip
    report = explore(scenario=base, faults_at_once=1)
    assert report.scenario == base
    assert report.name == "naive"
    other = explore(two_steps, scenario=base, faults_at_once=1)
    assert other.scenario.handler is two_steps
    assert other.scenario.broker == base.broker
    assert other.moments[0].time == 5.0


# The report.


def test_the_report_counts_by_kind_of_fault():
    """Rows are kinds of fault, columns the plans and the promises."""
    report = explore(handlers.naive, faults_at_once=1)
    counts = report.broken
    assert counts.columns.tolist() == ["plans", *EXACTLY_ONCE]
    assert counts.loc["crash"].tolist() == [3, 1, 0, 0]
    assert counts.loc["ack lost"].tolist() == [1, 1, 0, 0]
    assert counts.loc["no fault"].tolist() == [1, 0, 0, 0]
    assert counts.plans.sum() == report.plans == len(report.trials)


def test_the_shortest_has_the_fewest_faults_and_then_the_fewest_events():
    """No other broken plan is shorter."""
    report = explore(handlers.check_then_act, faults_at_once=2)
    sizes = [(len(t.plan.faults), t.events) for t in report.trials if t.broken]
    shortest = report.shortest
    told = shortest.result.events
    assert (len(shortest.plan.faults), sum(told.event != "called")) == min(sizes)


def test_the_timeline_is_text_and_figure():
    """The plan, what it breaks, and the story; and the same as a picture."""
    shortest = explore(handlers.check_then_act, faults_at_once=1).breaking("no duplicate effect")
    lines = shortest.timeline().splitlines()
    assert lines[0] == f"Fault: {shortest.plan}."
    assert lines[1] == "Broken: no duplicate effect: charge applied 2 times."
    assert any("EFFECT: charge, for the 2nd time!" in line for line in lines)
    assert sum("calls payments.charge" in line for line in lines) == 2
    figure = shortest.plot()
    assert "charge 2" in figure.alt_text
    plt.close(figure)


def test_a_report_that_passed():
    """It says how many plans there were, and has no shortest one."""
    report = explore(two_steps, faults_at_once=1)
    assert report.passed
    assert report.shortest is None
    assert report.breaking("settles") is None
    assert str(report).startswith(
        f"two_steps keeps all its promises: {report.plans} plans of one fault."
    )
    assert "<table" in report._repr_html_()
    report.raise_if_broken()


def test_a_report_that_failed():
    """Its text, its page and its error all have the shortest timeline."""
    report = explore(partial(handlers.lock, ttl=100), faults_at_once=1)
    assert report.headline().startswith("lock breaks: ")
    assert report.shortest.timeline() in str(report)
    assert "<pre>Fault: " in report._repr_html_()
    with pytest.raises(AssertionError, match="EFFECT: charge, for the 2nd time!"):
        report.raise_if_broken()


def test_it_can_stop_at_the_first_broken_plan():
    """The report says that it is not complete."""
    report = explore(handlers.naive, stop_when_broken=True)
    assert not report.complete
    assert [bool(t.broken) for t in report.trials].count(True) == 1
    assert report.trials[-1].broken
    assert "stopped there" in report.headline()


async def looks_at_the_clock(job, ctx):
    """Charge only within 20 s of the delivery, as a worker does that mistrusts its lease."""
    began = ctx.now
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    if ctx.now < began + 20:
        await ctx.payments.charge(job.customer, job.amount)
        await ctx.store.complete(job.key)
        return
    raise sq.Retry("too late")


def test_a_look_at_the_clock_is_a_moment_to_stand_still():
    """Whoever freezes between the look and the charge believes in a time that is over."""
    report = sq.explore(looks_at_the_clock)
    plans = [str(trial.plan) for trial in report.trials if "no duplicate effect" in trial.broken]
    assert any("before payments.charge of delivery 1" in plan for plan in plans)


def test_without_a_look_there_is_no_such_moment():
    """To stand still after a step, or before the next one, is the same then."""
    plans = [str(trial.plan) for trial in sq.explore(sq.handlers.naive).trials]
    assert not any("still before payments.charge" in plan for plan in plans)
