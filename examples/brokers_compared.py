"""Writes docs/brokers_compared.md and its picture: the same jobs and faults on every broker."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import simqueue as sq
from simqueue.side_by_side import as_markdown, compare_brokers

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "brokers_compared.md"
PICTURE = DOCS / "brokers_compared.svg"
BEGIN, END = "<!-- begin -->\n", "<!-- end -->\n"


def main() -> None:
    """Put the table and the text of the picture between the marks of the page."""
    table = compare_brokers()
    figure = sq.plot.brokers(table)
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    picture = f"\n![{sq.plot.alt_text(figure)}]({PICTURE.name})\n"
    middle = BEGIN + "\n" + as_markdown(table) + picture + "\n" + END
    PAGE.write_text(before + middle + after, encoding="utf-8")
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "simqueue"}):
        figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
