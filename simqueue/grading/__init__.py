"""Grading of exercises: the learner's code in one process, everything that counts in another."""

from simqueue.grading.exercise import Exercise, Hint, all_exercises, find, find_root
from simqueue.grading.failure import CheckFailed, SubmissionFailed
from simqueue.grading.process import Limits
from simqueue.grading.results import Check, Graded
from simqueue.grading.submission import Exploration, Submission, acked, check, random_source

__all__ = [
    "Check",
    "CheckFailed",
    "Exercise",
    "Exploration",
    "Graded",
    "Hint",
    "Limits",
    "Submission",
    "SubmissionFailed",
    "acked",
    "all_exercises",
    "check",
    "find",
    "find_root",
    "random_source",
]
