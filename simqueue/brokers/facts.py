"""Facts about a broker, each with its source, as rows that notebooks can show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Fact:
    """One fact: `what` it is about, its `value`, the `source`, and the `test` that holds it.

    A fact that is not modelled has no test, but a reason why it is `left_out`.
    """

    what: str
    value: str
    source: str
    test: str = ""
    left_out: str = ""


def as_table(facts: Iterable[Fact]) -> pd.DataFrame:
    """Return `facts` as a table with one row each."""
    import pandas as pd

    return pd.DataFrame([asdict(fact) for fact in facts])
