"""Kept sums: the state of a method, stored beside its table, so that text can be added or removed later.

``sums.safetensors`` has the state of the method in float64, the vocabulary with the counts, and the recipe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill import __version__
from wordstill.core.guard import reading
from wordstill.core.object_stores import local_copy, shown
from wordstill.core.resume import differences
from wordstill.corpus import Vocabulary, VocabularyConfig
from wordstill.corpus.segment import recorded_segmenter
from wordstill.corpus.vocabulary import Entry
from wordstill.errors import DataError, UsageError
from wordstill.formats.artifact import SUMS
from wordstill.methods import METHODS, Method, RunContext
from wordstill.scale.part_files import Arrays, Part
from wordstill.vectors import WordVectors

STATE, WORDS = "method", "vocabulary"
SCHEMA = 1


@dataclass(eq=False)
class KeptSums:
    """The sums behind one table."""

    facts: dict[str, Any]
    """The provenance of the table."""
    method: Method
    """The method on the CPU, with sums in float64."""
    cut: int = 0

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.method.run.vocabulary

    def write(self, path: Path) -> None:
        """Write the file."""
        run, config = self.method.run, self.vocabulary.config
        words: Arrays = {
            "keys": _joined(self.vocabulary.keys),
            "surfaces": _joined(self.vocabulary.surfaces),
            "required": _joined(config.words),
            "counts": self.vocabulary.counts,
            "isolated": run.unseen.astype(np.int64),
        }
        facts = {
            "schema": SCHEMA,
            "provenance": self.facts,
            "vocabulary": {"min_count": config.min_count, "max_size": config.max_size, "key": config.key},
        }
        state = _in_rows_of_all(Part.of({STATE: self.method}).states[STATE], self.method)
        Part({STATE: state, WORDS: words}, self.cut).write(path, facts)

    @classmethod
    def read(cls, table: Path, isolated: NDArray[np.int64] | None = None) -> KeptSums:
        """Read the sums beside a table.

        Args:
            table: Folder or URL of the table, or the file itself.
            isolated: Words that were read in isolation for this table or others; None means those of the file.

        Raises:
            UsageError: No sums were kept.
            DataError: The file is damaged, or of another version.
        """
        path = sums_file(table)
        if not path.is_file():
            raise UsageError(
                f"{shown(table)} has no {SUMS}. To keep sums, make the table with: wordstill distill ... --keep-sums"
            )
        part, record = Part.read(path)
        with reading(path, remedy="Distil again with --keep-sums."):
            if record.get("schema") != SCHEMA or set(part.states) != {STATE, WORDS}:
                raise DataError(f"{path} is not the sums of a table, or of another version of wordstill.")
            facts = record["provenance"]
            words = part.states[WORDS]
            method = _method(facts, _vocabulary(words, record), words["isolated"] if isolated is None else isolated)
            method.widen()
            Part({STATE: _in_own_rows(part.states[STATE], method)}).load_into({STATE: method})
            return cls(facts, method, part.cut)

    def with_counts(self, change: NDArray[np.int64], facts: Mapping[str, Any], cut: int) -> KeptSums:
        """The same sums with other word counts and provenance, after text was added or removed."""
        counts = self.vocabulary.counts + change
        if counts.min(initial=0) < 0:
            word = self.vocabulary.keys[int(np.argmin(counts))]
            raise DataError(f"the word {word!r} would be removed more often than it occurs")
        first = self.method.run.whole or self.method.run
        self.method.run = first.so_far(counts, facts["corpus"]["words"])
        return KeptSums(dict(facts), self.method, cut)

    def finish(self) -> WordVectors:
        """Make the table; afterwards the sums are in float32."""
        self.method.narrow()
        return self.method.finish({**self.facts, "cut_sentences": self.cut})


def sums_file(table: Path) -> Path:
    """The local file with the sums of a table.

    Raises:
        UsageError: There is no such table.
    """
    local = local_copy(table)
    if not local.exists():
        raise UsageError(f"{table} does not exist. Name the folder of a table that was made with --keep-sums.")
    return local / SUMS if local.is_dir() else local


def refuse_different(ours: Mapping[str, Any], name: str, theirs: Mapping[str, Any], other: str) -> None:
    """Refuse to add sums of another model, method or kind of words.

    Args:
        ours: Provenance of the sums to add to.
        name: Their name for messages.
        theirs: Provenance of the sums to be added.
        other: Their name for messages.

    Raises:
        UsageError: The sums differ; the message says in what.
    """
    mine, others = _essence(ours), _essence(theirs)
    if mine["method"]["name"] != others["method"]["name"]:
        # Their settings are not comparable.
        mine["method"], others["method"] = ({"name": facts["method"]["name"]} for facts in (mine, others))
    if different := differences(mine, others):
        raise UsageError(f"{other} cannot be combined with {name}: {different}.")


def _essence(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the provenance that must be equal for adding sums, without devices and speed."""
    teacher = facts["teacher"]
    return {
        "teacher": {name: teacher[name] for name in ("fingerprint", "width", "layers", "max_length")},
        "method": facts["method"],
        "lengths": facts["lengths"],
        "unit": facts["batches"]["unit"],
        "key": facts["vocabulary"]["key"],
        "text": facts["corpus"]["settings"],
    }


def new_facts(facts: Mapping[str, Any], corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance with another text and this version."""
    versions = {**facts.get("versions", {}), "wordstill": __version__}
    return {**facts, "corpus": dict(corpus), "versions": versions}


def _vocabulary(words: Arrays, record: Mapping[str, Any]) -> Vocabulary:
    keys, surfaces, required = (_split(words[name]) for name in ("keys", "surfaces", "required"))
    config = VocabularyConfig(**record["vocabulary"], words=tuple(required))
    entries = [Entry(*entry) for entry in zip(keys, words["counts"].tolist(), surfaces)]
    segmenter = recorded_segmenter(record["provenance"]["corpus"]["settings"]["segmenter"])
    return Vocabulary(entries, config, segmenter)


def _method(facts: Mapping[str, Any], vocabulary: Vocabulary, isolated: NDArray[np.int64]) -> Method:
    settings = dict(facts["method"])
    name = settings.pop("name")
    kinds = {kind.name: kind for kind in METHODS.values()}
    if name not in kinds:
        raise DataError(f"The sums are those of {name}, which this version of wordstill does not have.")
    # The first text of the table decided which words were read in isolation.
    at_first = np.ones(len(vocabulary), dtype=np.int64)
    at_first[isolated] = 0
    context = RunContext(
        vocabulary.counted(at_first),
        facts["teacher"]["width"],
        facts["teacher"]["layers"],
        torch.device("cpu"),
        seed=facts["seed"],
        words=facts["corpus"]["words"],
        epochs=facts["epochs"],
        length=facts["lengths"],
    )
    run = context.so_far(vocabulary.counts, context.words)
    return kinds[name](kinds[name].config_type(**settings), run)


def _in_rows_of_all(state: Arrays, method: Method) -> Arrays:
    """The state with a row for each word of the vocabulary in every table, so that states can be added."""
    unseen, rows = method.run.unseen, len(method.run.vocabulary)
    wide = dict(state)
    for name, array in state.items():
        if name.partition(".")[0] in method.unseen_parts:
            wide[name] = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
            wide[name][unseen] = array
    return wide


def _in_own_rows(state: Arrays, method: Method) -> Arrays:
    """The inverse of `_in_rows_of_all`, for the words that the method has read in isolation."""
    own = (name for name in state if name.partition(".")[0] in method.unseen_parts)
    return {**state, **{name: state[name][method.run.unseen] for name in own}}


def _joined(words: list[str] | tuple[str, ...]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(f"{word}\n" for word in words).encode(), dtype=np.uint8)


def _split(data: NDArray[np.uint8]) -> list[str]:
    return data.tobytes().decode().split("\n")[:-1]
