"""Pictures of runs, curves and advice, reached as `simqueue.plot`.

Every function returns a matplotlib figure and shows nothing by itself. A figure's `alt_text` says
in words what it shows; as the last line of a notebook's cell it appears as an image that carries
this text. Times are in seconds.
"""

from __future__ import annotations

try:
    import matplotlib as mpl  # noqa: F401 - asked for once, here, in plain words
except ImportError as error:
    raise ImportError("Plots need matplotlib: pip install 'simqueue[plots]'.") from error

from simqueue.plotting.brokers import brokers
from simqueue.plotting.dashboard import dashboard
from simqueue.plotting.drawing import Drawing, alt_text, show
from simqueue.plotting.job_timeline import timeline
from simqueue.plotting.rates import duplicate_rate
from simqueue.plotting.recommended import advice
from simqueue.plotting.retries import backoff
from simqueue.plotting.strategies import strategies
from simqueue.plotting.studies import contention, recoveries

__all__ = [
    "Drawing",
    "advice",
    "alt_text",
    "backoff",
    "brokers",
    "contention",
    "dashboard",
    "duplicate_rate",
    "recoveries",
    "show",
    "strategies",
    "timeline",
]
