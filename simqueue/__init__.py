"""simqueue: why a job runs twice, and what makes that harmless.

A simulator of job queues, on SimPy: producers, brokers with visibility timeouts, crashing workers,
dedupe stores. Describe a `Scenario`, `simulate` it, read the `Result`; `sweep` a parameter and
`plot` the curve; or let `widgets.tune` put a slider on it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from simqueue import backoff, brokers, faults, handlers, services, theory
from simqueue.arrivals import AllAtOnce, EvenlySpaced, Poisson, Times
from simqueue.context import (
    Claim,
    Context,
    HandlerError,
    Job,
    LeaseLimit,
    LeaseLost,
    Retry,
    TimeLimit,
)
from simqueue.distributions import (
    Distribution,
    Empirical,
    Exponential,
    Fixed,
    LogNormal,
    Mixture,
    Pareto,
    Recorded,
    Uniform,
)
from simqueue.faults import (
    Crash,
    Deploy,
    Network,
    Outage,
    Partition,
    Pause,
    RescuerDown,
    Slowness,
)
from simqueue.model.progress import NeverSettles
from simqueue.producers import Producers, Resend
from simqueue.result import Result
from simqueue.scenario import Scenario, Workers
from simqueue.simulation import simulate

if TYPE_CHECKING:
    from simqueue import course, exercises, exploration, incidents, testing, trace, widgets
    from simqueue import plotting as plot
    from simqueue.advice import advise
    from simqueue.experiments import compare, cross, sweep
    from simqueue.exploration import explore

__version__ = "0.1.0"

__all__ = [
    "AllAtOnce",
    "Claim",
    "Context",
    "Crash",
    "Deploy",
    "Distribution",
    "Empirical",
    "EvenlySpaced",
    "Exponential",
    "Fixed",
    "HandlerError",
    "Job",
    "LeaseLimit",
    "LeaseLost",
    "LogNormal",
    "Mixture",
    "Network",
    "NeverSettles",
    "Outage",
    "Pareto",
    "Partition",
    "Pause",
    "Poisson",
    "Producers",
    "Recorded",
    "RescuerDown",
    "Resend",
    "Result",
    "Retry",
    "Scenario",
    "Slowness",
    "TimeLimit",
    "Times",
    "Uniform",
    "Workers",
    "advise",
    "backoff",
    "brokers",
    "compare",
    "course",
    "cross",
    "exercises",
    "exploration",
    "explore",
    "faults",
    "handlers",
    "incidents",
    "plot",
    "services",
    "simulate",
    "studies",
    "sweep",
    "testing",
    "theory",
    "trace",
    "widgets",
]

_LATER = {
    "advise": "simqueue.advice",
    "compare": "simqueue.experiments",
    "course": "simqueue.course",
    "cross": "simqueue.experiments",
    "exercises": "simqueue.exercises",
    "exploration": "simqueue.exploration",
    "explore": "simqueue.exploration",
    "incidents": "simqueue.incidents",
    "plot": "simqueue.plotting",
    "studies": "simqueue.studies",
    "sweep": "simqueue.experiments",
    "testing": "simqueue.testing",
    "trace": "simqueue.trace",
    "widgets": "simqueue.widgets",
}
"""What pulls in pandas or matplotlib, or is seldom needed: imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'simqueue' has no attribute {name!r}")
    module = importlib.import_module(_LATER[name])
    found = getattr(module, name, module)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
