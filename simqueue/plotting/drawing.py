"""One look for all figures, and a text alternative for each."""

from __future__ import annotations

import base64
import html
import io
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

if TYPE_CHECKING:
    from IPython.display import HTML

# After the palette of Okabe and Ito (https://jfly.uni-koeln.de/color/), and darker: a name in the
# colour of its line can be read on white. The first four differ for every kind of colour vision;
# each line also has its own marker, since seven such colours do not exist.
BLACK = "#000000"
BLUE = "#0072B2"
VERMILLION = "#AA4A00"
GREEN = "#0D6140"
PURPLE = "#6B1962"
ORANGE = "#946200"
SKY = "#00798C"
GREY = "#5F5F5F"
LINES = (
    (BLUE, "o"),
    (VERMILLION, "s"),
    (GREEN, "^"),
    (PURPLE, "D"),
    (ORANGE, "v"),
    (SKY, "P"),
    (BLACK, "X"),
)
"""Colour and marker of the first line, the second, and so on."""

LOOK = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "legend.frameon": False,
    "hatch.linewidth": 0.8,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
}


class Drawing(Figure):
    """A matplotlib figure with a text alternative, which notebooks show as an image."""

    alt_text: str = ""

    def _repr_html_(self) -> str:
        return image_html(self)


def look() -> AbstractContextManager[None]:
    """Return a context in which artists are made in this package's look."""
    context: AbstractContextManager[None] = mpl.rc_context(LOOK)
    return context


def new_drawing(width: float, height: float, columns: int = 1) -> tuple[Drawing, list[Any]]:
    """Return an empty drawing of so many inches, and its axes side by side."""
    drawing = Drawing(figsize=(width, height), layout=ConstrainedLayoutEngine(wspace=0.06))
    FigureCanvasAgg(drawing)
    axes = drawing.subplots(1, columns, squeeze=False)[0]
    return drawing, list(axes)


def new_stack(width: float, height: float, rows: int) -> tuple[Drawing, list[Any]]:
    """Return an empty drawing of so many inches, and its axes one above the other."""
    drawing = Drawing(figsize=(width, height), layout=ConstrainedLayoutEngine(hspace=0.03))
    FigureCanvasAgg(drawing)
    axes = drawing.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
    return drawing, list(axes)


def describe(figure: Figure, text: str) -> Figure:
    """Give `figure`, which may be anybody's, its text alternative, and return it."""
    figure.alt_text = text  # type: ignore[attr-defined]
    return figure


def alt_text(figure: Figure) -> str:
    """Return what `figure` shows, in words; empty if it is not of this package."""
    return str(getattr(figure, "alt_text", ""))


def show(figure: Figure) -> HTML:
    """Return `figure` as an image for a notebook, with its text alternative.

    A `Drawing` does this by itself; `show` is for figures that were drawn into axes of your own.
    """
    from IPython.display import HTML

    return HTML(image_html(figure))


def image_html(figure: Figure) -> str:
    """Return an `<img>` of `figure` at its size in pixels, twice as sharp, with its `alt_text`."""
    buffer = io.BytesIO()
    width, height = (round(inches * figure.dpi) for inches in figure.get_size_inches())
    figure.savefig(buffer, format="png", dpi=2 * figure.dpi)
    return img_tag(buffer.getvalue(), alt_text(figure), width, height)


def img_tag(png: bytes, alt: str, width: int, height: int) -> str:
    """Return an `<img>` that holds `png`, `width` by `height` CSS pixels, or less if need be."""
    data = base64.b64encode(png).decode()
    return (
        f'<img width="{width}" height="{height}" style="max-width: 100%; height: auto" '
        f'alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'
    )


def percent(share: float) -> str:
    """A share as a percentage with two or three digits: 0.2869 gives `28.7 %`."""
    value = 100 * share
    return f"{value:.3g} %" if value >= 10 else f"{value:.2g} %"


def seconds(value: float) -> str:
    """Seconds with at most three digits, or all of them from 100 on: `28.7 s`, `1,200 s`."""
    return f"{value:,.0f} s" if abs(value) >= 100 else f"{value:.3g} s"


def use_percent(axis: Any) -> None:
    """Label the ticks of `axis`, which holds shares from 0 to 1, as percentages."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))


def use_log_numbers(ax: Any) -> None:
    """Make the y axis logarithmic, with ticks at 1, 2, 5, 10, ... written in full."""
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def use_log_seconds(ax: Any) -> None:
    """Make the x axis logarithmic, with ticks at 1, 2, 5, 10, ... seconds."""
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
