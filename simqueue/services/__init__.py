"""What handlers talk to through `ctx`: each a service that outlives the workers."""

from simqueue.services.base import Service
from simqueue.services.payments import Payments
from simqueue.services.store import Store

__all__ = ["Payments", "Service", "Store"]
