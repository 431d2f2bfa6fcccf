"""Closed forms to hold the model against: what the figures must be, where mathematics knows.

Times are in seconds, rates per second, shares and chances from 0 to 1. A figure that grows
without end is math.inf. Sources named "derived" are derived in the docstring itself.
"""

from __future__ import annotations

from simqueue.theory.effects import (
    CrashChances,
    EffectFigures,
    effect_figures,
    effects_per_job,
    record_leak_rate,
)
from simqueue.theory.lapses import (
    crash_recovery_delay,
    heartbeat_lapse,
    prefetch_lapse_share,
    unseen_dead,
)
from simqueue.theory.leases import (
    deliveries,
    duplicate_delivery_rate,
    p_work_exceeds,
    settle_time,
)
from simqueue.theory.queueing import (
    erlang_c,
    mg1_wait,
    mm1_sojourn_quantile,
    mmc_queue_length,
    mmc_sojourn,
    mmc_wait,
    utilisation,
)
from simqueue.theory.retries import (
    completion_with_crashes,
    dead_letter_share,
    dead_letter_time,
    deliveries_refused,
    mean_attempts,
    retry_sojourn,
)

__all__ = [
    "CrashChances",
    "EffectFigures",
    "completion_with_crashes",
    "crash_recovery_delay",
    "dead_letter_share",
    "dead_letter_time",
    "deliveries",
    "deliveries_refused",
    "duplicate_delivery_rate",
    "effect_figures",
    "effects_per_job",
    "erlang_c",
    "heartbeat_lapse",
    "mean_attempts",
    "mg1_wait",
    "mm1_sojourn_quantile",
    "mmc_queue_length",
    "mmc_sojourn",
    "mmc_wait",
    "p_work_exceeds",
    "prefetch_lapse_share",
    "record_leak_rate",
    "retry_sojourn",
    "settle_time",
    "unseen_dead",
    "utilisation",
]
