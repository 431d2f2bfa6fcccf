"""Job logs in: `read` turns a CSV file of real jobs into a `JobLog` that can be replayed."""

from __future__ import annotations

from simqueue.trace.log import JobLog, SkippedRow
from simqueue.trace.reader import read

__all__ = ["JobLog", "SkippedRow", "read"]
