"""Maps of the vocabulary: a 2D layout by PCA at once, by t-SNE or UMAP in the background, and clusters.

A finished map is saved with the table: inside the folder of an artifact, or next to a file of another format. It is
reused only if the table's words and vectors are the same.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_path
from wordstill.core.tensors import read_checked, write_tensors
from wordstill.errors import MissingExtra, WordstillError, in_one_line, unknown_name
from wordstill.vectors.compressed import most_frequent
from wordstill.vectors.table import WordVectors

LayoutMethod = Literal["pca", "tsne", "umap"]
METHODS: tuple[LayoutMethod, ...] = get_args(LayoutMethod)
Places = NDArray[np.float32]

MAP_WORDS = 100_000
"""A map shows at most so many of the most frequent words."""
COMPONENTS = 50
"""Principal components from which neighborhoods and clusters are computed."""
COVARIANCE_ROWS = 20_000
CLUSTERS, TYPICAL_WORDS, NAME_WORDS, NAME_LETTERS = 16, 30, 3, 4
PERPLEXITY, EARLY_STEPS, STEPS, STEPS_BETWEEN = 30, 250, 500, 10
FFT_ROWS = 4_000
"""For more rows, interpolation is faster than a tree."""
SCHEMA = "1"


@dataclass(frozen=True)
class WordMap:
    """Words on a plane."""

    method: LayoutMethod
    rows: NDArray[np.int64]
    """[n] rows of the table, in its order."""
    places: Places
    """[n, 2] coordinates between -1 and 1."""
    clusters: NDArray[np.uint8] | None = None
    """[n]"""
    cluster_names: tuple[str, ...] = ()
    """The most typical words of each cluster."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a map while it is computed."""

    map: WordMap
    done: bool
    progress: float
    """From 0 to 1."""
    problem: str | None = None


def available_methods() -> list[LayoutMethod]:
    """The layouts available with the installed packages, the default first."""
    packages: dict[LayoutMethod, str] = {"tsne": "openTSNE", "umap": "umap"}
    return [*(name for name, package in packages.items() if find_spec(package)), "pca"]


def check_method(name: str) -> LayoutMethod:
    """The layout with that name; raises if it is unknown or its package is missing."""
    if name not in METHODS:
        raise unknown_name("map", name, METHODS)
    chosen: LayoutMethod = next(method for method in METHODS if method == name)
    if chosen not in available_methods():
        if chosen == "umap":
            raise MissingExtra("umap-learn", "umap", "A UMAP map")
        raise MissingExtra("openTSNE", "explore", "A t-SNE map")
    return chosen


def map_path(table: Path, method: LayoutMethod) -> Path:
    """The file of a table's map."""
    name = f"map-{method}.safetensors"
    return table / name if table.is_dir() else table.with_name(f"{table.name}.{name}")


class MapMaker:
    """The maps of one table, each computed once, in the background.

    Args:
        vectors: The table.
        path: Its path, beside which maps are saved; None saves none.
        seed: Of t-SNE, UMAP and the clusters.
        most: Maximum number of words.
    """

    def __init__(self, vectors: WordVectors, path: Path | None, seed: int = 0, most: int = MAP_WORDS) -> None:
        self.vectors, self.path, self.seed = vectors, path, seed
        self.rows = most_frequent(vectors.counts, len(vectors), most)
        self._lock = threading.Lock()
        self._snapshots: dict[LayoutMethod, Snapshot] = {}
        self._reduced: Places | None = None
        self._fingerprint: str | None = None

    def look(self, method: LayoutMethod) -> Snapshot:
        """The current state of the map, at first a PCA; the first call loads a saved map or starts the computation."""
        with self._lock:
            if method not in self._snapshots:
                kept = self.kept(method)
                self._snapshots[method] = Snapshot(kept, done=True, progress=1.0) if kept else self._first(method)
                if not kept:
                    threading.Thread(target=self._work, args=(method,), daemon=True).start()
            return self._snapshots[method]

    def compute(self, method: LayoutMethod) -> WordMap:
        """The finished map, computed now unless it was saved."""
        with self._lock:
            kept = self.kept(method)
            self._snapshots[method] = Snapshot(kept, done=True, progress=1.0) if kept else self._first(method)
        if not kept:
            self._compute(method)
        return self._snapshots[method].map

    def _first(self, method: LayoutMethod) -> Snapshot:
        return Snapshot(WordMap(method, self.rows, fit_square(self._components()[:, :2])), done=False, progress=0.0)

    def _components(self) -> Places:
        if self._reduced is None:
            self._reduced = principal_components(self.vectors.unit[self.rows], COMPONENTS, self.seed)
        return self._reduced

    def _work(self, method: LayoutMethod) -> None:
        try:
            self._compute(method)
        except Exception as error:  # A thread has no caller to raise to; the page shows the problem.
            problem = str(error) if isinstance(error, WordstillError) else in_one_line(error)
            self._snapshots[method] = replace(self._snapshots[method], done=True, problem=problem)

    def _compute(self, method: LayoutMethod) -> None:
        reduced = self._components()
        clusters, names = self._cluster(reduced)
        start = replace(self._snapshots[method].map, clusters=clusters, cluster_names=names)
        self._snapshots[method] = Snapshot(start, done=False, progress=0.02)

        def report(places: Places | None, progress: float) -> None:
            made = start if places is None else replace(start, places=fit_square(places))
            self._snapshots[method] = Snapshot(made, done=False, progress=progress)

        if method == "tsne":
            start = replace(start, places=fit_square(tsne(reduced, self.seed, report)))
        elif method == "umap":
            start = replace(start, places=fit_square(umap(reduced, self.seed)))
        problem = self.keep(start)
        self._snapshots[method] = Snapshot(start, done=True, progress=1.0, problem=problem)

    def _cluster(self, reduced: Places) -> tuple[NDArray[np.uint8] | None, tuple[str, ...]]:
        if find_spec("sklearn") is None or len(reduced) < 2 * CLUSTERS:
            return None, ()
        numbers, typical = clusters_of(reduced, CLUSTERS, self.seed)
        names = []
        for members in typical:
            # The most frequent of the typical words, which mostly come first in a table; short words say little.
            typical_words = [self.vectors.words[row] for row in sorted(self.rows[members[:TYPICAL_WORDS]].tolist())]
            telling = [word for word in typical_words if word.isalpha() and len(word) >= NAME_LETTERS]
            names.append(", ".join((telling if len(telling) >= NAME_WORDS else typical_words)[:NAME_WORDS]))
        return numbers, tuple(names)

    def fingerprint(self) -> str:
        """A hash of what a map depends on: words, vectors, and the settings of this module."""
        if self._fingerprint is None:
            digest = hashlib.sha256(json.dumps([SCHEMA, self.seed, PERPLEXITY, STEPS, COMPONENTS, CLUSTERS]).encode())
            digest.update("\0".join(self.vectors.words[row] for row in self.rows.tolist()).encode("utf-8", "replace"))
            for start in range(0, len(self.rows), 8192):
                digest.update(self.vectors.take(self.rows[start : start + 8192]).tobytes())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def kept(self, method: LayoutMethod) -> WordMap | None:
        """The saved map, if it is intact and of this table; else None."""
        if self.path is None or not (file := map_path(self.path, method)).is_file():
            return None
        try:
            tensors, metadata = read_checked(file)
            if metadata.get("table") != self.fingerprint():
                return None
            names = tuple(map(str, json.loads(metadata["cluster_names"])))
            places, clusters = tensors["places"], tensors.get("clusters")
            lengths = {len(places), len(self.rows), len(self.rows if clusters is None else clusters)}
            return WordMap(method, self.rows, places, clusters, names) if len(lengths) == 1 else None
        except (WordstillError, OSError, KeyError, TypeError, ValueError):
            return None

    def keep(self, made: WordMap) -> str | None:
        """Save a map; returns the reason if that fails."""
        if self.path is None or made.method == "pca":
            return None
        tensors = {"places": made.places} | ({} if made.clusters is None else {"clusters": made.clusters})
        metadata = {"table": self.fingerprint(), "cluster_names": json.dumps(made.cluster_names)}
        try:
            with atomic_path(map_path(self.path, made.method)) as file:
                write_tensors(file, tensors, metadata, checksum=True)
        except WordstillError as error:
            return f"The map could not be kept. {error}"
        return None


def principal_components(rows: NDArray[np.float32], count: int, seed: int = 0) -> Places:
    """The first principal components of rows, each with its largest loading positive; (rows, at most count).

    If there are many rows, the directions are those of a sample.
    """
    random = np.random.default_rng(seed)
    few = len(rows) <= COVARIANCE_ROWS
    sample = rows if few else rows[np.sort(random.choice(len(rows), COVARIANCE_ROWS, replace=False))]
    mean = sample.mean(axis=0)
    centered = sample - mean
    _, directions = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    chosen = directions[:, ::-1][:, :count]
    largest = chosen[np.abs(chosen).argmax(axis=0), np.arange(chosen.shape[1])]
    chosen = (chosen * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)
    reduced: Places = rows @ chosen - mean @ chosen
    if reduced.shape[1] < 2:
        reduced = np.hstack([reduced, np.zeros((len(rows), 2 - reduced.shape[1]), dtype=np.float32)])
    return reduced


def tsne(rows: Places, seed: int, report: Callable[[Places | None, float], None] | None = None) -> Places:
    """T-SNE with cosine neighborhoods, initialized with the first two components.

    ``report`` gets intermediate states; during early exaggeration, without coordinates.
    """
    from openTSNE import TSNEEmbedding, affinity, initialization

    if len(rows) < 4:
        return rows[:, :2]
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    near = affinity.PerplexityBasedNN(rows, perplexity=perplexity, metric="cosine", n_jobs=-1, random_state=seed)
    start = initialization.rescale(rows[:, :2].astype(np.float64))
    gradient = "fft" if len(rows) >= FFT_ROWS else "bh"
    embedding = TSNEEmbedding(start, near, negative_gradient_method=gradient, n_jobs=-1, random_state=seed)
    done, all_steps = 0, EARLY_STEPS + STEPS
    for steps, settings in ((EARLY_STEPS, {"exaggeration": 12, "momentum": 0.5}), (STEPS, {"momentum": 0.8})):
        for _ in range(0, steps, STEPS_BETWEEN):
            embedding.optimize(STEPS_BETWEEN, inplace=True, **settings)
            done += STEPS_BETWEEN
            if report is not None:
                spread = done > EARLY_STEPS
                report(np.asarray(embedding, dtype=np.float32) if spread else None, done / all_steps)
    return np.asarray(embedding, dtype=np.float32)


def umap(rows: Places, seed: int) -> Places:
    """UMAP with cosine neighborhoods."""
    from umap import UMAP

    if len(rows) < 4:
        return rows[:, :2]
    model = UMAP(metric="cosine", n_neighbors=min(15, len(rows) - 1), random_state=seed, n_jobs=1)
    return np.asarray(model.fit_transform(rows), dtype=np.float32)


def clusters_of(rows: Places, count: int, seed: int) -> tuple[NDArray[np.uint8], list[NDArray[np.int64]]]:
    """K-means: the number of each row's cluster, and the rows of each cluster, the most typical first."""
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(n_clusters=count, random_state=seed, n_init=3, batch_size=4096).fit(rows)
    distances = model.transform(rows)
    numbers = distances.argmin(axis=1)
    typical = []
    for cluster in range(count):
        members = np.flatnonzero(numbers == cluster)
        typical.append(members[np.argsort(distances[members, cluster], kind="stable")])
    return numbers.astype(np.uint8), typical


def fit_square(places: Places) -> Places:
    """Coordinates centered and scaled to between -1 and 1; a few outliers may lie outside."""
    if not len(places):
        return places
    low, high = np.quantile(places, [0.001, 0.999], axis=0)
    scale = max(float((high - low).max()) / 2, 1e-12)
    fitted: Places = np.clip((places - (low + high) / 2) / scale, -1.5, 1.5).astype(np.float32)
    return fitted
