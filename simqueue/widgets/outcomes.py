"""What the sliders' settings lead to: run once, and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue import checks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        key = _key(settings)
        if key not in self._known:
            made = [
                self._subject.run(settings, changes, self._seed) for changes in self._lines.values()
            ]
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = made
        return self._known[key]


def _key(settings: Settings) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(settings.items()))
