"""A fast linear probe: logistic regression on the mean vector of a sentence."""

from __future__ import annotations

import warnings
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
) -> tuple[Ids, dict[str, Any]]:
    """Choose the penalty on the development part, train on both parts, and predict.

    Features are brought to mean 0 and deviation 1 over the part that is learnt from.

    Args:
        train: Mean vectors and numbers of classes.
        dev: The same of the development part.
        test: Mean vectors.
        config: Penalties to choose from.

    Returns:
        The class of each test sentence, and the settings: the chosen inverse strength, and whether the last
        fit had converged after the given iterations.
    """
    accuracies = [
        float((_fitted(*train, strength, config).predict(dev[0]) == dev[1]).mean())
        for strength in config.strengths
    ]
    chosen = config.strengths[int(np.argmax(accuracies))]
    everything = np.concatenate([train[0], dev[0]]), np.concatenate([train[1], dev[1]])
    model = _fitted(*everything, chosen, config)
    settings = {"strength": chosen, "converged": bool(max(model[-1].n_iter_) < config.iterations)}
    return np.asarray(model.predict(test), dtype=np.int64), settings


def _fitted(features: Floats, labels: Ids, strength: float, config: ProbeConfig) -> Any:
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise MissingExtra("scikit-learn", "eval", "The linear probe") from error
    model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=config.iterations))
    with warnings.catch_warnings():
        # Whether the fit that counts has converged is kept with its score.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(features, labels)
