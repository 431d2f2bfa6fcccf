"""Exploration for people's own test suites: plain functions that raise AssertionError.

    from simqueue.testing import assert_exactly_once

    def test_the_receipt_handler():
        assert_exactly_once(handle_receipt)

The message of the error is the plan that breaks the handler, with the fewest faults, and the
timeline of what happens under it.

A handler is stopped at its calls through `ctx`, and nowhere else: one that calls a real driver
itself needs an adapter with the methods of `ctx` between them (docs/exploration.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.exploration import EXACTLY_ONCE, Promise, Report, explore

if TYPE_CHECKING:
    from simqueue.context import Handler

__all__ = ["assert_exactly_once", "assert_keeps", "explore"]


def assert_exactly_once(handler: Handler, **options: Any) -> Report:
    """Assert that no fault duplicates or loses an effect of `handler`, or leaves the job unsettled.

    Parameters
    ----------
    handler
        The code: an ``async def handler(job, ctx)``.
    options
        Those of `simqueue.explore`, such as ``work=``, ``broker=`` or ``faults_at_once=``.

    Returns
    -------
    Report
        Of all plans, if every one kept all promises.

    Raises
    ------
    AssertionError
        With the shortest breaking timeline as text.
    ValueError, HandlerError
        As `simqueue.explore`.
    """
    return assert_keeps(handler, *EXACTLY_ONCE, **options)


def assert_keeps(handler: Handler, *promises: str | Promise, **options: Any) -> Report:
    """Assert that `handler` keeps each of `promises` under every fault plan.

    A promise is "no duplicate effect", "nothing lost" or "settles", or a function that gets the
    `Result` of a run and returns True, False, or a sentence that says what was broken. Parameters,
    result and errors are otherwise as for `assert_exactly_once`.
    """
    report = explore(handler, promises=promises, **options)
    report.raise_if_broken()
    return report
