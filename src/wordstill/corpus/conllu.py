"""CoNLL-U files: their text, and their dependency trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wordstill.core.guard import reading
from wordstill.core.text_io import numbered_lines, without_suffix
from wordstill.corpus.sources import find_sources
from wordstill.errors import DataError, UsageError

SUFFIX = ".conllu"
COLUMNS = 10
PARAGRAPH_MARKS = ("# newdoc", "# newpar")
MAX_PARAGRAPH_SENTENCES = 1000
"""A paragraph is cut after this many sentences: some parsers do not mark paragraphs."""
MAX_SENTENCE_ROWS = 100_000
PHRASES = frozenset({"nmod", "obl"})
"""Relations of Universal Dependencies into which a preposition, the child ``case`` of a noun, can be collapsed."""


@dataclass(frozen=True)
class Tree:
    """The dependencies of a sentence of n words."""

    words: Sequence[str]
    heads: Sequence[int]
    """Index of each word's head; -1 for the root, and for words that were collapsed into a relation."""
    relations: Sequence[str]
    """The relation of each word to its head."""


def is_conllu(path: str | Path) -> bool:
    """Whether a file name is that of a CoNLL-U file, compressed or not."""
    return Path(without_suffix(str(path))).suffix.lower() == SUFFIX


def tree_files(inputs: Sequence[str | Path]) -> list[Path]:
    """The CoNLL-U files among some files, folders and patterns.

    Raises:
        UsageError: There are none.
    """
    sources = find_sources(inputs) if inputs else []
    found = [source.path for source in sources if source.path is not None and is_conllu(source.path)]
    if not found:
        names = ", ".join(map(str, inputs[:3]))
        raise UsageError(
            f"No file named *{SUFFIX} in {names}. Parse the text first, for example with Stanza or UDPipe, and name "
            "the CoNLL-U files with --trees (trees=)."
        )
    return found


def read_trees(path: Path) -> Iterator[Tree]:
    """The trees of a file; words of several tokens (``1-2``) and empty nodes (``8.1``) are left out.

    Raises:
        DataError: A line has no head, or one that is not in its sentence.
    """
    with reading(path):
        for rows in _sentences(numbered_lines(path), str(path)):
            fields = [(number, row) for number, row in rows if row[0].isdecimal()]
            if fields:
                yield _tree(fields, path)


def collapse(tree: Tree) -> Tree:
    """The tree with every preposition collapsed into the relation of its noun: ``prep_with`` instead of two arcs.

    This works for Universal Dependencies (``case`` below ``obl`` or ``nmod``) and for Stanford Dependencies, where the
    preposition is the head of its noun (``prep``, ``pobj``).

    >>> tree = Tree(["saw", "stars", "with", "telescopes"], [-1, 0, 3, 0], ["root", "obj", "case", "obl"])
    >>> collapse(tree).relations
    ['root', 'obj', 'case', 'prep_with']
    """
    heads, relations = list(tree.heads), list(tree.relations)
    for place, (head, relation) in enumerate(zip(tree.heads, tree.relations)):
        if head < 0:
            continue
        phrase = tree.relations[head]
        if (
            relation == "case"
            and phrase.partition(":")[0] in PHRASES
            and phrase != "nmod:poss"
            and tree.heads[head] >= 0
        ):
            before = f"{relations[head]}_" if relations[head].startswith("prep_") else "prep_"
            relations[head] = before + tree.words[place].lower()
            heads[place] = -1
        elif relation == "pobj" and phrase == "prep" and tree.heads[head] >= 0:
            heads[place], relations[place] = tree.heads[head], f"prep_{tree.words[head].lower()}"
            heads[head] = -1
    return replace(tree, heads=heads, relations=relations)


def conllu_texts(lines: Iterable[str], name: str, *, sentences_per_line: bool) -> Iterator[str]:
    """The text of each paragraph, from its words and ``SpaceAfter``."""
    between = "\n" if sentences_per_line else " "
    held: list[str] = []
    with reading(name):
        for rows in _sentences(_with_numbers(lines), name, marks=True):
            if not rows or len(held) == MAX_PARAGRAPH_SENTENCES:
                yield from [between.join(held)] if held else []
                held = []
            if rows:
                held.append(_spelled(rows))
        if held:
            yield between.join(held)


Rows = list[tuple[int, list[str]]]
"""Numbered lines of one sentence, each in its columns."""


def _sentences(lines: Iterable[tuple[int, str]], name: str, *, marks: bool = False) -> Iterator[Rows]:
    """The sentences; with ``marks``, an empty list marks the beginning of a paragraph."""
    rows: Rows = []
    for number, line in lines:
        if line.startswith("#") and not rows:
            if marks and line.startswith(PARAGRAPH_MARKS):
                yield []
        elif line.strip():
            columns = line.split("\t")
            if len(columns) != COLUMNS:
                raise DataError(
                    f"{name}:{number}: {len(columns)} columns separated by tabs, expected the {COLUMNS} of CoNLL-U."
                )
            if len(rows) == MAX_SENTENCE_ROWS:
                raise DataError(
                    f"{name}:{number}: a sentence of more than {MAX_SENTENCE_ROWS:,} lines. An empty line must end it."
                )
            rows.append((number, columns))
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def _with_numbers(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1))


def _spelled(rows: Rows) -> str:
    """The text of a sentence, with each multiword token once."""
    text, inside = "", 0
    for _, (number, form, *_, misc) in rows:
        first, dash, last = number.partition("-")
        if "." in number or (not dash and int(number) <= inside):
            continue
        inside = int(last) if dash else int(first)
        text += form + ("" if "SpaceAfter=No" in misc.split("|") else " ")
    return text.strip()


def _tree(rows: Rows, path: Path) -> Tree:
    size = len(rows)
    heads = []
    for place, (number, columns) in enumerate(rows):
        head = columns[6]
        if not head.isdecimal():
            raise DataError(
                f"{path}:{number}: the word {columns[1]!r} has no head (column 7 is {head!r}), so the file has no "
                "dependency trees. Parse it first, for example with Stanza or UDPipe."
            )
        if int(columns[0]) != place + 1 or int(head) > size or int(head) == place + 1:
            raise DataError(
                f"{path}:{number}: word {columns[0]} with head {head} does not fit a sentence of {size} words that "
                "are numbered from 1. Correct the line."
            )
        heads.append(int(head) - 1)
    return Tree([row[1] for _, row in rows], heads, [row[7] for _, row in rows])
