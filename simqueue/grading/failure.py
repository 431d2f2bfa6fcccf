"""How grading ends badly: a check that fails, or a submission that can't be graded at all."""

from __future__ import annotations

from simqueue.context import HandlerError


class CheckFailed(AssertionError):  # noqa: N818 - no error, but what was to be found out
    """A check failed: one sentence that says why, and perhaps the story of how it came to that."""

    def __init__(self, reason: str, story: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.story = story


class SubmissionFailed(HandlerError):  # noqa: N818 - as above
    """A submission can't be graded: it loops, exits, tampers, or does not compile.

    `verdict` is one or two words for a table; the message is one sentence. It is a `HandlerError`,
    so it ends a simulation at once.
    """

    def __init__(self, verdict: str, reason: str) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason
