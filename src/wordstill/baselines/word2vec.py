"""``skipgram``, ``cbow`` and ``fasttext``, trained by gensim on the sentences of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from wordstill.baselines.base import Baseline, Dim, Epochs, Meter, Trained, WordText
from wordstill.core.settings import Config, Range
from wordstill.errors import MissingExtra

MAX_SENTENCE_WORDS = 10_000
"""gensim silently drops the words of a sentence beyond this many."""


@dataclass(frozen=True)
class SkipgramConfig(Config):
    """Settings of `Skipgram`, with the defaults of the authors' tool."""

    dim: Dim = 300
    """Size of the vectors."""
    epochs: Epochs = 5
    window: Annotated[int, Range(1, 1_000)] = 5
    """Maximum number of words on each side; the actual window of a word is drawn at random."""
    negatives: Annotated[int, Range(1, 10_000)] = 5
    """Negatives for each pair."""
    noise_power: Annotated[float, Range(0, 100)] = 0.75
    """Power of the counts by which negatives are drawn."""
    subsample: Annotated[float, Range(0, 1)] = 1e-3
    """Subsampling threshold for frequent words; 0 keeps all."""
    keep: Literal["tool", "printed"] = "tool"
    """The share of a word of frequency f that is kept with threshold t: sqrt(t / f) + t / f as in the authors' tool, or
    sqrt(t / f) as printed in papers."""
    rate: Annotated[float, Range(0, 10, above=True)] = 0.025
    """Initial learning rate; it falls linearly to a 250th or less. At a rate above 10, gensim silently skips
    most pairs."""
    side: Literal["words", "contexts"] = "words"
    """Which of the two tables is the result: that of the words, or that of the predicted contexts, which is usually
    discarded."""


@dataclass(frozen=True)
class CbowConfig(SkipgramConfig):
    """Settings of `Cbow`; the authors' tool has a higher initial learning rate."""

    rate: float = 0.05


@dataclass(frozen=True)
class FasttextConfig(SkipgramConfig):
    """Settings of `Fasttext`, with the paper's defaults."""

    subsample: float = 1e-4
    rate: float = 0.05
    shortest: Annotated[int, Range(1, 100)] = 3
    """Characters of the shortest n-gram, with a mark at each end of the word."""
    longest: int = 6
    """Characters of the longest n-gram."""
    buckets: Annotated[int, Range(1, 1_000_000_000)] = 2_000_000
    """Rows that n-grams are hashed to; their memory is buckets x dim float32."""
    objective: Literal["skipgram", "cbow"] = "skipgram"
    """A word predicts its neighbors, or their mean predicts the word."""

    def __post_init__(self) -> None:
        super().__post_init__()
        Range(self.shortest, 100).check("longest", self.longest)


class Skipgram(Baseline):
    r"""A word predicts its neighbors; negative sampling.

    .. math:: \max \sum_{(w, c)} \log \sigma(v_w \cdot u_c)
              + \sum_{n \sim \mathrm{noise}} \log \sigma(-v_w \cdot u_n)

    Paper: Mikolov et al. 2013, "Distributed Representations of Words and Phrases and their Compositionality".

    Inputs: running text; phrases of several words get no vector.
    Cost: two tables of vocabulary x dim float32; gensim's compiled loop.
    Relations: `Cbow` predicts the word from its neighbors; `Fasttext` adds character n-grams; `Deps` takes contexts
    from dependency trees.
    Deviations: windows stay inside a sentence; words outside the vocabulary are dropped before windows are
    made, as in the authors' tool.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="skipgram:window=10")  # doctest: +SKIP
    """

    name: ClassVar[str] = "skipgram.v1"
    config_type: ClassVar[type[SkipgramConfig]] = SkipgramConfig
    package: ClassVar[str] = "gensim"
    trainer: ClassVar[str] = "Word2Vec"
    config: SkipgramConfig

    def fit(self, text: WordText) -> Trained:
        """Train with gensim."""
        model = self.model(text)
        with self.meter(text.words * self.config.epochs, "words") as meter:
            report_progress(model, meter)
            model.train(
                GensimSentences(text),
                total_words=text.words,
                epochs=self.config.epochs,
                compute_loss=True,
                report_delay=float("inf"),
            )
        return self.trained(text, model)

    def model(self, text: WordText) -> Any:
        """The untrained model, with the vocabulary and its counts, so that gensim does not count again."""
        try:
            models = import_module("gensim.models")
        except ModuleNotFoundError as error:
            raise MissingExtra("gensim", "train", f"The baseline {self.name}") from error
        model = getattr(models, self.trainer)(**self.settings())
        counts = text.vocabulary.counts.tolist()
        frequencies = {key: count for key, count, there in zip(text.vocabulary.keys, counts, text.occurring) if there}
        model.build_vocab_from_freq(frequencies, corpus_count=len(text.corpus.sentences) - 1)
        if self.config.keep == "printed" and self.config.subsample:
            shares = self.config.subsample * text.words / model.wv.expandos["count"]
            # gensim compares these with 32 random bits.
            bits = np.minimum(np.sqrt(shares), 1.0) * (2**32 - 1)
            model.wv.expandos["sample_int"] = bits.astype(model.wv.expandos["sample_int"].dtype)
        return model

    def settings(self) -> dict[str, Any]:
        """The settings by gensim's names."""
        config = self.config
        return {
            "sg": 1,
            "vector_size": config.dim,
            "window": config.window,
            "negative": config.negatives,
            "ns_exponent": config.noise_power,
            "sample": config.subsample,
            "alpha": config.rate,
            "min_alpha": min(1e-4, config.rate / 250),
            "min_count": 1,
            "sorted_vocab": 0,
            "workers": self.training.workers,
            "seed": self.training.seed,
        }

    def trained(self, text: WordText, model: Any) -> Trained:
        """The vectors in the order of the vocabulary."""
        vectors = np.zeros((len(text.vocabulary), self.config.dim), dtype=np.float32)
        keys = [key for key, there in zip(text.vocabulary.keys, text.occurring) if there]
        rows = [model.wv.key_to_index[key] for key in keys]
        vectors[text.occurring] = model.wv[keys] if self.config.side == "words" else model.syn1neg[rows]
        return Trained(vectors, text.occurring)


class Cbow(Skipgram):
    r"""The mean of a word's neighbors predicts the word; negative sampling.

    .. math:: \max \sum_w \log \sigma(\bar v_{C(w)} \cdot u_w)
              + \sum_{n \sim \mathrm{noise}} \log \sigma(-\bar v_{C(w)} \cdot u_n)

    Paper: Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space".

    Inputs: as `Skipgram`.
    Cost: as `Skipgram`, but several times faster.
    Relations: `Skipgram` predicts each neighbor separately; `Sent2vec` uses the whole sentence as the window.
    Deviations: as `Skipgram`.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="cbow:window=10")  # doctest: +SKIP
    """

    name: ClassVar[str] = "cbow.v1"
    config_type: ClassVar[type[CbowConfig]] = CbowConfig

    def settings(self) -> dict[str, Any]:
        """The settings by gensim's names."""
        return super().settings() | {"sg": 0, "cbow_mean": 1}


class Fasttext(Skipgram):
    r"""Skip-gram where a word is the sum of its character n-grams, so that spelling helps rare words.

    .. math:: \max \sum_{(w, c)} \log \sigma\Big(\sum_{g \in G(w)} z_g \cdot u_c\Big)
              + \sum_{n \sim \mathrm{noise}} \log \sigma\Big(-\sum_{g \in G(w)} z_g \cdot u_n\Big)

    Paper: Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information".

    Inputs: words of the vocabulary that never occur, and phrases, get the mean of their n-grams.
    Cost: the tables of `Skipgram` and one of buckets x dim float32, 2.4 GB by default. gensim gives no loss
    for it, so the progress bar shows none.
    Relations: `Skipgram` without n-grams.
    Deviations: as `Skipgram`.

    Example:
        >>> from wordstill.baselines import train
        >>> tables = train("corpus.txt", methods="fasttext:longest=5")  # doctest: +SKIP
    """

    name: ClassVar[str] = "fasttext.v1"
    config_type: ClassVar[type[FasttextConfig]] = FasttextConfig
    trainer: ClassVar[str] = "FastText"
    config: FasttextConfig

    def settings(self) -> dict[str, Any]:
        """The settings by gensim's names."""
        grams = {"min_n": self.config.shortest, "max_n": self.config.longest, "bucket": self.config.buckets}
        return super().settings() | grams | {"sg": int(self.config.objective == "skipgram"), "cbow_mean": 1}

    def trained(self, text: WordText, model: Any) -> Trained:
        """The vectors in the order of the vocabulary, of every word that has an n-gram."""
        if self.config.side == "contexts":
            return super().trained(text, model)
        keys = text.vocabulary.keys
        known = np.array([key in model.wv.key_to_index or _has_ngram(model, key) for key in keys])
        vectors = np.zeros((len(keys), self.config.dim), dtype=np.float32)
        for row in np.flatnonzero(known):
            vectors[row] = model.wv[keys[row]]
        return Trained(vectors, known)


def report_progress(model: Any, meter: Meter) -> None:
    """Make a model advance the meter and show its loss per word."""
    train = model._do_train_job

    def train_and_report(*job: Any) -> Any:
        # gensim sums the loss in float32, which loses precision over a long training.
        model.running_training_loss = 0.0
        trained, read = train(*job)
        meter.advance(read, model.running_training_loss, trained)
        return trained, read

    model._do_train_job = train_and_report


class GensimSentences:
    """The sentences of a text as lists of keys; gensim iterates over them in each epoch."""

    def __init__(self, text: WordText) -> None:
        self.text = text
        self._keys = np.array(text.vocabulary.keys, dtype=object)

    def __iter__(self) -> Iterator[list[str]]:
        for stretch in self.text.read():
            words = self._keys[stretch.ids].tolist()
            bounds = stretch.sentence_bounds().tolist()
            for start, end in pairwise(bounds):
                for first in range(start, end, MAX_SENTENCE_WORDS):
                    yield words[first : min(first + MAX_SENTENCE_WORDS, end)]


def _has_ngram(model: Any, key: str) -> bool:
    from gensim.models.fasttext import ft_ngram_hashes

    return bool(ft_ngram_hashes(key, model.wv.min_n, model.wv.max_n, model.wv.bucket))
