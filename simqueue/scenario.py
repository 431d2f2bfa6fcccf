"""What to simulate: a frozen description, checked when it is made, and cheap to vary.

Times and durations are in seconds. Everything random follows from the seed given to
`simqueue.simulate`, so a scenario and a seed name one run.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from simqueue import checks
from simqueue.arrivals import Arrivals, Times
from simqueue.context import Handler
from simqueue.distributions import Distribution, Recorded
from simqueue.faults import Crash, Fault, Network
from simqueue.producers import Producers
from simqueue.services import SQL, Database, Locks, Mailer, Payments, Redis, Service, Store

if TYPE_CHECKING:
    from simqueue.model.log.settings import LogSettings
    from simqueue.model.settings import LeaseSettings
    from simqueue.trace import JobLog


class Broker(Protocol):
    """A broker under its own parameter names, which knows how the model's queue must behave.

    One to which not every scenario fits has a method ``check_fits(scenario)`` too, which raises
    ValueError for those that do not.
    """

    def settings(self) -> LeaseSettings | LogSettings:
        """Return this broker as settings of the queue, or of the log."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The processes that run handlers.

    Parameters
    ----------
    count
        How many processes.
    concurrency
        Slots of each: how many handlers it runs at once.
    prefetch
        The most deliveries a process holds at once, running or waiting in its buffer, where their
        leases run out too; `math.inf` for no limit. None: nothing waits, each free slot asks for
        one message.
    batch
        The most messages that a process receives at once; it asks again when all of them are done.
        None: no batches. Not together with `prefetch`.
    ack_batch
        "each": every message of a batch is acked as its handler returns; "whole": all together at
        the end, and none of them if one failed.
    throttled
        Whether a process receives all there is and runs only what finds a free slot: the rest is
        received, counted, and not run. Not together with `prefetch` or `batch`.
    holds_once
        Whether a process that still holds a message is not given it again (NATS clients).
    poll_every, poll_phases
        Processes take messages only at their polls, every `poll_every` seconds. The first poll of
        the first process is at the first of `poll_phases`, in seconds, and so on in turn. None:
        they take what there is at any time.
    time_limit
        Seconds after which a process stops a handler that is still running: `TimeLimit` is raised
        where the handler waits. None: never.
    crash
        How processes die; None: they don't.
    """

    count: int = 1
    concurrency: int = 1
    prefetch: float | None = None
    batch: int | None = None
    ack_batch: str = "each"
    throttled: bool = False
    holds_once: bool = False
    poll_every: float | None = None
    poll_phases: Sequence[float] = (0.0,)
    time_limit: float | None = None
    crash: Crash | None = None

    def __post_init__(self) -> None:
        checks.whole("workers.count", self.count, 1)
        checks.whole("workers.concurrency", self.concurrency, 1)
        if self.prefetch is not None and self.prefetch != math.inf:
            checks.whole("workers.prefetch", self.prefetch, 1)
        if self.batch is not None:
            checks.whole("workers.batch", self.batch, 1)
            if self.prefetch is not None:
                raise checks.fail("workers.prefetch", self.prefetch, "None together with a batch")
        if self.throttled and (self.prefetch or self.batch):
            raise checks.fail("workers.throttled", True, "False together with prefetch or batch")
        checks.one_of("workers.ack_batch", self.ack_batch, ("each", "whole"))
        if self.poll_every is not None:
            checks.positive("workers.poll_every", self.poll_every, "seconds")
        if not isinstance(self.poll_phases, Sequence) or not self.poll_phases:
            raise checks.fail("workers.poll_phases", self.poll_phases, "a sequence of seconds")
        for phase in self.poll_phases:
            checks.non_negative("workers.poll_phases", phase, "seconds")
        object.__setattr__(self, "poll_phases", tuple(self.poll_phases))
        if self.time_limit is not None:
            checks.positive("workers.time_limit", self.time_limit, "seconds")
        if self.crash is not None:
            if not isinstance(self.crash, Crash):
                raise checks.fail("workers.crash", self.crash, "a Crash or None")
            for worker, _time in self.crash.at:
                checks.whole("crash.at: the worker", worker, 1, self.count)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One queue with its producer and workers, ready to be simulated.

    Parameters
    ----------
    arrivals
        When jobs are published.
    jobs
        How many. May be left out where the arrivals fix their number.
    work
        How long a job keeps a worker busy, in seconds.
    work_per
        "job": a slow job is slow on every attempt; "attempt": drawn anew for each delivery.
    workers, broker, network
        Who runs the jobs, who holds the messages, what gets lost between them.
    producers
        Who publishes the jobs: replicas, senders that send again, jobs that are due later.
    groups
        How many groups the jobs belong to, in turn, for brokers that keep groups in order.
    customers
        How many customers the jobs are for, in turn; None: each job has its own.
    faults
        Whatever else goes wrong: any of `simqueue.faults`, in any number.
    store, payments, mailer, locks, database, sql, redis
        The services that handlers talk to.
    handler
        The code of the worker: an ``async def handler(job, ctx)``.
    horizon
        Stop the run at this many seconds and report what was cut. None: run until every job is
        settled and no worker is busy.
    warmup
        Leave jobs that arrive before this many seconds out of the figures.

    Raises
    ------
    ValueError
        With the parameter's name, its value and what is allowed.
    """

    arrivals: Arrivals
    work: Distribution
    broker: Broker
    handler: Handler
    jobs: int | None = None
    work_per: str = "job"
    workers: Workers = field(default_factory=Workers)
    network: Network = field(default_factory=Network)
    producers: Producers = field(default_factory=Producers)
    groups: int = 1
    customers: int | None = None
    faults: Sequence[Fault] = ()
    store: Store = field(default_factory=Store)
    payments: Payments = field(default_factory=Payments)
    mailer: Mailer = field(default_factory=Mailer)
    locks: Locks = field(default_factory=Locks)
    database: Database = field(default_factory=Database)
    sql: SQL = field(default_factory=SQL)
    redis: Redis = field(default_factory=Redis)
    horizon: float | None = None
    warmup: float = 0.0

    def __post_init__(self) -> None:
        parts: dict[str, tuple[type, str]] = {
            "arrivals": (Arrivals, "arrivals such as Poisson(rate=2)"),
            "work": (Distribution, "a distribution such as Exponential(mean=10)"),
            "workers": (Workers, "Workers(...)"),
            "network": (Network, "Network(...)"),
            "producers": (Producers, "Producers(...)"),
            "store": (Store, "services.Store(...)"),
            "payments": (Payments, "services.Payments(...)"),
            "mailer": (Mailer, "services.Mailer(...)"),
            "locks": (Locks, "services.Locks(...)"),
            "database": (Database, "services.Database(...)"),
            "sql": (SQL, "services.SQL(...)"),
            "redis": (Redis, "services.Redis(...)"),
        }
        for name, (kind, allowed) in parts.items():
            if not isinstance(getattr(self, name), kind):
                raise checks.fail(name, getattr(self, name), allowed)
        if not callable(getattr(self.broker, "settings", None)):
            raise checks.fail("broker", self.broker, "a broker such as brokers.sqs()")
        if not _is_handler(self.handler):
            raise checks.fail("handler", self.handler, "an async function of (job, ctx)")
        faults = tuple(self.faults) if isinstance(self.faults, Sequence) else (self.faults,)
        if not all(isinstance(fault, Fault) for fault in faults):
            allowed = "a sequence of faults, such as [Pause(seconds=60)], with their parentheses"
            raise checks.fail("faults", self.faults, allowed)
        object.__setattr__(self, "faults", faults)
        checks.whole("groups", self.groups, 1)
        if self.customers is not None:
            checks.whole("customers", self.customers, 1)
        checks.one_of("work_per", self.work_per, ("job", "attempt"))
        fixed = self.arrivals.count
        if self.jobs is None:
            if fixed is None:
                raise checks.fail("jobs", None, "a whole number of 1 or more with these arrivals")
            object.__setattr__(self, "jobs", fixed)
        checks.whole("jobs", self.jobs, 1, fixed)
        if isinstance(self.work, Recorded) and len(self.work.values) < (self.jobs or 0):
            raise checks.fail("work", self.work, f"a recording of at least {self.jobs} durations")
        self._check_receives()
        check_fits = getattr(self.broker, "check_fits", None)
        if check_fits is not None:
            check_fits(self)
        if self.horizon is not None:
            checks.positive("horizon", self.horizon, "seconds")
        checks.non_negative("warmup", self.warmup, "seconds")

    def _check_receives(self) -> None:
        """Raise ValueError where workers receive more at once than the broker gives."""
        most = getattr(self.broker.settings(), "most_per_receive", None)
        if most is not None and (self.workers.batch or 1) > most:
            allowed = f"at most {most} with this broker"
            raise checks.fail("workers.batch", self.workers.batch, allowed)

    @property
    def services(self) -> tuple[Service, ...]:
        """The settings of all services."""
        own = (self.store, self.payments, self.mailer, self.locks, self.database)
        return (*own, self.sql, self.redis)

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with `changes` made: dotted names to new values.

        ``scenario.replace({"broker.lease": 5, "workers.count": 3})``. All changes are made before
        anything is checked again. Raises ValueError for a name that the scenario does not have.
        """
        changed: Self = _replace(self, changes, "")
        return changed

    @classmethod
    def from_log(cls, log: JobLog, **parts: Any) -> Self:
        """Return the scenario that replays `log`: its arrival times and its durations, in order.

        `parts` are the other parameters of a scenario, such as `workers`, `broker`, `handler`.
        """
        return cls(arrivals=Times(log.arrivals), work=Recorded(log.durations), **parts)


def _is_handler(handler: Any) -> bool:
    call = getattr(handler, "__call__", None)  # noqa: B004 - it is inspected, not just tested for
    # A handler that runs in another process is driven like a coroutine, and says so.
    driven = getattr(type(handler), "returns_what_is_driven_like_a_coroutine", False)
    if not (driven or inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)):
        return False
    try:
        inspect.signature(handler).bind("job", "ctx")
    except TypeError:
        return False
    return True


def _replace(part: Any, changes: Mapping[str, Any], path: str) -> Any:
    names = [f.name for f in dataclasses.fields(part) if f.init]
    new: dict[str, Any] = {}
    deeper: dict[str, dict[str, Any]] = {}
    for dotted, value in changes.items():
        name, _, rest = dotted.partition(".")
        if name not in names:
            raise checks.fail("the parameter to replace", path + dotted, _known(path, names))
        if rest:
            deeper.setdefault(name, {})[rest] = value
        else:
            new[name] = value
    for name, changes_there in deeper.items():
        child = new.get(name, getattr(part, name))
        if not dataclasses.is_dataclass(child) or isinstance(child, type):
            dotted = f"{path}{name}.{next(iter(changes_there))}"
            raise checks.fail("the parameter to replace", dotted, f"one that {path}{name} has")
        new[name] = _replace(child, changes_there, f"{path}{name}.")
    return dataclasses.replace(part, **new)


def _known(path: str, names: Sequence[str]) -> str:
    return "one of " + ", ".join(path + name for name in names)
