"""Word sense disambiguation: the sense of a word in a text, and sense vectors for evaluations of words in context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.senses import SenseInContext, Senses
from wordstill.errors import UsageError
from wordstill.meaning.context_encoder import Mask, StateEncoder, Vectors, WithTables
from wordstill.meaning.occurrence import Occurrence, Place
from wordstill.teacher import Teacher
from wordstill.teacher.spans import StateReader, TextSpan
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

Floats = NDArray[np.float32]


class SenseReader:
    """Finds the sense of a word in a text by the teacher's state for it.

    Args:
        senses: The senses.
        teacher: The model that the table was distilled from.

    Raises:
        UsageError: The table was distilled from another model.
    """

    def __init__(self, senses: Senses, teacher: Teacher) -> None:
        recorded = senses.table.provenance.get("teacher")
        fingerprint = recorded.get("fingerprint") if isinstance(recorded, Mapping) else None
        if fingerprint != teacher.fingerprint:
            raise UsageError(
                f"The occurrences were kept from another model (fingerprint {str(fingerprint)[:12]}, "
                f"{teacher.config.name} has {teacher.fingerprint[:12]}). Name that one with --teacher."
            )
        self.senses = senses
        self.reader = StateReader(teacher, str(senses.occurrences.layer))

    def lookup(self, text: str, place: Place) -> SenseInContext:
        """The sense of a word in a text, given by the word itself, its character offsets or its index.

        Raises:
            UsageError: There is no word at the place, or none of the word's occurrences was kept.
        """
        occurrence = Occurrence.at(text, place)
        (found,) = self.lookup_batch([occurrence])
        if found is None:
            raise UsageError(f"The teacher's tokenizer drops {occurrence.word!r}.")
        return found

    def lookup_batch(self, occurrences: Sequence[TextSpan]) -> list[SenseInContext | None]:
        """The senses of words in texts; None for words that the tokenizer drops.

        Raises:
            UsageError: None of a word's occurrences was kept.
        """
        states, found = self.states(occurrences)
        answers: list[SenseInContext | None] = [None] * len(occurrences)
        for word, numbers in numbers_of([one.text[one.start : one.end] for one in occurrences]).items():
            seen = [number for number in numbers if found[number]]
            for number, answer in zip(seen, self.senses.look_up(word, states[seen]) if seen else ()):
                answers[number] = answer
        return answers

    def states(self, occurrences: Sequence[TextSpan]) -> tuple[Floats, Mask]:
        """[n, width] states of words in texts, and which of them the tokenizer keeps."""
        states, found = self.reader.states(occurrences)
        return states[:, 0].float().cpu().numpy(), found


class WithSenses(WithTables):
    r"""A ``ContextEncoder`` with tables, and five kinds of sense vectors for one of them.

    Let p be the probabilities of a word's senses in its sentence, and v their unit vectors near this use. ``average``
    is :math:`\sum_s p_s v_s`, so that the product of two words is AvgSimC; ``maximum`` is the most probable v, so that
    it is MaxSimC (Reisinger & Mooney 2010; Huang et al. 2012). ``fixed`` is ``average`` with vectors that are the same
    in every sentence. ``use`` is the vector that a single sense would have. ``deviation`` is the whitened difference
    between this use and the mean of the word's uses, which tells uses of the same word apart. For a word without kept
    occurrences, these are its row in the table and its deviation from the mean of all words. Where all words of a
    sentence are encoded, they have their rows.

    Args:
        encoder: Its vectors come first.
        tables: Tables by name.
        reader: Finds the senses of one of the tables.
        name: Name of that table in the results.
    """

    def __init__(
        self, encoder: StateEncoder, tables: Mapping[str, WordVectors], reader: SenseReader, name: str
    ) -> None:
        self.reader, self.own = reader, {kind: f"{name} senses, {kind}" for kind in KINDS}
        super().__init__(encoder, {**tables, **dict.fromkeys(self.own.values(), reader.senses.table)})

    def occurrences(self, occurrences: Sequence[TextSpan]) -> tuple[Vectors, Mask]:
        """[n, dim] vectors of words, and which of them the tokenizer keeps."""
        vectors, found = super().occurrences(occurrences)
        states, seen = self.reader.states(occurrences)
        words = [one.text[one.start : one.end] for one in occurrences]
        rows = vectors[self.own["average"]]
        made = sense_vectors(self.reader.senses, words, states, seen, rows)
        return vectors | {name: made[kind] for kind, name in self.own.items()}, found


KINDS = ("average", "maximum", "fixed", "use", "deviation")


def sense_vectors(senses: Senses, words: Sequence[str], states: Floats, seen: Mask, rows: Floats) -> Vectors:
    """[n, dim] vectors of uses of words by kind, see `WithSenses`.

    Args:
        senses: The senses.
        words: The word of each use.
        states: [n, width].
        seen: Which uses have a state [n].
        rows: Vectors for words without kept occurrences [n, dim].
    """
    made = {kind: rows.copy() for kind in KINDS}
    made["deviation"] = np.zeros_like(states)
    made["deviation"][seen] = unit_rows((states[seen] - senses.occurrences.means.mean(axis=0)) @ senses.whitening)
    for word, numbers in numbers_of(words).items():
        there = [number for number in numbers if seen[number]]
        if senses.find(word) is None or not there:
            continue
        for number, found in zip(there, senses.look_up(word, states[there])):
            made["average"][number] = found.average
            made["maximum"][number] = found.vectors[found.best]
            made["fixed"][number] = np.array(found.probabilities) @ found.fixed
            made["use"][number] = found.use
            made["deviation"][number] = unit_rows(found.deviation[None])[0]
    return made


def numbers_of(words: Sequence[str]) -> dict[str, list[int]]:
    """The indices at which each word occurs in a sequence."""
    found: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        found.setdefault(word, []).append(number)
    return found
