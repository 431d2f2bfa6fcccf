"""Every crash, pause and lost answer, one by one: which of them breaks a handler."""

from simqueue.exploration.plans import KINDS, Moment, Plan, Strike
from simqueue.exploration.promises import EXACTLY_ONCE, Promise
from simqueue.exploration.report import Breaking, Report, Trial
from simqueue.exploration.runner import default_broker, explore
from simqueue.exploration.table import as_markdown, table

__all__ = [
    "EXACTLY_ONCE",
    "KINDS",
    "Breaking",
    "Moment",
    "Plan",
    "Promise",
    "Report",
    "Strike",
    "Trial",
    "as_markdown",
    "default_broker",
    "explore",
    "table",
]
