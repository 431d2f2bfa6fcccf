"""The table of strategies: what one fault makes of a job, found by exploration alone.

A cell is the worst that came of the job under the plans of its column: "D", an effect was applied
twice or more; else "0", an effect is missing; else "1". "DLQ" with it: the message ends among the
dead letters (or is not settled at all: "stuck").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from simqueue import checks
from simqueue.exploration.plans import (
    ACK_LOST,
    CRASH,
    PAUSE,
    RELAY_CRASH,
    RESPONSE_LOST,
    Moment,
    Plan,
    Strike,
)
from simqueue.exploration.runner import explore, run_plan
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    import pandas as pd

    from simqueue.context import Handler
    from simqueue.exploration.promises import Outcome
    from simqueue.exploration.report import Report

CRASH_AFTER: Final = "crash after effect"
SECOND: Final = "second delivery while the first runs"
CRASH_BEFORE: Final = "crash before effect"
NO_ACK: Final = "ack lost"
NO_ANSWER: Final = "response lost"
LONGER: Final = "longer pause"
RELAY: Final = "relay crash"

COLUMNS: Final = (CRASH_AFTER, SECOND, CRASH_BEFORE, NO_ACK, NO_ANSWER)
"""The columns of every table. Two more stand only behind a "; " in a cell: see `table`."""


def table(handlers: Mapping[str, Any], **options: Any) -> pd.DataFrame:
    """Explore each handler with one fault at a time, and return what came of the job.

    Parameters
    ----------
    handlers
        By name: a handler; or a pair of a handler and a mapping of options of its own, such as
        ``(handlers.outbox, {"database": Database(relay_uses_key=True)})``.
    options
        Options of `explore` for all of them, such as ``broker=``; not `faults_at_once`, which is 1.

    Returns
    -------
    DataFrame
        A row for each handler. Columns: a crash of the first delivery after its (first) effect; a
        pause of it that ends while the second delivery runs; a crash of it before its effect; its
        ack lost; the answer of the call with the effect lost. Behind a ";" stands what a pause
        does that ends later than the second delivery, and a relay that dies between its send and
        its mark, where these are worse. A cell without plans is empty.
    """
    import pandas as pd

    rows = {}
    for name, given in handlers.items():
        handler, own = given if isinstance(given, tuple) else (given, {})
        rows[name] = row(explore_one(handler, **(options | dict(own))))
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).rename_axis(
        "handler"
    )


def as_markdown(table: pd.DataFrame) -> str:
    """Return what `table` returned as a table in Markdown."""
    lines = [("handler", *table.columns), ("---",) * (len(table.columns) + 1)]
    lines += [tuple(row) for row in table.itertuples()]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def explore_one(handler: Handler, **options: Any) -> Report:
    """Explore `handler` with one fault at a time, whatever it breaks."""
    if "faults_at_once" in options:
        raise checks.fail("faults_at_once", options["faults_at_once"], "left out: it is 1")
    return explore(handler, faults_at_once=1, **options)


def row(report: Report) -> dict[str, str]:
    """Return the cells of one handler, by column."""
    found = cells(report)
    worst = {column: max(codes, key=_badness) for column, codes in found.items()}
    shown = {column: worst.get(column, "") for column in COLUMNS}
    for column, extra, words in (
        (SECOND, LONGER, "if the pause lasts longer"),
        (CRASH_AFTER, RELAY, "if the relay dies between send and mark"),
    ):
        if extra in worst and _badness(worst[extra]) > _badness(shown[column] or "1"):
            shown[column] = f"{shown[column]}; {worst[extra]} {words}"
    return shown


def cells(report: Report) -> dict[str, list[str]]:
    """Return what came of the job in each plan with one fault, by column."""
    column_of = _columns(report)
    found: dict[str, list[str]] = {}
    for trial in report.trials:
        column = column_of(trial.plan)
        if column is not None:
            found.setdefault(column, []).append(code(trial.outcome, report.trials[0].outcome))
    return found


def code(outcome: Outcome, without: Outcome) -> str:
    """Return "D", "0" or "1" for the effects of a run, with "DLQ" or "stuck" if it ends so."""
    counts = [effects[kind] for effects in outcome.effects.values() for kind in without.kinds]
    said = "D" if max(counts, default=0) > 1 else str(min(counts, default=0))
    ends = set(outcome.ends.values())
    if "unfinished" in ends:
        return f"{said} stuck"
    return f"{said} DLQ" if "dead-lettered" in ends else said


def _badness(code: str) -> tuple[int, int]:
    effects, _, end = code.partition(" ")
    return ("1", "0", "D").index(effects), ("", "DLQ", "stuck").index(end)


def _columns(report: Report) -> Callable[[Plan], str | None]:
    """Return what tells a plan's column: None for those of no column."""
    done = _effects_by(report)
    with_effect = {
        moment.call
        for before, moment in zip(report.moments, report.moments[1:], strict=False)
        if moment.when == "after" and moment.turn == 1 and done(moment) > done(before)
    }

    def of_pause(plan: Plan, pause: Strike) -> str:
        resumed = plan.resumed_at(pause)
        return SECOND if resumed is not None and resumed.turn == 2 else LONGER

    def column(plan: Plan) -> str | None:
        fault = plan.faults[0] if plan.faults else None
        if fault is None or fault.moment.turn > 1:
            return None
        moment = fault.moment
        return {
            CRASH: CRASH_AFTER if done(moment) else CRASH_BEFORE,
            PAUSE: of_pause(plan, fault),
            ACK_LOST: NO_ACK,
            RESPONSE_LOST: NO_ANSWER if moment.call in with_effect else None,
            RELAY_CRASH: RELAY,
        }[fault.kind]

    return column


def _effects_by(report: Report) -> Callable[[Moment], int]:
    """Return what counts the effects, and letters in the outbox, that were there by a moment."""
    result, _ = run_plan(report.scenario, Plan(), report.longest_pause, report.seed)
    events = result.records.table[:, 1].tolist()
    places = [place for place, event in enumerate(events) if event == Event.EFFECT]

    def done(moment: Moment) -> int:
        return moment.letters + sum(place < moment.rows for place in places)

    return done
