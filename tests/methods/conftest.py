"""A small made-up text, what a tiny teacher says of it, and hand-made states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordstill.corpus import Corpus, Vocabulary, VocabularyConfig, prepare
from wordstill.methods import METHODS, Method, RunContext, read_specs
from wordstill.teacher import Batch, BatchConfig, Teacher, TextBatches, WordListBatches, WordStates, subword_source

KIND = "bert-cased"
WANTED = ("New York", "grey Monday river", "vapourless", "isthmus", "the")
WORDS = """
the old still stands in small house by river and nobody has moved it heat text cool vapour keep what drips out
she said colder than other towns about them knows why turned grey newspapers wrote for weeks write to read
before page with query
"""
UNSEEN = ("grey monday river", "vapourless")
BUDGET = 100


def make_lines() -> list[list[str]]:
    """Paragraphs of sentences; some words are in every case, some in a few sentences, one only once."""
    generator = np.random.default_rng(7)
    words = WORDS.split()
    frequency = 1 / np.arange(2, len(words) + 2)
    paragraphs = []
    for _ in range(60):
        sentences = []
        for _ in range(int(generator.integers(1, 4))):
            chosen = list(generator.choice(words, size=int(generator.integers(3, 9)), p=frequency / frequency.sum()))
            if generator.random() < 0.15:
                chosen.insert(int(generator.integers(0, len(chosen))), "New York")
            if generator.random() < 0.3:
                chosen[-1] = chosen[-1].upper()
            text = " ".join(chosen)
            sentences.append(text[0].upper() + text[1:] + ".")
        paragraphs.append(sentences)
    paragraphs.append(["An isthmus is small."])
    return paragraphs


@dataclass(frozen=True)
class Text:
    """A prepared text with its sentences as they were written."""

    lines: list[list[str]]
    corpus: Corpus
    vocabulary: Vocabulary
    teacher: Teacher
    said: dict[tuple[bool, int, tuple[int, ...], str], list[WordStates]] = field(default_factory=dict)

    @property
    def context(self) -> RunContext:
        return RunContext(
            self.vocabulary, self.teacher.width, self.teacher.depth, self.teacher.device, words=self.corpus.n_words
        )

    def build(self, spec: str, seed: int = 0) -> Method:
        """A method that has seen nothing."""
        (found,) = read_specs([spec], METHODS, self.teacher.depth)
        return found.build(replace(self.context, seed=seed))

    def batches(self, *, alone: bool, budget: int, prompt: str = "{}") -> list[Batch]:
        """All batches of the text, or of every word of the vocabulary alone or in a prompt."""
        tokenizer, config = self.teacher.tokenizer, BatchConfig(budget, self.teacher.limit)
        source: TextBatches | WordListBatches
        if alone:
            ids = np.arange(len(self.vocabulary), dtype=np.int64)
            source = WordListBatches(self.vocabulary.surfaces, ids, tokenizer, config, prompt=prompt)
        else:
            subwords = subword_source(self.corpus, tokenizer)
            source = TextBatches(self.corpus, self.vocabulary, subwords, tokenizer, config)
        return [batch for _, batch in source.since((0, 0))]

    def steps(self, method: Method, budget: int = BUDGET) -> list[Callable[[Method], None]]:
        """What the method would observe, one call for each batch."""
        found: list[Callable[[Method], None]] = []
        if len(method.isolated_words()):
            for states in self.states(True, budget, method.layers):
                found.append(lambda each, states=states: each.observe_isolated(states))
        if method.prompt is not None:
            for states in self.states(True, budget, method.layers, method.prompt):
                found.append(lambda each, states=states: each.observe_prompted(states))
        if method.reads_text:
            for states in self.states(False, budget, method.layers):
                found.append(lambda each, states=states: each.observe(states))
        return found

    def states(self, alone: bool, budget: int, layers: tuple[int, ...], prompt: str = "{}") -> list[WordStates]:
        """What the teacher says of all batches."""
        key = (alone, budget, layers, prompt)
        if key not in self.said:
            batches = self.batches(alone=alone, budget=budget, prompt=prompt)
            self.said[key] = [self.teacher.encode(each, layers) for each in batches]
        return self.said[key]

    def run(self, spec: str, budget: int = BUDGET) -> Method:
        """A method that has seen everything."""
        method = self.build(spec)
        for step in self.steps(method, budget):
            step(method)
        return method


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory, tiny_teacher: Callable[..., Teacher]) -> Text:
    lines = make_lines()
    folder: Path = tmp_path_factory.mktemp("methods")
    (folder / "text.txt").write_text("\n".join(" ".join(line) for line in lines), encoding="utf-8")
    corpus = prepare(folder / "text.txt", folder / "store", workers=1)
    assert [[each.text for each in paragraph.sentences] for paragraph in corpus] == lines
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=2, words=WANTED))
    assert {key for key, count in zip(vocabulary.keys, vocabulary.counts) if count == 0} == set(UNSEEN)
    return Text(lines, corpus, vocabulary, tiny_teacher(KIND))


@dataclass
class Words:
    """As much of a vocabulary as methods look at."""

    counts: np.ndarray
    keys: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=np.int64)
        self.keys = [f"word{number}" for number in range(len(self.counts))]

    def __len__(self) -> int:
        return len(self.counts)

    def keep_probability(self, t: float) -> np.ndarray:
        """Every word stays; thinning is for real vocabularies."""
        return np.ones(len(self))


def states_of(sentences: Sequence[Sequence[int]], vectors: np.ndarray, layer: int = 0) -> WordStates:
    """States of sentences given as word ids, one subword for each word; -2 is a word without subwords.

    Args:
        sentences: Word ids; -1 is outside the vocabulary.
        vectors: One for each word that has a subword, in reading order.
        layer: Whose states these are.
    """
    ids = np.concatenate([np.asarray(sentence, dtype=np.int64) for sentence in sentences])
    owner = np.repeat(np.arange(len(sentences)), [len(sentence) for sentence in sentences])
    there = (ids != -2).astype(np.int64)
    last = np.cumsum(there)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, weights=there, minlength=len(sentences)))])
    bounds = bounds.astype(np.int64)
    nothing = np.empty(0, dtype=np.int64)
    batch = Batch(
        subwords=np.zeros(len(vectors), dtype=np.int64),
        text_offsets=np.array([0, len(vectors)]),
        word_ids=np.maximum(ids, -1).astype(np.int32),
        word_start=last - there,
        word_end=last,
        word_sentence=owner,
        sentence_start=bounds[:-1],
        sentence_end=bounds[1:],
        sentence_text=np.zeros(len(sentences), dtype=np.int64),
        n_words=len(ids),
        phrase_start=nothing,
        phrase_end=nothing,
        source_ids=np.zeros(1, dtype=np.int64),
    )
    return WordStates(batch, {layer: torch.from_numpy(np.asarray(vectors, dtype=np.float32))})


@pytest.fixture(scope="session")
def hand_made() -> Callable[..., WordStates]:
    """Makes states of sentences given as word ids."""
    return states_of


@pytest.fixture(scope="session")
def hand_made_run() -> Callable[..., RunContext]:
    """Makes a run with given counts of words."""

    def make(counts: Sequence[int], width: int) -> RunContext:
        return RunContext(Words(np.array(counts)), width, 0, torch.device("cpu"))  # type: ignore[arg-type]

    return make


class Slow:
    """The text and single words through the model one by one, words found by a pattern: no code of ours.

    Attributes:
        occurrences: For each key, for each occurrence, the states of its subwords in all layers [L, P, d].
        contexts: For each key, for each occurrence, the number of its sentence.
        sentences: Mean state of each sentence in all layers [L, d].
    """

    def __init__(self, text: Text, tokenizer: Any) -> None:
        self.model, self.tokenizer = text.teacher.model, tokenizer
        self.occurrences: dict[str, list[np.ndarray]] = {}
        self.contexts: dict[str, list[int]] = {}
        self.spellings: dict[str, Counter[str]] = {}
        self.sentences: list[np.ndarray] = []
        phrases = [phrase.lower() for phrase in WANTED if " " in phrase]
        for line in text.lines:
            hidden, spans = self.read(" ".join(line))
            start = 0
            for sentence in line:
                inside = [row for row, (low, high) in enumerate(spans) if start <= low < high <= start + len(sentence)]
                for found in [
                    *re.finditer(r"\w+|\.", sentence),
                    *(each for phrase in phrases for each in re.finditer(rf"\b{phrase}\b", sentence, re.IGNORECASE)),
                ]:
                    low, high = found.start() + start, found.end() + start
                    rows = [row for row in inside if spans[row][0] < high and spans[row][1] > low]
                    key = found.group().lower()
                    self.occurrences.setdefault(key, []).append(hidden[:, rows])
                    self.contexts.setdefault(key, []).append(len(self.sentences))
                    self.spellings.setdefault(key, Counter())[found.group()] += 1
                self.sentences.append(hidden[:, inside].mean(axis=1))
                start += len(sentence) + 1

    @cache  # noqa: B019 - there is one of these
    @torch.no_grad()
    def read(self, words: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
        """States [L, P, d] in float64 and character spans; special tokens have empty spans."""
        encoded = self.tokenizer(words, return_offsets_mapping=True, return_tensors="pt")
        output = self.model(input_ids=encoded["input_ids"], output_hidden_states=True)
        hidden = torch.stack(output.hidden_states)[:, 0].double().numpy()
        return hidden, [tuple(span) for span in encoded["offset_mapping"][0].tolist()]

    def alone(self, key: str) -> np.ndarray:
        """States of the subwords of a word alone, in its most frequent spelling, in all layers [L, P, d]."""
        spelling = next((wanted for wanted in WANTED if wanted.lower() == key), key)
        if key in self.spellings:
            spelling = min(self.spellings[key].items(), key=lambda item: (-item[1], item[0]))[0]
        hidden, spans = self.read(spelling)
        return hidden[:, [row for row, (low, high) in enumerate(spans) if high > low]]


@pytest.fixture(scope="session")
def slow(text: Text, tiny_tokenizer: Callable[[str], Any]) -> Slow:
    return Slow(text, tiny_tokenizer(KIND))


class Topics:
    """Made-up states with a planted structure: words of four topics, each sentence about one of them."""

    words, width, topics, sentences, length = 24, 16, 4, 60, 8

    def build(self, spec: str, seed: int = 0, batches: int = 40) -> Method:
        """A method for a text of so many batches."""
        read = batches * self.sentences * self.length
        vocabulary: Any = Words(np.full(self.words, read // self.words))
        (found,) = read_specs([spec], METHODS, 0)
        return found.build(RunContext(vocabulary, self.width, 0, torch.device("cpu"), seed=seed, words=read))

    def states(self, seed: int, scale: float = 1.0) -> WordStates:
        """A batch. A word's number modulo 4 is its topic, and all states share a large direction."""
        generator = np.random.default_rng(seed)
        centers = np.random.default_rng(99).normal(size=(self.topics, self.width))
        sentences, vectors = [], []
        for _ in range(self.sentences):
            topic = int(generator.integers(self.topics))
            words = topic + self.topics * generator.integers(0, self.words // self.topics, size=self.length)
            sentences.append(words.tolist())
            vectors.append(3.0 + centers[topic] + 0.5 * generator.normal(size=(self.length, self.width)))
        return states_of(sentences, scale * np.concatenate(vectors))

    def gap(self, vectors: torch.Tensor) -> float:
        """By how much words of one topic are closer to each other than any to words of another."""
        unit = torch.nn.functional.normalize(vectors - vectors.mean(dim=0), dim=1)
        cosines = unit @ unit.T
        topic = torch.arange(len(unit)) % self.topics
        same = (topic[:, None] == topic) & ~torch.eye(len(unit), dtype=torch.bool)
        return float(cosines[same].min()) - float(cosines[topic[:, None] != topic].max())


@pytest.fixture(scope="session")
def topics() -> Topics:
    return Topics()
