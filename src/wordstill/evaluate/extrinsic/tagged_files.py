"""How the published files of tagged sentences are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wordstill.errors import DataError
from wordstill.evaluate.extrinsic.examples import Examples, Published, Words
from wordstill.evaluate.readers.lines import read_lines

Sentence = list[tuple[str, str]]
SENTENCE_END, CLOSERS = ".", {"''", ")"}
BLANKS = " \t\ufeff"


@dataclass(frozen=True)
class Columns:
    """A word on a line with its tag in a column, and a blank line after each sentence."""

    train: str
    dev: str | None = None
    test: str | None = None
    separator: str | None = "\t"
    """What stands between columns; None for any run of blanks."""
    word: int = 0
    tag: int = 1
    """-1 for the last column."""
    conllu: bool = False
    """Whether lines with ``#`` are comments, and numbers such as ``1-2`` and ``8.1`` are no words."""

    def __call__(self, folder: Path) -> Published[Words]:
        """Read the files in a folder."""
        dev, test = (None if name is None else self._part(folder / name) for name in (self.dev, self.test))
        return Published(self._part(folder / self.train), dev, test)

    def _part(self, path: Path) -> Examples[Words]:
        return _collect(self._sentences(path), path)

    def _sentences(self, path: Path) -> Iterator[Sentence]:
        sentence: Sentence = []
        for number, line in read_lines(path):
            # A lone byte order mark stands for a blank line in one of the published files.
            if not line.strip(BLANKS):
                yield sentence
                sentence = []
            elif not (self.conllu and line.startswith("#")):
                sentence.extend(self._word(line, f"{path}:{number}"))
        yield sentence

    def _word(self, line: str, place: str) -> Iterator[tuple[str, str]]:
        fields = line.split(self.separator)
        needed = max(self.word, self.tag, 1) + 1
        if len(fields) < needed:
            raise DataError(f"{place}: expected at least {needed} columns but got {len(fields)}: {line!r}.")
        if self.conllu and not fields[0].isdigit():
            return
        word, tag = fields[self.word].strip(), fields[self.tag].strip()
        if not word or not tag:
            raise DataError(f"{place}: the {'tag' if word else 'word'} is empty: {line!r}.")
        yield word, tag


@dataclass(frozen=True)
class Treebank:
    """A folder of ``.pos`` files, one for each article: ``word/TAG``, with brackets around noun phrases.

    Blank lines stand inside sentences too, so a sentence ends after a word with the tag ``.`` and the closing
    quotes or brackets behind it, and at a line of ``=``. Of a doubtful tag, ``VBG|NN``, the first is taken.
    """

    folder: str

    def __call__(self, folder: Path) -> Published[Words]:
        """Read the files below a folder."""
        paths = sorted((folder / self.folder).glob("*.pos"))
        if not paths:
            raise DataError(f"{folder / self.folder} holds no .pos files.")
        articles = [_collect(_treebank_sentences(path), path) for path in paths]
        starts = [0]
        for article in articles[:-1]:
            starts.append(starts[-1] + len(article))
        everything = Examples(
            tuple(sentence for article in articles for sentence in article.sentences),
            tuple(tags for article in articles for tags in article.targets),
        )
        return Published(everything, documents=tuple(starts))


def read_own_tagged(path: Path) -> Published[Words]:
    """Read a user's own file: the word first and the tag last on a line, a blank line after each sentence."""
    return Columns(path.name, separator=None, tag=-1)(path.parent)


def _treebank_sentences(path: Path) -> Iterator[Sentence]:
    sentence: Sentence = []
    for number, line in read_lines(path):
        if line.startswith("==="):
            yield sentence
            sentence = []
            continue
        for token in line.split():
            if token in ("[", "]"):
                continue
            word, slash, tag = token.rpartition("/")
            if not word or not tag or not slash:
                raise DataError(f"{path}:{number}: expected 'word/TAG' but got {token!r}.")
            if _ended(sentence) and tag not in CLOSERS:
                yield sentence
                sentence = []
            sentence.append((word.replace("\\/", "/"), tag.split("|")[0]))
    yield sentence


def _ended(sentence: Sentence) -> bool:
    for _, tag in reversed(sentence):
        if tag not in CLOSERS:
            return tag == SENTENCE_END
    return False


def _collect(sentences: Iterator[Sentence], path: Path) -> Examples[Words]:
    kept = [sentence for sentence in sentences if sentence]
    if not kept:
        raise DataError(f"{path} holds no sentences.")
    return Examples(
        tuple(tuple(word for word, _ in sentence) for sentence in kept),
        tuple(tuple(tag for _, tag in sentence) for sentence in kept),
    )
