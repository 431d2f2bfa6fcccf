"""Waiting for nothing: garbage is collected when no reader waits for a picture."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Put garbage collection off: going through all of a notebook's objects takes 100 ms or more.

    It comes later, while the rest of the curve is simulated and nobody waits.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
