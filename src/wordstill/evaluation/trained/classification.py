"""Sentence classification over word vectors: the convolutional classifier and the linear probe."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import MissingExtra
from wordstill.evaluation.data.examples import LABELS, Splits, divide_by_class
from wordstill.evaluation.data.text_sets import read_own_labeled
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.trained.base import LabelTargets, Predicted, Ready, TrainedTask, table_problem
from wordstill.evaluation.trained.config import CnnConfig, ProbeConfig, require_training
from wordstill.evaluation.trained.word_table import Ids, Scale, Sentences, WordTable, distinct_words

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


Floats = NDArray[np.float32]


def mean_vectors(matrix: Floats, sentences: Sentences) -> Floats:
    """The mean vector of each sentence, (sentences, dim); zeros for one without words."""
    # One more index, because reduceat takes starts up to the end.
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

    Features are standardized over the part that is trained on.

    Args:
        train: Mean vectors and class numbers of the training part.
        dev: The same of the development part.
        test: Mean vectors of the test part.
        config: Penalties to choose from.

    Returns:
        The class of each test sentence, and the settings: the chosen inverse strength, and whether the last fit
        converged within the given iterations.
    """
    accuracies = [
        float((_fitted(*train, strength, config).predict(dev[0]) == dev[1]).mean()) for strength in config.strengths
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
        # Whether the final fit converged is recorded with its score.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(features, labels)


OfSentences = TypeVar("OfSentences", CnnConfig, ProbeConfig)


class _SentenceTask(TrainedTask[OfSentences]):
    """Base of both classifiers: the parts and the vectors."""

    needs = (LABELS,)
    own_reader = staticmethod(read_own_labeled)

    def _splits(self) -> Splits[str]:
        split_seed = self.config.split_seed
        return divide_by_class(self.dataset.content, split_seed).thinned(self.config.limit, split_seed)

    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[str], seed: int) -> Ready:
        sentences = [sentence for part in splits for sentence in part.sentences]
        table = WordTable.of(distinct_words(sentences), vectors, rules, leave_out=True, scale=self._scale())
        coverage = table.coverage(sentences)

        def predict(targets: LabelTargets) -> Predicted:
            parts = [table.encode(part.sentences) for part in splits]
            return self._predict(table.matrix, parts, targets, seed)

        return Ready(coverage, table_problem(coverage), predict)

    @abstractmethod
    def _scale(self) -> Scale: ...

    @abstractmethod
    def _predict(self, matrix: Floats, parts: list[Sentences], targets: LabelTargets, seed: int) -> Predicted: ...


class ClassificationTask(_SentenceTask[CnnConfig]):
    """Accuracy of the X2Static paper's convolutional classifier, with macro-F1 as a part.

    The number of epochs and the learning rate are chosen on the development part with the first seed; then each seed
    trains on both parts and is scored on the test part. A user's own file has ``label sentence`` on each line.
    """

    kind = "classification"
    usual = CnnConfig()

    def _scale(self) -> Scale:
        return self.config.scale

    def _predict(self, matrix: Floats, parts: list[Sentences], targets: LabelTargets, seed: int) -> Predicted:
        require_training("The convolutional classifier")
        from wordstill.evaluation.trained.cnn import ConvolutionTrainer
        from wordstill.evaluation.trained.fitting import ClassifiedRows, search_and_retrain
        from wordstill.teacher.device import choose_device

        device = choose_device(self.config.device)
        trainer = ConvolutionTrainer(matrix, targets.classes, self.config, device)
        rows = [ClassifiedRows(*part) for part in zip(parts, targets.numbers)]
        predicted, choice = search_and_retrain(trainer, rows, seed, self.name, progress=self.progress)
        return predicted, asdict(choice)


class ProbeTask(_SentenceTask[ProbeConfig]):
    """Accuracy of logistic regression on the mean vector of a sentence: seconds instead of minutes.

    Training is deterministic, so there is one score and no deviation. Sets are divided as for `ClassificationTask`.
    """

    kind = "probe"
    usual = ProbeConfig()

    def _scale(self) -> Scale:
        return "unit"

    def _predict(self, matrix: Floats, parts: list[Sentences], targets: LabelTargets, seed: int) -> Predicted:
        train, dev, test = (mean_vectors(matrix, part) for part in parts)
        labels = targets.numbers
        predicted, settings = probe((train, labels[0]), (dev, labels[1]), test, self.config)
        return [predicted], settings
