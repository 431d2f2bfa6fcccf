"""Published studies of retries, rebuilt as small SimPy models and held against their numbers.

`aws_backoff` is the study behind *Exponential Backoff and Jitter*, `retries` and `collapse` are the
simulations behind two posts of Marc Brooker. Each has a model of one page, `run`, and `measure`,
which repeats it and gives intervals; `published` holds the numbers to meet. `docs/studies.md` has
them side by side (``python -m simqueue.studies.page`` writes it).
"""

from __future__ import annotations

from simqueue.studies import aws_backoff, collapse, published, retries

__all__ = ["aws_backoff", "collapse", "published", "retries"]
