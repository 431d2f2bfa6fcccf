"""More ways to break the model: one for each knob that some real broker needs.

Each takes pytest's monkeypatch, and breaks one thing.
"""

from __future__ import annotations

from typing import Any

import pytest
from mutations import after

from simqueue.model import choosing
from simqueue.model.attempts import Stalls
from simqueue.model.connections import WatchingQueue
from simqueue.model.due import HoldingUntilDue
from simqueue.model.lease_queue import LeaseQueue
from simqueue.model.leases import AtBoot, Looks
from simqueue.model.lines import FifoFront, Grouped, Limited
from simqueue.model.log.group import Group
from simqueue.model.log.partitions import Holding
from simqueue.model.message import Message, State
from simqueue.model.polls import Polls
from simqueue.model.publishing import DeduplicatingUnsettled
from simqueue.model.renewal import Heartbeat, Renewal
from simqueue.model.replaying import ReplayingQueue
from simqueue.model.retention import Retention
from simqueue.model.worker import Worker

Patch = pytest.MonkeyPatch


def allow_one_more_stall(patch: Patch) -> None:
    """The limit of stalls is one too high."""
    set_after_init(patch, Stalls, "_most", lambda most: most + 1)


def remember_stalls_for_ever(patch: Patch) -> None:
    """Old stalls count too."""
    set_after_init(patch, Stalls, "_within", lambda _: float("inf"))


def forget_the_retention_of_the_dead(patch: Patch) -> None:
    """What is dead-lettered leaves the line, though it may be redriven."""
    after(
        patch, Retention, "__init__",
        lambda self, *_, **__: setattr(self, "_gone_for_good", self._gone),
    )  # fmt: skip


def count_from_the_first_death(patch: Patch) -> None:
    """A dead letter's time does not start anew, though it was redriven meanwhile."""

    def keep(self: Any, message: Message, until: float) -> None:
        self._clock.at(until, lambda _: self._end_dead_letter(message))

    patch.setattr(LeaseQueue, "_keep_dead_letter", keep)


def replay_only_what_is_out(patch: Patch) -> None:
    """What was acked stays so."""
    replay = ReplayingQueue._replay

    def replay_some(self: Any, message: Message) -> None:
        if message.state != State.ACKED:
            replay(self, message)

    patch.setattr(ReplayingQueue, "_replay", replay_some)


def beat_for_the_dead(patch: Patch) -> None:
    """A new process goes on with the heartbeats of the one that died."""
    patch.setattr(Heartbeat, "_boot", lambda *_: None)


def forget_to_renew(patch: Patch) -> None:
    """No beat ever comes."""
    patch.setattr(Renewal, "_wait", lambda *_: None)


def lift_the_cap(patch: Patch) -> None:
    """Leases may get as long as anybody likes."""
    set_after_init(patch, LeaseQueue, "_lease_cap", lambda _: float("inf"))


def know_dead_letters_for_ever(patch: Patch) -> None:
    """Only an ack frees the key."""
    settled = DeduplicatingUnsettled._settled

    def acked(self: Any, message: Message) -> None:
        if message.state == State.ACKED:
            settled(self, message)

    patch.setattr(DeduplicatingUnsettled, "_settled", acked)


def free_groups_early(patch: Patch) -> None:
    """A group goes on as soon as one of its batch is done."""

    def freed(self: Any, message: Message) -> bool:
        group = self._group_of(message)
        self._out.get(group, set()).clear()
        self._announce(group)
        return True

    patch.setattr(Grouped, "freed", freed)


def look_once_too_late(patch: Patch) -> None:
    """The poller finds things the next time only."""
    look = Polls.next
    patch.setattr(Polls, "next", lambda self, time: look(self, look(self, time) + 1e-6))


def hear_every_nack(patch: Patch) -> None:
    """A late nack takes the message from whoever has it now."""
    set_after_init(patch, LeaseQueue, "_late_nack_releases", lambda _: True)


def forgive_until_noticed(patch: Patch) -> None:
    """An ack is in time for as long as no sweep has come."""
    patch.setattr(LeaseQueue, "_ran_out_unnoticed", lambda *_: False)


def look_all_the_same(patch: Patch) -> None:
    """A rescuer that is down is not."""
    patch.setattr(Looks, "stop_between", lambda *_: None)


def look_at_every_boot(patch: Patch) -> None:
    """However short ago somebody looked."""
    set_after_init(patch, AtBoot, "_spacing", lambda _: 0.0)


def hear_no_answer(patch: Patch) -> None:
    """Senders send on, though the job is done."""
    patch.setattr(Message, "tell_when_settled", lambda *_: None)


def take_between_polls(patch: Patch) -> None:
    """Whoever asks is given something."""
    patch.setattr(choosing.Chooser, "_choose", lambda _, queue, __: queue._asking[0])


def hold_twice(patch: Patch) -> None:
    """Nobody looks at what a worker holds."""
    patch.setattr(choosing, "_holds", lambda *_: False)


def send_one_more(patch: Patch) -> None:
    """One more is in flight than may be."""
    set_after_init(patch, Limited, "_most", lambda most: most + 1)


def start_before_due(patch: Patch) -> None:
    """Nothing is kept."""
    patch.setattr(HoldingUntilDue, "take", lambda self, delivery: self._take(delivery))


def limit_no_time(patch: Patch) -> None:
    """Nobody stops a handler."""
    patch.setattr("simqueue.simulation.limit_time", lambda *_: None)


def go_on_asking(patch: Patch) -> None:
    """A consumer that is cancelled gets more."""
    patch.setattr(Worker, "stop_asking", lambda *_, **__: None)


def keep_what_was_sent(patch: Patch) -> None:
    """A closed connection gives nothing back."""
    patch.setattr(WatchingQueue, "unsettled", lambda *_: [])


def return_to_the_back(patch: Patch) -> None:
    """Wherever it should go."""
    patch.setattr(FifoFront, "put_back", FifoFront.append)


def fail_all_the_same(patch: Patch) -> None:
    """A failure is never an ack."""
    set_after_init(patch, LeaseQueue, "_on_failure", lambda _: "return")


def hear_no_late_nack(patch: Patch) -> None:
    """Who has the message keeps it."""
    set_after_init(patch, LeaseQueue, "_late_nack_releases", lambda _: False)


def remember_what_is_due(patch: Patch) -> None:
    """A worker whose connection was closed runs what it held all the same."""
    patch.setattr(HoldingUntilDue, "_close", lambda _: None)


def notice_at_once(patch: Patch) -> None:
    """A dead machine is missed as soon as a dead process."""
    crash = Worker.crash
    patch.setattr(Worker, "crash", lambda self, **_: crash(self))


def renew_by_the_clock(patch: Patch) -> None:
    """Without jitter, but too late."""
    patch.setattr(Renewal, "_next_beat", lambda self, _: self._clock.after(self._every + 1))


def begin_at_the_end(patch: Patch) -> None:
    """A partition is read from its end on, not from the committed offset."""
    after(
        patch, Holding, "__init__",
        lambda self, partition, _: setattr(self, "position", len(partition.places)),
    )  # fmt: skip


def miss_members_late(patch: Patch) -> None:
    """Five seconds after the session timeout."""
    miss = Group.miss
    patch.setattr(Group, "miss", lambda self, member, last: miss(self, member, last + 5))


def set_after_init(patch: Patch, owner: Any, name: str, new: Any) -> None:
    """Let an attribute be something else, made of what it is."""

    def change(self: Any, *_: Any, **__: Any) -> None:
        setattr(self, name, new(getattr(self, name)))

    after(patch, owner, "__init__", change)
