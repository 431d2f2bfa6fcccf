"""What `tune` simulates while nobody moves a slider: the next move, and then the whole curve."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from simqueue.widgets.curve import Curve
    from simqueue.widgets.subject import Settings

LULL = 0.06
"""Seconds without a move that tell a key from a slider that is dragged.

While it is dragged, one move follows the other in less, and a run that was begun between the two
would only hold the next one up.
"""
PAUSE = 0.5
"""Seconds without a move, and with nothing else to do, until the curve is simulated.

Longer than between two keys of somebody who tries one setting after the other.
"""
BREATH = 0.002
"""Seconds between two steps of a run, in which a move can come in."""
AT_ONCE = 4
"""Points that are drawn together, because a new picture costs more than a new point."""


class Shows(Protocol):
    """Draws the curve."""

    def __call__(self, *, at_rest: bool) -> None:
        """Draw what is known, as sharp as can be where the sliders are `at_rest`."""


class Meanwhile:
    """Makes runs of `curve` in small steps, in the event loop of a notebook, until the next move.

    `prepare` makes, once, what takes long to make, before anybody has found the slider.

    Attributes
    ----------
    task
        What is under way, or was last; None where no event loop runs.
    """

    def __init__(
        self,
        curve: Curve,
        prepare: Callable[[], Any],
        show: Shows,
        tell: Callable[[Exception], None],
    ) -> None:
        self._curve = curve
        self._prepare = prepare
        self._show = show
        self._tell = tell
        self.task: asyncio.Task[Any] | None = None

    def begin(self, settings: Settings, ahead: Settings | None) -> None:
        """Begin, if an event loop runs: with the settings `ahead`, then the curve at `settings`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self.task = loop.create_task(self._work(settings, ahead))

    def stop(self) -> None:
        """Do nothing more. A run that was begun can be gone on with."""
        if self.task is not None:
            self.task.cancel()
            self.task = None

    async def _work(self, settings: Settings, ahead: Settings | None) -> None:
        await asyncio.sleep(LULL)
        self._prepare()
        if ahead is not None:
            # Nobody is there yet. Who goes there is told what is wrong.
            with suppress(Exception):
                await self._come_to(self._curve.full(ahead))
        await asyncio.sleep(PAUSE)
        try:
            for count, each in enumerate(self._curve.missing(settings), start=1):
                await self._come_to(each)
                if count % AT_ONCE == 0:
                    self._show(at_rest=False)
            self._show(at_rest=True)
        except Exception as error:
            self._tell(error)
            raise

    async def _come_to(self, settings: Settings) -> None:
        for _ in self._curve.outcomes.coming(settings):
            await asyncio.sleep(BREATH)
