"""A table of word vectors: words, a matrix, counts and provenance; numpy only."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import DataError, UsageError
from wordstill.vectors import queries
from wordstill.vectors.analogies import Rule, analogies
from wordstill.vectors.compressed import CompressedRows, Matrix, checked_counts, checked_matrix, checked_rows, index_of
from wordstill.vectors.folds import Folds, group_names, group_table
from wordstill.vectors.oov import Backoff, SubwordVectors, UnknownWord, choose_backoffs, fall_back
from wordstill.vectors.queries import Item, Items, Scored, as_list
from wordstill.vectors.search import unit_rows
from wordstill.vectors.sentences import TextTokenizer

if TYPE_CHECKING:
    from wordstill.explore.notebook import Notebook
    from wordstill.vectors.occurrences import Occurrences

AnyPath: TypeAlias = str | os.PathLike[str]
BLOCK_ROWS = 8192
SHOWN_WORDS, SHOWN_NUMBERS = 5, 4


class WordVectors:
    """A table with one vector per word; its queries are named as in gensim.

    Args:
        words: The words, each once, in the order of the rows.
        matrix: (words, dim), float32 or float16, finite. A memory-mapped matrix is not read on construction;
            it is checked for NaN and infinity when its numbers are used. Compressed rows are decoded on access, all
            of them if ``matrix`` itself is accessed.
        counts: How often each word occurs, or None if unknown.
        provenance: What the table was made from and how, as JSON values.
        subwords: Subword vectors for words not in the table, if it came with any; lookups and queries use them unless
            `with_backoff` says otherwise.
        tokenizer: Splits texts into words of the table, if the table came with one.
        distinct: Skip checking that words are distinct strings; their index is then built on first use.
    """

    def __init__(
        self,
        words: Sequence[str],
        matrix: Matrix | CompressedRows,
        *,
        counts: NDArray[np.int64] | None = None,
        provenance: Mapping[str, Any] | None = None,
        subwords: SubwordVectors | None = None,
        tokenizer: TextTokenizer | None = None,
        distinct: bool = False,
    ) -> None:
        self.words: tuple[str, ...] = tuple(words)
        if not distinct:
            self._rows = index_of(self.words)
        self.compressed: CompressedRows | None = None
        if isinstance(matrix, np.ndarray):
            self.matrix = checked_matrix(matrix, len(self.words))
        else:
            self.compressed = checked_rows(matrix, len(self.words))
        self.counts = checked_counts(counts, len(self.words))
        self.provenance: Mapping[str, Any] = dict(provenance or {})
        self.subwords: SubwordVectors | None = subwords
        self.tokenizer: TextTokenizer | None = tokenizer
        self.folds: Folds | None = None
        self.occurrences: Occurrences | None = None
        self.backoffs: tuple[Backoff, ...] = ()
        self._strict = subwords is None
        self._verify: Callable[[], None] | None = None
        self._unchecked = isinstance(matrix, np.memmap)
        if not self._unchecked and self.compressed is None:
            self.check_finite()

    @cached_property
    def matrix(self) -> Matrix:
        """The vectors, (words, dim), read-only; compressed rows are decoded to float32 once."""
        assert self.compressed is not None
        return checked_matrix(self.compressed.decode(slice(None)), len(self.words))

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each word."""
        return index_of(self.words)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int((self.compressed or self.matrix).shape[1])

    @property
    def storage(self) -> str:
        """How the numbers are stored: ``float32``, ``float16`` or the kind of compression."""
        return str(self.matrix.dtype) if self.compressed is None else self.compressed.kind

    @property
    def nbytes(self) -> int:
        """Size of the stored numbers in bytes."""
        arrays = [self.matrix] if self.compressed is None else self.compressed.arrays.values()
        return sum(array.nbytes for array in arrays)

    @property
    def is_lower_case(self) -> bool:
        """Whether the words were lowercased when the table was made."""
        vocabulary = self.provenance.get("vocabulary")
        return isinstance(vocabulary, Mapping) and vocabulary.get("key") == "lower"

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """The rows scaled to length one, float32, (words, dim); rows of zeros stay zeros. Computed once."""
        if self._unchecked or self._verify is not None:
            self.check_finite()
        unit = np.empty((len(self), self.dim), dtype=np.float32)
        for start, block in zip(range(0, len(self), BLOCK_ROWS), self.blocks()):
            unit[start : start + len(block)] = unit_rows(block)
        unit.flags.writeable = False
        return unit

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, key: str | Sequence[str]) -> NDArray[np.float32]:
        if isinstance(key, str):
            row = self._rows.get(key)
            found = queries.resolve(self, [key]).vectors if row is None else self.take([row])
            return found.reshape(self.dim)
        if not isinstance(key, Sequence):
            raise UsageError(f"Vectors are looked up by word or list of words; got {key!r}. Rows are in matrix.")
        return queries.resolve(self, key).vectors

    def __repr__(self) -> str:
        counts = ", with counts" if self.counts is not None else ""
        teacher = self.provenance.get("teacher")
        source = f", from {teacher}" if isinstance(teacher, str) else ""
        return f"<WordVectors: {len(self):,} words x {self.dim}, {self.storage}{counts}{source}>"

    def _repr_html_(self) -> str:
        """The table in a notebook: facts, then the first words, whose rows are all that is read."""
        facts = {"words": f"{len(self):,}", "dimensions": str(self.dim), "numbers": self.storage}
        for part in ("method", "teacher"):
            if name := _recorded_name(self.provenance.get(part)):
                facts[part] = name
        corpus = self.provenance.get("corpus")
        if isinstance(corpus, Mapping) and isinstance(corpus.get("words"), int):
            facts["text"] = f"{corpus['words']:,} words"
        line = " · ".join(f"<b>{escape(value)}</b> {escape(name)}" for name, value in facts.items())
        count = min(SHOWN_WORDS, len(self))
        numbers = self.take(range(count))[:, :SHOWN_NUMBERS]
        rows = []
        for row in range(count):
            counted = "" if self.counts is None else f"{int(self.counts[row]):,}"
            cells = [escape(self.words[row]), counted, *(f"{number:.3f}" for number in numbers[row]), "…"]
            rows.append("".join(f"<td>{cell}</td>" for cell in cells))
        head = "".join(f"<th>{title}</th>" for title in ("word", "count", *range(numbers.shape[1]), ""))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<div><p>WordVectors: {line}</p><table><tr>{head}</tr>{body}</table></div>"

    def explore(self, text: AnyPath | None = None, *, layout: str | None = None, height: int = 640) -> Notebook:
        """The page of `wordstill explore`, for display in a notebook; ``text`` is a prepared text."""
        from wordstill.explore.notebook import Notebook

        return Notebook(self, text, layout=layout, height=height)

    def index(self, word: str) -> int:
        """The row of a word."""
        try:
            return self._rows[word]
        except KeyError:
            raise UnknownWord(word, self.words) from None

    def with_backoff(self, *policies: str | Backoff) -> WordVectors:
        """The same table with back-offs for unknown words; see `wordstill.vectors.oov`.

        Lookups and queries then try the policies in this order. ``in``, ``index`` and ``subset`` remain strict.

        Args:
            policies: Names of `wordstill.vectors.oov.BACKOFFS`, such as ``"case"`` and ``"spelling"``, or
                objects such as a `wordstill.teacher.isolated_words.TeacherBackoff`. Without any, back-offs are
                removed, and so are the table's own subwords.
        """
        table = copy.copy(self)
        table.backoffs, table._strict = choose_backoffs(self, policies), True
        return table

    def find(self, words: Sequence[str], *, own: bool = False) -> list[int | NDArray[np.float32] | None]:
        """For each word, its row, the row or vector that a back-off gives it, or None.

        If the table's words are lowercased, unknown words are looked up in lower case before any back-off is tried.
        With ``own``, as in lookups and queries, the table's own subwords are tried if no back-offs were chosen.
        """
        found: list[int | NDArray[np.float32] | None] = [self._rows.get(word) for word in words]
        if None in found and self.is_lower_case:
            found = [self._rows.get(word.lower()) if row is None else row for word, row in zip(words, found)]
        policies = self.backoffs if self._strict or not own else choose_backoffs(self, ["subwords"])
        if policies and None in found:
            missing = [number for number, row in enumerate(found) if row is None]
            for number, answer in zip(missing, fall_back(self, [words[number] for number in missing], policies)):
                found[number] = answer
        return found

    def similarity(self, a: Item, b: Item) -> float:
        """The cosine of two words or vectors; 0 if either is all zeros."""
        return self.n_similarity(a, b)

    def n_similarity(self, first: Items, second: Items) -> float:
        """The cosine between the mean vectors of two sets of words."""
        return float(self.n_similarity_batch([(first, second)])[0])

    def most_similar(self, positive: Items | None = None, negative: Items | None = None, topn: int = 10) -> Scored:
        """The words nearest in cosine to the sum of ``positive`` minus ``negative``, excluding these words.

        As in gensim, words enter the sum as unit vectors, and vectors as they are.
        """
        return self.most_similar_batch([as_list(positive)], [as_list(negative)], topn)[0]

    def similar_by_vector(self, vector: NDArray[np.floating], topn: int = 10) -> Scored:
        """The words nearest in cosine to a vector."""
        return self.most_similar(positive=[vector], topn=topn)

    def neighbors(self, words: Sequence[str] | NDArray[np.floating], topn: int = 10) -> list[Scored]:
        """The words nearest to each of many words, excluding the word itself, or to each row of a matrix."""
        if not isinstance(words, np.ndarray):
            if isinstance(words, str):
                raise UsageError(f"neighbors needs a list of words; for {words!r} alone use most_similar.")
            return self.most_similar_batch(words, topn=topn)
        if words.ndim != 2 or words.shape[1] != self.dim:
            raise UsageError(f"The queries have shape {words.shape}, expected (queries, {self.dim}).")
        if not np.isfinite(words).all():
            raise UsageError("A query vector has NaN or infinity in it.")
        return queries.search(self, words, topn, None)

    def analogy(self, a: Items, b: Items, c: Item, topn: int = 10, rule: Rule = "3cosadd") -> Scored:
        """``a`` is to ``b`` as ``c`` is to what, by a rule of `wordstill.vectors.analogies`."""
        return self.analogy_batch([(a, b, c)], topn, rule)[0]

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The word that is least similar to the mean of all."""
        return self.doesnt_match_batch([words])[0]

    # Batch queries: the functions themselves are the methods.
    similarity_batch = n_similarity_batch = queries.n_similarity
    most_similar_batch = queries.most_similar
    analogy_batch = analogies
    doesnt_match_batch = queries.doesnt_match
    groups, group = property(group_names), group_table

    @property
    def vectors(self) -> Matrix:
        """The matrix, as gensim calls it."""
        return self.matrix

    @property
    def vector_size(self) -> int:
        """The length of a vector, as gensim calls it."""
        return self.dim

    @property
    def index_to_key(self) -> list[str]:
        """The words in the order of the rows, as gensim calls them."""
        return list(self.words)

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of each word."""
        return MappingProxyType(self._rows)

    def get_vector(self, word: str, norm: bool = False) -> NDArray[np.float32]:
        """The vector of a word, with length one if ``norm``."""
        return unit_rows(self[[word]])[0] if norm else self[word]

    def distance(self, a: Item, b: Item) -> float:
        """One minus the cosine of two words or vectors."""
        return 1 - self.similarity(a, b)

    def subset(self, words: Sequence[str]) -> WordVectors:
        """A table of these words in this order, with their counts and the same provenance."""
        return self.select([self.index(word) for word in words])

    def select(self, rows: Sequence[int] | NDArray[np.int64]) -> WordVectors:
        """A table of these rows in this order, with their counts and the same provenance."""
        rows = np.asarray(rows, dtype=np.int64)
        return WordVectors(
            [self.words[row] for row in rows.tolist()],
            self.matrix[rows] if self.compressed is None else self.compressed.select(rows),
            counts=None if self.counts is None else self.counts[rows],
            provenance=self.provenance,
            subwords=self.subwords,
            tokenizer=self.tokenizer,
        )

    def replace(self, **changes: Any) -> WordVectors:
        """A copy with some arguments of the constructor changed; new words must be distinct."""
        names = ("words", "counts", "provenance", "subwords", "tokenizer")
        same: dict[str, Any] = {name: getattr(self, name) for name in names}
        if "matrix" not in changes:
            same["matrix"] = self.compressed or self.matrix
        return WordVectors(**same | changes, distinct=True)

    def save(
        self, path: AnyPath, format: str | None = None, *, overwrite: bool = False, dtype: str | None = None
    ) -> None:
        """Write the table; see ``wordstill.formats.write``."""
        from wordstill import formats

        formats.write(self, path, format, overwrite=overwrite, dtype=dtype)

    @classmethod
    def load(
        cls, path: AnyPath, format: str | None = None, *, repair: bool = False, progress: bool = False
    ) -> WordVectors:
        """Read a table; see ``wordstill.formats.read``."""
        from wordstill import formats

        return formats.read(path, format, repair=repair, progress=progress)

    @classmethod
    def from_pretrained(cls, name: AnyPath, *, revision: str | None = None, token: str | None = None) -> WordVectors:
        """Open a table from the Hugging Face Hub, such as ``user/name``, or a folder; see ``wordstill.formats.hub``."""
        from wordstill.formats import hub

        return hub.download(name, revision=revision, token=token)

    def push_to_hub(self, name: str, *, private: bool = False, token: str | None = None) -> str:
        """Upload the table with its model card to the Hub as ``user/name``; returns its URL."""
        from wordstill.formats import hub

        return hub.upload(self, name, private=private, token=token)

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[NDArray[np.float32]]:
        """The matrix as float32 blocks in row order, for tables larger than memory."""
        for start in range(0, len(self), rows):
            yield self._decoded(slice(start, start + rows))

    def verify_on_use(self, verify: Callable[[], None]) -> None:
        """Call ``verify``, which checks the checksum, before the whole matrix is used for the first time."""
        self._verify = verify

    def check_finite(self) -> None:
        """Raise if any number is NaN or infinite, or the checksum is wrong; compressed rows were checked when made."""
        if self._verify is not None:
            self._verify()
            self._verify = None
        if self.compressed is not None:
            return
        for start, block in zip(range(0, len(self), BLOCK_ROWS), self.blocks()):
            if not np.isfinite(block).all():
                row, column = np.argwhere(~np.isfinite(block))[0]
                raise DataError(
                    f"The vector of {self.words[start + row]!r} (row {start + row}) has {block[row, column]} "
                    f"at position {column}; every number must be finite. Check what produced it."
                )
        self._unchecked = False

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Copies of some rows as float32, (rows, dim)."""
        taken = self._decoded(np.asarray(rows, dtype=np.int64))
        if self._unchecked and not np.isfinite(taken).all():
            self.check_finite()
        return taken

    def _decoded(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        if self.compressed is not None:
            return self.compressed.decode(rows)
        decoded: NDArray[np.float32] = self.matrix[rows].astype(np.float32, copy=False)
        return decoded


def _recorded_name(fact: Any) -> str | None:
    name = fact.get("name") if isinstance(fact, Mapping) else fact
    return name if isinstance(name, str) else None
