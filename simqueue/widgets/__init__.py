"""Widgets for notebooks: sliders that move a curve, guesses that are kept, runs to watch again.

They need ipywidgets, and a notebook that is running: without a kernel there is nothing to see.
"""

from __future__ import annotations

try:
    import ipywidgets  # noqa: F401 - asked for once, here, in plain words
except ImportError as error:
    raise ImportError("Widgets need ipywidgets: pip install 'simqueue[course]'.") from error

from simqueue.widgets.incident_gallery import Gallery, gallery
from simqueue.widgets.prediction import Prediction, predict
from simqueue.widgets.quiz import Quiz, quiz
from simqueue.widgets.replaying import Replay, replay
from simqueue.widgets.tuning import Tune, tune

__all__ = [
    "Gallery",
    "Prediction",
    "Quiz",
    "Replay",
    "Tune",
    "gallery",
    "predict",
    "quiz",
    "replay",
    "tune",
]
