"""The question to check oneself: what it says to each choice."""

from __future__ import annotations

import pytest

import simqueue as sq

ANSWERS = {
    "At least once.": "A worker may die before its ack.",
    "Once.": "Nobody can promise that.",
}


def quiz():
    """A question with two choices."""
    return sq.widgets.quiz("How often?", ANSWERS, right="At least once.")


def said(widget):
    """What stands below the choices."""
    return widget.children[2].value


def test_nothing_is_chosen_at_first():
    """No choice is given away."""
    widget = quiz()
    assert widget.choices.value is None
    assert not widget.is_right
    assert "Choose" in said(widget)


def test_each_choice_gets_its_own_answer():
    """Right or not, with the reason; and each try is kept."""
    widget = quiz()
    widget.choices.value = "Once."
    assert "Not quite. Nobody can promise that." in said(widget)
    assert not widget.is_right
    widget.choices.value = "At least once."
    assert "Yes. A worker may die before its ack." in said(widget)
    assert widget.is_right
    assert widget.tries == ["Once.", "At least once."]


def test_the_question_is_text_and_no_markup():
    """Also with a `<` in it."""
    widget = sq.widgets.quiz("Is 3 < 4?", ANSWERS, right="Once.")
    assert "3 &lt; 4" in widget.children[0].value


def test_a_quiz_needs_choices_and_a_right_one():
    """One clear sentence each."""
    with pytest.raises(ValueError, match="two choices or more"):
        sq.widgets.quiz("Why?", {"So.": ""}, right="So.")
    with pytest.raises(ValueError, match="right must be"):
        sq.widgets.quiz("Why?", ANSWERS, right="Never.")
