"""Under which rules a table of vectors is scored; a new protocol is one row of ``PROTOCOLS``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

Oov = Literal["skip", "mean", "zero"]
Case = Literal["fallback", "lower", "exact"]

ABSENT = -1


@dataclass(frozen=True)
class Protocol:
    """How words are looked up, and what happens to those that are not found."""

    name: str
    oov: Oov = "skip"
    """``skip`` leaves a pair with an absent word out; ``mean`` gives the absent word the mean of all vectors;
    ``zero`` gives the pair the similarity 0."""
    case: Case = "fallback"
    """``fallback`` tries the word as published, then in lower case; ``exact`` and ``lower`` try only one."""
    max_vocab: int | None = None
    """Only the first so many words of the table count as present; None for all."""

    def __post_init__(self) -> None:
        if self.oov not in get_args(Oov):
            raise unknown_name("out-of-vocabulary rule", str(self.oov), get_args(Oov))
        if self.case not in get_args(Case):
            raise unknown_name("case rule", str(self.case), get_args(Case))
        if self.max_vocab is not None and self.max_vocab < 1:
            raise UsageError(f"max_vocab must be at least 1, or None for all words, but is {self.max_vocab}.")

    def rows(self, words: Iterable[str], vectors: WordVectors) -> NDArray[np.int64]:
        """The row of each word in the table, ``ABSENT`` for those that the rules do not find."""
        limit = self.limit(vectors)
        return np.array([self._row(word, vectors, limit) for word in words], dtype=np.int64)

    def limit(self, vectors: WordVectors) -> int:
        """How many rows of the table count."""
        return len(vectors) if self.max_vocab is None else min(self.max_vocab, len(vectors))

    def describe(self) -> str:
        """The rules in two or three sentences, to stand under every table of figures."""
        sentences = [_OOV_SENTENCES[self.oov], _CASE_SENTENCES[self.case]]
        if self.max_vocab is not None:
            sentences.append(f"Only the first {self.max_vocab:,} words of a table count as present.")
        return " ".join(sentences)

    def _row(self, word: str, vectors: WordVectors, limit: int) -> int:
        for form in self._forms(word):
            if form in vectors and (row := vectors.index(form)) < limit:
                return row
        return ABSENT

    def _forms(self, word: str) -> tuple[str, ...]:
        if self.case == "exact":
            return (word,)
        return (word.lower(),) if self.case == "lower" else (word, word.lower())


_OOV_SENTENCES: Mapping[Oov, str] = {
    "skip": "Pairs with a word that is not in the table are left out of its figure.",
    "mean": "A word that is not in the table gets the mean of all its vectors; no pair is left out.",
    "zero": "A pair with a word that is not in the table gets the similarity 0; no pair is left out.",
}
_CASE_SENTENCES: Mapping[Case, str] = {
    "fallback": "Words are looked up as published, then in lower case.",
    "lower": "Words are looked up in lower case.",
    "exact": "Words are looked up exactly as published.",
}

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (Protocol("default", oov="skip", case="fallback", max_vocab=None),)
}


def resolve(protocol: str | Protocol) -> Protocol:
    """The protocol of that name, or the protocol itself."""
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return PROTOCOLS[protocol]
