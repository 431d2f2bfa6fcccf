"""What must be true of attempts and of order in every run: each law a function of a `Run`."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from reenactment import NEVER, SETTLED, STATES, Row, Run, Told, microseconds, retell

from simqueue.model.ledger import Event

GIVEN_UP = (Event.DEAD_LETTERED, Event.LOST)


def attempts(run: Run) -> None:
    """Deliveries of a message are its attempts 1, 2, 3, …; never more than its limit allows.

    Failures are counted where nothing else than the count can be the reason of a dead letter.
    """
    settings, counted = run.settings, run.settings.counts
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    used: dict[int, float] = defaultdict(float)
    redriven: Counter[int] = Counter()
    limit = NEVER if settings.max_attempts is None else settings.max_attempts
    exact = (
        counted <= {"receive", "expiry"}
        and settings.max_stalls is None
        and settings.on_expiry == settings.on_failure == "return"
    )
    for row in run.rows:
        single = row.job in run.single
        if row.event == Event.RECEIVED:
            attempt, numbers = run.attempts[row.delivery], seen[row.job]
            assert attempt == 1 or numbers[attempt - 1] > numbers[attempt], f"{attempt}: {row}"
            numbers[attempt] += 1
            assert not single or used[row.job] < limit, f"after {used[row.job]} attempts: {row}"
            most = limit * (1 + redriven[row.job])
            beyond = "receive" in counted and attempt > most and used[row.job] >= 0
            assert not beyond, f"attempt {attempt}: {row}"
            used[row.job] += "receive" in counted
            assert not single or numbers[attempt] == 1, f"attempt {attempt} twice: {row}"
        elif row.event == Event.EXPIRED:
            used[row.job] += "expiry" in counted
        elif row.event == Event.NACKED and "failure" in counted:
            used[row.job] += run.failed.get(row.delivery) == row.time
        elif row.event == Event.REPLAYED:
            used[row.job] = -NEVER  # it was acked, and comes back for the order's sake alone
        elif row.event == Event.REDRIVEN:
            used[row.job] = 0
            redriven[row.job] += 1
        elif row.event == Event.DEAD_LETTERED and exact and single:
            assert used[row.job] == limit, f"after {used[row.job]} attempts: {row}"


def stalls(run: Run) -> None:
    """A message that stalls once more than it may is given up: at once, or when it is next taken.

    Expiries are counted, where nothing else is a stall.
    """
    settings = run.settings
    if settings.max_stalls is None or settings.stalls != {"expiry"}:
        return
    within = microseconds(settings.stalls_within)
    times: dict[int, list[float]] = defaultdict(list)
    over: dict[int, float] = {}
    for row, message in retell(run):
        if message is None:
            continue
        if row.event == Event.EXPIRED:
            times[row.job] = [t for t in times[row.job] if row.time - t <= within] + [row.time]
            if len(times[row.job]) > settings.max_stalls:
                over[row.job] = row.time
        elif row.event in SETTLED:
            if row.event in GIVEN_UP and only_stalls(run):
                assert row.job in over, f"after stalls at {times[row.job]}: {row}"
            over.pop(row.job, None)
        elif row.event in (Event.RECEIVED, Event.REDRIVEN):
            assert row.job not in over, f"it stalled too often: {row}"
        elif row.event == Event.VISIBLE and row.job in over:
            lazily = settings.stalls_noticed == "receive"
            assert lazily, f"it stalled too often at {over[row.job] / 1e6}: {row}"


def only_stalls(run: Run) -> bool:
    """Whether only stalls can be the reason of a message's being given up."""
    settings = run.settings
    limited = settings.max_attempts is not None
    loses = settings.on_disconnect == "lose" or settings.ack_on_start
    return not (limited or loses) and settings.on_expiry == settings.on_failure == "return"


def order(run: Run) -> None:
    """First deliveries go by age; in a group, no job while another of it is out, nor before one.

    One receive may bring several of a group, if the broker says so. Where groups are replayed, one
    may come while others are out with which their worker is done.
    """
    settings = run.settings
    ordering = settings.ordering
    of_group = settings.ordering in ("group", "replay")
    groups = run.scenario.groups if of_group else 1
    youngest: dict[int, int] = {}
    flying: dict[int, dict[int, Row]] = defaultdict(dict)
    told: dict[int, Told] = {}
    done: set[int] = set()
    latest: dict[int, Row] = {}
    one_publisher = not run.publishes_again
    for row, message in retell(run):
        group = row.job % groups
        out = flying[group]
        if message is not None:
            told[row.job] = message
        if row.event == Event.RECEIVED:
            if ordering != "unordered":
                others = [other for other in out.values() if other.delivery not in done]
                came_with_it: set[int] = set()
                if settings.group_batches and run.scenario.workers.batch:
                    here = (row.time, row.worker)
                    others = [other for other in others if (other.time, other.worker) != here]
                    came_with_it = {
                        job for job, last in latest.items() if (last.time, last.worker) == here
                    }
                assert not others, f"{others[0]} is out of the group: {row}"
                waiting = [
                    job
                    for job, other in told.items()
                    if job % groups == group and job < row.job and one_publisher
                    if other.state in ("visible", "delayed") and job not in came_with_it
                ]
                assert not waiting, f"{waiting} of the group wait: {row}"
            if message is not None and run.attempts[row.delivery] == 1 and one_publisher:
                assert row.job > youngest.get(group, -1), f"{youngest[group]} was before: {row}"
                youngest[group] = row.job
            out[row.delivery] = latest[row.job] = row
        elif row.event in (Event.EXPIRED, Event.NACKED):
            out.pop(message.holder if message else row.delivery, None)
        elif row.event in SETTLED and STATES[int(row.value)] == "in flight":
            if message is not None:
                out.pop(message.holder, None)
            else:
                out.pop(
                    row.delivery
                    if row.delivery in out
                    else next((n for n, other in out.items() if other.job == row.job), None),
                    None,
                )
        elif row.event == Event.ACK_LOST and ordering == "replay":
            done.add(row.delivery)


def line(run: Run) -> None:
    """What is visible stands in one line: the first is received, who returns goes where told.

    Told again where every job has one message, everybody takes everything, and nothing is in order.
    """
    settings, team = run.settings, run.scenario.workers
    jobs = {row.job for row in run.rows if row.event == Event.PUBLISHED}
    if settings.ordering != "unordered" or team.holds_once or jobs - run.single:
        return
    if settings.returns_to == "front_unless_failed" and team.ack_batch == "whole":
        return  # there one failure is that of others too
    waiting: deque[int] = deque()
    failed: dict[int, bool] = {}
    received: set[int] = set()
    crashed: dict[int, float] = {}
    dead = {(row.worker, row.time) for row in run.rows if row.event == Event.WORKER_CRASHED}
    for row, message in retell(run):
        job = row.job
        if message is None:
            continue
        if row.event == Event.CRASHED and (row.worker, row.time) not in dead:
            crashed[row.delivery] = row.time
        elif row.event == Event.NACKED:
            lost = crashed.get(row.delivery) == row.time
            failed[job] = lost or run.failed.get(row.delivery) == row.time
        elif row.event == Event.EXPIRED:
            failed[job] = False
        comes_back = row.event == Event.REDRIVEN or (row.event == Event.VISIBLE and job in received)
        is_new = row.event == Event.PUBLISHED and STATES[int(row.value)] == "visible"
        front = settings.returns_to == "front" or (
            settings.returns_to == "front_unless_failed" and not failed.get(job)
        )
        if comes_back and front:
            waiting.appendleft(job)
        elif comes_back or row.event == Event.VISIBLE or is_new:
            waiting.append(job)
        elif row.event == Event.RECEIVED:
            assert waiting[0] == job, f"{list(waiting)[:3]} are before: {row}"
            waiting.popleft()
            received.add(job)
        elif row.event in SETTLED and job in waiting:
            waiting.remove(job)


def replay(run: Run) -> None:
    """If one of a group comes back, so does at once all of it that was handed over after it."""
    if run.settings.ordering != "replay":
        return
    handed_over: dict[int, list[int]] = defaultdict(list)
    told: dict[int, Told] = {}
    missing: dict[int, Row] = {}
    for row, message in retell(run):
        late = [job for job, cause in missing.items() if row.time > cause.time]
        assert not late, f"jobs {late} did not come back with {missing[late[0]]}"
        if message is None:
            continue
        told[row.job] = message
        group = handed_over[row.job % run.scenario.groups]
        if row.event == Event.RECEIVED:
            if row.job in group:
                group.remove(row.job)
            group.append(row.job)
        elif row.event in (Event.EXPIRED, Event.NACKED, Event.REPLAYED):
            missing.pop(row.job, None)
            if row.job in group and row.event != Event.REPLAYED:
                later = group[group.index(row.job) + 1 :]
                del group[group.index(row.job) :]
                back = [job for job in later if told[job].state in ("in flight", "acked")]
                missing |= dict.fromkeys(back, row)
        elif row.event in SETTLED:
            cause = missing.pop(row.job, None)
            if row.event in GIVEN_UP:  # it did not come back, so nobody has to come with it
                missing = {job: by for job, by in missing.items() if by.job != row.job}
            assert cause is None or row.event != Event.ACKED, f"it should come back: {row}"


LAWS = (attempts, stalls, order, line, replay)
