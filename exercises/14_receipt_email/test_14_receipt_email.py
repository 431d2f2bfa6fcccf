"""Grader of exercise 14: e-mails that came twice or never, and what the submission says of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from simqueue import Producers, Workers, services
from simqueue.context import ResponseLost
from simqueue.exploration import Report, Trial
from simqueue.grading import Exploration, Submission, check
from simqueue.result import Result
from simqueue.services.mailer import MailerClient, MailService

AT_MOST_FROZEN: Final = 8 * 60
SEND: Final = "mailer.send"
EVENTS: Final = (
    "crash before send",
    "crash after send",
    "pause",
    "answer of send lost",
    "other answer lost",
    "ack lost",
)


class LosesFirst(services.Mailer):
    """A mailer that loses the first e-mail, and gives no answer."""

    def open(self, world: Any) -> MailService:
        """Return the service."""
        return LosingService(self, world)


class LosingService(MailService):
    """Its first e-mail goes nowhere."""

    lost = False

    def client(self, context: Any) -> MailerClient:
        """Return the service as a handler sees it."""
        return LosingClient(self, context)


class LosingClient(MailerClient):
    """`ctx.mailer` of one delivery."""

    __slots__ = ()

    async def send(self, recipient: str, subject: str) -> None:
        """Send an e-mail, unless it is the first."""
        if self._service.lost:
            await super().send(recipient, subject)
        else:
            await self.call("send", self._lose)

    def _lose(self) -> None:
        self._service.lost = True
        raise ResponseLost(f"no answer from {SEND}")


def times(result: Result, kind: str) -> int:
    """How often job 0 had an effect of this kind."""
    effects = result.effects
    return int((effects.effect == kind).sum())


def once_each(result: Result) -> bool | str:
    """Each ticket is paid once, and has one receipt."""
    tickets, effects = len(result.jobs), result.effects
    for kind in ("charge", "e-mail"):
        jobs = effects.job[effects.effect == kind]
        if len(jobs) != tickets or jobs.nunique() != tickets:
            return f"{tickets} tickets, and {len(jobs)} times this: {kind}"
    return True


def sent_once(result: Result) -> bool | str:
    """No receipt comes twice."""
    sent = times(result, "e-mail")
    return sent <= 1 or f"the receipt came {sent} times"


def sent(result: Result) -> bool | str:
    """A receipt comes."""
    return times(result, "e-mail") > 0 or "the receipt never came"


def paid_once(result: Result) -> bool | str:
    """The card is charged once at most."""
    charged = times(result, "charge")
    return charged <= 1 or f"the card was charged {charged} times"


def explored(submission: Submission) -> Report:
    """Every crash, pause and lost answer, on one ticket."""
    promises = (sent_once, sent, paid_once)
    return submission.explore(promises=promises, longest_pause=AT_MOST_FROZEN).report


def lost_mail(submission: Submission) -> Report:
    """No fault, but a mailer that loses the first e-mail."""
    return submission.explore(mailer=LosesFirst(), promises=(sent,), deliveries=1).report


def event(report: Report, trial: Trial) -> str:
    """What happened in a trial, in the words of the README."""
    (strike,) = trial.plan.faults
    if strike.kind == "crash":
        first = next((m.number for m in report.moments if m.call == SEND), None)
        done = first is not None and strike.moment.number >= first
        return "crash after send" if done else "crash before send"
    if strike.kind == "response lost":
        return "answer of send lost" if strike.moment.call == SEND else "other answer lost"
    return strike.kind


def breaking(report: Report, promise: str) -> Iterator[Trial]:
    """The trials with a fault that break a promise."""
    return (trial for trial in report.trials[1:] if promise in trial.broken)


@pytest.mark.points(1)
def test_every_buyer_pays_and_gets_a_receipt(submission):
    """Two tickets of one customer, and no fault at all; once, if the message comes again."""
    two = {"jobs": 2, "customers": 1, "workers": Workers(count=1), "deliveries": 1}
    tomorrow = {"producers": Producers(replicas=2, offsets=(0, 86_400)), "deliveries": 1}
    for parts in (two, tomorrow):
        submission.explore(promises=(once_each, "settles"), **parts).keeps()


@pytest.mark.points(1)
def test_nobody_pays_twice(submission):
    """Whatever crashes, stands still or gets lost."""
    Exploration(submission.once(explored)).keeps("paid once")


@pytest.mark.points(3)
def test_no_receipt_is_missing(submission):
    """Not even if the mailer loses it, and says nothing."""
    Exploration(submission.once(explored)).keeps("sent")
    report = submission.once(lost_mail)
    missing = "sent" in report.trials[0].broken
    check(
        not missing,
        "The mailer lost the e-mail and gave no answer, and nobody sent it again.",
        report.replay(report.trials[0]).timeline,
    )


@pytest.mark.points(2)
def test_a_receipt_comes_twice_only_where_nobody_can_know(submission):
    """After the mailer has sent, and before that is recorded; or if its answer is lost."""
    report = submission.once(explored)
    Exploration(report).keeps("sent once", under="no fault")
    for trial in breaking(report, "sent once"):
        (strike,) = trial.plan.faults
        unknown = strike.moment.call == SEND and strike.kind in ("crash", "response lost")
        check(
            unknown,
            f"It came twice where it need not: {trial.plan}.",
            report.replay(trial).timeline,
        )


@pytest.mark.points(3)
def test_the_statement_is_honest(submission):
    """It names what was found, no less and no more."""
    report, lost = submission.once(explored), submission.once(lost_mail)
    Exploration(report).keeps("sent", under="no fault")
    found = {
        "twice": {event(report, trial): trial for trial in breaking(report, "sent once")},
        "missing": {event(report, trial): trial for trial in breaking(report, "sent")},
    }
    if lost.trials[0].broken:
        found["missing"].setdefault("answer of send lost", None)
    said = submission.call("statement")
    check(isinstance(said, dict), f"statement() must return a dict, not {said!r:.60}.")
    for word, events in found.items():
        named = said.get(word)
        allowed = isinstance(named, list) and all(each in EVENTS for each in named)
        check(allowed, f"statement()[{word!r}] must be a list of the events of the README.")
        outcome = "comes twice" if word == "twice" else "is missing"
        for each, trial in events.items():
            story = report.replay(trial).timeline if trial else ""
            check(each in named, f"A receipt {outcome} by {each!r}, and you don't say so.", story)
        for each in named:
            check(each in events, f"You say that a receipt {outcome} by {each!r}: it does not.")
