"""Occurrences of words in texts, by their character offsets, and a searchable store of them.

On disk a store is a folder:

vectors.safetensors   [occurrences, dim]
uses.jsonl            text, start and end of each
config.json           the encoder that made the vectors
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_existing, refuse_foreign, sha256_of
from wordstill.core.resume import OWN_CHECKSUM, signed, unsigned
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.corpus.segment import Span, word_spans
from wordstill.errors import DataError, UsageError, WordstillError
from wordstill.vectors.search import nearest, unit_rows

if TYPE_CHECKING:
    from wordstill.meaning.encoder import MeaningEncoder


Place: TypeAlias = str | Span | int
"""A word in a text: the word itself, its character offsets, or its index, from 0."""


@dataclass(frozen=True)
class Occurrence:
    """A word or phrase in a text, by its character offsets.

    >>> Occurrence("The bank was steep.", 4, 8).word
    'bank'
    """

    text: str
    start: int
    end: int

    @classmethod
    def at(cls, text: str, span: Place) -> Occurrence:
        """An occurrence given by the word itself, character offsets (start, end), or the word's index, from 0.

        Raises:
            UsageError: The span is outside the text, empty, or ends inside a word; or the word is not in the text, or
                several times.
        """
        if isinstance(span, str):
            return cls(text, *_only(text, span))
        if isinstance(span, int):
            spans = word_spans(text)
            if not 0 <= span < len(spans):
                raise UsageError(
                    f"There is no word number {span} in {_shown(text)}: it has {len(spans)} words, counted from 0."
                )
            return cls(text, *spans[span])
        start, end = span
        if not 0 <= start < end <= len(text) or not text[start:end].strip():
            raise UsageError(
                f"The span ({start}, {end}) holds no word of {_shown(text)}, which has {len(text)} "
                "characters. Pass the offset of the first character and that after the last."
            )
        _refuse_cut(text, start, end)
        return cls(text, start, end)

    @classmethod
    def read(cls, text: Any, start: Any, end: Any) -> Occurrence:
        """An occurrence from a file, after checking it.

        Raises:
            TypeError: The value is not a text and two integers.
        """
        if not isinstance(text, str) or type(start) is not int or type(end) is not int:
            raise TypeError(f"expected a text and two offsets, got {str((text, start, end))[:60]}")
        return cls(text, start, end)

    @property
    def word(self) -> str:
        """The word as it is written in the text."""
        return self.text[self.start : self.end]

    @property
    def marked(self) -> str:
        """The text with brackets around the word."""
        return f"{self.text[: self.start]}[{self.word}]{self.text[self.end :]}"

    def excerpt(self, characters: int = 60) -> str:
        """The marked text, or for a long text the part around the word."""
        start, end = max(0, self.start - characters), self.end + characters
        before, after = self.text[start : self.start], self.text[self.end : end]
        dots = "…" if start else "", "…" if end < len(self.text) else ""
        return f"{dots[0]}{before}[{self.word}]{after}{dots[1]}"

    def replaced(self, word: str) -> Occurrence:
        """The same text with this occurrence replaced by another word."""
        text = f"{self.text[: self.start]}{word}{self.text[self.end :]}"
        return Occurrence(text, self.start, self.start + len(word))


def _only(text: str, word: str) -> Span:
    """The offsets of a word or phrase that occurs once in a text, in the same case or, if there is none, in any."""
    words = word_spans(text)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    for haystack, needle in ((text, word), (text.lower(), word.lower())):
        places = [(start, start + len(needle)) for start in starts if needle and haystack.startswith(needle, start)]
        found = sorted(place for place in places if place[1] in ends)
        if len(found) > 1:
            shown = ", ".join(f"{start}:{end}" for start, end in found)
            raise UsageError(
                f"{word!r} stands in {_shown(text)} {len(found)} times. Choose one by its offsets: {shown}."
            )
        if found:
            return found[0]
    raise UsageError(f"There is no word {word!r} in {_shown(text)}.")


def _refuse_cut(text: str, start: int, end: int) -> None:
    """Refuse a span that ends inside a word, except at a hyphen."""
    for edge in (start, end):
        if not (0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum()):
            continue
        for word_start, word_end in word_spans(text):
            if word_start < edge < word_end:
                word = text[word_start:word_end]
                raise UsageError(
                    f"The span ({start}, {end}), {text[start:end]!r}, cuts the word {word!r} of "
                    f"{_shown(text)}. Pass the span of the whole word: ({word_start}, {word_end})."
                )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


OWN_FILES = VECTORS, OCCURRENCES, CONFIG = "vectors.safetensors", "uses.jsonl", "config.json"


class OccurrenceStore:
    """Occurrences, their vectors [occurrences, dim], and the fingerprint of their encoder."""

    def __init__(self, occurrences: Sequence[Occurrence], vectors: NDArray[np.float32], encoder: str) -> None:
        if len(occurrences) != len(vectors):
            raise UsageError(f"{len(occurrences)} occurrences came with {len(vectors)} vectors.")
        self.occurrences, self.vectors, self.encoder = tuple(occurrences), vectors, encoder

    @classmethod
    def build(cls, encoder: MeaningEncoder, occurrences: Sequence[Occurrence]) -> OccurrenceStore:
        """Encode occurrences; a word that the tokenizer drops is an error."""
        return cls(occurrences, encoder.encode_occurrences(occurrences), encoder.fingerprint)

    @classmethod
    def from_texts(
        cls, encoder: MeaningEncoder, texts: Sequence[str], words: Sequence[str] | None = None
    ) -> OccurrenceStore:
        """Encode every word of texts, or every occurrence of some words, in any case."""
        found = encoder.encode_texts(texts, words)
        empty = np.zeros((0, encoder.dim), dtype=np.float32)
        vectors = np.concatenate([empty, *(matrix for _, matrix in found)])
        return cls([one for occurrences, _ in found for one in occurrences], vectors, encoder.fingerprint)

    def __len__(self) -> int:
        return len(self.occurrences)

    @cached_property
    def _unit(self) -> NDArray[np.float32]:
        return unit_rows(self.vectors)

    def nearest(self, vector: NDArray[np.float32], topn: int = 10) -> list[tuple[Occurrence, float]]:
        """The occurrences nearest in cosine to a vector."""
        (rows, scores), *_ = nearest(self._unit, unit_rows(vector[None]), topn)
        return [(self.occurrences[row], score) for row, score in zip(rows.tolist(), scores.tolist())]

    def refuse_other(self, encoder: MeaningEncoder) -> None:
        """Refuse an encoder whose vectors are not comparable with those of the store."""
        if encoder.fingerprint != self.encoder:
            raise UsageError(
                f"The uses were encoded by another encoder (fingerprint {self.encoder[:12]}, this one has "
                f"{encoder.fingerprint[:12]}), so their vectors cannot be compared. Encode them again."
            )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the folder."""
        path = Path(path)
        refuse_existing(path, overwrite=overwrite)
        refuse_foreign(path, OWN_FILES)
        with atomic_folder(path, overwrite=overwrite) as folder:
            write_tensors(folder / VECTORS, {"vectors": self.vectors}, {"format": "wordstill-uses"})
            lines = (json.dumps(astuple(one), ensure_ascii=False) + "\n" for one in self.occurrences)
            (folder / OCCURRENCES).write_text("".join(lines), encoding="utf-8", newline="")
            sums = {name: sha256_of(folder / name) for name in (VECTORS, OCCURRENCES)}
            text = json.dumps(signed({"encoder": self.encoder, "sha256": sums}, OWN_CHECKSUM))
            (folder / CONFIG).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> OccurrenceStore:
        """Read the folder; the vectors are memory-mapped.

        Raises:
            DataError: The folder is not a store, or is damaged.
        """
        folder = Path(path)
        try:
            config = json.loads((folder / CONFIG).read_bytes())
            if config.keys() - {"encoder", "sha256"}:
                config = unsigned(config, OWN_CHECKSUM)
            for name, expected in config.get("sha256", {}).items():
                if name in (VECTORS, OCCURRENCES) and sha256_of(folder / name) != expected:
                    raise DataError(f"the SHA-256 of {name} is not the recorded one")
            arrays, _ = map_tensors(folder / VECTORS)
            lines = (folder / OCCURRENCES).read_text(encoding="utf-8").split("\n")
            occurrences = [Occurrence.read(*json.loads(line)) for line in lines if line]
            if arrays["vectors"].ndim != 2 or not isinstance(config["encoder"], str):
                raise DataError("its vectors are no matrix, or its encoder has no fingerprint")
            return cls(occurrences, arrays["vectors"], config["encoder"])
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, WordstillError) as error:
            raise DataError(f"{folder} is not a whole store of uses: {error}. Make it again.") from error
