"""All incidents, in the order of their numbers."""

from __future__ import annotations

from simqueue.incidents import (
    acks,
    attempts,
    batches,
    crons,
    dedupe,
    due,
    effects,
    heartbeats,
    keys,
    late_acks,
    leases,
    locks,
    outboxes,
    partitions,
    prefetch,
    producers,
    records,
    recovery,
    rescuers,
    shutdowns,
    sweeps,
)
from simqueue.incidents.incident import Incident

MODULES = (
    acks,
    attempts,
    batches,
    crons,
    dedupe,
    due,
    effects,
    heartbeats,
    keys,
    late_acks,
    leases,
    locks,
    outboxes,
    partitions,
    prefetch,
    producers,
    records,
    recovery,
    rescuers,
    shutdowns,
    sweeps,
)

INCIDENTS: dict[str, Incident] = {
    incident.id: incident
    for incident in sorted(
        (incident for module in MODULES for incident in module.INCIDENTS),
        key=lambda incident: incident.id,
    )
}


class UnknownIncidentError(KeyError, ValueError):
    """No incident has this id. Its text is a sentence, without the quotes of a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])


def find(number: str) -> Incident:
    """Return the incident with this id, such as "INC-01".

    Raises `UnknownIncidentError`, which is a KeyError and a ValueError, if there is none.
    """
    if number not in INCIDENTS:
        first, *_, last = INCIDENTS
        known = f"one of the {len(INCIDENTS)} in simqueue.incidents, {first} to {last}"
        raise UnknownIncidentError(f"the incident must be {known}, not {number!r}.")
    return INCIDENTS[number]
