"""Every picture that a lesson shows says in words, with numbers, what is in it."""

from __future__ import annotations

import re

import pytest
from lessons import STEMS, play, read
from pictures import html_of, texts_of


@pytest.mark.parametrize("stem", STEMS)
def test_every_picture_of_a_lesson_has_words(stem: str) -> None:
    """Figures, replays, sliders: each has a text alternative with a digit."""
    words = {cell: texts_of(html_of(value)) for cell, value in play(stem).shown.items()}
    wordless = [
        cell for cell, texts in words.items() for text in texts if not re.search(r"\d", text)
    ]
    assert wordless == []


@pytest.mark.parametrize("stem", STEMS)
def test_every_picture_in_the_prose_has_words(stem: str) -> None:
    """Images in Markdown, for readers without a kernel."""
    prose = "\n".join(cell.source for cell in read(stem) if cell.cell_type == "markdown")
    words = re.findall(r"!\[([^\]]*)\]\(", prose) + texts_of(prose)
    assert [each for each in words if not re.search(r"\d", each)] == []


def test_a_figure_without_words_is_seen_as_one() -> None:
    """As matplotlib makes them: the test above would fail for such a figure."""
    from matplotlib.figure import Figure

    assert texts_of(html_of(Figure())) == [""]
    assert texts_of('<p>1</p><svg role="img"></svg><img src="1" alt="two 2">') == ["", "two 2"]
