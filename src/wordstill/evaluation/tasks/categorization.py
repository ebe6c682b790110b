"""Concept categorization: do clusters of vectors agree with human classes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra
from wordstill.evaluation.data.category_sets import Categories, read_own_categories
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import Coverage, ItemScores, Part, Score, make_score, points, with_backoffs
from wordstill.evaluation.statistics import Floats
from wordstill.evaluation.tasks.base import Task
from wordstill.vectors.search import unit

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Labels = NDArray[np.int64]

STARTS = 10
LINKAGES = (
    ("ward", "euclidean"),
    ("average", "cosine"),
    ("complete", "cosine"),
    ("average", "euclidean"),
    ("complete", "euclidean"),
)


class CategorizationTask(Task[Categories]):
    """Purity: the share of words in a cluster where their class is the most frequent one.

    There are as many clusters as classes. The interval is over words, with fixed clusters.
    """

    kind = "categorisation"
    metric = "purity"
    needs = (Categories.holds,)
    own_reader = staticmethod(read_own_categories)

    def words(self) -> tuple[str, ...]:
        """The words of all classes."""
        return self.dataset.content.words

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> Score:
        """Score a table; the seed is that of the clustering and of the bootstrap interval."""
        protocol = resolve(protocol)
        content = self.dataset.content
        found = Lookup.of(content.words, vectors, protocol, split=True)
        numbers = found.numbers(content.words)
        # With oov=zero, an absent word is a zero vector, which is clustered too.
        used = found.usable[numbers] if protocol.oov != "zero" else np.ones(len(numbers), dtype=np.bool_)
        coverage = Coverage(int(found.known[numbers].sum()), len(numbers))
        problem = _problem(
            with_backoffs(coverage, used, protocol), [label for label, known in zip(content.labels, used) if known]
        )
        pure = np.full(len(numbers), np.nan)
        parts: list[Part] = []
        if problem is None:
            block = found.matrix[numbers[used]]
            pure[used] = purity_items(_codes(content.labels)[used], block, protocol, seed)
            for name, labels in content.coarser.items():
                coarse = purity_items(_codes(labels)[used], block, protocol, seed)
                parts.append(Part(name, self.metric, points(float(coarse.mean())), len(coarse)))
        return make_score(self.source(protocol), ItemScores("mean", pure), coverage, problem, seed, tuple(parts))


def purity_items(classes: Labels, block: Floats, protocol: Protocol, seed: int) -> Floats:
    """1 for each word whose class is the most frequent one of its cluster, else 0, shape (words,)."""
    count = len(np.unique(classes))
    if protocol.clusters == "kmeans":
        return _pure(classes, _kmeans(unit(block), count, seed))
    every = (_pure(classes, clusters) for clusters in _clusterings(block, count, seed))
    return max(every, key=lambda pure: float(pure.mean()))


def _pure(classes: Labels, clusters: Labels) -> Floats:
    table = np.zeros((clusters.max() + 1, classes.max() + 1), dtype=np.int64)
    np.add.at(table, (clusters, classes), 1)
    pure: Floats = (table.argmax(axis=1)[clusters] == classes).astype(np.float64)
    return pure


def _clusterings(block: Floats, count: int, seed: int) -> Iterator[Labels]:
    try:
        from sklearn.cluster import AgglomerativeClustering
    except ImportError as error:
        raise MissingExtra("scikit-learn", "eval", "Concept categorisation") from error
    # The cosine of a zero vector is not defined; a tiny constant keeps such a word apart from all others.
    safe = np.where(block.any(axis=1, keepdims=True), block, np.finfo(np.float32).tiny)
    for linkage, metric in LINKAGES:
        model = AgglomerativeClustering(n_clusters=count, linkage=linkage, metric=metric)
        yield np.asarray(model.fit_predict(safe), dtype=np.int64)
    yield _kmeans(block, count, seed)


def _kmeans(block: Floats, count: int, seed: int) -> Labels:
    try:
        from sklearn.cluster import KMeans
    except ImportError as error:
        raise MissingExtra("scikit-learn", "eval", "Concept categorisation") from error
    model = KMeans(n_clusters=count, n_init=STARTS, random_state=seed)
    # Single precision halves the time on the largest set and changes clusters no more than the seed does.
    return np.asarray(model.fit_predict(block.astype(np.float32)), dtype=np.int64)


def _codes(labels: Sequence[str]) -> Labels:
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)


def _problem(coverage: Coverage, labels: list[str]) -> str | None:
    used, total = coverage
    classes = len(set(labels))
    if used == 0:
        return f"none of the {total} words is covered"
    if classes < 2:
        return f"the covered words are all of {classes} class; clusters need at least 2"
    if len(labels) <= classes:
        return f"only {len(labels)} of the {total} words covered, for {classes} classes"
    return None
