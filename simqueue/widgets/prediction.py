"""`predict`: ask for a guess before the answer is shown, and keep it, over restarts too."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks, learner
from simqueue.widgets import words

if TYPE_CHECKING:
    from collections.abc import Callable


def predict(question: str, *, low: float = 0, high: float = 100, unit: str = "") -> Prediction:
    """Return a box that asks `question` and keeps the answer, a number from `low` to `high`.

    `unit` stands behind the number ("%", "seconds"). The guess is `value`, None until it is made;
    `compared_with` holds it against what happened. It is kept in the learner's file
    (`simqueue.learner`): whoever is asked the same question again finds the old guess.

    Raises ValueError if `high` is not above `low`.
    """
    return Prediction(question, low=low, high=high, unit=unit)


class Prediction(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """A question, a box for a number, a button, and what was answered."""

    def __init__(self, question: str, *, low: float, high: float, unit: str) -> None:
        checks.number("low", low)
        if not checks.number("high", high) > low:
            raise checks.fail("high", high, f"a number above low, which is {low!r}")
        self._question = question
        self._unit = unit
        self._listeners: list[Callable[[], None]] = []
        whole = isinstance(low, int) and isinstance(high, int)
        kind = ipywidgets.BoundedIntText if whole else ipywidgets.BoundedFloatText
        self._value = _kept(question, low, high, whole=whole)
        self.box = kind(
            value=low if self._value is None else self._value,
            min=low,
            max=high,
            description=f"Your guess{unit and f' ({unit})'}",
            style={"description_width": "initial"},
            layout=ipywidgets.Layout(width="16em"),
        )
        self.button = ipywidgets.Button(description="Keep my guess", icon="check")
        self.button.on_click(self._keep)
        self._said = ipywidgets.HTML()
        self._say()
        super().__init__(
            [
                ipywidgets.HTML(f"<p>{html.escape(question)}</p>"),
                ipywidgets.HBox([self.box, self.button]),
                self._said,
            ]
        )

    @property
    def value(self) -> float | None:
        """The guess, or None."""
        return self._value

    def when_made(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a guess is made or changed."""
        self._listeners.append(listener)

    def compared_with(self, happened: float) -> ipywidgets.HTML:
        """Return one sentence that holds the guess against what happened.

        It changes with the guess, so the order in which cells are run does not matter.
        """
        said = ipywidgets.HTML()

        def compare() -> None:
            answer = self._in_words(happened)
            if self._value is None:
                text = f"It is {answer}. (You made no guess above.)"
            elif self._value == happened:
                text = f"You guessed {answer}, and so it is."
            else:
                text = f"You guessed {self._in_words(self._value)}; it is {answer}."
            said.value = words.status(text)

        self.when_made(compare)
        compare()
        return said

    def _keep(self, _: Any = None) -> None:
        self._value = self.box.value
        learner.keep_guess(self._question, self.box.value)
        self._say()
        for listener in self._listeners:
            listener()

    def _say(self) -> None:
        text = "No guess yet." if self._value is None else f"Kept: {self._in_words(self._value)}."
        self._said.value = words.status(text)

    def _in_words(self, value: float) -> str:
        number = f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"
        return f"{number} {self._unit}".strip()


def _kept(question: str, low: float, high: float, *, whole: bool) -> float | None:
    """The guess of an earlier day, if it is one that could be made today."""
    guess = learner.guess_at(question)
    if guess is None or not low <= guess <= high:
        return None
    if not whole:
        return guess
    return int(guess) if float(guess).is_integer() else None
