"""What real brokers of the lease family share: each is the generic one under other names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from simqueue.brokers.facts import Fact
    from simqueue.brokers.generic import Generic
    from simqueue.model.settings import LeaseSettings


class Profile(ABC):
    """A real broker. A subclass is a frozen dataclass of its parameters, under its own names."""

    FACTS: ClassVar[tuple[Fact, ...]]

    @abstractmethod
    def generic(self) -> Generic:
        """Return the same broker in the model's own words."""

    def settings(self) -> LeaseSettings:
        """Return this broker as settings of the queue."""
        return self.generic().settings()

    def facts(self) -> tuple[Fact, ...]:
        """Return what is known of this broker, each with its source and the test that holds it."""
        return self.FACTS
