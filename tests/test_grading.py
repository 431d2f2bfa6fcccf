"""Grading: nothing that a submission does changes its marks; each misbehaviour has its word."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import simqueue as sq
from simqueue import learner
from simqueue.cli.app import cli
from simqueue.grading import CheckFailed, Limits, Submission, SubmissionFailed, progress
from simqueue.grading.classroom import COLUMNS, as_csv, grade_all, students_in
from simqueue.grading.exercise import Exercise, all_exercises, find, find_root
from simqueue.grading.page import as_html
from simqueue.grading.process import Child
from simqueue.grading.remote import RemoteHandler
from simqueue.grading.results import Check, Graded
from simqueue.grading.running import grade
from simqueue.grading.wire import Garbage, dumps, loads, pack_error, unpack_error

ROOT = Path(__file__).parents[1]
EXERCISES = ROOT / "exercises"
ATOMIC = Exercise(EXERCISES / "06_atomic_claim")
QUICK = Limits(step=0.6, total=5.0)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")

Submit = Callable[..., Submission]


@pytest.fixture
def submit(tmp_path: Path) -> Iterator[Submit]:
    """Hands in the text of a file."""
    handed_in: list[Submission] = []

    def hand_in(text: str, limits: Limits = QUICK) -> Submission:
        file = tmp_path / f"handler{len(handed_in)}.py"
        file.write_text(text, encoding="utf-8")
        handed_in.append(Submission(file, limits))
        return handed_in[-1]

    yield hand_in
    for submission in handed_in:
        submission.close()


def handler_that(does: str) -> str:
    """A submission whose handler does this, and charges."""
    lines = "".join(f"    {line}\n" for line in does.splitlines())
    return f"async def handler(job, ctx):\n{lines}    await ctx.payments.charge(job.customer, 5)\n"


# A handler at the other end of a pipe is like one in this process.


@pytest.mark.parametrize(
    "name",
    ["naive", "lock", "check_then_act", "reclaim", "reclaim_with_key", "one_transaction", "outbox"],
)
def test_a_remote_handler_is_explored_like_any_other(submit: Submit, name: str) -> None:
    """The same plans, the same breaches, the same story to the last line."""
    local = sq.explore(getattr(sq.handlers, name))
    submission = submit(f"from simqueue.handlers import {name} as handler\n")
    remote = submission.explore().report
    assert [(str(t.plan), t.broken) for t in remote.trials] == [
        (str(t.plan), t.broken) for t in local.trials
    ]
    if local.shortest is not None:
        assert remote.shortest is not None
        assert remote.shortest.timeline() == local.shortest.timeline()


def test_a_remote_handler_is_simulated_like_any_other(submit: Submit) -> None:
    """Crashes, retries and dead letters of many jobs: the same events."""
    scenario = sq.Scenario(
        arrivals=sq.Poisson(rate=1.0),
        jobs=60,
        work=sq.LogNormal(median=10, p99=90),
        workers=sq.Workers(count=8, crash=sq.Crash(mean_time_between=60, restart_after=5)),
        broker=sq.brokers.sqs(visibility_timeout=30, max_receive_count=3),
        handler=sq.handlers.reclaim,
    )
    here = sq.simulate(scenario, seed=2)
    there = submit("from simqueue.handlers import reclaim as handler\n").simulate(scenario, seed=2)
    assert there.records.table.tobytes() == here.records.table.tobytes()


def test_redis_and_sql_cross_the_pipe(submit: Submit) -> None:
    """Values, rows with their rowcount, transactions and errors."""
    submission = submit("""
from simqueue.context import UniqueViolation

async def handler(job, ctx):
    assert await ctx.redis.set("k", "v", nx=True, ex=5) is True
    assert await ctx.redis.set("k", "w", nx=True) is None
    assert await ctx.redis.get("k") == "v"
    inserted = await ctx.sql.execute("INSERT INTO t VALUES (:a)", {"a": 1})
    assert inserted.rowcount == 1
    try:
        async with ctx.sql.transaction("deferred") as tx:
            await tx.execute("INSERT INTO t VALUES (2)")
            await tx.execute("INSERT INTO t VALUES (1)")
    except UniqueViolation:
        pass
    assert await ctx.sql.execute("SELECT a FROM t") == [(1,)]
    assert (ctx.attempt, ctx.now) == (1, 0.0)
    await ctx.sleep(3)
    assert ctx.now == 3.0
    await ctx.payments.charge(job.customer, job.amount)
""")
    table = sq.services.SQL(schema="CREATE TABLE t (a INTEGER PRIMARY KEY)")
    scenario = sq.Scenario(
        arrivals=sq.AllAtOnce(), jobs=1, work=sq.Fixed(1.0), sql=table,
        broker=sq.brokers.generic(lease=30.0, max_receives=1), handler=sq.handlers.naive,
    )  # fmt: skip
    result = submission.simulate(scenario)
    assert result.jobs.outcome[0] == "acked", result.records.words


def test_a_crash_ends_the_memory_of_a_process(submit: Submit) -> None:
    """What a handler keeps in a global is gone after a crash, and not known to other workers."""
    report = (
        submit("""
done = set()

async def handler(job, ctx):
    if job.key not in done:
        await ctx.payments.charge(job.customer, job.amount)
        done.add(job.key)
""")
        .explore()
        .report
    )
    kinds = {trial.plan.kind for trial in report.trials if trial.broken}
    assert "crash" in kinds
    assert "pause" in kinds


def test_a_crash_runs_no_finally(submit: Submit) -> None:
    """Nor does anything of the coroutine run later: the lock of a dead worker stays."""
    report = (
        submit("""
async def handler(job, ctx):
    lock = await ctx.locks.acquire("it", ttl=86_400)
    if lock is None:
        raise RuntimeError("taken")
    try:
        await ctx.payments.charge(job.customer, job.amount, key=job.key)
    finally:
        await lock.release()
""")
        .explore()
        .report
    )
    crashed = [t for t in report.trials if t.plan.kind == "crash" and "settles" in t.broken]
    assert [str(t.plan) for t in crashed] == [
        "the worker crashes after locks.acquire of delivery 1",
        "the worker crashes after payments.charge of delivery 1",
    ]


def test_functions_are_called_with_plain_data(submit: Submit) -> None:
    """Many calls in one question; an exception is a failed check that names the line."""
    submission = submit("def f(x, y=1):\n    return {'sum': x + y}\n")
    assert submission.call("f", 1, 2.5) == {"sum": 3.5}
    assert submission.call_each("f", [[1], [2]]) == [{"sum": 2}, {"sum": 3}]
    with pytest.raises(CheckFailed, match=r"f\('a'\) raised TypeError: .* in line 2"):
        submission.call("f", "a")


# What a submission may not do.

MISBEHAVIOUR = {
    "loops": ("while True: pass", "too slow"),
    "exits": ("exit()", "exits"),
    "exits hard": ("import os; os._exit(0)", "exits"),
    "is killed": ("import os; os.abort()", "exits"),
    "forks": ("import os; os.fork()", "forbidden"),
    "starts a program": ("import subprocess; subprocess.run(['ls'])", "forbidden"),
    "prints a megabyte": ("print('x' * 1_000_000)", "prints too much"),
    "uses asyncio": ("import asyncio; await asyncio.sleep(1)", "not a handler"),
    "starts a task": ("import asyncio; asyncio.create_task(ctx.work())", "not a handler"),
    "reads a file": ("open('/etc/hostname').read()", "forbidden"),
    "writes a file": ("open('mine.txt', 'w')", "forbidden"),
    "swallows the refusal": (
        "try: open('mine.txt', 'w')\nexcept BaseException: pass",
        "forbidden",
    ),
    "opens a socket": ("import socket; socket.socket()", "forbidden"),
    "kills the grader": ("import os; os.kill(os.getppid(), 9)", "forbidden"),
    "removes a folder": ("import shutil; shutil.rmtree('/tmp/none')", "forbidden"),
    "loads a library": ("import ctypes; ctypes.CDLL(None)", "forbidden"),
    "passes on a function": ("await ctx.payments.charge(open, 3)", "not plain data"),
    "writes into the pipe": (
        "import os\nfor place in range(3, 30):\n"
        "    try: os.write(place, b'{\"returned\": true}\\n' * 2)\n    except OSError: pass",
        "tampering",
    ),
    "floods the pipe": (
        "import os\nwhile True:\n    for place in range(3, 30):\n"
        "        try: os.write(place, b'x' * 9_000)\n        except OSError: pass",
        "tampering",
    ),
}


@linux_only
@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_misbehaviour_in_a_handler_has_its_word(submit: Submit, name: str) -> None:
    """One sentence, and no check of it passes any more."""
    does, verdict = MISBEHAVIOUR[name]
    submission = submit(handler_that(does))
    for _ in range(2):
        with pytest.raises(SubmissionFailed) as caught:
            submission.explore()
        assert caught.value.verdict == verdict, str(caught.value)
        assert str(caught.value).endswith((".", "?"))
        assert "\n" not in str(caught.value)


UNGRADEABLE = {
    "syntax error": ("def handler(:", "syntax error"),
    "raises": ("1 / 0", "fails to import"),
    "loops": ("while True: pass", "too slow"),
    "exits": ("raise SystemExit(3)", "exits"),
    "no handler": ("x = 1", "nothing to grade"),
    "no async": ("def handler(job, ctx): return 3", "not a handler"),
    "a generator": ("async def handler(job, ctx):\n    yield 1", "not a handler"),
    "too few parameters": ("async def handler(job): pass", "not a handler"),
}


@pytest.mark.parametrize("name", UNGRADEABLE)
def test_a_file_that_cannot_be_graded_has_its_word(submit: Submit, name: str) -> None:
    """What goes wrong before the first step."""
    text, verdict = UNGRADEABLE[name]
    with pytest.raises(SubmissionFailed) as caught:
        submit(text).explore()
    assert caught.value.verdict == verdict, str(caught.value)


def test_a_missing_file_is_nothing_handed_in() -> None:
    """There is nothing to run."""
    with pytest.raises(SubmissionFailed, match="no file") as caught:
        Submission(None).explore()
    assert caught.value.verdict == "nothing handed in"


@linux_only
def test_memory_has_a_limit(submit: Submit) -> None:
    """A gigabyte is not there: the attempt fails, and nothing else does."""
    submission = submit(handler_that("x = bytearray(10**9)"))
    with pytest.raises(CheckFailed, match="MemoryError"):
        submission.explore().keeps()


@linux_only
def test_threads_cannot_be_started(submit: Submit) -> None:
    """Nothing of a submission runs beside the grader's questions."""
    submission = submit(handler_that("import threading; threading.Thread(target=print).start()"))
    with pytest.raises((CheckFailed, SubmissionFailed), match="thread"):
        submission.explore().keeps()


def test_the_environment_is_clean(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret of the grader's reaches a submission, nor does where it comes from."""
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    names = submit("import os\ndef f(): return [list(os.environ), os.getcwd()]\n").call("f")
    assert "SECRET_TOKEN" not in names[0]
    assert str(ROOT) not in names[1]


def test_what_was_printed_is_kept(submit: Submit) -> None:
    """For the learner to look at."""
    submission = submit("def f(): print('here')\n")
    submission.call("f")
    assert submission.printed() == "here\n"


@linux_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can")
def test_a_grader_that_is_root_gives_each_submission_a_user_of_its_own(submit: Submit) -> None:
    """So it can neither read another's copy nor send signals to it."""
    text = "import os\ndef f(): return [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]\n"
    first, second = submit(text).call("f"), submit(text).call("f")
    assert 0 not in first[:3]
    assert first[3] == []
    assert first[0] != second[0]


# The protocol.


@pytest.mark.parametrize("line", [b"\xff\n", b"{", b"[" * 100_000, b'{"$": "claim", "value": "?"}'])
def test_garbage_is_told_apart(line: bytes) -> None:
    """What is no message raises one error, whatever is wrong with it."""
    with pytest.raises(Garbage):
        loads(line)


@pytest.mark.parametrize(
    "message",
    [
        {"call": ["payments", "__init__"], "args": [], "options": {}},
        {"call": ["_world", "clock"], "args": [], "options": {}},
        {"call": "payments.charge", "args": [], "options": {}},
        {"call": ["payments", "charge"], "args": 3, "options": {}},
        {"handle": [0, "release"], "args": [], "options": {}},
        {"enter": "payments", "args": [], "options": {}},
        {"nothing": 1, "args": [], "options": {}},
        {"raised": 3},
    ],
)
def test_only_what_is_on_the_list_can_be_asked(
    submit: Submit, monkeypatch: pytest.MonkeyPatch, message: dict[str, object]
) -> None:
    """Nothing that a submission names is looked up, unless it is a method of ctx."""
    child = submit(handler_that("pass")).child
    ask = Child.ask

    def forged(self: Child, question: dict[str, object], seconds: float | None = None) -> object:
        return message if question["do"] in ("handle", "go on") else ask(self, question, seconds)

    monkeypatch.setattr(Child, "ask", forged)
    with pytest.raises((SubmissionFailed, Garbage)):
        sq.explore(RemoteHandler(child))


def test_exceptions_cross_by_name() -> None:
    """Those of the library as themselves, others as an exception of that name."""
    again = unpack_error(loads(dumps(pack_error(sq.Retry("later", after=4)))))
    assert (type(again), str(again), again.after) == (sq.Retry, "later", 4.0)  # type: ignore[attr-defined]
    assert type(unpack_error({"name": "Odd", "text": "x"})).__name__ == "Odd"
    assert type(unpack_error({"name": "os.system('ls')", "text": "x"})).__name__ == "Exception"


# pytest, hints, and the class.


def run_pytest(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """What pytest prints."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    environment = {
        **os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "",
    }  # fmt: skip
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def test_pytest_grades_the_stub_politely(tmp_path: Path) -> None:
    """Points, the reason, the timeline and a hint; no line of the grader's code."""
    xml = tmp_path / "junit.xml"
    finished = run_pytest("exercises/06_atomic_claim", f"--junitxml={xml}")
    assert finished.returncode == 1
    assert "FAIL 0/6  nobody is charged twice" in finished.stdout
    assert "EFFECT: charge, for the 2nd time!" in finished.stdout
    assert "simqueue hint 06" in finished.stdout
    assert "def test_" not in finished.stdout
    assert "Traceback" not in finished.stdout
    assert "charge applied 2 times" in xml.read_text(encoding="utf-8")
    assert progress.load(ATOMIC).failed == ["nobody is charged twice"]


def test_pytest_grades_the_solutions() -> None:
    """All of them, green; the learner's progress is not touched."""
    finished = run_pytest("exercises", "--solutions")
    assert finished.returncode == 0, finished.stdout
    of = 10 * len(all_exercises(EXERCISES))
    assert f"Together: {of} of {of} points." in finished.stdout
    assert not learner.state_file().exists()


def test_pytest_grades_on_several_processes() -> None:
    """With pytest-xdist the summary is the same."""
    pytest.importorskip("xdist")
    finished = run_pytest("exercises/06_atomic_claim", "--solutions", "-p", "xdist", "-n", "2")
    assert finished.returncode == 0, finished.stdout
    assert "06 atomic claim: 10 of 10 points" in finished.stdout


def test_hints_unfold_one_by_one() -> None:
    """First those that help with what failed last; then the others; then no more."""
    failing = Check(name="no session is forgotten", of=2, passed=False, reason="it was")
    progress.note(ATOMIC, Graded(exercise=ATOMIC.name, checks=(failing,)))
    call = CliRunner().invoke
    first = call(cli, ["hint", "06"]).output
    assert first.startswith("Hint 1 of 3")
    assert ATOMIC.hints[2].text in first
    assert ATOMIC.hints[0].text in call(cli, ["hint", "6"]).output
    assert ATOMIC.hints[1].text in call(cli, ["hint", "atomic_claim"]).output
    assert "simqueue hint 06 --all" in call(cli, ["hint", "06"]).output
    assert all(hint.text in call(cli, ["hint", "06", "--all"]).output for hint in ATOMIC.hints)
    assert call(cli, ["hint", "--reset"]).exit_code == 0
    assert ATOMIC.hints[2].text in call(cli, ["hint", "06"]).output
    missing = call(cli, ["hint", "77"])
    assert missing.exit_code == 2
    assert "exercise must be one of" in missing.output


def hand_in(folder: Path, student: str, text: str, name: str = "06_atomic_claim.py") -> None:
    """Put a student's file into the folder of submissions."""
    file = folder / student / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@linux_only
def test_a_class_is_graded(tmp_path: Path) -> None:
    """Right, wrong and hostile ones, in one command, each with its marks and its reason."""
    folder = tmp_path / "submissions"
    right = ATOMIC.solution.read_text(encoding="utf-8")
    stub = ATOMIC.stub.read_text(encoding="utf-8")
    hand_in(folder, "ann", right)
    hand_in(folder, "bob", stub, "06_atomic_claim/handler.py")
    hand_in(folder, "cem", "while True: pass\n")
    hand_in(folder, "dee", handler_that("exit()"))
    hand_in(folder, "eve", f"open({str(folder / 'ann' / '06_atomic_claim.py')!r}, 'w')\n")
    hand_in(folder, "fay", handler_that("raise ValueError('<script>=1</script>')"))
    (folder / "gus").mkdir()
    (folder / "hal").mkdir()
    (folder / "hal" / "06_atomic_claim.py").symlink_to(folder / "ann" / "06_atomic_claim.py")
    csv_file, html_file = tmp_path / "grades.csv", tmp_path / "report.html"
    arguments = ["grade", str(folder), "--exercises", str(EXERCISES)]
    arguments += ["--csv", str(csv_file), "--html", str(html_file)]
    finished = CliRunner().invoke(cli, arguments)
    assert finished.exit_code == 0, finished.output
    rows = [line.split(",")[:5] for line in csv_file.read_text("utf-8").splitlines()]
    assert rows[0] == list(COLUMNS[:5])
    assert {row[0]: (row[2], row[3], row[4]) for row in rows[1:]} == {
        "ann": ("10", "10", "full points"),
        "bob": ("4", "10", "some points"),
        "cem": ("0", "10", "too slow"),
        "dee": ("0", "10", "exits"),
        "eve": ("0", "10", "forbidden"),
        "fay": ("0", "10", "no points"),
        "gus": ("0", "10", "nothing handed in"),
        "hal": ("0", "10", "nothing handed in"),
    }
    page = html_file.read_text("utf-8")
    assert "<script>" not in page
    assert "EFFECT: charge, for the 2nd time!" in page
    assert (folder / "ann" / "06_atomic_claim.py").read_text("utf-8") == right


def test_a_folder_of_exercises_is_one_student(tmp_path: Path) -> None:
    """Also one of the repository's own form."""
    hand_in(tmp_path, "me", "x = 1\n")
    assert list(students_in(tmp_path / "me")) == ["me"]
    with pytest.raises(ValueError, match="SUBMISSIONS must be a folder"):
        students_in(tmp_path / "nobody")


def test_a_grading_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """By the clock on the wall, whatever the submission does."""
    hand_in(tmp_path, "ann", "async def handler(job, ctx): pass\n")
    found = grade(ATOMIC, tmp_path / "ann", timeout=0.05)
    assert (found.points, found.verdict) == (0, "too slow")


def test_grades_are_plain_csv_and_html() -> None:
    """A cell that a spreadsheet would take for a formula is not one; markup is text."""
    from simqueue.grading.classroom import Mark

    check = Check(name="a", of=3, passed=False, reason="=1+1", story="<b>")
    mark = Mark(student="<i>", graded=Graded(exercise="06_atomic_claim", checks=(check,)))
    assert as_csv([mark]).splitlines()[1] == "<i>,06_atomic_claim,0,3,no points,'=1+1"
    page = as_html([mark])
    assert "<b>" not in page
    assert "<i>" not in page


def test_a_notebook_checks_the_saved_file(tmp_path: Path) -> None:
    """A small table; the story can be unfolded."""
    copy = tmp_path / "exercises"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(EXERCISES / ATOMIC.name, copy / ATOMIC.name, ignore=ignored)
    shutil.copy(EXERCISES / "conftest.py", copy)
    found = sq.exercises.check("06", copy)
    assert (found.points, found.of) == (4, 10)
    assert "<details>" in found._repr_html_()
    assert "EFFECT: charge, for the 2nd time!" in str(found)
    shutil.copy(ATOMIC.solution, copy / ATOMIC.name / "handler.py")
    assert sq.exercises.check(6, copy).passed


def test_exercises_are_found_from_below(tmp_path: Path) -> None:
    """From a folder within, from the repository, by number or by name."""
    assert find_root(ATOMIC.folder) == EXERCISES
    assert find_root(ROOT) == EXERCISES
    assert find("6", EXERCISES) == find("06_atomic_claim", EXERCISES) == ATOMIC
    with pytest.raises(ValueError, match="exercise must be one of"):
        find("77", EXERCISES)
    assert grade_all({}, []) == []
    assert json.loads(json.dumps(Graded(exercise="x", checks=()).as_data()))["checks"] == []
    assert tmp_path.exists()
