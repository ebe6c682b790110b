"""Tables to measure: of a teacher, of baselines over the same text, and from files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordstill.baselines import Training, read_baselines, train_on_corpus
from wordstill.corpus import Corpus, Vocabulary
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig, distill_from_teacher
from wordstill.methods import METHODS
from wordstill.teacher import Teacher
from wordstill.vectors import WordVectors
from wordstill.vectors.sentences import SentenceConfig, SentenceEncoder


@dataclass(frozen=True)
class Made:
    """A table with everything its row says except scores."""

    label: str
    vectors: WordVectors
    seed: int | None = None
    """None for a table that does not depend on a seed."""
    seconds: float | None = None
    beside: tuple[str, ...] = ()
    """All tables of the same pass, which share its time."""
    file: Path | None = None
    """Where a released table is: its own files may hold a tokenizer, which an artifact does not."""

    def facts(self) -> dict[str, Any]:
        """The JSON row without scores."""
        return {
            "label": self.label,
            "seed": self.seed,
            "seconds": self.seconds,
            "beside": list(self.beside),
            "words": len(self.vectors),
            "dim": self.vectors.dim,
            "provenance": self.vectors.provenance,
        }


class Text:
    """A text that is prepared once and read with several seeds.

    Args:
        inputs: A store, or text to prepare.
        config: Settings of the distillation; its seed is not looked at.
        work: Folder for the prepared text.
    """

    def __init__(self, inputs: Sequence[str | Path], config: DistillConfig, work: Path) -> None:
        self.config = config
        self.corpus: Corpus = open_or_prepare(inputs, config.prepare, work, progress=True)
        self.vocabulary = Vocabulary.build(self.corpus, config.vocabulary)

    def distilled(self, methods: Sequence[str], seeds: Sequence[int]) -> Iterator[Made]:
        """Tables of every method; those of methods that draw nothing with the first seed only."""
        if not methods:
            return
        teacher = Teacher.from_config(self.config.teacher)
        learners = tuple(method for method in methods if draws(method))
        for number, seed in enumerate(seeds):
            chosen = learners if number else tuple(methods)
            if not chosen:
                return
            start = time.monotonic()
            config = replace(self.config, methods=chosen, seed=seed)
            tables = distill_from_teacher(teacher, self.corpus, config=config, progress=True)
            seconds = round(time.monotonic() - start, 1)
            for label, vectors in tables.items():
                drawn = draws(vectors.provenance["method"]["name"].partition(".")[0])
                yield Made(label, vectors, seed if drawn else None, seconds, tuple(tables))

    def trained(self, baselines: Sequence[str], seeds: Sequence[int], workers: int) -> Iterator[Made]:
        """Tables of every baseline and seed."""
        for seed in seeds:
            for spec in read_baselines(baselines) if baselines else ():
                start = time.monotonic()
                training = Training(seed, workers, progress=True)
                vectors = train_on_corpus(self.corpus, self.vocabulary, spec, training)
                seconds = round(time.monotonic() - start, 1)
                yield Made(spec.label, vectors, seed, seconds, (spec.label,))

    def encoded(self, named: Sequence[str]) -> Iterator[Made]:
        """Every word of the vocabulary by existing tables of subwords, each with its own tokenizer."""
        for name, path in _paths(named):
            rows = SentenceEncoder(WordVectors.load(path), SentenceConfig("mean")).encode(self.vocabulary.keys)
            yield Made(name, WordVectors(self.vocabulary.keys, rows, counts=self.vocabulary.counts))


def loaded(named: Sequence[str]) -> Iterator[Made]:
    """Existing tables, given as NAME=PATH; the seed comes from their provenance."""
    for name, path in _paths(named):
        vectors = WordVectors.load(path)
        seed = vectors.provenance.get("seed")
        yield Made(name, vectors, seed if isinstance(seed, int) else None, file=path)


def _paths(named: Sequence[str]) -> Iterator[tuple[str, Path]]:
    for text in named:
        name, equals, path = text.partition("=")
        if not equals:
            raise SystemExit(f"A table is given as NAME=PATH; got {text}.")
        yield name, Path(path)


def draws(method: str) -> bool:
    """Whether a method's result depends on the seed."""
    return METHODS[method.partition(":")[0]].learns
