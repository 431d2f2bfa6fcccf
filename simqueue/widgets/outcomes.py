"""What the sliders' settings lead to: run once, and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue import checks

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simqueue.widgets.subject import Outcome, Settings, Subject

MOST_REMEMBERED = 5_000


class Outcomes:
    """Runs of one subject at some settings, one for each line, always with the same seed.

    A run that was made before is not made again.
    """

    def __init__(self, subject: Subject, lines: Mapping[str, Settings], seed: int) -> None:
        self._subject = subject
        self._lines = lines
        self._seed = checks.whole("seed", seed)
        self._known: dict[tuple[tuple[str, Any], ...], Sequence[Outcome]] = {}

    def knows(self, settings: Settings) -> bool:
        """Tell whether the runs with these settings were made."""
        return _key(settings) in self._known

    def at(self, settings: Settings) -> Sequence[Outcome]:
        """Return the runs with these settings, one for each line, making them if need be."""
        for _ in self.coming(settings):
            pass
        return self._known[_key(settings)]

    def coming(self, settings: Settings) -> Generator[None, None, None]:
        """Make the runs with these settings in small steps, for whoever may have to stop.

        What was stopped is not remembered.
        """
        key = _key(settings)
        if key in self._known:
            return
        made = []
        for changes in self._lines.values():
            made.append((yield from self._subject.run(settings, changes, self._seed)))
            yield
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = made


def _key(settings: Settings) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(settings.items()))
