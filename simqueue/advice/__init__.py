"""From a log of jobs to a visibility timeout: what each one would do, and which to take."""

from __future__ import annotations

from simqueue.advice.recommendation import Advice, advise
from simqueue.advice.replay import Prediction
from simqueue.advice.timeouts import usual_timeouts

__all__ = ["Advice", "Prediction", "advise", "usual_timeouts"]
