"""What triples are made from: targets in a prepared text, or in a file of ready-made paraphrases."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from wordstill.corpus import Corpus
from wordstill.errors import DataError
from wordstill.meaning.paraphrases import read_paraphrases
from wordstill.meaning.targets import TargetConfig, corpus_targets, sentence_targets
from wordstill.meaning.use import Use


@dataclass(frozen=True)
class Sources:
    """Targets with what their positives are made from."""

    uses: list[Use]
    paraphrases: list[str] | None
    """Ready-made ones."""
    hash: str
    """Identifies the text they come from."""

    @classmethod
    def of_corpus(cls, corpus: Corpus, count: int, config: TargetConfig) -> Sources:
        """At most so many targets in a prepared text."""
        return cls(corpus_targets(corpus, count, config), None, corpus.hash)

    @classmethod
    def of_file(cls, path: str | Path, count: int, config: TargetConfig) -> Sources:
        """At most so many targets in a file of paraphrases.

        Raises:
            DataError: The file cannot be read, or none of its sentences has a target.
        """
        sentences, others = read_paraphrases(path)
        chosen = sentence_targets(sentences, count, config)
        if not chosen:
            raise DataError(
                f"No sentence of {path} has {config.min_words} to {config.max_words} words "
                "and a word that occurs in it once. Choose other lengths."
            )
        content = hashlib.sha256("\n".join(chain(sentences, others)).encode()).hexdigest()
        return cls([use for _, use in chosen], [others[row] for row, _ in chosen], content)
