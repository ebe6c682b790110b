"""Protocols: the rules under which tables are scored. A new protocol is one row of ``PROTOCOLS``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from wordstill.core.settings import Config, Range, field_kinds
from wordstill.errors import UsageError, unknown_name
from wordstill.vectors.sentences import as_written_then_lower

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


Oov = Literal["skip", "mean", "zero", "backoff"]
Case = Literal["fallback", "lower", "exact", "ignore"]
Solver = Literal["3cosadd", "3cosmul"]
Asked = Literal["fourth", "third"]
QuestionWords = Literal["published", "lower", "stripped"]
RelationMeasure = Literal["cosine", "plain-cosine", "dot"]
Clusters = Literal["kmeans", "best"]
Sentence = Literal["mean", "sif"]
Average = Literal["corpora", "pairs"]

ABSENT = -1


@dataclass(frozen=True)
class Protocol(Config):
    """How words are looked up, what happens to those not found, and which variant of a task is used."""

    covered: ClassVar[str] = "items with every word in the table"

    name: str
    oov: Oov = "skip"
    """``skip`` skips items with an absent word; ``mean`` gives the absent word the mean of all vectors; ``zero`` gives
    the item the similarity 0, or counts it as wrong; ``backoff`` uses the table's back-off policies, or the default
    ones (another case; parts of words), and skips the item if they find no vector."""
    case: Case = "fallback"
    """``fallback`` tries the word as published, then in lower case; ``exact`` and ``lower`` try only one;
    ``ignore`` takes the first word of the table that is the same in upper case."""
    max_vocab: Annotated[int | None, Range(1)] = None
    """Only the first so many words of the table count as present; None for all."""
    analogy: Solver = "3cosadd"
    """How a question is answered: by the largest sum of cosines b - a + c, or by their product b c / a."""
    analogy_asks: Asked = "fourth"
    """Which word of a question is asked for."""
    analogy_words: QuestionWords = "published"
    """Whether the words of questions are put in lower case first, or also lose their punctuation."""
    analogy_vocab: Annotated[int | None, Range(1)] = None
    """As ``max_vocab``, for analogies only: for the words of questions and for answers."""
    relation: RelationMeasure = "cosine"
    """How a pair is compared with the typical pairs of a relation: cosine of differences of unit vectors or, as BERT +
    skip-gram prints (Eq. 17), of plain ones, or dot product of plain ones."""
    clusters: Clusters = "kmeans"
    """``kmeans`` is seeded and over unit vectors; ``best`` is the best of six clusterings of plain ones."""
    sentence: Sentence = "mean"
    """How the vector of a sentence is made of those of its words."""
    average: Average = "corpora"
    """Whether every sub-corpus counts once, or as often as it has pairs."""

    def rows(self, words: Iterable[str], vectors: WordVectors) -> NDArray[np.int64]:
        """The row of each word in the table, ``ABSENT`` for those that the rules do not find."""
        limit = self.limit(vectors)
        if self.case == "ignore":
            folded = folded_rows(vectors, limit)
            return np.array([folded.get(word.upper(), ABSENT) for word in words], dtype=np.int64)
        return np.array([self._row(word, vectors, limit) for word in words], dtype=np.int64)

    def forms(self, word: str) -> tuple[str, ...]:
        """The spellings under which a word is looked up, in order."""
        if self.case == "exact":
            return (word,)
        return (word.lower(),) if self.case == "lower" else as_written_then_lower(word)

    def limit(self, vectors: WordVectors) -> int:
        """How many rows of the table count."""
        return len(vectors) if self.max_vocab is None else min(self.max_vocab, len(vectors))

    def describe(self, tasks: Collection[str] = ()) -> str:
        """The rules in a few sentences, as printed under every table of scores.

        Args:
            tasks: Kinds of tasks; rules that concern only other kinds are left out.
        """
        kinds, absent = _OOV_SENTENCES[self.oov]
        concerned = not tasks or not set(kinds).isdisjoint(tasks)
        sentences = [absent if concerned else "", _CASE_SENTENCES[self.case]]
        if self.max_vocab is not None:
            sentences.append(f"Only the first {self.max_vocab:,} words of a table count as present.")
        sentences += [
            sentence
            for kinds, rules, sentence in _OOV_IN_TEXTS
            if self.oov in rules and not set(kinds).isdisjoint(tasks)
        ]
        for task, names in _TASK_FIELDS.items():
            if task in tasks:
                sentences += [_SENTENCES[field][str(getattr(self, field))] for field in names]
        if "analogy" in tasks and self.analogy_vocab is not None:
            sentences.append(f"In analogies only the first {self.analogy_vocab:,} words count.")
        return " ".join(sentence for sentence in sentences if sentence)

    def _row(self, word: str, vectors: WordVectors, limit: int) -> int:
        for form in self.forms(word):
            if form in vectors and (row := vectors.index(form)) < limit:
                return row
        return ABSENT


def folded_rows(vectors: WordVectors, limit: int) -> dict[str, int]:
    """The first row of each word of the table, by the word in upper case."""
    return {word.upper(): row for row, word in reversed(list(enumerate(vectors.words[:limit])))}


_PAIRED = ("similarity", "analogy", "relation")
_OF_WORDS = (*_PAIRED, "categorisation")
_WITH_TABLE = (*_OF_WORDS, "sts", "classification", "probe", "tagging", "ncrfpp")
_OOV_SENTENCES: Mapping[Oov, tuple[Sequence[str], str]] = {
    "skip": (_OF_WORDS, "Items with a word that is not in the table are skipped."),
    "mean": (_WITH_TABLE, "A word that is not in the table gets the mean of all vectors; no item is skipped."),
    "zero": (
        _PAIRED,
        "An item with a word that is not in the table gets a similarity of 0 or counts as wrong; none is skipped.",
    ),
    "backoff": (
        _WITH_TABLE,
        "A word that is not in the table gets a vector from the table's back-offs, or from similarly spelled "
        "words; items without one are skipped.",
    ),
}
"""By rule: the kinds of tasks that its description fits, and the description."""
_OOV_IN_TEXTS: Sequence[tuple[Sequence[str], Sequence[Oov], str]] = (
    (("sts",), ("skip", "backoff"), "Words without a vector are skipped in sentences."),
    (("classification", "probe"), ("skip", "backoff"), "Classifiers do not see a word without a vector."),
    (("tagging",), ("skip", "backoff"), "For a word without a vector, taggers see zeros and its letters."),
    (("ncrfpp",), ("skip",), "For a word without a vector, taggers see a random vector and its letters."),
    (("categorisation",), ("zero",), "In clustering, a word that is not in the table is all zeros."),
    (("sts",), ("zero",), "A sentence pair gets a similarity of 0 if either sentence has no known word."),
    (
        ("classification", "probe", "tagging", "ncrfpp"),
        ("zero",),
        "In training texts, a word that is not in the table is all zeros.",
    ),
)
"""Kinds of tasks, rules, and what these rules mean for them."""
_CASE_SENTENCES: Mapping[Case, str] = {
    "fallback": "Words are looked up as published, then in lower case.",
    "lower": "Words are looked up in lower case.",
    "exact": "Words are looked up exactly as published.",
    "ignore": "Words are looked up without regard to case.",
}
_TASK_FIELDS: Mapping[str, tuple[str, ...]] = {
    "analogy": ("analogy", "analogy_asks", "analogy_words"),
    "relation": ("relation",),
    "categorisation": ("clusters",),
    "sts": ("sentence", "average"),
}
_SENTENCES: Mapping[str, Mapping[str, str]] = {
    "analogy": {
        "3cosadd": "Analogies are answered by 3CosAdd, without the words of the question.",
        "3cosmul": "Analogies are answered by 3CosMul, without the words of the question.",
    },
    "analogy_asks": {"fourth": "", "third": "The third word of an analogy is asked for, not the fourth."},
    "analogy_words": {
        "published": "",
        "lower": "Words of analogies are in lower case.",
        "stripped": "Words of analogies are in lower case and without punctuation.",
    },
    "relation": {
        "cosine": "Relations compare differences of unit vectors by their cosine.",
        "plain-cosine": "Relations compare differences of vectors by their cosine.",
        "dot": "Relations compare differences of vectors by their dot product.",
    },
    "clusters": {
        "kmeans": "Clusters are those of seeded k-means over unit vectors.",
        "best": "Purity is the best of six clusterings, chosen on the classes themselves.",
    },
    "sentence": {
        "mean": "A sentence is the mean of its words' vectors.",
        "sif": "A sentence is the SIF-weighted mean of its words' vectors without the common component.",
    },
    "average": {
        "corpora": "STS scores are means over sub-corpora.",
        "pairs": "STS scores are means over sub-corpora, weighted by their pairs.",
    },
}

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("default"),
        # facebookresearch/MUSE, used by X2Static: pairs in lower case, the first 200,000 words of the table.
        Protocol("muse", case="lower", max_vocab=200_000, analogy_asks="third"),
        # kudkudak/word-embeddings-benchmarks, used by Context-to-Vec.
        Protocol("web", oov="mean", case="exact", analogy_words="stripped", relation="dot", clusters="best"),
        # What the sets' authors ran: word2vec's compute-accuracy, the weighted mean of the STS tasks.
        Protocol("official", case="ignore", analogy_vocab=30_000, average="pairs"),
    )
}


def resolve(protocol: str | Protocol) -> Protocol:
    """The protocol of that name, or the protocol itself."""
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    return PROTOCOLS[protocol]


ALL_WORDS = "all"


def changed_protocol(name: str, rules: Sequence[str]) -> Protocol:
    """A named protocol with some rules changed; its name says which.

    Args:
        name: Of the protocol.
        rules: Texts such as ``oov=backoff`` or ``max_vocab=200000``.
    """
    kinds = {key: kind for key, kind in field_kinds(Protocol).items() if key != "name"}
    changed: dict[str, Any] = {}
    for rule in rules:
        key, equals, value = rule.partition("=")
        if not equals:
            raise UsageError(f"--rule {rule!r} must be NAME=VALUE, for example oov=backoff.")
        if key not in kinds:
            raise unknown_name("rule", key, kinds)
        if rule == "oov=teacher":
            raise UsageError("Vectors from the teacher are asked for with --unknown teacher instead of a rule.")
        changed[key] = kinds[key].read(value, key, none=ALL_WORDS)
    base = resolve(name)
    if not changed:
        return base
    label = ", ".join(f"{key}={ALL_WORDS if value is None else value}" for key, value in changed.items())
    return replace(base, name=f"{name} with {label}", **changed)
