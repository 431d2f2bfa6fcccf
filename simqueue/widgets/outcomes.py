"""What the sliders' settings lead to: run once, and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue import checks

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simqueue.widgets.subject import Outcome, Settings, Subject

    Key = tuple[tuple[str, Any], ...]

MOST_REMEMBERED = 5_000


class Outcomes:
    """Runs of one subject at some settings, one for each line, always with the same seed.

    A run that was made before is not made again, and one that was begun last is gone on with.
    """

    def __init__(self, subject: Subject, lines: Mapping[str, Settings], seed: int) -> None:
        self._subject = subject
        self._lines = lines
        self._seed = checks.whole("seed", seed)
        self._known: dict[Key, Sequence[Outcome]] = {}
        self._begun: tuple[Key, Generator[None, None, None]] | None = None

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

        Where one stopped, the next who asks for the same settings goes on; asked for others before,
        it is dropped.
        """
        key = _key(settings)
        if key in self._known:
            return
        if self._begun is None or self._begun[0] != key:
            self._drop()
            self._begun = key, self._runs(key, settings)
        # Not `yield from`, with which who stops here would end the runs, too.
        for _ in self._begun[1]:
            yield

    def _runs(self, key: Key, settings: Settings) -> Generator[None, None, None]:
        made = []
        try:
            for changes in self._lines.values():
                made.append((yield from self._subject.run(settings, changes, self._seed)))
                yield
        finally:
            self._begun = None
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = made

    def _drop(self) -> None:
        if self._begun is not None:
            self._begun[1].close()


def _key(settings: Settings) -> Key:
    return tuple(sorted(settings.items()))
