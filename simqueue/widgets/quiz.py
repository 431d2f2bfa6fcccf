"""`quiz`: a question to check oneself, with an answer to each choice."""

from __future__ import annotations

import html
from collections.abc import Mapping

import ipywidgets

from simqueue import checks, learner
from simqueue.widgets import words


def quiz(question: str, answers: Mapping[str, str], *, right: str) -> Quiz:
    """Return a question with choices, each of which says why it is right or not.

    The choice is kept in the learner's file (`simqueue.learner`), and shown when the same question
    is asked again.

    Parameters
    ----------
    question
        What is asked.
    answers
        Two choices or more, each with what to say to whoever takes it.
    right
        The choice that is right, as it stands in `answers`.

    Raises
    ------
    ValueError
        For fewer than two choices, or a right one that is none of them.
    """
    return Quiz(question, answers, right=right)


class Quiz(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets has no types
    """A question, its choices, and what is said to the one that was taken."""

    def __init__(self, question: str, answers: Mapping[str, str], *, right: str) -> None:
        if len(answers) < 2:
            raise checks.fail("answers", dict(answers), "two choices or more")
        checks.one_of("right", right, tuple(answers))
        self._question = question
        self._answers = dict(answers)
        self._right = right
        self.tries: list[str] = []
        kept = learner.answer_to(question)
        self.choices = ipywidgets.RadioButtons(
            options=list(answers),
            value=kept if kept in answers else None,
            layout=ipywidgets.Layout(width="auto"),
        )
        self.choices.observe(self._taken, names="value")
        self._said = ipywidgets.HTML()
        self._say()
        super().__init__(
            [ipywidgets.HTML(f"<p>{html.escape(question)}</p>"), self.choices, self._said]
        )

    @property
    def is_right(self) -> bool:
        """Whether the right answer is chosen now."""
        return bool(self.choices.value == self._right)

    def _taken(self, change: dict[str, object]) -> None:
        choice = str(change["new"])
        self.tries.append(choice)
        learner.keep_answer(self._question, choice)
        self._say()

    def _say(self) -> None:
        choice = self.choices.value
        if choice is None:
            self._said.value = words.status("Choose an answer.")
            return
        verdict = "Yes." if choice == self._right else "Not quite."
        self._said.value = words.status(f"{verdict} {self._answers[choice]}")
