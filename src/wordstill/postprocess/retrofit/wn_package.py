"""Lexicons from a wordnet that the package ``wn`` has in its database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from wordstill.errors import DataError, MissingExtra
from wordstill.postprocess.retrofit.lexicon import Lexicon, Link
from wordstill.postprocess.retrofit.relations import Relation, across, checked_relations, mutual, spelt


def read_wn(name: str, relations: Sequence[str] = ("synonyms",)) -> Lexicon:
    """Read a wordnet of any language, as in `read_wordnet`.

    Args:
        name: What ``wn`` calls it, such as ``oewn:2024``; it must have been downloaded or added before.
        relations: Some of ``synonyms``, ``hypernyms`` and ``antonyms``.
    """
    wanted = checked_relations(relations)
    try:
        import wn
    except ImportError as error:
        raise MissingExtra("wn", "retrofit", "Reading a wordnet by name") from error
    try:
        wordnet = wn.Wordnet(name)
    except wn.Error as error:
        raise DataError(
            f"The package wn has no wordnet {name!r} ({error}). Get it with: python -m wn download {name}"
        ) from None
    lexicon = Lexicon.from_links(_links(wordnet, wanted), {"wn": name, "relations": list(wanted)})
    if not len(lexicon):
        raise DataError(f"The wordnet {name!r} links no words by {' or '.join(wanted)}.")
    return lexicon


def _links(wordnet: Any, relations: Sequence[Relation]) -> Iterator[Link]:
    lemmas = _Lemmas()
    for synset in wordnet.synsets():
        if "synonyms" in relations:
            yield from mutual(lemmas.of(synset))
        if "hypernyms" in relations:
            for above in synset.get_related("hypernym", "instance_hypernym"):
                yield from across(lemmas.of(synset), lemmas.of(above))
        if "antonyms" in relations:
            for opposite in synset.get_related("antonym"):
                yield from across(lemmas.of(synset), lemmas.of(opposite))
    if "antonyms" in relations:
        for sense in wordnet.senses():
            for opposite in sense.get_related("antonym"):
                yield spelt(sense.word().lemma()), spelt(opposite.word().lemma()), 1.0


class _Lemmas:
    """The lemmas of synsets, each asked for once, since every question goes to a database."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def of(self, synset: Any) -> list[str]:
        if synset.id not in self._known:
            self._known[synset.id] = [spelt(lemma) for lemma in synset.lemmas()]
        return self._known[synset.id]
