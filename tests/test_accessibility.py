"""Pictures can be read without colour, with any colour vision, and without eyes."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from colours import FAR, VISIONS, Colour, contrast, distance, on
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from pictures import DRAWN, NO_PICTURES, NO_PLOTS, PLOTS, WIDGETS, html_of, texts_of

import simqueue as sq
from simqueue.plotting import drawing, timeline_marks
from simqueue.plotting.brokers import ENDS
from simqueue.widgets import replay_svg

TEXT, GRAPHIC = 4.5, 3.0
"""The least contrast with what lies behind, by WCAG 2.2 (1.4.3 and 1.4.11)."""
FAINT = 0.35
"""Less opaque areas are bands around a line, which says the same."""
WHITE: Colour = (1.0, 1.0, 1.0)


@cache
def picture(name: str, run: int = 1) -> Any:
    """The figure of that name, of that run."""
    return DRAWN[name](run)


@cache
def shown(name: str, run: int = 1) -> str:
    """The HTML of that widget, for that run."""
    return html_of(WIDGETS[name](run))


# Every picture is known here.


def test_every_function_that_draws_has_a_case() -> None:
    """A new name in `sq.plot` or `sq.widgets` needs a case in `pictures.py`."""
    assert set(sq.plot.__all__) == set(PLOTS) | NO_PLOTS
    functions = {name for name in sq.widgets.__all__ if name.islower()}
    assert functions == set(WIDGETS) | NO_PICTURES


# Without eyes.


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_says_in_numbers_what_it_shows(name: str) -> None:
    """Its words are there in the notebook, have numbers, and those of another run are others."""
    words = texts_of(html_of(picture(name)))
    assert len(words) == 1
    assert re.search(r"\d", words[0])
    assert words != texts_of(html_of(picture(name, 2)))


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_says_in_numbers_what_it_shows(name: str) -> None:
    """Every picture in it; and it has a status line for screen readers."""
    words = texts_of(shown(name))
    assert words
    assert all(re.search(r"\d", each) for each in words)
    assert words != texts_of(shown(name, 2))
    assert 'role="status"' in shown(name)


@pytest.mark.parametrize("name", sorted(WIDGETS))
def test_without_a_kernel_the_picture_has_its_words_too(name: str) -> None:
    """What a widget leaves in a notebook for those who only read it."""
    bundle = WIDGETS[name](1)._repr_mimebundle_()
    left = bundle.get("text/html", "") + bundle.get("image/svg+xml", "")
    assert texts_of(left)
    assert all(re.search(r"\d", each) for each in texts_of(left))


# Without colour.


def signs(ax: Any) -> dict[tuple[Any, ...], set[Colour]]:
    """The colours of all that is drawn, by what else tells it apart: marker, line, hatch."""
    found: dict[tuple[Any, ...], set[Colour]] = {}
    for line in ax.lines:
        drawn = to_hex(line.get_markerfacecolor()) if line.get_marker() != "None" else ""
        looks: tuple[Any, ...] = (
            "line",
            line.get_marker(),
            str(line._dash_pattern),
            drawn == "#ffffff",
        )
        found.setdefault(looks, set()).add(on(line.get_color(), alpha=line.get_alpha()))
    for patch in ax.patches:
        looks = ("area", patch.get_hatch(), str(patch.get_linestyle()))
        face = on(patch.get_facecolor())
        found.setdefault(looks, set()).add(face if face != WHITE else on(patch.get_edgecolor()))
    for lines in ax.collections:
        if isinstance(lines, LineCollection):
            looks = ("span", str(lines.get_linestyle()))
            found.setdefault(looks, set()).update(on(each) for each in lines.get_colors())
    return found


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("name", DRAWN)
def test_what_differs_differs_by_more_than_a_colour_or_by_a_clear_one(
    name: str, vision: str
) -> None:
    """Two things with one marker, line style and hatch are far apart for every colour vision."""
    for ax in picture(name).axes:
        for looks, colours in signs(ax).items():
            for one, other in combinations(sorted(colours), 2):
                assert distance(one, other, vision) >= FAR, (looks, to_hex(one), to_hex(other))


@pytest.mark.parametrize("vision", VISIONS[:-1])
def test_the_first_four_lines_differ_by_colour_alone(vision: str) -> None:
    """With every kind of colour vision; and all seven have markers of their own."""
    for (one, _), (other, _) in combinations(drawing.LINES[:4], 2):
        assert distance(on(one), on(other), vision) >= FAR
    assert len({marker for _, marker in drawing.LINES}) == len(drawing.LINES)


def test_every_sign_of_a_timeline_looks_like_no_other() -> None:
    """Without its colour. That a job was settled is a sign of the queue's lane, with words."""
    bars = timeline_marks.BARS.values()
    assert len({(each.get("hatch"), each.get("linestyle")) for each in bars}) == len(bars)
    points = {
        kind: (each["marker"], each.get("markerfacecolor"))
        for kind, each in timeline_marks.POINTS.items()
        if not kind.startswith("settled")
    }
    assert len(set(points.values())) == len(points)


def test_the_legend_of_brokers_has_a_hatch_for_each_end() -> None:
    """Also for one that no broker had: no dead letters here."""
    (legend,) = picture("brokers").legends
    assert [sample.get_hatch() for sample in legend.legend_handles] == [end[3] for end in ENDS]


# Enough contrast.


def test_the_palette_can_be_read_and_seen_on_white() -> None:
    """Names are written in the colours of their lines: each has the contrast of a text."""
    for colour, _ in (*drawing.LINES, (drawing.GREY, "")):
        assert contrast(on(colour), WHITE) >= TEXT


def test_a_replay_has_the_colours_of_the_plots() -> None:
    """What is blue here is blue there."""
    for name in ("BLUE", "VERMILLION", "GREEN", "GREY"):
        assert getattr(replay_svg, name) == getattr(drawing, name)


@pytest.mark.parametrize("name", DRAWN)
def test_signs_stand_out_from_the_background(name: str) -> None:
    """Lines, markers and edges."""
    for ax in picture(name).axes:
        for looks, colours in signs(ax).items():
            if looks[0] != "area":
                assert all(contrast(each, WHITE) >= GRAPHIC for each in colours), looks
        for patch in ax.patches:
            edge, face = on(patch.get_edgecolor()), on(patch.get_facecolor())
            assert max(contrast(edge, WHITE), contrast(face, WHITE)) >= GRAPHIC


def behind(ax: Any, text: Any) -> Colour:
    """The colour behind a text: white, or of the sign on which a white number stands."""
    if to_hex(text.get_color()) != "#ffffff":
        return WHITE
    (sign,) = [
        line
        for line in ax.lines
        if line.get_marker() in ("o", "D") and line.get_xydata().tolist() == [list(text.xy)]
    ]
    return on(sign.get_color())


@pytest.mark.parametrize("name", DRAWN)
def test_every_text_of_a_plot_can_be_read(name: str) -> None:
    """Titles, labels, names of lines, and the numbers on the signs of effects."""
    for ax in picture(name).axes:
        written = [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label]
        written += [*ax.get_xticklabels(), *ax.get_yticklabels()]
        for text in written:
            if text.get_text():
                assert contrast(on(text.get_color()), behind(ax, text)) >= TEXT, text


def moments() -> list[str]:
    """A replay at many moments, as SVG."""
    replay = WIDGETS["replay"](1)
    replay.go_to(0)
    found = []
    for _ in range(120):
        replay.step()
        found.append(str(replay._picture.value))
    return found


def test_every_text_of_a_replay_can_be_read() -> None:
    """On the box in which it stands; and each box has an edge or a filling that is seen."""
    texts = 0
    for svg in moments():
        boxes: list[tuple[float, float, float, float, Colour]] = []
        for each in ET.fromstring(svg).iter():
            kind, given = each.tag.rpartition("}")[2], each.attrib
            if kind == "rect" and "rx" in given and given["fill"].startswith(("#", "w")):
                fill = on(given["fill"])
                edges = [fill, on(given.get("stroke", "white"))]
                assert max(contrast(edge, WHITE) for edge in edges) >= GRAPHIC
                place = [float(given[side]) for side in ("x", "y", "width", "height")]
                boxes.append((place[0], place[1], place[2], place[3], fill))
            elif kind == "text":
                x, y = float(given["x"]), float(given["y"])
                around = [
                    fill
                    for left, top, width, height, fill in boxes
                    if left <= x <= left + width and top <= y <= top + height
                ]
                texts += 1
                paper = around[-1] if around else WHITE
                assert contrast(on(given["fill"]), paper) >= TEXT, (each.text, given)
    assert texts > 1_000
