"""The course as a whole: its lessons, read from their notebooks, and how far a learner is."""

from simqueue.course.notebooks import Lesson, find_lesson, find_notebooks, lessons
from simqueue.course.standings import Overview, Standing, overview

__all__ = [
    "Lesson",
    "Overview",
    "Standing",
    "find_lesson",
    "find_notebooks",
    "lessons",
    "overview",
]
