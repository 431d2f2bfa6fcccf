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

    def freed(self, message: Message) -> bool:
        """`message`, taken before, is settled; whether somebody waited for that."""

    def __len__(self) -> int: ...


class Fifo(deque[Message]):
    """First in, first out; what comes back goes to the back."""

    add = deque.append
    put_back = deque.append
    take = deque.popleft

    def freed(self, message: Message) -> bool:  # noqa: ARG002
        """Nobody waits for it."""
        return False


class FifoFront(Fifo):
    """First in, first out; what comes back goes to the front."""

    put_back = deque.appendleft


class Grouped:
    """First in, first out within each group: while one of a group is out, the others wait.

    It stays out until it is settled; if it comes back, it is the first of its group. Groups take
    turns, in the order in which they got something to give.
    """

    def __init__(self, group_of: Callable[[Message], Hashable]) -> None:
        self._group_of = group_of
        self._waiting: dict[Hashable, deque[Message]] = {}
        self._out: dict[Hashable, Message] = {}
        self._ready: deque[Hashable] = deque()

    def add(self, message: Message) -> None:
        """Stand last in the message's group."""
        group = self._group_of(message)
        self._waiting.setdefault(group, deque()).append(message)
        self._announce(group)

    def put_back(self, message: Message) -> None:
        """Stand first in the message's group."""
        group = self._group_of(message)
        self._waiting[group].appendleft(message)
        if self._out.get(group) is message:
            del self._out[group]
        self._announce(group)

    def take(self) -> Message:
        """Give the first of the group whose turn it is; the group waits until it is back."""
        group = self._ready.popleft()
        self._out[group] = message = self._waiting[group].popleft()
        return message

    def freed(self, message: Message) -> bool:
        """Let the message's group go on."""
        group = self._group_of(message)
        if self._out.get(group) is not message:
            return False
        del self._out[group]
        self._announce(group)
        return True

    def __len__(self) -> int:
        return len(self._ready)

    def _announce(self, group: Hashable) -> None:
        if self._waiting[group] and group not in self._out and group not in self._ready:
            self._ready.append(group)
