"""Pairs of related words on a plane, as in the papers' figures of gender and other relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from wordstill.errors import MissingExtra, unknown_name
from wordstill.evaluate.lookup import Lookup
from wordstill.evaluate.protocol import Protocol, resolve
from wordstill.evaluate.statistics import Floats
from wordstill.evaluate.svg import Point

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

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
"""Pairs by relation; a new one is one row."""


def relation_points(
    vectors: WordVectors,
    pairs: Pairs,
    projection: Projection = "pca",
    *,
    protocol: str | Protocol = "default",
    seed: int = 0,
) -> list[tuple[Point, Point]]:
    """The places of the pairs that the table has; none if it has fewer than three.

    Args:
        vectors: The table.
        pairs: Words that stand in one relation.
        projection: ``pca`` keeps parallel differences parallel; ``tsne`` shows neighbourhoods only.
        protocol: How words are looked up.
        seed: Of t-SNE.
    """
    check_projection(projection)
    found = Lookup.of((word for pair in pairs for word in pair), vectors, resolve(protocol))
    known = [pair for pair in pairs if found.known[found.numbers(pair)].all()]
    if len(known) < FEWEST_PAIRS:
        return []
    words = [word for pair in known for word in pair]
    rows = found.unit()[found.numbers(words)]
    places = _principal(rows) if projection == "pca" else _neighbourhoods(rows, seed)
    points = [Point(word, float(x), float(y)) for word, (x, y) in zip(words, places)]
    return list(zip(points[::2], points[1::2]))


def check_projection(name: str) -> None:
    """Refuse a projection that does not exist, or that needs a package which is not installed."""
    if name not in get_args(Projection):
        raise unknown_name("projection", name, get_args(Projection))
    if name == "tsne" and find_spec("sklearn") is None:
        raise MissingExtra("scikit-learn", "eval", "A t-SNE plot")


def _principal(rows: Floats) -> Floats:
    """The first two principal components, each with its largest part positive; shape (words, 2)."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(rows), 2))
    kept = min(2, len(sizes))
    places[:, :kept] = left[:, :kept] * sizes[:kept]
    signs = np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])
    placed: Floats = places * np.where(signs == 0, 1.0, signs)
    return placed


def _neighbourhoods(rows: Floats, seed: int) -> Floats:
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    model = TSNE(n_components=2, perplexity=perplexity, init="pca", metric="cosine", random_state=seed)
    return np.asarray(model.fit_transform(rows), dtype=np.float64)
