"""Who is next: the line in which visible messages wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Protocol

from simqueue.model.message import Message


class Line(Protocol):
    """A line of messages. Its length is above zero while it has one to give."""

    def add(self, message: Message) -> None:
        """Let a new message stand in line."""

    def put_back(self, message: Message) -> None:
        """Let a message that was taken before stand in line again."""

    def take(self) -> Message:
        """Give the next message. It may have been settled while it waited."""

    def give_back(self, message: Message) -> None:
        """Let a message that was just taken be the next again: nobody could have it."""

    def lend(self, message: Message) -> None:
        """Whoever has just taken `message` may take the next of its group too, in one receive."""

    def freed(self, message: Message) -> bool:
        """`message`, taken before, is settled; whether somebody waited for that."""

    def recall(self) -> None:
        """The receive is over: what was lent and not taken waits again."""

    def go_on(self, message: Message) -> bool:
        """The group of `message` need not wait for it any longer; whether somebody waits."""

    def hold(self, message: Message) -> None:
        """Let the group of `message` wait until it is put back: it is to come first."""

    def __len__(self) -> int: ...


class Fifo(deque[Message]):
    """First in, first out; what comes back goes to the back."""

    add = deque.append
    put_back = deque.append
    take = deque.popleft
    give_back = deque.appendleft

    def lend(self, message: Message) -> None:
        """There are no groups."""

    def freed(self, message: Message) -> bool:  # noqa: ARG002
        """Nobody waits for it."""
        return False

    go_on = freed

    def hold(self, message: Message) -> None:
        """Nobody waits."""

    def recall(self) -> None:
        """Nothing is lent."""


class FifoFront(Fifo):
    """First in, first out; what comes back goes to the front."""

    put_back = deque.appendleft


class FifoFrontUnlessFailed(Fifo):
    """First in, first out; to the front comes back what nobody has called a failure."""

    def put_back(self, message: Message) -> None:
        """Stand first, or last."""
        if message.failed:
            self.append(message)
        else:
            self.appendleft(message)


class Grouped:
    """First in, first out within each group: while one of a group is out, the others wait.

    It stays out until it is settled; if it comes back, it is the first of its group. Groups take
    turns, in the order in which they got something to give.
    """

    def __init__(self, group_of: Callable[[Message], Hashable]) -> None:
        self._group_of = group_of
        self._waiting: dict[Hashable, deque[Message]] = {}
        self._out: dict[Hashable, set[Message]] = {}
        self._ready: deque[Hashable] = deque()
        self._places: dict[Message, int] = {}
        self._newest = 0
        self._lent: Hashable | None = None

    def add(self, message: Message) -> None:
        """Stand last in the message's group."""
        group = self._group_of(message)
        self._newest += 1
        self._places[message] = self._newest
        self._waiting.setdefault(group, deque()).append(message)
        self._announce(group)

    def put_back(self, message: Message) -> None:
        """Stand first in the message's group, but behind those of it that are older."""
        group = self._group_of(message)
        waiting, places = self._waiting[group], self._places
        waiting.appendleft(message)
        if len(waiting) > 1 and places[waiting[1]] < places[message]:
            self._waiting[group] = deque(sorted(waiting, key=places.__getitem__))
        self._out.get(group, set()).discard(message)
        self._announce(group)

    give_back = put_back

    def take(self) -> Message:
        """Give the first of the group whose turn it is; the group waits until it is back."""
        group = self._ready.popleft()
        message = self._waiting[group].popleft()
        self._out.setdefault(group, set()).add(message)
        return message

    def lend(self, message: Message) -> None:
        """Whoever has just taken `message` may take the next of its group too, in one receive."""
        group = self._group_of(message)
        if self._waiting[group] and group not in self._ready:
            self._ready.appendleft(group)
            self._lent = group

    def recall(self) -> None:
        """The receive is over: what was lent and not taken waits again."""
        if self._lent in self._ready and self._out.get(self._lent):
            self._ready.remove(self._lent)
        self._lent = None

    def freed(self, message: Message) -> bool:
        """Let the message's group go on, once nothing of it is out any more."""
        group = self._group_of(message)
        out = self._out.get(group, set())
        if message not in out:
            return False
        out.discard(message)
        self._announce(group)
        return not out

    go_on = freed

    def hold(self, message: Message) -> None:
        """Let the group of `message` wait until it is put back: it is to come first."""
        self._out.setdefault(self._group_of(message), set()).add(message)

    def __len__(self) -> int:
        return len(self._ready)

    def _announce(self, group: Hashable) -> None:
        if self._waiting[group] and not self._out.get(group) and group not in self._ready:
            self._ready.append(group)


class Limited:
    """A line that gives nothing while `most` of its messages are out."""

    def __init__(self, line: Line, most: int) -> None:
        self._line = line
        self._most = most
        self._out: set[Message] = set()
        self.add = line.add
        self.lend = line.lend
        self.recall = line.recall
        self.go_on = line.go_on
        self.hold = line.hold

    def put_back(self, message: Message) -> None:
        """Let a message that was out stand in line again."""
        self._out.discard(message)
        self._line.put_back(message)

    def give_back(self, message: Message) -> None:
        """Let a message that was just taken be the next again."""
        self._out.discard(message)
        self._line.give_back(message)

    def take(self) -> Message:
        """Give the next message, which is out from now on."""
        message = self._line.take()
        self._out.add(message)
        return message

    def freed(self, message: Message) -> bool:
        """`message` is settled; whether somebody waited for that."""
        was_full = len(self._out) >= self._most
        self._out.discard(message)
        return self._line.freed(message) or was_full

    def __len__(self) -> int:
        return len(self._line) if len(self._out) < self._most else 0
