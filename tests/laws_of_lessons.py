"""What holds for every lesson: its sliders, its goals, the words of its pictures."""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from lessons import STEMS, code_cells, path_of, play, read
from pictures import html_of, texts_of

from simqueue.course.pictures import pictures_of
from simqueue.widgets.goals import Goals

TITLE = "{http://purl.org/dc/elements/1.1/}title"
SLIDERS = [
    (stem, cell)
    for stem in STEMS
    for cell, source in code_cells(stem).items()
    if "widgets.tune(" in source
]


def lesson(stem: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """The names of a lesson after its run, what each cell printed, and all of its prose."""
    played = play(stem)
    return played.names, played.printed, played.prose


def numbers(text: str) -> list[float]:
    """All numbers in a text."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def pictures_have_words(stem: str) -> None:
    """Figures, replays, sliders: each has a text alternative with a digit."""
    words = {cell: texts_of(html_of(value)) for cell, value in play(stem).shown.items()}
    wordless = [
        cell for cell, texts in words.items() for text in texts if not re.search(r"\d", text)
    ]
    assert wordless == []


def picture_stands_below_its_sliders(stem: str, cell: str) -> None:
    """File and cell say what the run says (`python -m simqueue.course.pictures` draws them)."""
    played = play(stem)
    (picture,) = pictures_of(path_of(stem), {cell: played.shown[cell]})
    cells = read(stem)
    place = [each.id for each in cells].index(cell)
    assert cells[place + 1].source == picture.markdown
    (title,) = ET.parse(picture.file).getroot().iter(TITLE)
    assert title.text == picture.alt


def goals_are_open_at_first_and_can_be_reached(stem: str, cell: str) -> None:
    """Not all are met where the sliders start, and each is at some setting of them."""
    view = play(stem).shown[cell]
    assert view.error is None
    wanted = set(view._goals._ranges)
    assert not wanted or view._goals.found < wanted
    goals = Goals(view._subject, {})
    goals._ranges = view._goals._ranges
    sliders = view.sliders.values()
    spans = [np.linspace(each.min, each.max, 13 if each.max > 13 else 5) for each in sliders]
    starts = [[each.value] for each in sliders]
    one_by_one = [[*starts[:place], span, *starts[place + 1 :]] for place, span in enumerate(spans)]
    for grid in [*one_by_one, [span[::2] for span in spans[:2]] + starts[2:]]:
        for values in itertools.product(*grid):
            if goals.found >= wanted:
                return
            kinds = [type(each.value) for each in sliders]
            settings = {
                name: kind(value)
                for name, kind, value in zip(view.sliders, kinds, values, strict=True)
            }
            with contextlib.suppress(ValueError):  # such as a p99 below the median
                goals.look(view._curve.outcomes.at(settings)[0].figures)
    assert goals.found >= wanted


def sliders_start_on_one_of_their_steps(stem: str, cell: str) -> None:
    """A browser would move one that does not, and the settings with it."""
    for name, slider in play(stem).shown[cell].sliders.items():
        steps = (slider.value - slider.min) / slider.step
        assert steps == pytest.approx(round(steps)), name
