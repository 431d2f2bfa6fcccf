"""Every notebook runs from top to bottom, and its prose says what its run shows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbclient
import nbformat
import numpy as np
import pytest

import simqueue as sq

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS_FOR_A_CELL = 120
IN_A_KERNEL = [
    path
    for path in NOTEBOOKS
    # All are run in a browser, and their code by test_lessons and test_later_lessons.
    if path.stem[:2] == "02" or os.environ.get("SIMQUEUE_LESSONS") == "all"
]


def read(path: Path) -> Any:
    """A notebook as nbformat's node."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def executed(path: Path, folder: Path) -> Any:
    """The notebook after a run in a kernel of its own, started in `folder`.

    A cell that fails, or takes longer than its time, raises with the cell and its traceback.
    """
    notebook = read(path)
    # Beside this package's own folder nothing of the user's settings is read or written.
    own = {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    client = nbclient.NotebookClient(
        notebook,
        timeout=SECONDS_FOR_A_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=os.environ | own)
    return notebook


def outputs(notebook: Any) -> dict[str, list[Any]]:
    """What each code cell showed, by the cell's id."""
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The lesson on the visibility timeout, executed."""
    return executed(
        ROOT / "notebooks" / "02_visibility_timeout.ipynb", tmp_path_factory.mktemp("lesson")
    )


@pytest.mark.parametrize("path", IN_A_KERNEL, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Every cell runs, without an error and without a warning, and nothing is left on stderr."""
    lesson = path.stem == "02_visibility_timeout"
    notebook = request.getfixturevalue("lesson") if lesson else executed(path, tmp_path)
    complaints = [
        output
        for shown in outputs(notebook).values()
        for output in shown
        if output.output_type == "error" or output.get("name") == "stderr"
    ]
    assert complaints == []
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_draws_with_the_package_only(path: Path) -> None:
    """Course code is about the model: it imports no plotting, and neither interact nor Output."""
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    for word in ("matplotlib", "plt.", "ipywidgets", "interact", "Output("):
        assert word not in code


def test_every_picture_of_the_lesson_has_a_text(lesson: Any) -> None:
    """Figures are images with an alt text that holds numbers."""
    pictures = [
        output.data["text/html"]
        for shown in outputs(lesson).values()
        for output in shown
        if "<img" in output.get("data", {}).get("text/html", "")
    ]
    assert len(pictures) == 7
    for picture in pictures:
        text = picture.partition('alt="')[2].partition('"')[0]
        assert any(letter.isdigit() for letter in text)


# Numbers in the prose of the lesson


def one_job(**changes: Any) -> sq.Result:
    """The run of the lesson's first scenario, with `changes`."""
    scenario = sq.Scenario(
        arrivals=sq.AllAtOnce(),
        jobs=1,
        work=sq.Fixed(90),
        workers=sq.Workers(count=3),
        broker=sq.brokers.generic(lease=30, late_ack="deletes"),
        handler=sq.handlers.naive,
    )
    return sq.simulate(scenario.replace(changes))


def charged_three_times() -> bool:
    """The customer of the story is charged at 90, 120 and 150 s, and the first ack counts."""
    result = one_job()
    return list(result.effects.time) == [90, 120, 150] and result.jobs.settled[0] == 90


def five_charges_and_dead() -> bool:
    """On SQS, five receives, five charges, all acks ignored, and the dead-letter queue."""
    result = one_job(broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=5))
    (outcome,) = result.jobs.outcome
    acks = set(result.deliveries.ack)
    return (len(result.effects), acks, outcome) == (5, {"ignored"}, "dead-lettered")


def half_below_10_and_one_in_100_above_90() -> bool:
    """The distribution is the one that the prose describes."""
    work = sq.LogNormal(median=10, p99=90)
    return bool(np.allclose(work.survival([10, 90]), [0.5, 0.01]))


def crash_waits_for_the_timeout() -> bool:
    """A job of 20 s whose worker dies at 12 s comes back at 120 s."""
    workers = sq.Workers(count=2, crash=sq.Crash(at=[(1, 12)]))
    result = one_job(**{"work": sq.Fixed(20), "workers": workers, "broker.lease": 120})
    return list(result.deliveries.received) == [0, 120]


def half_of_a_prefetched_batch_runs_again() -> bool:
    """Jobs of 28 s under 30 s: none is redelivered one by one, half or more if prefetched."""
    rates = [
        one_job(jobs=10, work=sq.Fixed(28), workers=sq.Workers(count=2, prefetch=prefetch)).figures[
            "duplicate_delivery_rate"
        ]
        for prefetch in (None, 10)
    ]
    return rates[0] == 0 and rates[1] >= 0.5


CLAIMS: list[tuple[str, Callable[[], bool]]] = [
    ("you charged me three times for one video", charged_three_times),
    ("When worker 1 is done at\n90 s its ack deletes the message", charged_three_times),
    ("after its fifth receive the job lands in the **dead-letter", five_charges_and_dead),
    ("perhaps five times: if each run outlasted the lease", five_charges_and_dead),
    (
        "half of them take less than 10 s, and one in a hundred",
        half_below_10_and_one_in_100_above_90,
    ),
    ("job takes 20 s, and its worker dies after 12 s", crash_waits_for_the_timeout),
    ("no job outlasts its timeout", half_of_a_prefetched_batch_runs_again),
    ("still half of the jobs run twice", half_of_a_prefetched_batch_runs_again),
]


@pytest.mark.parametrize(("sentence", "holds"), CLAIMS, ids=[claim[0][:30] for claim in CLAIMS])
def test_prose_is_what_the_run_shows(sentence: str, holds: Callable[[], bool]) -> None:
    """The sentence stands in the lesson, and a run bears it out."""
    cells = read(ROOT / "notebooks" / "02_visibility_timeout.ipynb").cells
    assert any(sentence in cell.source for cell in cells if cell.cell_type == "markdown")
    assert holds()


def printed(notebook: Any, cell: str) -> str:
    """What the cell of that id printed."""
    return "".join(output.get("text", "") for output in outputs(notebook)[cell])


def test_heartbeat_beats_both_ends_of_the_trade(lesson: Any) -> None:
    """The prose says that only crashed jobs are left: the printed share is below 1 %."""
    naive, heartbeat = printed(lesson, "heartbeat-run").splitlines()
    shares = [float(line.partition(": ")[2].partition("%")[0]) for line in (naive, heartbeat)]
    assert shares[0] > 10
    assert shares[1] < 1


def test_goals_of_the_slider_can_be_reached() -> None:
    """Each goal has a setting of the two sliders that meets it, and the start meets not all."""
    source = next(
        cell.source
        for cell in read(ROOT / "notebooks" / "02_visibility_timeout.ipynb").cells
        if cell.id == "scenario"
    )
    names: dict[str, Any] = {"sq": sq}
    exec(source, names)
    figures = {
        (timeout, p99): sq.simulate(
            names["scenario"].replace({"broker.visibility_timeout": timeout, "work.p99": p99}), 11
        ).figures
        for timeout, p99 in [(30, 90), (120, 90), (35, 20)]
    }
    twice, wait = "duplicate_delivery_rate", "recovery_mean"
    assert figures[30, 90][twice] > 0.01
    assert figures[120, 90][twice] <= 0.01
    assert figures[120, 90][wait] > 30
    assert figures[30, 90][wait] <= 30
    assert figures[35, 20][twice] <= 0.01
    assert figures[35, 20][wait] <= 30
