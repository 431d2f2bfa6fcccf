"""All incidents, in the order of their numbers."""

from __future__ import annotations

from types import ModuleType

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

MECHANISMS: dict[str, ModuleType] = {
    "acked before the work": acks,
    "attempts miscounted": attempts,
    "work acked as a whole": batches,
    "a schedule on every replica": crons,
    "a window too short": dedupe,
    "held until due": due,
    "between effect and mark": effects,
    "heartbeats that don't come": heartbeats,
    "the wrong key": keys,
    "acks that come late": late_acks,
    "a lease shorter than the job": leases,
    "locks that don't hold": locks,
    "outboxes and relays": outboxes,
    "partitions handed over": partitions,
    "aged in a buffer": prefetch,
    "published twice": producers,
    "records that are wrong": records,
    "slow recovery": recovery,
    "rescuers in trouble": rescuers,
    "stopped in the middle": shutdowns,
    "rescued while it runs": sweeps,
}
"""What went wrong, in a few words, and the module with the incidents of this kind."""

INCIDENTS: dict[str, Incident] = {
    incident.id: incident
    for incident in sorted(
        (incident for module in MECHANISMS.values() for incident in module.INCIDENTS),
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
