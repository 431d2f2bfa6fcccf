"""The command line: what it prints, what it saves, and how every mistake ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from runs import scenario

import simqueue as sq
from simqueue import cli as command_line
from simqueue.cli import lab
from simqueue.cli.app import cli
from simqueue.cli.values import values_in
from simqueue.course import notebooks
from simqueue.figures import DESCRIPTIONS
from simqueue.kinds import plain_value
from simqueue.scenario_file import dumps, load
from simqueue.story import story

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "examples" / "visibility_timeout.toml"
LOG = ROOT / "examples" / "thumbnails.csv"
START = [sys.executable, "-c", "from simqueue.cli import main; main()"]
WIDTH = 80


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to be in, a narrow terminal, and sweeps in this process: few runs each."""
    monkeypatch.setattr("simqueue.pool._own_executor", lambda _runs: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def call(*arguments: object) -> Result:
    """What a command printed, and its exit code; an exception that escapes is an error."""
    return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)


def said(*arguments: object) -> str:
    """What a command that must work prints on standard output."""
    called = call(*arguments)
    assert called.exit_code == 0, called.output
    return called.stdout


def read_back(path: str) -> pd.DataFrame:
    """A saved table with its floats to the last bit, which pandas' own reader may round."""
    table = pd.read_csv(path, dtype=str)
    numbers = [name for name in table if name not in ("handler", "figure")]
    return table.assign(**{name: table[name].map(float) for name in numbers})


def started(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, as from a shell."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*START, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        **options,
    )


# Help


def test_the_help_begins_with_a_question_and_names_the_commands():
    """What this is for, and where to begin."""
    text = said("--help")
    assert text.split("\n\n")[1].strip().endswith("?")
    assert set(re.findall(r"^  (\w+)  ", text.split("Commands:")[1], flags=re.M)) == {
        "run", "sweep", "advise", "brokers", "incident", "lab", "hint", "progress", "grade",
    }  # fmt: skip


@pytest.mark.parametrize(
    "command",
    ["run", "sweep", "advise", "brokers", "incident", "lab", "hint", "progress", "grade"],
)
def test_each_help_teaches(command):
    """A question first, then two examples, in 80 columns."""
    text = said(command, "--help")
    question = " ".join(text.split("\n\n")[1].split())
    assert question.endswith("?")
    assert len(re.findall(rf"^    simqueue {command}", text, flags=re.M)) == 2
    assert max(map(len, text.splitlines())) <= WIDTH
    assert call(command, "-h").stdout == text


@pytest.mark.parametrize("command", ["run", "sweep", "advise"])
def test_the_examples_of_the_help_work(command, folder):
    """Each is run as printed, where it needs no file of the reader's own."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    text = said(command, "--help")
    for line in re.findall(rf"^    simqueue ({command} .*[^\\])$", text, flags=re.M):
        quicker = {"sweep": "--replications 1 --jobs 50", "advise": "--timeouts 30,150"}
        said(*line.split(), *quicker.get(command, "").split())


def test_the_version_is_that_of_the_package():
    """For reports."""
    assert said("--version") == f"simqueue {sq.__version__}\n"


# run


def test_json_is_the_run_of_the_api():
    """Figures, scenario, seed and version, and nothing but JSON; NaN is null."""
    printed = json.loads(said("run", SCENARIO, "--jobs", 50, "--seed", 3, "--json"))
    expected = sq.simulate(load(SCENARIO).replace({"jobs": 50}), 3)
    assert printed["simqueue"] == sq.__version__
    assert printed["seed"] == 3
    assert printed["figures"].keys() == DESCRIPTIONS.keys()
    for name, value in expected.figures.items():
        assert printed["figures"][name] == (None if pd.isna(value) else value), name
    assert printed["figures"]["recovery_mean"] is None
    assert printed["duration"] == expected.duration
    assert printed["scenario"]["broker"] == {
        "kind": "sqs", "visibility_timeout": 30, "max_receive_count": 5, "delay_seconds": 0,
        "message_retention_period": 345_600, "duplicates": 0,
    }  # fmt: skip


def test_json_has_no_word_for_infinity(folder):
    """It is the text "Infinity", since JSON has no such number."""
    (folder / "q.toml").write_text(dumps(scenario(prefetch=float("inf"))))
    printed = json.loads(said("run", "q.toml", "--json", "--timeline", 0))
    assert printed["scenario"]["workers"]["prefetch"] == "Infinity"
    assert printed["story"] == story(sq.simulate(load("q.toml")), 0).splitlines()


def test_the_table_explains_every_figure():
    """All of them, each with its meaning, within 80 columns; and a job that is worth a look."""
    text = said("run", SCENARIO, "--seed", 1)
    flat = " ".join(text.split())
    for name, meaning in DESCRIPTIONS.items():
        assert re.search(rf"^{name} +\S+", text, flags=re.M)
        assert meaning.split()[0] in flat
    assert max(map(len, text.splitlines())) <= WIDTH
    figures = sq.simulate(load(SCENARIO), 1).figures
    assert f"duplicate_effects {figures['duplicate_effects']:,} " in flat
    assert f"duplicate_effect_rate {100 * figures['duplicate_effect_rate']:.2f}% " in flat
    job = int(re.search(r"Job (\d+) had its effect more than once", text)[1])
    assert "for the 2nd time!" in said("run", SCENARIO, "--seed", 1, "--timeline", job)


def test_a_timeline_ends_the_output():
    """The story of that job, below the figures."""
    text = said(
        "run", "--jobs", 1, "--arrivals", "all_at_once", "--work", "fixed:90", "--workers", 3
    )
    told = said(
        "run", "--jobs", 1, "--arrivals", "all_at_once", "--work", "fixed:90", "--workers", 3,
        "--timeline", 0,
    )  # fmt: skip
    assert "Add --timeline 0." in text
    assert told.endswith("Dead-lettered at 150 s: 5 deliveries, 5 effects (4 too many).\n")


def test_a_horizon_says_what_it_cut():
    """How many jobs were on their way."""
    text = " ".join(said("run", "--horizon", 20, "--jobs", 100).split())
    assert re.search(r"The horizon, 20 s, cut the run: \d+ jobs were not published yet", text)


FLAGS = [
    (["--jobs", "7"], {"jobs": 7}),
    (["--rate", "5"], {"arrivals": sq.Poisson(5)}),
    (["--arrivals", "evenly_spaced:interval=2"], {"arrivals": sq.EvenlySpaced(interval=2)}),
    (["--arrivals", "all_at_once"], {"arrivals": sq.AllAtOnce()}),
    (["--work", "lognormal:median=1,p95=4"], {"work": sq.LogNormal(median=1, p95=4)}),
    (["--work", "fixed:90"], {"work": sq.Fixed(90)}),
    (["--work", "Exponential:mean=9"], {"work": sq.Exponential(9)}),
    (
        ["--workers", "2", "--concurrency", "3", "--prefetch", "inf"],
        {"workers": sq.Workers(count=2, concurrency=3, prefetch=float("inf"))},
    ),
    (["--visibility-timeout", "45"], {"broker.visibility_timeout": 45}),
    (["--max-receives", "none"], {"broker.max_receive_count": None}),
    (["--broker", "generic"], {"broker": sq.brokers.generic(max_receives=5)}),
    (
        ["--lease", "9", "--late-ack", "deletes", "--max-receives", "2"],
        {"broker": sq.brokers.generic(lease=9, late_ack="deletes", max_receives=2)},
    ),
    (["--lease", "none"], {"broker": sq.brokers.generic(lease=None, max_receives=5)}),
    (["--handler", "claim"], {"handler": sq.handlers.claim}),
    (["--ack-lost", "0.1"], {"network": sq.Network(ack_lost=0.1)}),
    (
        ["--crash-every", "60", "--restart-after", "3"],
        {"workers.crash": sq.Crash(mean_time_between=60, restart_after=3)},
    ),
    (["--horizon", "99", "--warmup", "9"], {"horizon": 99, "warmup": 9}),
    (["--set", "workers.count=3", "--set", "warmup=2"], {"workers.count": 3, "warmup": 2}),
    (["--set", "work=fixed:3", "--set", "handler=claim"],
     {"work": sq.Fixed(3), "handler": sq.handlers.claim}),
    (["--set", "broker=generic", "--set", "work_per=attempt"],
     {"broker": sq.brokers.generic(), "work_per": "attempt"}),
    (["--set", "faults=pause:seconds=9,mean_time_between=60"],
     {"faults": [sq.Pause(seconds=9, mean_time_between=60)]}),
    (["--set", "payments.latency=exponential:2", "--set", "store.latency=0.5"],
     {"payments.latency": sq.Exponential(2), "store.latency": 0.5}),
    (["--lease", "9", "--set", "broker.retry_delay=full_jitter:base=1,cap=60"],
     {"broker": sq.brokers.generic(
         lease=9, max_receives=5, retry_delay=sq.backoff.FullJitter(base=1, cap=60))}),
    (["--set", "workers.crash.mean_time_between=60"],
     {"workers.crash": sq.Crash(mean_time_between=60)}),
]  # fmt: skip


@pytest.fixture
def simulated(monkeypatch):
    """The scenarios that `run` simulates, instead of simulating them."""
    seen = []

    def only_look(what, seed=0):
        seen.append(what)
        raise sq.NeverSettles("enough")

    monkeypatch.setattr("simqueue.simulation.simulate", only_look)
    return seen


@pytest.mark.parametrize(("flags", "changes"), FLAGS, ids=[" ".join(flags) for flags, _ in FLAGS])
def test_flags_change_the_default(flags, changes, simulated):
    """Each flag changes what it is named after, and nothing else."""
    call("run")
    call("run", *flags)
    default, changed = simulated
    assert default == load(SCENARIO).replace({"workers.crash": None})
    assert changed == default.replace(changes)


def test_flags_change_a_file(simulated):
    """What they do not name stays as the file has it; --set has the last word."""
    call("run", SCENARIO, "--visibility-timeout", 60, "--rate", 1, "--crash-every", 50)
    call("run", SCENARIO, "--workers", 3, "--set", "workers.count=4", "--broker", "generic")
    there = load(SCENARIO)
    assert simulated == [
        there.replace(
            {
                "broker.visibility_timeout": 60,
                "arrivals.rate": 1,
                "workers.crash.mean_time_between": 50,
            }
        ),
        there.replace({"workers.count": 4, "broker": sq.brokers.generic()}),
    ]


def test_a_handler_of_ones_own_is_found_in_this_folder(folder):
    """`module:function`, as one would import it here."""
    (folder / "cli_handlers.py").write_text(
        "async def twice(job, ctx):\n"
        "    await ctx.payments.charge(job.customer, 1)\n"
        "    await ctx.payments.charge(job.customer, 1)\n"
    )
    printed = json.loads(said("run", "--jobs", 5, "--handler", "cli_handlers:twice", "--json"))
    assert printed["figures"]["duplicate_effects"] == 5
    assert printed["scenario"]["handler"] == "cli_handlers:twice"


# sweep


SWEPT = ["--jobs", 40, "--work", "exponential:5", "--workers", 4, "--replications", 2]


def test_the_csv_of_a_sweep_is_the_table_of_the_api(folder):
    """All points, figures and intervals, to the last digit, with names for handlers."""
    said(
        "sweep", *SWEPT, "--lease", 5, "--over", "broker.lease=5:15:5",
        "--over", "handler=naive,claim", "--seed", 7, "--csv", "curve.csv",
    )  # fmt: skip
    what = sq.Scenario(
        arrivals=sq.Poisson(2), jobs=40, work=sq.Exponential(5), workers=sq.Workers(count=4),
        broker=sq.brokers.generic(lease=5, max_receives=5), handler=sq.handlers.naive,
    )  # fmt: skip
    both = [sq.handlers.naive, sq.handlers.claim]
    expected = sq.sweep(
        what, {"broker.lease": [5, 10, 15], "handler": both}, replications=2, seed=7
    )
    expected["handler"] = [each.__name__ for each in expected["handler"]]
    saved = read_back("curve.csv")
    pd.testing.assert_frame_equal(saved, expected, check_exact=True, check_dtype=False)


def test_a_sweep_prints_means_with_intervals():
    """A row for each point, a column for each parameter and figure."""
    over = ["--over", "broker.visibility_timeout=5,20", "--figure", "duplicate_delivery_rate"]
    text = said("sweep", *SWEPT, *over)
    rows = re.findall(r"^ *(\d+) +(\d+\.\d\d)% ± (\d+\.\d\d) *$", text, flags=re.M)
    assert [row[0] for row in rows] == ["5", "20"]
    what = load(SCENARIO).replace(
        {
            "jobs": 40, "work": sq.Exponential(5), "workers": sq.Workers(count=4),
            "broker.visibility_timeout": 5,
        }
    )  # fmt: skip
    curve = sq.sweep(what, {"broker.visibility_timeout": [5]}, replications=2)
    row = curve[curve.figure == "duplicate_delivery_rate"].iloc[0]
    assert rows[0][1:] == (f"{100 * row['mean']:.2f}", f"{100 * row['half_width']:.2f}")
    assert "Each point: 2 runs" in text


def test_a_sweep_may_begin_without_crashes():
    """`none` is a value like any other, and shown as such."""
    text = said("sweep", *SWEPT, "--over", "workers.crash.mean_time_between=none,50")
    assert re.search(r"^ *none .*-$", text, flags=re.M)
    assert "recovery mean" in " ".join(text.split())


def test_the_curve_of_a_sweep_is_saved(folder):
    """In the format of its ending, marked as ours, and nothing else is left there."""
    over = ["--over", "broker.visibility_timeout=5,20"]
    text = said("sweep", *SWEPT, *over, "--plot", "curve.png")
    assert text.endswith("Curve: curve.png\n")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    said("sweep", *SWEPT, *over, "--plot", "curve.svg")
    assert "<svg" in (folder / "curve.svg").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["curve.png", "curve.svg"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("30,60,90", [30, 60, 90]),
        ("5:20:5", [5, 10, 15, 20]),
        ("5:22:5", [5, 10, 15, 20]),
        ("0.1:0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("30:10:-10", [30, 20, 10]),
        ("none, 5", [None, 5]),
        ("30", [30]),
    ],
)
def test_lists_of_values(text, values):
    """Commas, or first:last:step with the last one included, in exact decimals."""
    assert values_in("--over", text, plain_value) == values


@pytest.mark.parametrize("text", ["", "5,", "5:1:1", "1:5:0", "1:2:x", "0:1:1e-9", "1:inf:1"])
def test_lists_that_make_no_sense(text):
    """One sentence that names the option and shows how to write it."""
    with pytest.raises(ValueError, match=r"^--over must be .*first:last:step.*, not"):
        values_in("--over", text, plain_value)


# advise


@pytest.fixture(scope="module")
def advice():
    """What the API says of the example log at two timeouts."""
    return sq.advise(sq.trace.read(LOG), workers=4, timeouts=[30, 150])


ADVISE = ["advise", LOG, "--workers", 4, "--timeouts", "30,150"]


def test_advise_reports_and_saves_a_figure(folder, advice):
    """What was read, the table, the recommendation with its reason, and where the figure is."""
    text = said(*ADVISE)
    flat = " ".join(text.split())
    assert " ".join(advice.log.report().split()) in flat
    assert "Set the visibility timeout to 150 s." in flat
    assert advice.reason in flat
    assert advice.heartbeat in flat
    assert all(f"Warning: {each}" in flat for each in advice.warnings)
    assert re.search(r"^ +30 s +4\.2% +2\.4% ", text, flags=re.M)
    assert re.search(r"^> 150 s +0\.076% +0% ", text, flags=re.M)
    assert text.endswith("Figure: thumbnails-advice.png\n")
    assert max(map(len, text.splitlines())) <= WIDTH
    assert [path.name for path in folder.iterdir()] == ["thumbnails-advice.png"]
    assert (folder / "thumbnails-advice.png").read_bytes().startswith(b"\x89PNG")


def test_advise_as_json_and_csv(folder, advice):
    """The same numbers; JSON saves no figure unless one is named."""
    printed = json.loads(said(*ADVISE, "--json", "--csv", "table.csv"))
    assert [path.name for path in folder.iterdir()] == ["table.csv"]
    assert pd.DataFrame(printed["predictions"]).equals(advice.table)
    pd.testing.assert_frame_equal(
        read_back("table.csv"), advice.table, check_exact=True, check_dtype=False
    )
    assert printed["recommendation"] == 150
    assert printed["reason"] == advice.reason
    assert printed["log"]["jobs"] == len(advice.log)
    assert printed["log"]["skipped"] == dict(advice.log.skipped)
    assert printed["figure"] is None
    named = json.loads(said(*ADVISE, "--json", "--plot", "mine.svg"))
    assert named["figure"] == "mine.svg"
    assert (folder / "mine.svg").exists()


def test_advise_reads_columns_by_name(folder):
    """Whatever they are called, in whatever unit."""
    (folder / "jobs.csv").write_text("when;ms;how\n0;5000;ok\n10;7000;bad\n20;nonsense;ok\n")
    columns = ["--created", "when", "--duration", "ms", "--duration-unit", "ms", "--status", "how"]
    text = said("advise", "jobs.csv", "--workers", 1, "--no-plot", *columns, "--delimiter", ";")
    assert "Left out 1 of 3 rows:" in text
    assert "longest 7 s" in text
    only = said("advise", "jobs.csv", "--workers", 1, "--no-plot", *columns, "--only", "ok")
    assert "longest 5 s" in only
    assert [path.name for path in folder.iterdir()] == ["jobs.csv"]


def test_a_picture_of_our_own_is_replaced_and_any_other_file_is_not(folder):
    """Nothing that simqueue did not write is lost, and nothing is half-written."""
    said(*ADVISE)
    said(*ADVISE)
    (folder / "holiday.png").write_bytes(b"a picture of mine")
    refused = call(*ADVISE, "--plot", "holiday.png")
    assert refused.exit_code == 2
    assert "--plot holiday.png is there already, and simqueue did not write it" in refused.stderr
    shutil.copy(LOG, "log.csv")
    refused = call("advise", "log.csv", "--workers", 4, "--no-plot", "--csv", "log.csv")
    assert refused.exit_code == 2
    assert Path("log.csv").read_bytes() == LOG.read_bytes()
    assert Path("holiday.png").read_bytes() == b"a picture of mine"


def test_a_file_that_fails_half_way_is_not_there(folder, monkeypatch):
    """The old one stays as it was."""
    said(*ADVISE)
    before = (folder / "thumbnails-advice.png").read_bytes()

    def fails(self, path, **_):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fails)
    failed = call(*ADVISE)
    assert failed.exit_code == 1
    assert failed.stderr == "Error: No space left on device.\n"
    assert [path.name for path in folder.iterdir()] == ["thumbnails-advice.png"]
    assert (folder / "thumbnails-advice.png").read_bytes() == before


def test_without_matplotlib_advise_says_so_and_goes_on(monkeypatch):
    """The figure is an extra, unless it was asked for."""
    from importlib import util

    there = util.find_spec
    monkeypatch.setattr(
        util, "find_spec", lambda n, *a: None if n == "matplotlib" else there(n, *a)
    )
    called = call(*ADVISE)
    assert called.exit_code == 0
    assert called.stderr == "No figure: it needs matplotlib, pip install 'simqueue[plots]'.\n"


# lab


def test_lab_opens_the_first_notebook_on_loopback(folder, monkeypatch):
    """On this machine only, at the first page, and without asking about news."""
    (folder / "notebooks").mkdir()
    for name in ("02_b.ipynb", "00_start_here.ipynb"):
        (folder / "notebooks" / name).write_text("{}")
    monkeypatch.setattr(notebooks, "__file__", str(folder / "simqueue" / "course" / "x.py"))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "elsewhere")
    seen = []

    def launch(argv):
        config, other = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
        settings = Path(config) / "labconfig" / "default_setting_overrides.json"
        seen.append((argv, other, json.loads(settings.read_text())))

    from jupyterlab.labapp import LabApp

    monkeypatch.setattr(LabApp, "launch_instance", launch)
    assert "Ctrl-C ends it" in said("lab", "--port", 18_999, "--no-browser")
    ((argv, other, settings),) = seen
    assert other == "elsewhere"
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert {
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={folder}",
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        "--ServerApp.port=18999",
        "--ServerApp.open_browser=False",
    } <= set(argv)


def test_lab_says_what_is_missing(folder, monkeypatch):
    """The notebooks, or JupyterLab: one sentence each."""
    monkeypatch.setattr(notebooks, "__file__", str(folder / "simqueue" / "course" / "x.py"))
    called = call("lab")
    assert called.exit_code == 2
    assert called.stderr.startswith("Error: The notebooks of the course are not here: run this in")
    (folder / "00_start_here.ipynb").write_text("{}")
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda _: None)
    called = call("lab")
    assert called.exit_code == 1
    assert called.stderr == "Error: The course needs JupyterLab: pip install 'simqueue[course]'.\n"


# How mistakes end


MISTAKES = [
    (["run", "--rate", "-1"], "rate must be a number of jobs a second above 0, not -1.0."),
    (["run", "--rate", "1", "--arrivals", "poisson:2"], "--rate and --arrivals say the same"),
    (["run", "--seed", "-1"], "seed must be a whole number of 0 or more, not -1."),
    (["run", "--timeline", "2000"], "--timeline must be a whole number from 0 to 1999, not 2000."),
    (["run", "--work", "lognorml:9"], "lognormal, uniform, pareto, mixture, empirical, recorded,"),
    (["run", "--work", "lognormal:median=1,9"], "write it as lognormal:name=value,name=value."),
    (["run", "--handler", "naiv"], "not 'naiv' (did you mean 'naive'?)."),
    (["run", "--visibility-timeout", "5", "--broker", "generic"],
     "--visibility-timeout does not go with the broker generic, whose flags are --lease, --late"),
    (["run", "--lease", "abc"], "broker.lease must be a number of seconds above 0, not 'abc'."),
    (["run", "--restart-after", "5"], "--restart-after needs --crash-every"),
    (["run", "--set", "broker.leas=5"], "must be one of broker.visibility_timeout, broker.max_re"),
    (["run", "--set", "jobs"], "--set must be NAME=VALUE, such as broker.lease=5, not 'jobs'."),
    (["run", "nothing.toml"], "nothing.toml cannot be read: No such file or directory."),
    (["sweep", "--over", "x"], "--over must be NAME=VALUES, such as broker.visibility_timeout=5:1"),
    (["sweep", "--over", "jobs=1", "--over", "jobs=2"], "--over names jobs twice: list all of"),
    (["sweep", "--over", "jobs=1,0"], "jobs must be a whole number of 1 or more, not 0."),
    (["sweep", "--over", "jobs=1", "--figure", "lost_rat"], "(did you mean 'lost_rate'?); there"),
    (["sweep", "--over", "jobs=1", "--plot", "a.png"], "so --over must vary broker.visibility_t"),
    (["sweep", "--over", "jobs=1", "--csv", "a.txt"], "--csv must end with .csv, not 'a.txt'."),
    (["sweep", "--over", "jobs=1", "--csv", "no/a.csv"], "--csv no/a.csv: there is no folder"),
    (["advise", "nothing.csv", "--workers", "4"], "nothing.csv"),
    (["advise", LOG, "--workers", "0"], "workers.count must be a whole number of 1 or more, not"),
    (["advise", LOG, "--workers", "4", "--created", "nope"], "has no column 'nope'"),
    (["advise", LOG, "--workers", "4", "--plot", "a.gif"], "--plot must end with .png, .svg, .pdf"),
    (["advise", LOG, "--workers", "4", "--plot", "a.png", "--no-plot"], "exclude each other"),
    (["advise", LOG, "--workers", "4", "--timeouts", "30,x"], "timeouts must be a number of sec"),
    (["advise", LOG, "--workers", "4", "--target", "2"], "target must be a number from 0 to 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"), MISTAKES, ids=[" ".join(map(str, m[0][:4])) for m in MISTAKES]
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments, sentence, folder):
    """Nothing on standard output, nothing saved, no traceback."""
    called = call(*arguments)
    assert called.exit_code == 2
    assert called.stderr.startswith("Error: ")
    assert sentence in called.stderr
    assert called.stderr.count("\n") == 1
    assert called.stdout == ""
    assert list(folder.iterdir()) == []


def test_a_wrong_flag_is_a_usage_error():
    """With a pointer to the help."""
    called = call("run", "--job", "5")
    assert called.exit_code == 2
    assert "No such option" in called.stderr
    assert "--jobs" in called.stderr


def test_a_run_without_end_is_a_failure():
    """Exit code 1: nothing is wrong with the input, and yet there is no result."""
    called = call(
        "run", "--jobs", 1, "--work", "fixed:50", "--workers", 4, "--max-receives", "none"
    )
    assert called.exit_code == 1
    assert called.stderr.startswith("Error: Job 0 was delivered 10,000 times and is still not")


def test_a_handler_that_breaks_the_rules_is_a_failure(folder):
    """It awaits what is not of `ctx`: said in a sentence."""
    (folder / "rude_handlers.py").write_text(
        "import asyncio\nasync def rude(job, ctx):\n    await asyncio.sleep(0)\n"
    )
    called = call("run", "--jobs", 1, "--handler", "rude_handlers:rude")
    assert called.exit_code == 1
    assert called.stderr.startswith("Error: A handler may await only what ctx gives it")


# As a process of its own


def test_the_command_runs_in_a_shell(folder):
    """JSON on standard output and nothing on the other, exit code 0."""
    done = started("run", "--jobs", "5", "--json", cwd=folder)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["figures"]["jobs"] == 5


def test_help_loads_neither_pandas_nor_matplotlib():
    """The command line starts quickly: what is slow to import waits for the command."""
    done = started_with("import sys; from simqueue.cli.app import cli; print(*sys.modules)")
    assert {"pandas", "matplotlib", "rich", "loky"} & set(done.stdout.split()) == set()


def test_without_click_there_is_one_sentence(monkeypatch):
    """Which extra to install."""
    monkeypatch.setattr(command_line.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == (
        "Error: the command line needs click and rich: pip install 'simqueue[cli]'."
    )


def started_with(code: str) -> subprocess.CompletedProcess[str]:
    """A Python process that runs `code`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )


CTRL_C_WORKS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"


def processes_of(session: int) -> dict[int, str]:
    """The live processes of a session, but for the one that only keeps account of resources.

    One that is ending has no command any more: its name stands there in brackets.
    """
    listed = subprocess.run(
        ["ps", "-s", str(session), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    pairs = (line.split(maxsplit=1) for line in listed.stdout.splitlines())
    return {int(pid): args for pid, args in pairs if not re.search(r"resource_tracker|^\[", args)}


@pytest.mark.skipif(not os.path.exists("/proc"), reason="lists processes as Linux does")
def test_ctrl_c_ends_a_sweep_and_leaves_no_process(folder):
    """The whole group gets the signal, as in a terminal: exit code 130, and no one is left.

    It comes at the worst time: when the first process has only just begun.
    """
    with subprocess.Popen(
        [
            sys.executable, "-c", f"{CTRL_C_WORKS} {START[-1]}",
            "sweep", "--jobs", "20000", "--over", "broker.visibility_timeout=1:200:1",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    ) as sweep:  # fmt: skip
        workers: list[int] = []
        while not workers:
            assert sweep.poll() is None
            workers = [pid for pid, args in processes_of(sweep.pid).items() if "loky" in args]
        os.killpg(sweep.pid, signal.SIGINT)
        out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert out == ""
    assert err == "Interrupted.\n"
    assert processes_of(sweep.pid) == {}
