"""What all tests share: figures without a screen, and Hypothesis without clock or chance."""

from __future__ import annotations

import matplotlib as mpl
from hypothesis import settings

# Not by the environment variable: the notebook kernels that tests start would inherit it.
mpl.use("agg")

# The same examples on every run, and no example that fails only because the machine was busy.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
