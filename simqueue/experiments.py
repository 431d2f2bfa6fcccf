"""Many runs: a parameter swept over its values, each point repeated, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.intervals import interval, two_groups
from simqueue.pool import Elsewhere, Here, pool_for
from simqueue.runs import Figures, run, run_all

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from simqueue.scenario import Scenario

MOST_ROUNDS = 100

Point = dict[str, Any]


def sweep(
    scenario: Scenario,
    values: Mapping[str, Iterable[Any]],
    *,
    replications: int = 20,
    precision: Mapping[str, float] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Simulate `scenario` at every combination of `values`, and return each figure's mean.

    Parameters
    ----------
    scenario
        Where to start from.
    values
        Dotted parameter names, as for `Scenario.replace`, and the values that each takes.
    replications
        Runs of each point. Run k uses seed `seed` + k at every point, so all points see the same
        arrivals and durations, and differ only by what was swept (common random numbers).
    precision
        Figures and the half-widths that their intervals must not exceed: each point is repeated,
        `replications` runs at a time, until they don't, 100 times `replications` at most.
    confidence
        Of the intervals, above 0 and below 1.
    executor
        Any `concurrent.futures.Executor`; it is used and left open. None: a pool of one process
        per core for the time of the sweep or, where loky is not installed or the jobs are few
        (15,000 in all), this process.
    progress
        Show a bar if it takes longer than a second (and tqdm is installed).

    Returns
    -------
    DataFrame
        Tidy: a row for each point and figure. One column for each swept parameter, then `figure`,
        `mean`, `low`, `high`, `half_width`, `replications` (those in which the figure exists), and
        `groups`, 2 where the runs fall into two and the mean describes neither (`two_groups`). In
        `attrs`: "scenario", "parameters", "seed", "confidence".

    Raises
    ------
    ValueError
        For a parameter that the scenario does not have, or a value that it does not allow, before
        anything is run.
    """
    checks.whole("replications", replications, 1)
    checks.whole("seed", seed)
    if not 0 < checks.probability("confidence", confidence) < 1:
        raise checks.fail("confidence", confidence, "a number above 0 and below 1")
    points = [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*(list(each) for each in values.values()))
    ]
    if not points:
        raise checks.fail("values", dict(values), "dotted names with at least one value each")
    scenarios = [scenario.replace(point) for point in points]
    runs = [each for each in scenarios for _ in range(replications)]
    with pool_for(executor, runs, open_ended=precision is not None) as pool:
        blocks = _repeated(
            scenarios, replications, precision or {}, seed, confidence, pool, progress
        )
    table = _tidy(points, blocks, confidence)
    table.attrs.update(scenario=scenario, parameters=list(values), seed=seed, confidence=confidence)
    return table


def cross(
    scenario: Scenario,
    rows: Mapping[str, Mapping[str, Any]],
    columns: Mapping[str, Mapping[str, Any]],
    *,
    replications: int = 20,
    seed: int = 0,
    confidence: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Simulate `scenario` with every set of changes in `rows` under every one in `columns`.

    Each is a name with dotted changes, as for `Scenario.replace`: strategies by faults, say.
    Returns a tidy table as `sweep` does, with the names in the columns "row" and "column".
    """
    for name, sets in (("rows", rows), ("columns", columns)):
        if not sets:
            raise checks.fail(name, dict(sets), "one or more names, each with its changes")
    checks.whole("replications", replications, 1)
    points = [{"row": row, "column": column} for row in rows for column in columns]
    scenarios = [
        scenario.replace({**rows[point["row"]], **columns[point["column"]]}) for point in points
    ]
    runs = [(each, seed + k) for each in scenarios for k in range(replications)]
    found = run_all(runs, executor=executor, progress=progress)
    blocks = [found[n : n + replications] for n in range(0, len(found), replications)]
    return _tidy(points, blocks, confidence)


def compare(
    scenarios: Mapping[str, Scenario],
    *,
    baseline: str | None = None,
    replications: int = 20,
    seed: int = 0,
    confidence: float = 0.95,
    executor: Executor | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Simulate several scenarios on the same random draws, and return how their figures differ.

    Run k of each scenario uses seed `seed` + k, so a difference is taken between runs that share
    arrivals and durations: its interval is far narrower than the two that it is made of.

    Parameters
    ----------
    scenarios
        Names and scenarios, two or more.
    baseline
        The name of the one that the others are compared with; None: the first.
    replications, seed, confidence, executor, progress
        As for `sweep`.

    Returns
    -------
    DataFrame
        A row for each scenario and figure: `scenario`, `figure`, `mean`, `half_width`, and for the
        difference to the baseline, run by run, `difference`, `difference_half_width` and `differs`
        (whether 0 lies outside its interval). `groups` says into how many groups the runs fall:
        2 where a gap of more than half of their range parts them, so that their mean describes
        neither; see `two_groups`.
    """
    names = list(scenarios)
    if len(names) < 2:
        raise checks.fail("scenarios", names, "two or more, with names")
    base = names[0] if baseline is None else checks.one_of("baseline", baseline, names)
    checks.whole("replications", replications, 1)
    checks.whole("seed", seed)
    runs = [(scenarios[name], seed + k) for name in names for k in range(replications)]
    found = run_all(runs, executor=executor, progress=progress)
    blocks = {
        name: found[n * replications : (n + 1) * replications] for n, name in enumerate(names)
    }
    return _differences(blocks, base, confidence)


def _repeated(
    scenarios: Sequence[Scenario],
    replications: int,
    precision: Mapping[str, float],
    seed: int,
    confidence: float,
    pool: Here | Elsewhere,
    progress: bool,
) -> list[list[Figures]]:
    """Run each scenario `replications` times, and again until its intervals are narrow enough."""
    for figure, half_width in precision.items():
        checks.one_of("precision", figure, DESCRIPTIONS)
        checks.positive(f"precision of {figure}", half_width)
    blocks: list[list[Figures]] = [[] for _ in scenarios]
    todo = list(range(len(scenarios)))
    for done in range(0, MOST_ROUNDS * replications, replications):
        seeds = range(seed + done, seed + done + replications)
        found = run([(scenarios[n], each) for n in todo for each in seeds], pool, progress)
        for place, n in enumerate(todo):
            blocks[n] += found[place * replications : (place + 1) * replications]
        todo = [n for n in todo if not _is_precise(blocks[n], precision, confidence)]
        if not todo:
            break
    return blocks


def _is_precise(
    block: Sequence[Figures], precision: Mapping[str, float], confidence: float
) -> bool:
    return all(
        interval([figures[figure] for figures in block], confidence).half_width <= half_width
        for figure, half_width in precision.items()
    )


def _tidy(
    points: Sequence[Point], blocks: Sequence[list[Figures]], confidence: float
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for point, block in zip(points, blocks, strict=True):
        for figure in DESCRIPTIONS:
            values = [figures[figure] for figures in block]
            found = interval(values, confidence)
            rows.append(
                {
                    **point,
                    "figure": figure,
                    "mean": found.mean,
                    "low": found.low,
                    "high": found.high,
                    "half_width": found.half_width,
                    "replications": found.replications,
                    "groups": 1 if two_groups(values) is None else 2,
                }
            )
    return pd.DataFrame(rows)


def _differences(
    blocks: Mapping[str, list[Figures]], baseline: str, confidence: float
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for name, block in blocks.items():
        for figure in DESCRIPTIONS:
            values = [figures[figure] for figures in block]
            base = [figures[figure] for figures in blocks[baseline]]
            own = interval(values, confidence)
            gap = interval([a - b for a, b in zip(values, base, strict=True)], confidence)
            rows.append(
                {
                    "scenario": name,
                    "figure": figure,
                    "mean": own.mean,
                    "half_width": own.half_width,
                    "difference": gap.mean,
                    "difference_half_width": gap.half_width,
                    "differs": bool(gap.low > 0 or gap.high < 0),
                    "groups": 1 if two_groups(values) is None else 2,
                }
            )
    return pd.DataFrame(rows)
