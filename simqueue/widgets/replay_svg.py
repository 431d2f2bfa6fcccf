"""Pieces of SVG as text, and the colours of a replay."""

from __future__ import annotations

import html

BLUE, VERMILLION, GREEN, GREY, INK = "#0072B2", "#AA4A00", "#0D6140", "#5F5F5F", "#1A1A1A"


def title(x: float, width: float, words: str, y: float = 0.0) -> str:
    """A heading over a line of that width."""
    return (
        f'<line x1="{x:g}" x2="{x + width:g}" y1="{y + 20:g}" y2="{y + 20:g}" stroke="{GREY}"/>'
        + text(x, y + 14, words, bold=True, size=13.5)
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    edge: str,
    thick: float,
    *,
    dashed: bool = False,
) -> str:
    """A box with round corners."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}" rx="3" '
        f'fill="{fill}" stroke="{edge}" stroke-width="{thick:g}"{dash}/>'
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    bold: bool = False,
    anchor: str = "",
    colour: str = INK,
    size: float = 0,
    fit: float = 0,
) -> str:
    """A line of text; where it might be longer than `fit` pixels it is pressed together."""
    more = ' font-weight="bold"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    more += f' font-size="{size:g}"' if size else ""
    if fit and len(words) * (7.2 if bold else 6.7) > fit:
        more += f' textLength="{fit:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.5g}" y="{y:.5g}" fill="{colour}"{more}>{html.escape(words)}</text>'
