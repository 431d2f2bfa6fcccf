"""What handlers talk to through `ctx`: each a service that outlives the workers."""

from simqueue.services.base import Service
from simqueue.services.database import Database
from simqueue.services.locks import Locks
from simqueue.services.mailer import Mailer
from simqueue.services.payments import Payments
from simqueue.services.redis import Redis
from simqueue.services.sql import SQL
from simqueue.services.store import Store

__all__ = ["SQL", "Database", "Locks", "Mailer", "Payments", "Redis", "Service", "Store"]
