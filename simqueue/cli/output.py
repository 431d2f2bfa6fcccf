"""What the commands print: numbers with their units, tables, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simqueue.figures import DESCRIPTIONS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from simqueue.scenario import Scenario

MISSING = "-"
SHARES = {name for name, words in DESCRIPTIONS.items() if words.startswith("share")}
SECONDS_PREFIXES = ("wait_", "time_to_effect_", "recovery_")
COUNTS = {
    *("jobs", "redeliveries", "duplicate_executions", "duplicate_effects"),
    *("failures", "crashes", "acks_lost"),
}
MOST_VALUES_SHOWN = 5
UNSAID = ("kind", "weight")


def new_console(*, stderr: bool = False) -> Console:
    """Return where to print: it wraps at the terminal's width, and colours nothing by guessing."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def new_table() -> Table:
    """Return an empty table in the look that all commands share."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", expand=False
    )


def figure_text(name: str, value: float) -> str:
    """Return the figure `name` of one run as text with its unit: `12.10%`, `41.3 s`, `1,204`."""
    if math.isnan(value):
        return MISSING
    if name in COUNTS:
        return f"{value:,.0f}"
    if name in SHARES:
        return f"{100 * value:.2f}%"
    if name.startswith(SECONDS_PREFIXES):
        return f"{value:,.1f} s"
    return f"{value:.3f}"


def interval_text(name: str, mean: float, half_width: float) -> str:
    """Return a mean with the half width of its interval: `12.10% ± 0.31`."""
    if math.isnan(mean):
        return MISSING
    if name in COUNTS:
        text, half = f"{mean:,.1f}", f"{half_width:,.1f}"
    else:
        text = figure_text(name, mean)
        half = figure_text(name, half_width).rstrip("% s")
    return text if math.isinf(half_width) else f"{text} ± {half}"


def value_text(value: Any) -> str:
    """Return the value of a parameter as one would write it: `30`, `none`, `naive`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    name = getattr(value, "__name__", None)
    if name is not None:
        return str(name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def scenario_lines(scenario: Scenario) -> list[tuple[str, str]]:
    """Return what is simulated, in pairs of a name and words; what is as usual is left out."""
    from simqueue.scenario_file import to_document

    document, usual = to_document(scenario), _usual(scenario)
    crash = document["workers"].pop("crash", None)
    count = document["workers"].pop("count")
    workers = _unusual(document["workers"], usual["workers"])
    lines = [
        ("jobs", f"{scenario.jobs:,}, arriving {_kind_text(document['arrivals'])}"),
        ("work", f"{_kind_text(document['work'])}, in seconds"),
        ("workers", ", ".join([f"{count:,}", *_pairs(workers)])),
        ("broker", _kind_text(_unusual(document["broker"], usual["broker"]))),
        ("handler", document["handler"]),
    ]
    if crash is not None:
        lines.insert(3, ("crashes", ", ".join(_pairs(_unusual(crash, usual["crash"])))))
    lines += [("fault", _kind_text(fault)) for fault in document.get("faults", ())]
    for name in ("network", "store", "payments"):
        if differing := _unusual(document[name], usual[name]):
            lines.append((name, ", ".join(_pairs(differing))))
    plain: dict[str, Any] = {
        name: document[name]
        for name in ("work_per", "groups", "horizon", "warmup")
        if name in document
    }
    return [*lines, *((name, _shown(value)) for name, value in _unusual(plain, usual).items())]


def print_pairs(console: Console, pairs: list[tuple[str, str]]) -> None:
    """Print names and words in two columns."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for name, words in pairs:
        grid.add_row(name, words)
    console.print(grid)


def print_json(document: Any) -> None:
    """Print `document` as JSON and nothing else; NaN becomes null, infinity "Infinity"."""
    import click

    click.echo(json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False))


def plain(value: Any) -> Any:
    """Return `value` with nothing in it that JSON has no word for."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


ALWAYS_SHOWN = ("kind", "lease", "late_ack", "visibility_timeout")


def _usual(scenario: Scenario) -> dict[str, Any]:
    """Return the parameters' values that go without saying, by section."""
    from simqueue.faults import Crash, Network
    from simqueue.scenario import Workers
    from simqueue.scenario_file import to_document
    from simqueue.services.payments import Payments
    from simqueue.services.store import Store

    bare = scenario.replace(
        {
            "workers": Workers(crash=Crash()),
            "broker": type(scenario.broker)(),
            "network": Network(),
            "store": Store(),
            "payments": Payments(),
        }
    )
    document = to_document(bare)
    return {
        **document,
        "crash": document["workers"].pop("crash"),
        "work_per": "job",
        "groups": 1,
        "horizon": None,
        "warmup": 0.0,
    }


def _unusual(table: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in table.items()
        if name in ALWAYS_SHOWN or value != usual.get(name)
    }


def _kind_text(table: Mapping[str, Any]) -> str:
    pairs = _pairs({name: value for name, value in table.items() if name not in UNSAID})
    return f"{table['kind']} ({', '.join(pairs)})" if pairs else str(table["kind"])


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{name} {_shown(value)}" for name, value in table.items()]


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return _kind_text(value)
    if isinstance(value, list):
        if value and isinstance(value[0], Mapping):
            return " + ".join(f"{each['weight']:.3g} {_kind_text(each)}" for each in value)
        few = len(value) <= MOST_VALUES_SHOWN
        return str(value) if few else f"of {len(value):,} values"
    return value_text(value)
