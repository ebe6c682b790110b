"""Word pairs of one relation as points in two or three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from wordstill.errors import MissingExtra, UsageError, unknown_name
from wordstill.evaluation.lookup import Lookup
from wordstill.evaluation.protocol import resolve
from wordstill.evaluation.statistics import Floats

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


class Point(NamedTuple):
    """A labeled point of a map."""

    label: str
    x: float
    y: float


Projection = Literal["pca", "tsne"]
Pairs = Sequence[tuple[str, str]]

FEWEST_PAIRS = 3
PERPLEXITY = 5.0

RELATIONS: Mapping[str, Pairs] = {
    "gender": (
        ("man", "woman"),
        ("king", "queen"),
        ("father", "mother"),
        ("son", "daughter"),
        ("brother", "sister"),
        ("uncle", "aunt"),
        ("husband", "wife"),
        ("boy", "girl"),
        ("actor", "actress"),
        ("prince", "princess"),
        ("he", "she"),
        ("nephew", "niece"),
        ("policeman", "policewoman"),
        ("grandpa", "grandma"),
    ),
    "capital": (
        ("france", "paris"),
        ("germany", "berlin"),
        ("italy", "rome"),
        ("spain", "madrid"),
        ("japan", "tokyo"),
        ("russia", "moscow"),
        ("greece", "athens"),
        ("poland", "warsaw"),
    ),
    "comparative": (
        ("big", "bigger"),
        ("small", "smaller"),
        ("fast", "faster"),
        ("slow", "slower"),
        ("long", "longer"),
        ("strong", "stronger"),
        ("high", "higher"),
        ("old", "older"),
    ),
}
"""Pairs by relation."""


def read_pairs(text: str) -> list[tuple[str, str]]:
    """Parse pairs written on one line: ``man:woman,king:queen``."""
    pairs = [[word.strip() for word in pair.split(":")] for pair in text.split(",") if pair.strip()]
    if not pairs or any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise UsageError(f"Pairs are written man:woman,king:queen, got {text[:80]!r}.")
    return [(first, second) for first, second in pairs]


def relation_points(
    vectors: WordVectors, pairs: Pairs, projection: Projection = "pca", *, seed: int = 0
) -> list[tuple[Point, Point]]:
    """The pairs that the table has as points on a plane; none if it has fewer than three."""
    known, places = relation_places(vectors, pairs, projection, 2, seed=seed)
    return on_plane(known, places)


def on_plane(pairs: Pairs, places: Floats) -> list[tuple[Point, Point]]:
    """Pairs as labeled points; ``places`` has the coordinates of their words, pair by pair."""
    words = [word for pair in pairs for word in pair]
    points = [Point(word, float(x), float(y)) for word, (x, y) in zip(words, places)]
    return list(zip(points[::2], points[1::2]))


def relation_places(
    vectors: WordVectors, pairs: Pairs, projection: Projection, dimensions: int, *, seed: int = 0
) -> tuple[list[tuple[str, str]], Floats]:
    """The pairs that the table has, and coordinates of their words, pair by pair; none if it has fewer than three.

    Args:
        vectors: The table.
        pairs: Word pairs of one relation.
        projection: ``pca`` keeps parallel differences parallel; ``tsne`` shows neighborhoods only.
        dimensions: 2 or 3.
        seed: Of t-SNE.
    """
    check_projection(projection)
    found = Lookup.of((word for pair in pairs for word in pair), vectors, resolve("default"), split=True)
    known = [pair for pair in pairs if found.known[found.numbers(pair)].all()]
    if len(known) < FEWEST_PAIRS:
        return [], np.empty((0, dimensions))
    rows = found.unit()[found.numbers([word for pair in known for word in pair])]
    project = _principal(rows, dimensions) if projection == "pca" else neighborhoods(rows, dimensions, seed)
    return known, project


def check_projection(name: str) -> None:
    """Refuse an unknown projection, or one that needs a missing package."""
    if name not in get_args(Projection):
        raise unknown_name("projection", name, get_args(Projection))
    if name == "tsne" and find_spec("sklearn") is None:
        raise MissingExtra("scikit-learn", "eval", "A t-SNE plot")


def neighborhoods(rows: Floats, dimensions: int, seed: int) -> Floats:
    """Coordinates by t-SNE (words, dimensions)."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    model = TSNE(n_components=dimensions, perplexity=perplexity, init="pca", metric="cosine", random_state=seed)
    return np.asarray(model.fit_transform(rows), dtype=np.float64)


def _principal(rows: Floats, dimensions: int) -> Floats:
    """The first principal components, each with its largest part positive; shape (words, dimensions)."""
    centered = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    places = np.zeros((len(rows), dimensions))
    kept = min(dimensions, len(sizes))
    places[:, :kept] = left[:, :kept] * sizes[:kept]
    signs = np.sign(places[np.abs(places).argmax(axis=0), np.arange(dimensions)])
    placed: Floats = places * np.where(signs == 0, 1.0, signs)
    return placed
