"""Files that the commands write: whole or not at all, and never over somebody else's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MARK = "simqueue"
PICTURES = (".png", ".svg", ".pdf")


def check_target(option: str, path: Path, endings: tuple[str, ...], is_ours: bool) -> None:
    """ValueError unless a file with one of these `endings` can be written at `path`.

    A file that is there already must be one that simqueue wrote (`is_ours`).
    """
    if path.suffix.lower() not in endings:
        raise ValueError(f"{option} must end with {', '.join(endings)}, not {path.name!r}.")
    if path.is_dir():
        raise ValueError(f"{option} {path} is a folder, not a file.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.absolute().parent}.")
    if path.exists() and not is_ours:
        raise ValueError(
            f"{option} {path} is there already, and simqueue did not write it: "
            "choose another name, or move it away."
        )


def check_picture(option: str, path: Path) -> None:
    """ValueError unless a picture can be written at `path`; one of our own may be replaced."""
    ours = path.is_file() and MARK.encode() in path.read_bytes()
    check_target(option, path, PICTURES, ours)


def check_csv(option: str, path: Path, header: str) -> None:
    """ValueError unless a table can be written at `path`; one with this `header` is replaced."""
    ours = False
    if path.is_file():
        with path.open("rb") as file:
            ours = file.readline().strip() == header.encode()
    check_target(option, path, (".csv",), ours)


def check_page(option: str, path: Path) -> None:
    """ValueError unless a web page can be written at `path`; one of our own may be replaced."""
    ours = path.is_file() and MARK.encode() in path.read_bytes()
    check_target(option, path, (".html",), ours)


def save_text(text: str, path: Path) -> None:
    """Save `text` at `path`."""
    _write(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def save_picture(figure: Figure, path: Path) -> None:
    """Save `figure` at `path`, with our mark in its metadata and no date."""
    kind = path.suffix.lower().removeprefix(".")
    marks: dict[str, dict[str, str | None]] = {
        "png": {"Software": MARK},
        "svg": {"Creator": MARK, "Date": None},
        "pdf": {"Creator": MARK, "CreationDate": None},
    }
    _write(path, lambda temporary: figure.savefig(temporary, format=kind, metadata=marks[kind]))


def save_csv(table: pd.DataFrame, path: Path) -> None:
    """Save `table` at `path`, without its index."""
    _write(path, lambda temporary: table.to_csv(temporary, index=False, lineterminator="\n"))


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then give it that name."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(_usual_mode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _usual_mode() -> int:
    """Return the permissions of a new file; those of a temporary one are narrower."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
