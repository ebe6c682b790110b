"""From a word in a sentence, a paraphrase and what would fit its place, to a triple or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wordstill.errors import UsageError
from wordstill.meaning.cosines import WordCosines, nearly_the_same
from wordstill.meaning.masked import Candidate
from wordstill.meaning.triples import Triple
from wordstill.meaning.use import Use, word_spans
from wordstill.meaning.wordalign import align_target

SUBSTITUTED = "substituted"
"""Of positives: made by replacing the word alone."""
TARGET_UNKNOWN = "the target has no static vector"
NOT_PREDICTED = "the masked model cannot read it"
NO_NEGATIVE = "no word fits its place with another meaning"
NO_SUBSTITUTE = "no word fits its place with the same meaning"
NAME = "a name, which no other word can stand for"
NO_PARAPHRASE = "no paraphrase"
NOT_ALIGNED = "no word of the paraphrase matches"


@dataclass(frozen=True)
class BuildConfig:
    """When words count as having the same meaning, and which predictions count; the defaults are the paper's.

    The paper's cosine is for fastText; for another table take one that its synonyms reach and others do not.
    """

    similarity: float = 0.6
    """Cosine of static vectors from which on two words have the same meaning, λ."""
    probability: float = 0.003
    """Least probability of a prediction, δ."""
    candidates: int = 100
    """How many predictions are looked at."""
    edit_distance: int = 3
    """Letters up to which a positive is nearly the same word and is replaced if that can be."""

    def __post_init__(self) -> None:
        if not (0 < self.similarity < 1 and 0 <= self.probability < 1 and self.candidates > 0):
            raise UsageError(
                f"similarity must be between 0 and 1, probability from 0 to 1 and candidates at least 1; got "
                f"{self.similarity}, {self.probability} and {self.candidates}."
            )


class TripleBuilder:
    """Builds triples.

    Args:
        cosines: Compares words by a static table.
        config: Thresholds.
    """

    def __init__(self, cosines: WordCosines, config: BuildConfig | None = None) -> None:
        self.cosines, self.config = cosines, config or BuildConfig()

    def build(
        self, use: Use, predicted: Sequence[Candidate] | None, paraphrase: str | None, *, how: str
    ) -> Triple | str:
        """A triple, or why there is none.

        Args:
            use: The target in its sentence.
            predicted: What would fit its place, the most probable first; None where that is not known.
            paraphrase: The sentence in other words; with ``how="substituted"`` it is not used.
            how: Where the paraphrase comes from.
        """
        if reason := self.ruled_out(use, how=how):
            return reason
        if predicted is None:
            return NOT_PREDICTED
        same, other = self._sorted_out(use.word, predicted)
        if other is None:
            return NO_NEGATIVE
        negative = use.replaced(in_the_case_of(use, other))
        if how == SUBSTITUTED:
            if same is None:
                return NO_SUBSTITUTE
            return Triple(use, use.replaced(in_the_case_of(use, same)), negative, how)
        if not paraphrase or not paraphrase.strip():
            return NO_PARAPHRASE
        positive = self.matched(use, paraphrase)
        if positive is None:
            return NOT_ALIGNED
        if same is not None and self._replaceable(use, positive):
            return Triple(use, positive.replaced(in_the_case_of(positive, same)), negative, "replaced")
        return Triple(use, positive, negative, how)

    def ruled_out(self, use: Use, *, how: str) -> str | None:
        """Why a target gives no triple whatever would fit its place; None if it may give one."""
        if use.word not in self.cosines:
            return TARGET_UNKNOWN
        return NAME if how == SUBSTITUTED and is_name(use) else None

    def matched(self, use: Use, paraphrase: str) -> Use | None:
        """The word of a paraphrase that stands for the target (Algorithm 4.1)."""
        # A hyphenated word is one word on both sides, and the target's place tells which word it is.
        others = word_spans(paraphrase)
        other_words = [paraphrase[slice(*span)] for span in others]
        # Most targets end here; to compare all words takes much longer.
        if not (self.cosines.matrix([use.word], other_words) >= self.config.similarity).any():
            return None
        spans = word_spans(use.text)
        target = next((row for row, (first, last) in enumerate(spans) if first <= use.start < last), None)
        if target is None:
            return None
        words = [use.text[slice(*span)] for span in spans]
        words[target] = use.word
        cosines = self.cosines.matrix(words, other_words)
        match = align_target(cosines, target, self.config.similarity)
        return None if match is None else Use(paraphrase, *others[match])

    def _sorted_out(self, word: str, predicted: Sequence[Candidate]) -> tuple[str | None, str | None]:
        """The most probable other word with the same meaning, and the one with another meaning."""
        itself = word.casefold()
        words = [
            candidate.word
            for candidate in predicted
            if candidate.probability > self.config.probability
            and candidate.word.casefold() != itself
            and candidate.word in self.cosines
        ]
        if not words:
            return None, None
        near = self.cosines.matrix([word], words)[0] >= self.config.similarity
        same = (other for other, alike in zip(words, near) if alike and not self._nearly(word, other))
        return next(same, None), next((other for other, alike in zip(words, near) if not alike), None)

    def _replaceable(self, use: Use, positive: Use) -> bool:
        return self._nearly(use.word, positive.word) and not is_name(use) and not is_name(positive)

    def _nearly(self, word: str, other: str) -> bool:
        return nearly_the_same(word, other, self.config.edit_distance)


def is_name(use: Use) -> bool:
    """Whether a word has a capital letter though no sentence begins with it."""
    before = use.text[: use.start].rstrip()
    return use.word[:1].isupper() and bool(before) and before[-1] not in ".!?:\"“”'"


def in_the_case_of(use: Use, word: str) -> str:
    """A word written as the one in whose place it comes: with a capital, in capitals, or as it is."""
    if use.word.isupper() and len(use.word) > 1:
        return word.upper()
    if use.word[:1].isupper():
        return word[:1].upper() + word[1:]
    return word
