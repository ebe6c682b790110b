"""Development data for choosing among variants: pairs of uses of one word, and pairs of words in context.

The tasks measure both: senses of one word (USim, WiC, CoSimLex I), and the similarity of different words (SCWS,
CoSimLex II, sentences). Senses are from WiC's training and development pairs. Different words are from the development
parts of MEN and SimVerb-3500, each word in sentences of the text; a pair's cosine is the mean over several. No test
pairs are used.

A representation gains over the raw mean on some sets and loses on others. Each gain, in rank correlation, is divided by
its standard deviation over resamples of the pairs, and the representation whose smallest gain is largest is chosen,
because the aim is to beat the raw mean everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordstill.corpus.segment import word_spans
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.data.similarity_sets import WordPairs
from wordstill.evaluation.statistics import Floats, resampled_correlations, spearman
from wordstill.evaluation.tasks.in_context import PairCosines, word_cosines
from wordstill.meaning import Occurrence
from wordstill.meaning.context_encoder import StateEncoder
from wordstill.meaning.distiller import Representation
from wordstill.teacher.spans import StateReader

SENSES, SENSE_PARTS = "wic", ("train", "dev")
WORDS = ("men-dev", "simverb3500-dev")
CONTEXTS = 4
"""Sentences per word."""
RESAMPLES = 500


class Judged(NamedTuple):
    """Human judgments of pairs, and the cosine of each pair for every representation."""

    gold: Floats
    cosines: dict[str, Floats]


def development(
    reader: StateReader, representations: Mapping[str, Representation], sentences: Iterable[str]
) -> dict[str, Judged]:
    """All sets by name.

    Args:
        reader: Reads sentences.
        representations: What to judge.
        sentences: Of the text; as many as needed are looked at.
    """
    sets = {name: _pairs(name) for name in WORDS}
    needed = {word for pairs in sets.values() for word in (*pairs.first, *pairs.second)}
    occurrences = occurrences_of(needed, sentences, CONTEXTS)
    encoder = StateEncoder(reader, representations)
    judged = {SENSES: _senses(encoder)}
    return judged | {name: _words(encoder, pairs, occurrences) for name, pairs in sets.items()}


def occurrences_of(words: set[str], sentences: Iterable[str], count: int) -> dict[str, list[Occurrence]]:
    """The first occurrences of each word, one per sentence; words with too few are skipped."""
    found: dict[str, list[Occurrence]] = {word: [] for word in words}
    missing = set(words)
    for text in sentences:
        # Few sentences have a word that is still missing, and searching for spans is slow.
        if missing.isdisjoint(text.lower().split()):
            continue
        here = {text[slice(*span)].lower(): span for span in word_spans(text)}
        for word in missing & here.keys():
            occurrence = Occurrence(text, *here[word])
            # The same sentence may occur twice.
            found[word] += [occurrence] if occurrence not in found[word] else []
        missing -= {word for word in here if len(found.get(word, ())) == count}
        if not missing:
            break
    return {word: occurrences for word, occurrences in found.items() if len(occurrences) == count}


def _senses(encoder: StateEncoder) -> Judged:
    located = locate(SENSES)
    parts = located.reader(located.path).parts
    pairs = word_cosines(encoder, [pair for part in SENSE_PARTS for pair in parts[part]])
    return Judged(pairs.gold, {name: pairs.kept(name, -1.0) for name in encoder.names})


def _words(encoder: StateEncoder, pairs: WordPairs, occurrences: Mapping[str, Sequence[Occurrence]]) -> Judged:
    kept = [row for row, pair in enumerate(zip(pairs.first, pairs.second)) if occurrences.keys() >= set(pair)]
    sides = [
        [occurrence for row in kept for occurrence in occurrences[side[row]]] for side in (pairs.first, pairs.second)
    ]
    every = PairCosines.of(*encoder.occurrences(sides[0] + sides[1]), np.repeat(pairs.gold[kept], CONTEXTS))
    usable = _by_pair(every.found).all(axis=1)
    values = {name: _by_pair(one).mean(axis=1)[usable] for name, one in every.cosines.items()}
    return Judged(pairs.gold[kept][usable], values)


def _by_pair(values: NDArray[np.generic]) -> NDArray[np.generic]:
    return values.reshape(-1, CONTEXTS)


def _pairs(name: str) -> WordPairs:
    located = locate(name)
    pairs: WordPairs = located.reader(located.path)
    return pairs


@dataclass(frozen=True)
class Choice:
    """The chosen candidate, and the scores behind the choice."""

    chosen: str
    correlations: dict[str, dict[str, float]]
    """By set and representation."""
    gains: dict[str, dict[str, float]]
    """Gains of every candidate over the baseline on each set, in standard deviations of the gain."""
    shares: dict[str, float]
    """Share of the resamples in which each candidate would have been chosen."""

    def facts(self) -> dict[str, object]:
        """The JSON of the choice."""
        return asdict(self)


def choose(judged: Mapping[str, Judged], candidates: Sequence[str], baseline: str = "raw", seed: int = 0) -> Choice:
    """The candidate whose smallest gain over a baseline is the largest."""
    gains, drawn = zip(*(_gains(one, candidates, baseline, seed) for one in judged.values()))
    smallest = np.min(gains, axis=0)
    winners = np.argmax(np.min(drawn, axis=0), axis=1)
    shares = np.bincount(winners, minlength=len(candidates)) / len(winners)
    return Choice(
        candidates[int(np.argmax(smallest))],
        {
            name: {key: round(spearman(one.gold, values), 4) for key, values in one.cosines.items()}
            for name, one in judged.items()
        },
        {
            candidate: {name: round(float(of_set[row]), 2) for name, of_set in zip(judged, gains)}
            for row, candidate in enumerate(candidates)
        },
        {candidate: round(float(share), 3) for candidate, share in zip(candidates, shares)},
    )


def _gains(judged: Judged, candidates: Sequence[str], baseline: str, seed: int) -> tuple[Floats, Floats]:
    """[candidates] gains of a set in standard deviations, and [resamples, candidates] those of every resample."""
    names = (baseline, *candidates)
    models = np.stack([judged.cosines[name] for name in names])
    drawn = resampled_correlations(judged.gold, models, seed, RESAMPLES)
    above = drawn[:, 1:] - drawn[:, :1]
    spread = above.std(axis=0)
    base, *others = (spearman(judged.gold, model) for model in models)
    return (np.array(others) - base) / spread, above / spread
