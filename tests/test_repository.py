"""The repository around the package: what a newcomer's first commands and a clean clone rely on."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]

# In brackets here and there, so that this file does not match itself.
FORBIDDEN = {
    "somebody's machine": r"(?<![\w.])/([r]oot|[w]ork|[h]ome/\w+|[U]sers/\w+)/|[C]:\\[U]sers",
    "a registry's host": r"[p]ypi\.org|[p]ythonhosted|[n]pmjs|[d]eb\.debian|[a]naconda\.org",
}


def text_of(name: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A finished command, with what it printed."""
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


# The conda environment


def bounds(requirements: list[str]) -> dict[str, str]:
    """Version bounds by name, in one order and spelling."""
    parsed = [Requirement(text) for text in requirements]
    return {each.name.lower().replace("_", "-"): str(each.specifier) for each in parsed}


def wanted_environment(pyproject_text: str) -> dict[str, str]:
    """What conda should install according to pyproject.toml: Python, the core and the course."""
    project = tomllib.loads(pyproject_text)["project"]
    extras = project["optional-dependencies"]
    wanted = ["python" + project["requires-python"], *project["dependencies"]]
    waiting = ["course"]
    while waiting:
        for requirement in extras[waiting.pop()]:
            own = Requirement(requirement)
            if own.name == project["name"]:
                waiting.extend(own.extras)
            else:
                wanted.append(requirement)
    return bounds(wanted)


def given_environment(environment_text: str) -> dict[str, str]:
    """What environment.yml installs from conda, without pip itself."""
    listed = yaml.safe_load(environment_text)["dependencies"]
    given = bounds([each for each in listed if isinstance(each, str)])
    given.pop("pip", None)
    return given


def test_conda_environment_equals_pyproject() -> None:
    """environment.yml has the names and bounds of pyproject.toml's core and course, no more."""
    assert given_environment(text_of("environment.yml")) == wanted_environment(
        text_of("pyproject.toml")
    )


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("simpy>=4.1,<5", "simpy>=4.1"),
        ("pandas>=2.2", "pandas>=2.1"),
        ("python>=3.11", "python>=3.10"),
        ("- jupyterlab>=4.2", "- jupyterlab>=4.2\n  - scipy"),
        ("- matplotlib>=3.8\n", "\n"),
    ],
)
def test_a_difference_between_the_environments_is_seen(right: str, wrong: str) -> None:
    """Another bound, one package more or one less: each is a difference."""
    text = text_of("environment.yml")
    assert right in text
    assert given_environment(text.replace(right, wrong)) != wanted_environment(
        text_of("pyproject.toml")
    )


def test_conda_environment_installs_the_package_itself() -> None:
    """On Binder too, `import simqueue` works: the last line installs this folder."""
    environment = yaml.safe_load(text_of("environment.yml"))
    assert environment["name"] == "simqueue"
    assert environment["channels"] == ["conda-forge"]
    assert environment["dependencies"][-1] == {"pip": ["-e .[course]"]}


# Notebooks


def faults_of_notebook(notebook: dict[str, object]) -> list[str]:
    """What keeps a notebook's text from being only what its author wrote."""
    cells = notebook["cells"]
    assert isinstance(cells, list)
    ids = [cell.get("id") for cell in cells]
    metadata = notebook["metadata"]
    assert isinstance(metadata, dict)
    checks = {
        "has outputs": any(cell.get("outputs") for cell in cells),
        "has execution counts": any(cell.get("execution_count") is not None for cell in cells),
        "has cells without an id": None in ids or "" in ids,
        "has two cells of one id": len(set(ids)) < len(ids),
        "is older than format 4.5": (notebook["nbformat"], notebook["nbformat_minor"]) < (4, 5),
        "holds the state of its widgets": "widgets" in metadata,
        "names somebody's own kernel": metadata.get("kernelspec", {}).get("name") != "python3",
    }
    return [fault for fault, found in checks.items() if found]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_stored_clean(path: Path) -> None:
    """No outputs, no execution counts, an id for every cell, no widget state, the plain kernel."""
    assert faults_of_notebook(json.loads(path.read_text(encoding="utf-8"))) == []


def test_a_notebook_that_was_run_is_seen() -> None:
    """A notebook saved after a run has every fault that the check above looks for."""
    cell = {"cell_type": "code", "execution_count": 1, "outputs": [{"output_type": "stream"}]}
    notebook = {
        "cells": [cell, cell],
        "metadata": {"kernelspec": {"name": "mine"}, "widgets": {}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    assert len(faults_of_notebook(notebook)) == 7


# What the files say


def files_of_the_repository() -> list[Path]:
    """Every file that git keeps, or would keep."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git clone")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard")
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    """No path of one machine and no registry's address: a clone works anywhere, with any mirror."""
    found = []
    for path in files_of_the_repository():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found += [
                f"{path.relative_to(ROOT)}:{number} names {what}"
                for what, pattern in FORBIDDEN.items()
                if re.search(pattern, line)
            ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    ["/" + "work/main", "see /" + "home/ann/x", "py" + "pi.org/simple", "C:" + r"\Users\ann"],
)
def test_a_machine_or_a_registry_is_seen(line: str) -> None:
    """The patterns find what they are for."""
    assert any(re.search(pattern, line) for pattern in FORBIDDEN.values())


def test_no_lock_file_is_kept() -> None:
    """A lock file would hold the addresses of one machine's registry."""
    locks = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "conda-lock.yml", "pylock.toml"}
    assert locks.isdisjoint(path.name for path in files_of_the_repository())


# README and make


def test_readme_begins_with_two_commands() -> None:
    """The README's first block, near its top, is `make lab` and `make test` and nothing else."""
    before, block, _ = re.split(r"^```(?:bash)?$", text_of("README.md"), maxsplit=2, flags=re.M)
    commands = [line.split("#")[0].strip() for line in block.strip().splitlines()]
    assert commands == ["make lab", "make test"]
    assert len(before.splitlines()) < 20


@pytest.mark.parametrize("name", PAGES)
def test_pages_name_commands_and_files_that_exist(name: str) -> None:
    """Every `make` target and every relative link of a page exists."""
    text = text_of(name)
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), flags=re.M))
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, flags=re.M)) <= targets
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_map_of_the_house_is_whole() -> None:
    """CONTRIBUTING names every module and folder of the package."""
    text = text_of("CONTRIBUTING.md")
    names = [path.name + "/" * path.is_dir() for path in (ROOT / "simqueue").iterdir()]
    modules = [name for name in names if not name.startswith(("_", ".")) and name != "py.typed"]
    missing = [name for name in modules if f"{name}`" not in text]
    assert not missing, "add them to the map in CONTRIBUTING.md"


def test_readme_example_runs(tmp_path: Path) -> None:
    """The README's Python, with fewer jobs, runs as printed."""
    (example,) = re.findall(r"^```python\n(.*?)^```", text_of("README.md"), flags=re.M | re.S)
    assert "2_000" in example
    script = tmp_path / "example.py"
    script.write_text("import matplotlib\nmatplotlib.use('agg')\n" + guarded(example), "utf-8")
    finished = run(sys.executable, "-W", "error", script, cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    pictures = {path.name for path in tmp_path.glob("*.png")}
    assert pictures == {"timeline.png", "duplicates.png"}


def guarded(example: str) -> str:
    """The example as a script: worker processes that import it again must not run it again."""
    small = example.replace("2_000", "100").replace("replications=5", "replications=2")
    body = "".join("    " + line for line in small.splitlines(keepends=True))
    return f"if __name__ == '__main__':\n{body}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_says_when_python_is_too_old(tmp_path: Path) -> None:
    """One sentence that names the needed version, and nothing is made."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    finished = run("make", "lab", "PYTHON=false no-such-python", cwd=tmp_path)
    assert finished.returncode != 0
    assert "needs Python 3.11 or newer" in finished.stderr
    assert not (tmp_path / ".venv").exists()


# The package


def test_import_loads_neither_pandas_nor_matplotlib() -> None:
    """`import simqueue` stays quick: what is slow to import is imported where it is used."""
    finished = run(sys.executable, "-c", "import sys, simqueue; print(*sys.modules)")
    assert finished.returncode == 0, finished.stderr
    assert {"pandas", "matplotlib", "IPython"} & set(finished.stdout.split()) == set()
