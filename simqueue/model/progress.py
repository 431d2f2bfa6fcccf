"""Runs that would not end are stopped, with a sentence that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.message import Message

MOST_RECEIVES = 10_000
"""A message received this often is taken to go round for ever, unless the run has a horizon."""


class NeverSettles(RuntimeError):  # noqa: N818 - it names what the run does
    """The run would not end: a job is delivered again and again."""


def check_progress(message: Message, now: float, *, endless: bool) -> None:
    """Raise NeverSettles if `message` goes round and round; called once in MOST_RECEIVES.

    `endless`: a horizon ends the run, so going round is fine as long as time goes on.
    """
    often = f"Job {message.job.id} was delivered {message.receives - 1:,} times"
    if not endless:
        raise NeverSettles(
            f"{often} and is still not settled: give the scenario a horizon, or the broker a "
            "limit of receives."
        )
    if message.checked_at == now:
        raise NeverSettles(
            f"{often}, many of them at one instant: it fails at once and is retried at once; "
            "give the broker a retry delay."
        )
    message.checked_at = now
    message.patience += MOST_RECEIVES
