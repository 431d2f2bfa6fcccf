"""Public reports of duplicate, lost and stuck jobs, which the simulator reproduces.

The package is a mapping of ids to incidents, in order: ``sq.incidents["INC-01"].replay()``
simulates one, before and after its fix, and shows both stories, with the figures that were expected
beside the simulated ones. `simqueue incident INC-01` does so on the command line.

An incident is a declaration of some twenty lines, in the module of its mechanism. What may be
expected of a run stands in `observed`, how it is compared in `expected`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from html import escape
from types import ModuleType

from simqueue.incidents.building import queue
from simqueue.incidents.expected import Mean, SameAs, Within, rate
from simqueue.incidents.incident import Case, Incident
from simqueue.incidents.observed import observe
from simqueue.incidents.registry import INCIDENTS, find
from simqueue.incidents.replay import LEFT, Check, Replay

__all__ = [
    "Case",
    "Check",
    "Incident",
    "Mean",
    "Replay",
    "SameAs",
    "Within",
    "observe",
    "queue",
    "rate",
]


class _Incidents(ModuleType, Mapping[str, Incident]):
    """A module that is also the mapping of its incidents: the name means both."""

    def __getitem__(self, number: str) -> Incident:
        return find(number)

    def __iter__(self) -> Iterator[str]:
        return iter(INCIDENTS)

    def __len__(self) -> int:
        return len(INCIDENTS)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td{LEFT}>{one.id}</td><td{LEFT}>{escape(one.title)}</td>"
            f"<td{LEFT}>{escape(one.system)}</td></tr>"
            for one in INCIDENTS.values()
        )
        words = ("incident", "what", "system")
        head = "".join(f'<th scope="col"{LEFT}>{word}</th>' for word in words)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def __contains__(self, number: object) -> bool:
        return number in INCIDENTS

    __eq__ = ModuleType.__eq__
    __hash__ = ModuleType.__hash__


sys.modules[__name__].__class__ = _Incidents
