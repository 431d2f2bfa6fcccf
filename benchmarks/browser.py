"""How long readers wait in the browser: from a key on a slider until its picture is redrawn.

With `--jumps`, from a click somewhere on the slider: the next of those can't be foreseen.

JupyterLab on loopback, headless Chromium. What the browser, the server and the kernel need between
them for a slider that only writes its value, with nothing simulated or drawn, is the baseline.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
MOVES = 8
MILLISECONDS_BETWEEN_MOVES = 400
"""A key pressed again and again: the curve is not yet at rest when the next one comes."""
GOLDEN = 0.618_034
"""Its multiples leave no part of a slider out, and none comes twice."""
FLOOR = "floor"
FLOOR_CODE = """import ipywidgets

slider = ipywidgets.IntSlider(value=5, max=100, description="floor")
shown = ipywidgets.HTML()


def show(change):
    box = '<svg role="img" width="200" height="20"><text y="15">{}</text></svg>'
    shown.value = box.format(slider.value)


slider.observe(show, "value")
show(None)
ipywidgets.VBox([slider, shown])"""
PICTURE = """slider => {
    for (let box = slider.parentElement; box; box = box.parentElement) {
        const picture = box.querySelector('img, svg[role=img]');
        if (picture) return picture;
    }
}"""
# The line of code changes with each move, and comes after the picture: two settings may have the
# same picture.
WATCH = f"""slider => {{
    const picture = () => ({PICTURE})(slider);
    const of = shown => {{
        const code = slider.closest('.widget-vbox')?.querySelector('code');
        return code ? code.textContent : shown.src || shown.outerHTML;
    }};
    const before = of(picture());
    window.waited = new Promise(done => {{
        let pressed = null;
        for (const kind of ['keydown', 'pointerdown']) {{
            document.addEventListener(kind, () => {{ pressed ??= performance.now(); }},
                {{once: true, capture: true}});
        }}
        const look = () => {{
            const shown = picture();
            const there = of(shown) !== before && (shown.complete ?? true);
            if (pressed !== null && there) return done(performance.now() - pressed);
            if (pressed !== null && performance.now() - pressed > 10000) return done(null);
            requestAnimationFrame(look);
        }};
        look();
    }});
}}"""


class Wait(NamedTuple):
    """Milliseconds from key to picture of one slider: the median, the most, and of how many."""

    lesson: str
    slider: str
    median: float
    most: float
    moves: int
    within_150: int


def waits(wanted: Sequence[str], *, jumps: bool) -> Iterator[Wait]:
    """Measure the baseline, and then each slider (but those of replays) of the `wanted` lessons."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    import browsing
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = browsing.find_chromium(playwright)
        if chromium is None:
            raise SystemExit("This benchmark needs Chromium or Chrome.")
        with browsing.running_lab(Path(folder)) as lab:
            floor = browsing.write_notebook(lab, FLOOR, FLOOR_CODE)
            shutil.copytree(ROOT / "exercises", Path(folder) / "exercises")
            browser = browsing.launch(playwright, chromium)
            page = browsing.open_lab(browser, lab)
            lessons = sorted(path.name for path in lab.folder.glob("[0-9]*.ipynb"))
            for name in [floor, *(each for each in lessons if not wanted or each[:2] in wanted)]:
                opened = browsing.open_notebook(page, name)
                opened.run_all()
                lesson = name.partition("_")[0].removesuffix(".ipynb")
                yield from waits_of(opened, lesson, jumps=jumps)
                browsing.close(opened)
            browser.close()


def waits_of(opened: object, lesson: str, *, jumps: bool) -> Iterator[Wait]:
    """Press keys on each slider of an open notebook, or click here and there on it."""
    page = opened.page  # type: ignore[attr-defined]
    for slider in page.locator(".widget-slider").all():
        name = slider.locator(".widget-label").inner_text()
        handle = slider.get_by_role("slider")
        if name.startswith("Time"):  # of a replay
            continue
        handle.scroll_into_view_if_needed()
        handle.focus()
        page.wait_for_timeout(2_000)
        found = []
        for move in range(1, MOVES + 1):
            # Back would be quicker: what was simulated once is remembered.
            if handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax"):
                break
            handle.evaluate(WATCH)
            if jumps:
                track = slider.locator(".noUi-base")
                box = track.bounding_box()
                x = box["width"] * (move * GOLDEN % 1)
                track.click(position={"x": x, "y": box["height"] / 2}, force=True)
            else:
                handle.press("ArrowRight")
            milliseconds = page.evaluate("() => window.waited")
            if milliseconds is not None:
                found.append(milliseconds)
            page.wait_for_timeout(MILLISECONDS_BETWEEN_MOVES)
        within = sum(each <= 150 for each in found)
        yield Wait(lesson, name, statistics.median(found), max(found), len(found), within)


def main() -> None:
    """Print a line for each slider, and how many of all redraws came within 150 ms.

    Of all lessons, or of those whose numbers are given.
    """
    floor = None
    all_moves = within = 0
    print(
        f"{'lesson':7} {'slider':38} {'median':>7} {'most':>7} {'ratio':>6}  within 150 ms",
        flush=True,
    )
    wanted = [each for each in sys.argv[1:] if each != "--jumps"]
    for wait in waits(wanted, jumps="--jumps" in sys.argv[1:]):
        floor = floor or wait.median
        print(
            f"{wait.lesson:7} {wait.slider:38} {wait.median:5.0f}ms {wait.most:5.0f}ms "
            f"{wait.median / floor:6.2f}  {wait.within_150} of {wait.moves}",
            flush=True,
        )
        if wait.lesson != "floor":
            all_moves += wait.moves
            within += wait.within_150
    print(f"{within} of {all_moves} redraws within 150 ms; ratio: to the floor's median")


if __name__ == "__main__":
    main()
