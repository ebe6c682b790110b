"""Target words in their sentences, chosen from a text so that words are as diverse as possible."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from wordstill.core.ragged import Ints
from wordstill.core.settings import Config, Range
from wordstill.core.text_io import numbered_lines
from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig
from wordstill.corpus.segment import word_spans
from wordstill.errors import DataError
from wordstill.meaning.occurrence import Occurrence

SENTENCES_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class TargetConfig(Config):
    """Which words and sentences can be targets; the defaults are the paper's."""

    min_words: Annotated[int, Range(1)] = 15
    max_words: int = 50
    """Minimum and maximum length of a sentence in words, including punctuation marks."""
    vocabulary: Annotated[int, Range(1)] = 50_000
    """Targets are among this many of the most frequent words,"""
    skipped: Annotated[float, Range(0, 1, below=True)] = 0.001
    """without this share of the most frequent ones, which are mostly function words."""
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        Range(self.min_words).check("max_words", self.max_words)


@dataclass(frozen=True)
class Sources:
    """Targets, and paraphrases if they are given."""

    targets: list[Occurrence]
    paraphrases: list[str] | None
    """Given paraphrases."""
    hash: str
    """Identifies the text that the targets come from."""

    @classmethod
    def of_corpus(cls, corpus: Corpus, count: int, config: TargetConfig) -> Sources:
        """Up to ``count`` targets from a prepared text."""
        return cls(corpus_targets(corpus, count, config), None, corpus.hash)

    @classmethod
    def of_file(cls, path: str | Path, count: int, config: TargetConfig) -> Sources:
        """Up to ``count`` targets from a file of paraphrases.

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
        return cls([target for _, target in chosen], [others[row] for row, _ in chosen], content)


def corpus_targets(corpus: Corpus, count: int, config: TargetConfig | None = None) -> list[Occurrence]:
    """Choose targets in the sentences of a corpus, or fewer if there are not enough.

    Raises:
        DataError: No sentence has a word that can be a target.
    """
    config = config or TargetConfig()
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=2, max_size=config.vocabulary))
    ids_of_slots = vocabulary.word_ids(corpus)
    eligible = _eligible(vocabulary.keys, config)
    parts: list[Ints] = []
    total = len(corpus.sentences) - 1
    for first in range(0, total, SENTENCES_AT_ONCE):
        slots, sentence = corpus.word_slots(first, min(first + SENTENCES_AT_ONCE, total))
        parts.append(_candidates(ids_of_slots[slots].astype(np.int64), sentence, eligible, config))
    chosen = round_robin(np.concatenate(parts), count, config.seed)
    if not len(chosen):
        raise DataError(
            f"No sentence of {corpus.path} has {config.min_words} to {config.max_words} words and a word "
            "that occurs in it once and in the text often enough. Use more text, or other lengths."
        )
    return [_occurrence(corpus, sentence, word) for sentence, word, _ in chosen.tolist()]


def sentence_targets(
    sentences: Sequence[str], count: int, config: TargetConfig | None = None
) -> list[tuple[int, Occurrence]]:
    """Choose targets in given sentences, at most one in each, with the index of the sentence."""
    config = config or TargetConfig()
    spans = [word_spans(sentence) for sentence in sentences]
    words = [[text[slice(*span)].lower() for span in found] for text, found in zip(sentences, spans)]
    counts = Counter(word for found in words for word in found)
    keys = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    keys = keys[: config.vocabulary]
    numbers = {word: number for number, word in enumerate(keys)}
    ids = np.array([numbers.get(word, -1) for found in words for word in found], dtype=np.int64)
    sentence = np.repeat(np.arange(len(sentences)), list(map(len, words)))
    chosen = round_robin(_candidates(ids, sentence, _eligible(keys, config), config), count, config.seed)
    return [(row, Occurrence(sentences[row], *spans[row][word])) for row, word, _ in chosen.tolist()]


def read_paraphrases(path: str | Path) -> tuple[list[str], list[str]]:
    """Read sentences and their paraphrases; further columns and blank lines are ignored.

    Raises:
        DataError: The file cannot be read, or a line does not have two sentences.
    """
    path = Path(path)
    sentences: list[str] = []
    others: list[str] = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        columns = [" ".join(column.split()) for column in line.split("\t")]
        if len(columns) < 2 or not all(columns[:2]):
            raise DataError(
                f"{path}:{number}: expected a sentence, a tab and its paraphrase, got {line.rstrip()[:60]!r}."
            )
        sentences.append(columns[0])
        others.append(columns[1])
    if not sentences:
        raise DataError(f"{path} has no paraphrases.")
    return sentences, others


def round_robin(candidates: Ints, count: int, seed: int) -> Ints:
    """Choose candidates so that, as far as possible, no word repeats before every other word has been chosen.

    Candidates are rows (sentence, position in the sentence, word) [n, 3]; each sentence is used once.
    """
    generator = np.random.default_rng(seed)
    shuffled = candidates[generator.permutation(len(candidates))]
    by_word = np.argsort(shuffled[:, 2], kind="stable")
    words = shuffled[by_word, 2]
    round_of = np.empty(len(shuffled), dtype=np.int64)
    round_of[by_word] = np.arange(len(words)) - np.searchsorted(words, words, side="left")
    ordered = shuffled[np.argsort(round_of, kind="stable")]
    _, first = np.unique(ordered[:, 0], return_index=True)
    taken: Ints = ordered[np.sort(first)[:count]]
    return taken


def _eligible(keys: Sequence[str], config: TargetConfig) -> NDArray[np.bool_]:
    skipped = int(np.ceil(config.skipped * min(config.vocabulary, len(keys))))
    return np.array(
        [number >= skipped and len(key) > 1 and key.isalpha() for number, key in enumerate(keys)], dtype=np.bool_
    )


def _candidates(ids: Ints, sentence: Ints, eligible: NDArray[np.bool_], config: TargetConfig) -> Ints:
    """Rows (sentence, position, word) of words that occur once in a sentence of suitable length."""
    if not len(ids):
        return np.empty((0, 3), dtype=np.int64)
    first_word = np.searchsorted(sentence, sentence, side="left")
    length = np.searchsorted(sentence, sentence, side="right") - first_word
    fits = (length >= config.min_words) & (length <= config.max_words)
    fits &= (ids >= 0) & np.append(eligible, False)[np.minimum(ids, len(eligible))]
    pairs = (sentence - sentence[0]) * (len(eligible) + 1) + np.clip(ids, 0, len(eligible))
    _, place, times = np.unique(pairs, return_inverse=True, return_counts=True)
    fits &= times[place] == 1
    rows = np.flatnonzero(fits)
    return np.stack([sentence[rows], rows - first_word[rows], ids[rows]], axis=1).astype(np.int64)


def _occurrence(corpus: Corpus, sentence: int, word: int) -> Occurrence:
    form_ids = corpus.form_ids[corpus.sentences[sentence] : corpus.sentences[sentence + 1]].tolist()
    forms = [corpus.forms[form] for form in form_ids]
    text = "".join(forms)
    position = len(text.lstrip(" ")) - len(text)
    start, end = _place(corpus, form_ids, forms, word)
    return Occurrence(text.lstrip(" "), start + position, end + position)


def _place(corpus: Corpus, form_ids: list[int], forms: list[str], word: int) -> tuple[int, int]:
    """Offsets of a word, given by its index, in a sequence of forms."""
    table, position = corpus.forms, 0
    for number, form in zip(form_ids, forms):
        start, end = int(table.word_offsets[number]), int(table.word_offsets[number + 1])
        if word < end - start:
            slot = start + word
            return position + int(table.word_starts[slot]), position + int(table.word_ends[slot])
        word -= end - start
        position += len(form)
    raise IndexError(f"{word} words too many")
