"""`replay`: time travel over a recorded run."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

import ipywidgets
import numpy as np

from simqueue import checks
from simqueue.story import seconds
from simqueue.widgets import replay_picture, replay_words
from simqueue.widgets.garbage import nothing_collected
from simqueue.widgets.replay_layout import layout_of
from simqueue.widgets.replay_tape import Tape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simqueue.result import Result

FRAME = 40
"""Milliseconds between two frames, where the browser and the kernel are quick enough."""
SHOWN = 6
"""So many events stand below the picture."""
WHOLE = 30
"""At the speed it starts with, the whole run takes at most about so many seconds."""
SPEEDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
STEPS = 400
"""An arrow key on the slider moves by about one in so many of the whole run."""


def replay(result: Result, *, job: int | None = None, until: float | None = None) -> Replay:
    """Return a recorded run to watch: play, pause, step from event to event, scrub.

    It shows the queue, the workers with what they run and how long their leases still do, the rows
    of the dedupe store, the effects and the dead-letter queue at one moment, and the events that
    led there in words. Where no kernel runs, a picture of its most telling moment stands instead.

    Parameters
    ----------
    result
        The run. Up to 100,000 of its events are shown.
    job
        The job to follow: it is drawn with a thick edge, and only its events are told. By default
        all are.
    until
        Where the replay ends, in seconds; by default where the run does.

    Raises
    ------
    ValueError
        For a job that the run did not have, an `until` that is no positive number, or a run with
        more events.
    """
    if until is not None:
        checks.positive("until", until, "seconds")
    if job is not None:
        checks.whole("job", job, 0, result.tally.job_count - 1)
    return Replay(result, job, math.inf if until is None else until)


class Replay(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """A moment of the run, and the controls that move it.

    Attributes
    ----------
    time
        The moment that is shown, in seconds.
    place
        How many events have happened by then: of several at one instant, perhaps not all.
    tape
        The run.
    """

    def __init__(self, result: Result, job: int | None, until: float) -> None:
        self.tape = tape = Tape(result, until)
        self._places = np.arange(1, tape.length + 1) if job is None else tape.places_of(job)
        self._sentences = replay_words.Sentences(result, tape)
        self._layout = layout_of(tape, job)
        self.place, self.time = 0, 0.0
        self._held = False
        self._make_controls()
        self._status, self._picture, self._events = (ipywidgets.HTML() for _ in range(3))
        row = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__(
            [
                ipywidgets.HBox(
                    [self.button, self.back, self.forward, self.key_moment, self.speed], layout=row
                ),
                self.slider,
                self._status,
                self._picture,
                self._events,
                self._timer,
            ]
        )
        self._show()

    # Moving.

    @property
    def is_playing(self) -> bool:
        """Whether time goes by."""
        return bool(self._timer.playing)

    def play(self) -> None:
        """Let time go by, from the start again where the end is reached."""
        if self.time >= self.tape.end:
            self.go_to(0)
        self._set_playing(True)

    def pause(self) -> None:
        """Stand still."""
        self._set_playing(False)

    def go_to(self, time: float) -> None:
        """Show the moment at `time` (seconds), after all that happened at that instant."""
        self.time = min(max(checks.number("time", time), 0.0), self.tape.end)
        self.place = self.tape.place_at(self.time)
        self._show()

    def step(self, events: int = 1) -> None:
        """Pause, and go so many events forward, or back: of the job's, if one is followed."""
        self.pause()
        here = int(np.searchsorted(self._places, self.place, side="right"))
        there = min(max(here + events, 0), len(self._places))
        self._go_to_place(int(self._places[there - 1]) if there else 0)

    def go_to_key_moment(self) -> None:
        """Pause at the most telling moment: a second delivery starts while the first is at work."""
        self.pause()
        self._go_to_place(self.tape.telling)

    def _go_to_place(self, place: int) -> None:
        self.place, self.time = place, self.tape.time(place)
        self._show()

    def _tick(self, change: Any) -> None:
        """Frames have gone by. Where the kernel was slow there were several, and time keeps up."""
        frames = change["new"] - change["old"]
        if not self.is_playing or frames <= 0:
            return
        self.go_to(self.time + frames * FRAME / 1000 * self.speed.value)
        if self.time >= self.tape.end:
            self.pause()

    def _scrubbed(self, change: Any) -> None:
        if not self._held:
            self.go_to(change["new"])

    def _set_playing(self, playing: bool) -> None:
        self._timer.playing = playing
        self.button.description = "Pause" if playing else "Play"
        self.button.icon = "pause" if playing else "play"
        self._say()

    # Showing.

    def _make_controls(self) -> None:
        end = self.tape.end
        step = _nice(end / STEPS)
        self.slider = ipywidgets.FloatSlider(
            value=0.0,
            min=0.0,
            max=max(end, step),
            step=step,
            description="Time (s)",
            readout_format=",.2f" if step < 0.1 else ",.1f" if step < 1 else ",.0f",
            layout=ipywidgets.Layout(width="100%", max_width=f"{replay_picture.WIDTH}px"),
        )
        self.button = _button("Play", "play", "Let time go by, or stop it")
        self.button.layout.width = "7em"  # the same for "Pause", so that its neighbours stay put
        self.back = _button("Back", "step-backward", "Back to the event before")
        self.forward = _button("Next", "step-forward", "On to the next event")
        self.key_moment = _button("Key moment", "star", "Where most can be seen")
        self.speed = ipywidgets.Dropdown(
            options=[(f"{each:,g} s per second", each) for each in SPEEDS],
            value=next((each for each in SPEEDS if end / each <= WHOLE), SPEEDS[-1]),
            description="Speed",
            layout=ipywidgets.Layout(width="18em"),
        )
        # The timer ticks in the browser, which sends no tick before the last one was dealt with.
        self._timer = ipywidgets.Play(
            min=0, max=10**9, interval=FRAME, layout=ipywidgets.Layout(display="none")
        )
        self._timer.observe(self._tick, "value")
        self.slider.observe(self._scrubbed, "value")
        self.button.on_click(lambda _: self.pause() if self.is_playing else self.play())
        self.back.on_click(lambda _: self.step(-1))
        self.forward.on_click(lambda _: self.step(1))
        self.key_moment.on_click(lambda _: self.go_to_key_moment())

    def _show(self) -> None:
        with nothing_collected():
            state = self.tape.state(self.place)
            self._picture.value = replay_picture.svg(state, self.time, self._layout)
            self._events.value = _as_list(self._latest(self.place))
            self._say()
        self._held = True
        self.slider.value = self.time
        self._held = False

    def _say(self) -> None:
        said = self._latest(self.place)
        now = f"At {seconds(self.time)} s" if not self.is_playing else "Playing"
        text = f"{now}. {said[-1][1]}" if said and not self.is_playing else f"{now}."
        # Read out where somebody steps; not ten times a second.
        live = "off" if self.is_playing else "polite"
        self._status.value = (
            f'<p role="status" aria-live="{live}" style="margin: 0">{html.escape(text)}</p>'
        )

    def _latest(self, place: int) -> list[tuple[str, str]]:
        here = int(np.searchsorted(self._places, place, side="right"))
        return self._sentences.latest(self._places[max(here - SHOWN, 0) : here].tolist())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """As for every widget, and a picture and words for where no widget can be shown."""
        bundle: dict[str, Any] = dict(super()._repr_mimebundle_(**options) or {})
        place = self.tape.telling
        state, time = self.tape.state(place), self.tape.time(place)
        bundle["image/svg+xml"] = replay_picture.svg(state, time, self._layout)
        told = "\n".join(f"{when}  {said}" for when, said in self._latest(place))
        bundle["text/plain"] = f"{replay_words.alternative(state, time)}\n{told}"
        return bundle


def _button(text: str, icon: str, tooltip: str) -> Any:
    return ipywidgets.Button(
        description=text, icon=icon, tooltip=tooltip, layout=ipywidgets.Layout(width="auto")
    )


def _nice(step: float) -> float:
    """The next of 0.001, 0.002, 0.005, 0.01, … from `step` up."""
    if step <= 0.001:
        return 0.001
    power = 10.0 ** math.floor(math.log10(step))
    return next(round(each * power, 6) for each in (1, 2, 5, 10) if each * power >= step * 0.999)


def _as_list(events: Sequence[tuple[str, str]]) -> str:
    """The latest events, the newest last and bold, always as high as `SHOWN` lines."""
    lines = [f"<b>{when}</b> {html.escape(said)}" for when, said in events]
    if lines:
        lines[-1] = f'<span style="font-weight: bold">▸ {lines[-1]}</span>'
    lines = [""] * (SHOWN - len(lines)) + lines
    style = "white-space: nowrap; overflow: hidden; text-overflow: ellipsis; height: 1.5em"
    items = "".join(f'<div style="{style}">{line}</div>' for line in lines)
    width = replay_picture.WIDTH
    return f'<div style="line-height: 1.5; max-width: {width}px">{items}</div>'
