"""How the published files of labelled sentences are read. Words are what stands between blanks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wordstill.errors import DataError
from wordstill.evaluate.extrinsic.examples import Examples, Published
from wordstill.evaluate.readers.lines import read_lines


@dataclass(frozen=True)
class FileOfEachClass:
    """One file for each class, one sentence on a line; lines without any word are passed over."""

    names: Mapping[str, str]
    """File by class."""

    def __call__(self, folder: Path) -> Published[str]:
        """Read the files in a folder."""
        pairs = [
            (line, label)
            for label, name in self.names.items()
            for _, line in read_lines(folder / name)
            if line.strip()
        ]
        return Published(_collect(pairs, folder))


@dataclass(frozen=True)
class LabelFirst:
    """A file for each part; a line begins with the label."""

    train: str
    dev: str | None = None
    test: str | None = None
    encoding: str = "utf-8"
    coarse: bool = False
    """Whether only what stands before the colon of a label counts: ``LOC`` of ``LOC:city``."""

    def __call__(self, folder: Path) -> Published[str]:
        """Read the files in a folder."""
        dev, test = (None if name is None else self._part(folder / name) for name in (self.dev, self.test))
        return Published(self._part(folder / self.train), dev, test)

    def _part(self, path: Path) -> Examples[str]:
        return _collect(self._pairs(path), path)

    def _pairs(self, path: Path) -> Iterator[tuple[str, str]]:
        for number, line in read_lines(path, self.encoding):
            if not line.strip():
                continue
            label, _, sentence = line.strip().partition("\t" if "\t" in line else " ")
            if not sentence.strip():
                raise DataError(f"{path}:{number}: expected 'label sentence' but got {line!r}.")
            if self.coarse:
                label, colon, _ = label.partition(":")
                if not colon:
                    raise DataError(f"{path}:{number}: expected a label as 'LOC:city' but got {label!r}.")
            yield sentence, label


def read_own_labelled(path: Path) -> Published[str]:
    """Read a user's own file: ``label sentence`` on each line, the label ending at the first tab or blank."""
    return LabelFirst(path.name)(path.parent)


def _collect(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]], place: Path) -> Examples[str]:
    rows = [(tuple(sentence.split()), label) for sentence, label in pairs]
    if not rows:
        raise DataError(f"{place} holds no sentences.")
    sentences, labels = zip(*rows)
    return Examples(sentences, labels)
