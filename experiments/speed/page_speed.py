"""The page of `wordstill explore` for a random table, in headless Chromium without WebGL.

The map is saved with the table; positions are random clusters, because they do not affect the time to read and draw it.
Ready means that the map with its labels is drawn, measured from the moment the server prints its address. Neighbors are
requested over HTTP, one word at a time, after a warm-up; the lower limit is the product of the table with a vector,
timed in the same run. Frames are those painted while the mouse drags the whole map. Then the server gets hostile
requests.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from experiments.speed.common import Row, met, save, show
from experiments.speed.hostile import hostile_request, send
from wordstill.explore.layout import MapMaker, WordMap
from wordstill.vectors import WordVectors

BENCHMARK = "page_speed"
TITLE = "The page"
READY, NEIGHBORS, FRAMES = 3.0, 0.050, 30.0
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-3d-apis", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
RECORD_FRAMES = """
() => {
  window.frameTimes = [];
  let [moved, painted, last] = [false, false, 0];
  window.addEventListener("pointermove", () => (moved = true), true);
  const step = (now) => {
    if (painted) window.frameTimes.push(now - last);
    [painted, moved, last] = [moved, false, now];
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
"""


def main() -> None:
    """Measure, print and save."""
    options = _options()
    with TemporaryDirectory(prefix="wordstill-") as folder:
        result = measure(Path(folder) / "vectors", options)
    show(rows(result), remarks(result))
    save(BENCHMARK, result, seed=options.seed)


def measure(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Make a table with its map, then time the page over it."""
    from playwright.sync_api import sync_playwright

    words = _make(path, options)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=list(FLAGS),
            ignore_default_args=["--enable-unsafe-swiftshader"],
        )
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        with _served(path) as (address, started):
            page.goto(address)
            page.wait_for_selector("html[data-ready=map]", timeout=60_000)
            ready = time.monotonic() - started
            painter = page.evaluate("document.documentElement.dataset.painter")
            neighbors = [_ask(address, word) for word in words[:: len(words) // options.questions]]
            limit = _products(path, options.questions)
            intervals = _pan(page)
            browser.close()
            for seed in range(options.hostile):
                send(address, hostile_request(seed))
            _ask(address, words[0])
    return {
        "words": options.words,
        "dim": options.dim,
        "painter": painter,
        "ready_seconds": ready,
        "neighbor_seconds": _quantiles(neighbors[1:]),
        "product_seconds": _quantiles(limit),
        "frame_seconds": _quantiles(intervals),
        "frames": len(intervals),
        "hostile_requests": options.hostile,
    }


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "median", "95 % are under")]
    table.append(("page ready, s", f"{result['ready_seconds']:.2f}", ""))
    for title, name in (
        ("neighbors, ms", "neighbor_seconds"),
        ("the product of the table with a vector alone, ms", "product_seconds"),
        ("frame while panning, ms", "frame_seconds"),
    ):
        table.append((title, f"{1000 * result[name]['median']:.1f}", f"{1000 * result[name]['p95']:.1f}"))
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    ready, neighbors = result["ready_seconds"], result["neighbor_seconds"]["median"]
    rate = 1 / result["frame_seconds"]["median"]
    return [
        f"{result['words']:,} words of {result['dim']} dimensions, drawn by {result['painter']}.",
        f"Ready in {ready:.2f} s, target {READY:.0f}: {met(ready <= READY)}. Neighbors in {1000 * neighbors:.0f} ms, "
        f"target {1000 * NEIGHBORS:.0f}: {met(neighbors <= NEIGHBORS)}. {rate:.0f} frames/s over {result['frames']} "
        f"frames, target {FRAMES:.0f}: {met(rate >= FRAMES)}.",
        f"After {result['hostile_requests']:,} hostile requests the server still answered.",
    ]


def _make(path: Path, options: argparse.Namespace) -> list[str]:
    random = np.random.default_rng(options.seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    drawn = random.choice(letters, size=(options.words, 4))
    words = [f"{''.join(part)}{number:x}" for number, part in enumerate(drawn)]
    matrix = random.normal(size=(options.words, options.dim)).astype(np.float32)
    counts = np.maximum(1, 1e7 / np.arange(1, options.words + 1)).astype(np.int64)
    vectors = WordVectors(words, matrix, counts=counts)
    vectors.save(path)
    clusters = random.integers(0, 16, options.words)
    middles = random.uniform(-0.8, 0.8, size=(16, 2))
    places = (middles[clusters] + 0.12 * random.normal(size=(options.words, 2))).astype(np.float32)
    names = tuple(f"cluster {number}" for number in range(16))
    maker = MapMaker(vectors, path, options.seed)
    maker.keep(WordMap("tsne", maker.rows, places, clusters.astype(np.uint8), names))
    return words


@contextmanager
def _served(path: Path) -> Iterator[tuple[str, float]]:
    """The address of a server in a process of its own, and when it was printed."""
    command = [sys.executable, "-m", "wordstill", "explore", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        started = time.monotonic()
        try:
            yield next(word for word in line.split() if word.startswith("http")).rstrip("/"), started
        finally:
            process.terminate()


def _ask(address: str, word: str) -> float:
    start = time.perf_counter()
    with urllib.request.urlopen(f"{address}/api/neighbors?word={word}", timeout=60) as response:
        assert json.load(response)["word"] == word
    return time.perf_counter() - start


def _products(path: Path, count: int) -> list[float]:
    """Seconds of the product that every question needs, as numpy does it in this process."""
    unit = WordVectors.load(path).unit
    seconds = []
    for row in range(count):
        start = time.perf_counter()
        unit @ unit[row]
        seconds.append(time.perf_counter() - start)
    return seconds


def _pan(page: Any) -> list[float]:
    """Seconds from each frame that paints to the next, while the mouse drags the map around in circles."""
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(RECORD_FRAMES)
    for step in range(240):
        page.mouse.move(640 + 150 * np.sin(step / 12), 400 + 150 * (np.cos(step / 12) - 1))
    times: list[float] = page.evaluate("window.frameTimes")
    page.mouse.up()
    return [milliseconds / 1000 for milliseconds in times]


def _quantiles(seconds: list[float]) -> dict[str, float]:
    return {"median": float(np.median(seconds)), "p95": float(np.quantile(seconds, 0.95))}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--hostile", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
