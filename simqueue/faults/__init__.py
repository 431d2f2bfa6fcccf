"""What can go wrong. Each fault is a small class of its own, on its own stream of draws."""

from simqueue.faults.base import Fault
from simqueue.faults.crash import Crash
from simqueue.faults.deploy import Deploy
from simqueue.faults.network import Network
from simqueue.faults.outage import Outage, Slowness
from simqueue.faults.partition import Partition
from simqueue.faults.pause import Pause
from simqueue.faults.rescuer_down import RescuerDown
from simqueue.faults.script import At

__all__ = [
    "At",
    "Crash",
    "Deploy",
    "Fault",
    "Network",
    "Outage",
    "Partition",
    "Pause",
    "RescuerDown",
    "Slowness",
]
