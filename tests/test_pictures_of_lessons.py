"""Every picture in a lesson's prose says in words, with numbers, what is in it."""

from __future__ import annotations

import re

import pytest
from lessons import STEMS, read
from pictures import html_of, texts_of


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
