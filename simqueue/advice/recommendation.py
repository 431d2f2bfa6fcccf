"""`advise`: replay a log under a range of visibility timeouts, and recommend one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.advice import words
from simqueue.advice.replay import Prediction, Replay, crashes_to_measure, repeats_for
from simqueue.advice.timeouts import usual_timeouts
from simqueue.faults import Crash
from simqueue.model.late_ack import LATE_ACKS
from simqueue.scenario import Workers
from simqueue.trace.load import OfferedLoad, offered_load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    import pandas as pd

    from simqueue.trace import JobLog


def advise(
    log: JobLog,
    *,
    workers: int | Workers,
    timeouts: Iterable[float] | None = None,
    crash: Crash | None = None,
    late_ack: str = "latest_receipt",
    max_receives: int = 5,
    target: float = 0.001,
    seed: int = 0,
    executor: Executor | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Advice:
    """Replay `log` under a range of visibility timeouts, and recommend one.

    Each timeout is tried on the very arrivals and durations of the log, with workers that do the
    work, then act, then ack: once without crashes, for the duplicates that slow jobs make, and
    again with crashes, for the time that users then wait.

    Parameters
    ----------
    log
        From `simqueue.trace.read`.
    workers
        How many jobs can run at once, or `Workers(...)` for processes with slots and prefetch.
    timeouts
        Visibility timeouts in seconds, each above 0; by default 30, 60, 90, 120 and others at
        quantiles of the log's durations, up to the longest.
    crash
        How workers die in the replays with crashes; by default so rarely that about one job in 200
        is hit, and they come back after 10 s.
    late_ack
        What an ack does once the timeout is over, as in `brokers.generic`; by default as in
        Amazon SQS.
    max_receives
        Deliveries after which a job goes to the dead-letter queue.
    target
        The share of jobs, 0 to 1, that may run more than once because they are slow.
    seed
        For the crashes; the replay without them has no chance in it.
    executor
        Any `concurrent.futures.Executor`, to try timeouts side by side; it is used and left open.
        None: one after the other, in this process.
    on_progress
        Called with (timeouts done, timeouts in all) before the first and after each.

    Raises
    ------
    ValueError
        With the parameter's name, its value and what is allowed.
    """
    team = workers if isinstance(workers, Workers) else Workers(count=workers)
    checks.one_of("late_ack", late_ack, LATE_ACKS)
    checks.whole("max_receives", max_receives, 1)
    checks.probability("target", target)
    checks.whole("seed", seed)
    grid = usual_timeouts(log, target) if timeouts is None else _checked(timeouts)
    dying = crash or team.crash or crashes_to_measure(log)
    team = dataclasses.replace(team, crash=dying)
    replay = Replay(
        log=log,
        workers=team,
        late_ack=late_ack,
        max_receives=max_receives,
        seed=seed,
        repeats=repeats_for(log, dying),
    )
    report = on_progress or (lambda _done, _all: None)
    report(0, len(grid))
    predictions: list[Prediction] = []
    for prediction in (executor.map if executor else map)(replay.predict, grid):
        predictions.append(prediction)
        report(len(predictions), len(grid))
    return Advice(
        log=log,
        workers=team,
        late_ack=late_ack,
        max_receives=max_receives,
        target=target,
        predictions=tuple(predictions),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Advice:
    """What each timeout would do to the jobs of a log, and which one to take.

    Attributes
    ----------
    log
        The jobs that were replayed.
    workers
        Those who ran them, with the crashes of the replays with crashes.
    late_ack
        What an ack does once the timeout is over, as in `brokers.generic`.
    max_receives
        Deliveries after which a job went to the dead-letter queue.
    target
        The share of jobs, 0 to 1, that may run more than once because they are slow.
    predictions
        One for each timeout, shortest first.
    """

    log: JobLog
    workers: Workers
    late_ack: str
    max_receives: int
    target: float
    predictions: tuple[Prediction, ...]

    @property
    def table(self) -> pd.DataFrame:
        """The predictions, a row for each timeout; `Prediction` explains the columns."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(each) for each in self.predictions])

    @property
    def recommended(self) -> Prediction | None:
        """The shortest timeout from which on all meet the target; None if the longest does not.

        A timeout meets it if neither the jobs that outlast it nor those that the replay delivers
        more than once are above the target. The first must hold by itself, because a duplicate
        that only busy workers prevent appears with the next worker.
        """
        best = None
        for each in reversed(self.predictions):
            if max(each.share_outlasting, each.duplicate_rate) > self.target:
                break
            best = each
        return best

    @property
    def recommendation(self) -> float | None:
        """The recommended visibility timeout in seconds, or None if none is good enough."""
        best = self.recommended
        return None if best is None else best.timeout

    @property
    def load(self) -> OfferedLoad:
        """How much work the log brings."""
        return offered_load(self.log)

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        return self.workers.count * self.workers.concurrency

    @property
    def reason(self) -> str:
        """Why this timeout, in plain words."""
        return words.reason(self)

    @property
    def heartbeat(self) -> str:
        """What a heartbeat would change, in plain words."""
        return words.heartbeat(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the workers, the log or the result, one sentence each."""
        return words.warnings(self)

    def to_text(self) -> str:
        """The whole advice as plain text, up to about 110 characters wide in its table."""
        return words.text(self)


def _checked(timeouts: Iterable[float]) -> tuple[float, ...]:
    grid = sorted({checks.positive("timeouts", each, "seconds") for each in timeouts})
    if not grid:
        raise checks.fail("timeouts", [], "one or more numbers of seconds")
    return tuple(grid)
