"""Relations between the words of a WordNet, whatever it is read with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Literal, get_args

from wordstill.errors import UsageError, unknown_name
from wordstill.postprocess.retrofit.lexicon import Link

Relation = Literal["synonyms", "hypernyms", "antonyms"]


def checked_relations(relations: Sequence[str]) -> tuple[Relation, ...]:
    """The relations, each once, if all of them are known."""
    if not relations:
        raise UsageError(f"No relation was named. Give at least one of {', '.join(get_args(Relation))}.")
    for name in relations:
        if name not in get_args(Relation):
            raise unknown_name("relation", name, get_args(Relation))
    return tuple(name for name in get_args(Relation) if name in relations)


def mutual(lemmas: Sequence[str]) -> Iterator[Link]:
    """Links between every two lemmas."""
    return ((one, other, 1.0) for one, other in combinations(lemmas, 2))


def across(lemmas: Sequence[str], others: Sequence[str]) -> Iterator[Link]:
    """Links from each lemma to each of the others."""
    return ((one, other, 1.0) for one, other in product(lemmas, others))


def spelt(lemma: str) -> str:
    """A lemma with blanks where a WordNet has underscores."""
    return lemma.replace("_", " ")
