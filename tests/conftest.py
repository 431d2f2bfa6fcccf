"""What all tests share: no screen, no clock or chance in Hypothesis, no learner's own progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest
from hypothesis import settings

from simqueue import learner

if TYPE_CHECKING:
    from collections.abc import Iterator

# Not by the environment variable: the notebook kernels that tests start would inherit it.
mpl.use("agg")

# The same examples on every run, and no example that fails only because the machine was busy.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


FIRST = ("test_course", "test_exercises", "test_against_theory", "test_effects_against_theory")
"""The longest files: one that waits for a browser runs beside one that computes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest files begin, so that two processes end at about the same time."""
    place = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(FIRST)))


@pytest.fixture(scope="session", autouse=True)
def place_of_progress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Guesses and points are kept apart from those of whoever runs the tests.

    By the environment, which the kernels and browsers that tests start inherit.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMQUEUE_STATE", str(tmp_path_factory.mktemp("progress")))
        yield


@pytest.fixture(autouse=True)
def no_progress() -> Iterator[None]:
    """Every test is a new learner's."""
    yield
    learner.forget_all()
