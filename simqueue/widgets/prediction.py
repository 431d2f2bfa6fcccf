"""`predict`: ask for a guess before the answer is shown, and keep it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import ipywidgets

from simqueue import checks
from simqueue.widgets import words

if TYPE_CHECKING:
    from collections.abc import Callable


def predict(question: str, *, low: float = 0, high: float = 100, unit: str = "") -> Prediction:
    """Return a box that asks `question` and keeps the answer, a number from `low` to `high`.

    `unit` stands behind the number ("%", "seconds"). The guess is `value`, None until it is made;
    `compared_with` holds it against what happened.
    """
    return Prediction(question, low=low, high=high, unit=unit)


class Prediction(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """A question, a box for a number, a button, and what was answered."""

    def __init__(self, question: str, *, low: float, high: float, unit: str) -> None:
        checks.number("low", low)
        if not checks.number("high", high) > low:
            raise checks.fail("high", high, f"a number above low, which is {low!r}")
        self._unit = unit
        self._value: float | None = None
        self._listeners: list[Callable[[], None]] = []
        whole = isinstance(low, int) and isinstance(high, int)
        kind = ipywidgets.BoundedIntText if whole else ipywidgets.BoundedFloatText
        self.box = kind(
            value=low,
            min=low,
            max=high,
            description=f"Your guess{unit and f' ({unit})'}",
            style={"description_width": "initial"},
            layout=ipywidgets.Layout(width="16em"),
        )
        self.button = ipywidgets.Button(description="Keep my guess", icon="check")
        self.button.on_click(self._keep)
        self._said = ipywidgets.HTML(words.status("No guess yet."))
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
        self._said.value = words.status(f"Kept: {self._in_words(self._value)}.")
        for listener in self._listeners:
            listener()

    def _in_words(self, value: float) -> str:
        number = f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"
        return f"{number} {self._unit}".strip()
