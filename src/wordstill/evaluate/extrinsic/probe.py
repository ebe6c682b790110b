"""A fast linear probe: logistic regression on the mean vector of a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra
from wordstill.evaluate.extrinsic.config import ProbeConfig
from wordstill.evaluate.extrinsic.word_table import Ids, Sentences

Floats = NDArray[np.float32]


def mean_vectors(matrix: Floats, sentences: Sentences) -> Floats:
    """The mean vector of each sentence, (sentences, dim); zeros for one without words."""
    # A row of zeros behind the last word, so that reduceat may be asked for the end.
    words = np.concatenate([sentences.rows, [0]])
    filled = sentences.lengths > 0
    means = np.zeros((len(sentences), matrix.shape[1]), dtype=np.float32)
    if filled.any():
        sums = np.add.reduceat(matrix[words], sentences.starts[:-1][filled], axis=0)
        means[filled] = sums / sentences.lengths[filled, None]
    return means


def probe(
    train: tuple[Floats, Ids], dev: tuple[Floats, Ids], test: Floats, config: ProbeConfig
) -> tuple[Ids, float]:
    """Choose the penalty on the development part, train on both parts, and predict.

    Features are brought to mean 0 and deviation 1 over the part that is learnt from.

    Args:
        train: Mean vectors and numbers of classes.
        dev: The same of the development part.
        test: Mean vectors.
        config: Penalties to choose from.

    Returns:
        The class of each test sentence, and the chosen inverse strength.
    """
    accuracies = [
        float((_fitted(*train, strength, config).predict(dev[0]) == dev[1]).mean())
        for strength in config.strengths
    ]
    chosen = config.strengths[int(np.argmax(accuracies))]
    everything = np.concatenate([train[0], dev[0]]), np.concatenate([train[1], dev[1]])
    predicted = _fitted(*everything, chosen, config).predict(test)
    return np.asarray(predicted, dtype=np.int64), chosen


def _fitted(features: Floats, labels: Ids, strength: float, config: ProbeConfig) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise MissingExtra("scikit-learn", "eval", "The linear probe") from error
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=config.iterations))
    return model.fit(features, labels)
