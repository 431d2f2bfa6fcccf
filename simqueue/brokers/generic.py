"""A broker of the lease family whose every knob is yours."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, fields

from simqueue import checks
from simqueue.backoff import Backoff, as_backoff
from simqueue.model.late_ack import LATE_ACKS
from simqueue.model.settings import CAUSES, STALLS, LeaseSettings


@dataclass(frozen=True, kw_only=True)
class Generic:
    """The lease queue under the model's own words. All times are in seconds.

    The lease
    ---------
    lease
        For how long a delivered message is hidden; None: until its worker acks, nacks or dies.
    lease_from
        "hand_over": the lease starts as the message is delivered, also for what then waits in a
        buffer; "start": as its handler starts.
    lease_cap
        The longest that a lease may get by being extended, from the receive on; more than that is
        refused. None: no limit.
    sweep_period, sweep_phase, sweep_batch
        Leases that ran out are noticed only every `sweep_period`, the first time at `sweep_phase`,
        at most `sweep_batch` at a time (not with `two_passes`). None: at once.
    two_passes
        A sweep ends only those leases that the sweep before has marked, and that were not extended
        since.
    sweep_at_boot
        Leases that ran out are noticed only when a process starts, and only if nobody has looked
        for so many seconds. Not together with a `sweep_period`. None: not so.
    on_expiry
        What the end of a lease means. "return": the message comes back. "dead_letter": it is given
        up. "close": its worker's connection is closed, so all that the worker holds comes back, and
        it connects anew. "cancel": the message comes back, and its worker gets nothing more for
        `resubscribe_after` (None: ever).

    Renewal by the client library
    -----------------------------
    renew_every, renew_for
        It extends the lease of what its worker runs, every so often, for so long after the start.
        None: nobody does.
    renew_jitter
        Each interval is shorter by a random share of it, up to this one (0 to 1).
    renew_what
        "running": what its worker runs. "held": what waits in the worker's buffer too. "process":
        a process has one heartbeat, for all that it holds: what it takes just before it dies has as
        much of its lease left as everything else.
    first_heartbeat
        With "process": from the start of a process to its first heartbeat, until which it looks
        dead.

    Acks and nacks
    --------------
    ack_when
        "done": after the handler; "started": as it starts; "received": as the message is delivered.
        What a worker holds and has acked is lost with it.
    late_ack
        What an ack does after the lease ran out. "deletes" removes the message wherever it is;
        "in_flight_only" leaves a copy that is already back in the queue; "latest_receipt" works
        while nobody has received it since; "latest_or_refused" too, and the worker is told when it
        does not; "ignored" does nothing, in silence; "refused" is refused, and the worker is told,
        once the broker has taken the message back; "unexpired" as soon as the lease has run out,
        noticed or not; "overrides" removes the message even if it was given up.
    late_nack
        What a nack does then: it is "ignored"; or it "releases" the message, whoever has it now.
    on_failure
        What it means that a handler raised something other than `Retry`: the message is to
        "return"; it is "ack"ed all the same; or it is given up ("dead_letter").
    retry_delay, retry_on
        Until a message that returns is visible again: a number, or a rule of `simqueue.backoff`;
        after a "failure", or after a "failure" and an "expiry". None: after a failure it waits for
        its lease to run out or, without a lease, it is visible at once.

    Workers that die
    ----------------
    on_disconnect, disconnect_after, silence_after
        What happens to the messages of a process that died: "wait" for their leases, or "requeue"
        them as soon as the broker notices: `disconnect_after` later; `silence_after` later if
        nobody closed its connection, because the whole machine died or is cut off. An early ack
        (see `ack_when`) leaves nothing to requeue.
    on_slot_lost
        What a process says about the message of a slot that died within it: nothing ("wait"), an
        "ack", or that it is to "return".
    forgets_due
        With "close": whether a worker forgets the jobs that it holds until they are due.

    Attempts
    --------
    max_receives, counts
        Attempts after which the message is exhausted (None: no limit), and what is counted as one:
        some of "receive", "failure" (the handler raised), "expiry", "disconnect", "slot lost".
    exhaustion, exhausted
        When it is noticed: "return", as the message comes back to the queue, or "receive", when a
        worker next asks for it. What happens then: "dead_letter", or "drop".
    max_stalls, stalls, stalls_within, stalls_noticed
        A second limit, counted apart: more than `max_stalls` returns within `stalls_within` (None:
        ever) for one of `stalls` ("expiry", "disconnect", "slot lost") exhaust a message as well,
        which is noticed as for `exhaustion`. None: no such limit.

    The line
    --------
    ordering, group_batches
        "unordered"; "group": while one job of a group is in flight, the others of it wait; "fifo":
        all jobs are one group. With `group_batches`, one receive may bring several of a group.
        "replay": as "group", but the next of a group is handed over as soon as its worker is done
        with the one before, whether or not its ack arrives; and if that one comes back, all that
        came after it come back too, even what was acked.
    returns_to
        Where in the queue a message comes back: "back", "front", or "front_unless_failed": in front
        after an expiry or a disconnect, at the back after a failure.
    delay, due_held_by
        From publish until a message is visible. Who keeps a job that is not due yet (see
        `Producers`): the "broker", or the "worker", which receives it at once.
    poll_delayed, poll_jitter
        What is delayed becomes visible only when a poller looks, every `poll_delayed`, give or take
        a random share of up to `poll_jitter` (0 to 1). None: at its very time.
    most_in_flight, most_per_receive
        Nothing is handed over while so many messages are out. The largest batch. None: no limit.

    Copies, and the end
    -------------------
    retention, retention_of_dead, dead_letter_retention
        From publish until a message expires, wherever it is, or, without `retention_of_dead`,
        wherever but in the dead-letter queue; from its move there until it expires. None: never.
        What becomes of dead letters is seen in runs with a horizon only: others end when every
        message is settled, as those are.
    dedupe_window, dedupe_refreshes
        A second publish of a key within `dedupe_window` of the first is swallowed; with
        `dedupe_refreshes`, each publish starts the window anew. None: no such dedupe.
    dedupe_after
        A publish is swallowed while a message with its key is not settled, and for so long after.
        None: no such dedupe.
    own_duplicates
        Probability that the broker makes a second copy of a message by itself, 0 to 1.
    """

    lease: float | None = 30.0
    lease_from: str = "hand_over"
    lease_cap: float | None = None
    sweep_period: float | None = None
    sweep_phase: float = 0.0
    sweep_batch: int | None = None
    two_passes: bool = False
    sweep_at_boot: float | None = None
    on_expiry: str = "return"
    resubscribe_after: float | None = None
    renew_every: float | None = None
    renew_for: float | None = None
    renew_jitter: float = 0.0
    renew_what: str = "running"
    first_heartbeat: float = 0.0
    ack_when: str = "done"
    late_ack: str = "latest_receipt"
    late_nack: str = "ignored"
    on_failure: str = "return"
    retry_delay: float | Backoff | None = None
    retry_on: Collection[str] = ("failure",)
    on_disconnect: str = "wait"
    disconnect_after: float = 0.0
    silence_after: float = 0.0
    on_slot_lost: str = "wait"
    forgets_due: bool = False
    max_receives: int | None = None
    counts: Collection[str] = ("receive",)
    exhaustion: str = "return"
    exhausted: str = "dead_letter"
    max_stalls: int | None = None
    stalls: Collection[str] = ("expiry",)
    stalls_within: float | None = None
    stalls_noticed: str = "return"
    ordering: str = "unordered"
    group_batches: bool = False
    returns_to: str = "back"
    delay: float = 0.0
    due_held_by: str = "broker"
    poll_delayed: float | None = None
    poll_jitter: float = 0.0
    most_in_flight: int | None = None
    most_per_receive: int | None = None
    retention: float | None = None
    retention_of_dead: bool = False
    dead_letter_retention: float | None = None
    dedupe_window: float | None = None
    dedupe_refreshes: bool = False
    dedupe_after: float | None = None
    own_duplicates: float = 0.0

    def __post_init__(self) -> None:
        for name in POSITIVE:
            if getattr(self, name) is not None:
                checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        for name in NOT_NEGATIVE:
            if getattr(self, name) not in (None, math.inf):
                checks.non_negative(f"broker.{name}", getattr(self, name), "seconds")
        for name in COUNTS_FROM_ONE:
            if getattr(self, name) is not None:
                checks.whole(f"broker.{name}", getattr(self, name), 1)
        if self.max_stalls is not None:
            checks.whole("broker.max_stalls", self.max_stalls)
        for name, words in WORDS.items():
            checks.one_of(f"broker.{name}", getattr(self, name), words)
        for name, words in SETS.items():
            object.__setattr__(self, name, _some_of(f"broker.{name}", getattr(self, name), words))
        if self.retry_delay is not None:
            as_backoff("broker.retry_delay", self.retry_delay)
        checks.probability("broker.poll_jitter", self.poll_jitter)
        checks.probability("broker.renew_jitter", self.renew_jitter)
        checks.probability("broker.own_duplicates", self.own_duplicates)
        for name, value, is_wrong, allowed in self._together():
            if is_wrong:
                raise checks.fail(f"broker.{name}", value, allowed)

    def _together(self) -> tuple[tuple[str, object, bool, str], ...]:
        """What goes only with something else: name, value, whether it is wrong, what is allowed."""
        no_sweep = self.sweep_period is None
        requeues = self.on_disconnect == "requeue"
        process = self.renew_what == "process"
        both = self.dedupe_window is not None and self.dedupe_after is not None
        return (
            ("two_passes", True, self.two_passes and no_sweep, "False without a sweep_period"),
            (
                "sweep_batch",
                self.sweep_batch,
                self.two_passes and self.sweep_batch is not None,
                "None with two_passes",
            ),
            (
                "sweep_at_boot",
                self.sweep_at_boot,
                self.sweep_at_boot is not None and not no_sweep,
                "None with a sweep_period",
            ),
            (
                "on_expiry",
                self.on_expiry,
                self.on_expiry == "close" and not requeues,
                "another one unless on_disconnect is 'requeue'",
            ),
            (
                "renew_what",
                self.renew_what,
                process and self.renew_every is None,
                "'running' or 'held' without renew_every",
            ),
            ("dedupe_after", self.dedupe_after, both, "None with a dedupe_window"),
        )

    def settings(self) -> LeaseSettings:
        """Return the queue's settings: these, with words and numbers turned into objects."""
        lease, on_disconnect = self.lease, self.on_disconnect
        if self.ack_when == "received":
            lease, on_disconnect = None, "lose"
        retry = None if self.retry_delay is None else as_backoff("retry_delay", self.retry_delay)
        if retry is None and lease is None:
            retry = as_backoff("retry_delay", 0.0)
        same = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in TURNED_INTO_OBJECTS
        }
        return LeaseSettings(
            **same,
            lease=lease,
            late_ack=LATE_ACKS[self.late_ack](),
            ack_on_start=self.ack_when == "started",
            on_disconnect=on_disconnect,
            sweep_batch=_or_no_limit(self.sweep_batch),
            renew_for=_or_no_limit(self.renew_for),
            counts=frozenset(self.counts),
            max_attempts=self.max_receives,
            stalls=frozenset(self.stalls),
            stalls_within=_or_no_limit(self.stalls_within),
            retry=retry,
            retry_on=frozenset(self.retry_on),
        )


POSITIVE = (
    "lease",
    "lease_cap",
    "sweep_period",
    "renew_every",
    "stalls_within",
    "poll_delayed",
    "retention",
    "dead_letter_retention",
    "dedupe_window",
)
NOT_NEGATIVE = (
    "sweep_phase",
    "sweep_at_boot",
    "resubscribe_after",
    "renew_for",
    "first_heartbeat",
    "disconnect_after",
    "silence_after",
    "delay",
    "dedupe_after",
)
COUNTS_FROM_ONE = ("sweep_batch", "max_receives", "most_in_flight", "most_per_receive")
WORDS = {
    "lease_from": ("hand_over", "start"),
    "on_expiry": ("return", "dead_letter", "close", "cancel"),
    "renew_what": ("running", "held", "process"),
    "ack_when": ("done", "started", "received"),
    "late_ack": tuple(LATE_ACKS),
    "late_nack": ("ignored", "releases"),
    "on_failure": ("return", "ack", "dead_letter"),
    "on_disconnect": ("wait", "requeue"),
    "on_slot_lost": ("wait", "ack", "return"),
    "exhaustion": ("return", "receive"),
    "exhausted": ("dead_letter", "drop"),
    "stalls_noticed": ("return", "receive"),
    "ordering": ("unordered", "fifo", "group", "replay"),
    "returns_to": ("back", "front", "front_unless_failed"),
    "due_held_by": ("broker", "worker"),
}
SETS = {"counts": CAUSES, "stalls": STALLS, "retry_on": ("failure", "expiry")}
TURNED_INTO_OBJECTS = {
    "lease",
    "ack_when",
    "late_ack",
    "on_disconnect",
    "sweep_batch",
    "renew_for",
    "counts",
    "max_receives",
    "stalls",
    "stalls_within",
    "retry_delay",
    "retry_on",
}


def _some_of(name: str, given: object, words: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(given, Collection) or isinstance(given, str) or not set(given) <= set(words):
        allowed = "some of " + ", ".join(repr(word) for word in words)
        raise checks.fail(name, given, allowed)
    return tuple(given)


def _or_no_limit(value: float | None) -> float:
    return math.inf if value is None else value
