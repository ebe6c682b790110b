"""Warnings if the teacher or the prompt does not fit the language of the text, judged by its most frequent words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from wordstill.core.ragged import owners
from wordstill.corpus import Vocabulary
from wordstill.corpus.segment import is_unspaced
from wordstill.methods.base import Observer
from wordstill.methods.still import USUAL_PROMPT
from wordstill.teacher import Teacher
from wordstill.teacher.tokenizer import SubwordTokenizer

SAMPLE_WORDS = 1_000
FEWEST_WORDS = 150
"""Fewer words say little about the language."""
SHORTEST = 4
"""Letters; shorter words are in many vocabularies of any language."""
MOST_SUBWORDS = 1.6
"""A tokenizer splits a frequent word of its own language into 1.0 to 1.1 subwords; an English tokenizer splits a German
word into 2.8."""
MOST_UNKNOWN = 0.02
LEAST_SHARE = 0.005
"""Share of a text that is words of the default prompt; in English it is a tenth."""


class LanguageFit(NamedTuple):
    """How a tokenizer splits the most frequent words of a text."""

    subwords: float
    """Mean number of subwords, over distinct words."""
    unknown: float
    """Share of occurrences with an unknown subword."""
    words: int
    """Number of distinct words in the sample."""

    @classmethod
    def of(cls, tokenizer: SubwordTokenizer, vocabulary: Vocabulary) -> LanguageFit:
        """Measure the most frequent words that are all letters."""
        surfaces = vocabulary.surfaces[: 4 * SAMPLE_WORDS]
        rows = [row for row, word in enumerate(surfaces) if word.isalpha() and _is_typical(word)]
        rows = rows[:SAMPLE_WORDS]
        counts = vocabulary.counts[rows].astype(np.float64)
        if len(rows) < FEWEST_WORDS or not counts.sum():
            return cls(1.0, 0.0, len(rows))
        # With a space before it, as in running text: some tokenizers split words without one differently.
        words = [vocabulary.surfaces[row] for row in rows]
        encoded = tokenizer.encode([f" {word}" for word in words])
        owner = owners(np.diff(encoded.offsets))
        cut_into = np.bincount(owner, weights=encoded.ends > encoded.starts, minlength=len(words))
        if (cut_into >= np.array([len(word) for word in words])).all():
            # Models that read characters or bytes split words of every language like this.
            return cls(1.0, 0.0, len(rows))
        # In scripts where a character is a word or syllable, splitting between characters is normal.
        lengths = cut_into / np.array([len(word) if is_unspaced(word[0]) else 1 for word in words])
        unknown = np.bincount(owner, weights=encoded.ids == tokenizer.unknown_id, minlength=len(words)) > 0
        weights = counts / counts.sum()
        return cls(float(lengths.mean()), float(weights @ unknown), len(words))


def _is_typical(word: str) -> bool:
    return len(word) >= SHORTEST or is_unspaced(word[0])


def warn_if_unknown_language(teacher: Teacher, vocabulary: Vocabulary) -> None:
    """Warn if the teacher was probably trained on another language than that of the text."""
    fit = LanguageFit.of(teacher.tokenizer, vocabulary)
    if fit.subwords <= MOST_SUBWORDS and fit.unknown <= MOST_UNKNOWN:
        return
    reason = f"cuts its {fit.words:,} most frequent words into {fit.subwords:.1f} subwords on average"
    if fit.unknown > MOST_UNKNOWN:
        reason = f"cannot read {fit.unknown:.0%} of its {fit.words:,} most frequent words"
    warnings.warn(
        f"The teacher {teacher.config.name} probably does not know the language of the text: its tokenizer {reason}. "
        "The vectors would reflect spelling rather than meaning. Choose a model of that language, or a multilingual "
        "one, with --teacher (teacher=).",
        stacklevel=3,
    )


def warn_if_prompt_is_foreign(methods: Iterable[Observer], vocabulary: Vocabulary) -> None:
    """Warn if words are read in the default prompt, which is English, and the text probably is not."""
    if all(method.prompt != USUAL_PROMPT for method in methods) or (vocabulary.counts > 0).sum() < FEWEST_WORDS:
        return
    words = [word for word in USUAL_PROMPT.split() if word != "{}"]
    found = sum(int(vocabulary.counts[vocabulary.id(word)]) for word in words if word in vocabulary)
    share = found / int(vocabulary.counts.sum())
    if share < LEAST_SHARE:
        warnings.warn(
            f"The teacher reads every word in the prompt '{USUAL_PROMPT}', but the text is probably not English: the "
            f"prompt's own words are {share:.2%} of it. Translate the prompt, or leave it out, with "
            "--method 'still:prompt=...' or still:prompt_weight=0 (methods=).",
            stacklevel=3,
        )
