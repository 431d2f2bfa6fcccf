"""A broker of the lease family whose every knob is yours."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from simqueue import checks
from simqueue.backoff import Backoff, as_backoff
from simqueue.model.late_ack import LATE_ACKS
from simqueue.model.settings import CAUSES, LeaseSettings


@dataclass(frozen=True, kw_only=True)
class Generic:
    """The lease queue under the model's own words. All times are in seconds.

    Parameters
    ----------
    lease
        For how long a delivered message is hidden; None: until its worker acks, nacks or dies.
    lease_from
        "hand_over": the lease starts as the message is delivered, also for what then waits in a
        buffer; "start": as its handler starts.
    sweep_period, sweep_phase, sweep_batch
        Leases that ran out are noticed only every `sweep_period`, the first time at `sweep_phase`,
        at most `sweep_batch` at a time (not with `two_passes`). None: at once.
    two_passes
        A sweep ends only those leases that the sweep before has marked, and that were not extended
        since.
    renew_every, renew_for
        The client library extends the lease of what its worker runs, every so often, for so long
        after the start. None: nobody does.
    late_ack
        What an ack does after the lease ran out: "deletes" removes the message wherever it is;
        "in_flight_only" leaves a copy that is already back in the queue; "latest_receipt" works
        while nobody has received it since; "unexpired" is refused, and the worker is told.
    ack_when
        "done": after the handler; "received": at once, so what a worker holds is lost with it.
    on_disconnect, disconnect_after
        What happens to the messages of a worker that died: "wait" for their leases, or "requeue"
        them as soon as the broker notices, `disconnect_after` later.
    max_receives
        Attempts after which the message is exhausted; None: no limit.
    counts
        What is counted as an attempt: some of "receive", "failure" (the handler raised), "expiry",
        "disconnect".
    exhaustion
        When it is noticed: "return", as the message comes back to the queue, or "receive", when a
        worker next asks for it.
    exhausted
        What happens then: "dead_letter", or "drop".
    retry_delay
        Until a message whose handler raised is visible again: a number, or a rule of
        `simqueue.backoff`. None: it waits for its lease to run out or, without a lease, it is
        visible at once.
    ordering
        "unordered"; "group": while one job of a group is in flight, the others of it wait; "fifo":
        all jobs are one group.
    returns_to
        "back" or "front": where in the queue a message comes back.
    delay
        From publish until a message is visible.
    retention
        From publish until a message expires, wherever it is; None: it does not.
    dedupe_window, dedupe_refreshes
        A second publish of a key within `dedupe_window` of the first is swallowed; with
        `dedupe_refreshes`, each publish starts the window anew. None: no dedupe.
    own_duplicates
        Probability that the broker makes a second copy of a message by itself, 0 to 1.
    """

    lease: float | None = 30.0
    lease_from: str = "hand_over"
    sweep_period: float | None = None
    sweep_phase: float = 0.0
    sweep_batch: int | None = None
    two_passes: bool = False
    renew_every: float | None = None
    renew_for: float | None = None
    late_ack: str = "latest_receipt"
    ack_when: str = "done"
    on_disconnect: str = "wait"
    disconnect_after: float = 0.0
    max_receives: int | None = None
    counts: Collection[str] = ("receive",)
    exhaustion: str = "return"
    exhausted: str = "dead_letter"
    retry_delay: float | Backoff | None = None
    ordering: str = "unordered"
    returns_to: str = "back"
    delay: float = 0.0
    retention: float | None = None
    dedupe_window: float | None = None
    dedupe_refreshes: bool = False
    own_duplicates: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lease", "sweep_period", "renew_every", "retention", "dedupe_window"):
            if getattr(self, name) is not None:
                checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        for name in ("sweep_phase", "disconnect_after", "delay"):
            checks.non_negative(f"broker.{name}", getattr(self, name), "seconds")
        for name in ("sweep_batch", "max_receives"):
            if getattr(self, name) is not None:
                checks.whole(f"broker.{name}", getattr(self, name), 1)
        if self.renew_for is not None:
            checks.non_negative("broker.renew_for", self.renew_for, "seconds")
        for name, words in WORDS.items():
            checks.one_of(f"broker.{name}", getattr(self, name), words)
        if isinstance(self.counts, str) or not set(self.counts) <= set(CAUSES):
            allowed = "some of " + ", ".join(repr(cause) for cause in CAUSES)
            raise checks.fail("broker.counts", self.counts, allowed)
        object.__setattr__(self, "counts", tuple(self.counts))
        if self.retry_delay is not None:
            as_backoff("broker.retry_delay", self.retry_delay)
        if self.two_passes and self.sweep_period is None:
            raise checks.fail("broker.two_passes", True, "False without a sweep_period")
        if self.two_passes and self.sweep_batch is not None:
            raise checks.fail("broker.sweep_batch", self.sweep_batch, "None with two_passes")
        checks.probability("broker.own_duplicates", self.own_duplicates)

    def settings(self) -> LeaseSettings:
        """Return the queue's settings: these, with words and numbers turned into objects."""
        lease, on_disconnect = self.lease, self.on_disconnect
        if self.ack_when == "received":
            lease, on_disconnect = None, "lose"
        retry = None if self.retry_delay is None else as_backoff("retry_delay", self.retry_delay)
        if retry is None and lease is None:
            retry = as_backoff("retry_delay", 0.0)
        return LeaseSettings(
            lease=lease,
            lease_from=self.lease_from,
            sweep_period=self.sweep_period,
            sweep_phase=self.sweep_phase,
            sweep_batch=math.inf if self.sweep_batch is None else self.sweep_batch,
            two_passes=self.two_passes,
            renew_every=self.renew_every,
            renew_for=math.inf if self.renew_for is None else self.renew_for,
            late_ack=LATE_ACKS[self.late_ack](),
            on_disconnect=on_disconnect,
            disconnect_after=self.disconnect_after,
            counts=frozenset(self.counts),
            max_attempts=self.max_receives,
            exhaustion=self.exhaustion,
            exhausted=self.exhausted,
            retry=retry,
            ordering=self.ordering,
            returns_to=self.returns_to,
            delay=self.delay,
            retention=self.retention,
            dedupe_window=self.dedupe_window,
            dedupe_refreshes=self.dedupe_refreshes,
            own_duplicates=self.own_duplicates,
        )


WORDS = {
    "lease_from": ("hand_over", "start"),
    "late_ack": tuple(LATE_ACKS),
    "ack_when": ("done", "received"),
    "on_disconnect": ("wait", "requeue"),
    "exhaustion": ("return", "receive"),
    "exhausted": ("dead_letter", "drop"),
    "ordering": ("unordered", "fifo", "group"),
    "returns_to": ("back", "front"),
}
