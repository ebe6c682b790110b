"""Training triples on disk: a JSON object on each line, after a header line about their origin.

{"format": "wordstill-triples", "schema": 1, "masked_model": {"name": …, "fingerprint": …}, …}
{"original": [text, start, end], "positive": […], "negative": […], "how": "round-trip"}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordstill.core.files import atomic_file
from wordstill.core.guard import reading
from wordstill.errors import DataError
from wordstill.meaning.occurrence import Occurrence

FORMAT, SCHEMA = "wordstill-triples", 1
ROLES = ("original", "positive", "negative")


@dataclass(frozen=True)
class Triple:
    """A word in a sentence, a word of the same meaning in another sentence, and another word in the same sentence."""

    original: Occurrence
    positive: Occurrence
    negative: Occurrence
    how: str = "given"
    """How the positive was made: ``round-trip``, ``given``, ``replaced`` or ``substituted``."""

    def shown(self) -> str:
        """The three texts with marked words, for display."""
        return "\n".join(f"{role:<9} {getattr(self, role).marked}" for role in ROLES)


class Triples(Sequence[Triple]):
    """The triples of a file.

    Attributes:
        header: Content of the first line.
        hash: Hash of the file's content.
    """

    def __init__(self, triples: list[Triple], header: Mapping[str, Any], hash: str) -> None:
        self._triples, self.header, self.hash = triples, header, hash

    def __len__(self) -> int:
        return len(self._triples)

    def __getitem__(self, chosen: Any) -> Any:
        return self._triples[chosen]

    @classmethod
    def read(cls, path: str | Path) -> Triples:
        """Read a file.

        Raises:
            DataError: The file does not have triples, or has a broken line.
        """
        path = Path(path)
        with reading(f"The file of triples {path}", remedy="Make it again with wordstill meaning pairs."):
            content = path.read_bytes()
            lines = content.decode().split("\n")
            header = _header(path, lines[0])
            triples = [_triple(path, number, line) for number, line in enumerate(lines[1:], 2) if line]
        if len(triples) != header.get("triples"):
            raise DataError(
                f"{path} has {len(triples)} triples, but its first line says {header.get('triples')}. "
                "It is cut short or was changed; make it again with wordstill meaning pairs."
            )
        return cls(triples, header, hashlib.sha256(content).hexdigest())


def write_triples(path: Path, triples: Iterable[Triple], header: Mapping[str, Any]) -> None:
    """Write a file; ``header`` must have the number of ``triples``."""
    with atomic_file(path) as handle:
        first = {"format": FORMAT, "schema": SCHEMA, **header}
        for line in (json.dumps(first, ensure_ascii=False), *triple_lines(triples)):
            handle.write(f"{line}\n".encode())


def triple_lines(triples: Iterable[Triple]) -> Iterator[str]:
    """Triples as lines of JSON."""
    for triple in triples:
        occurrences = {role: getattr(triple, role) for role in ROLES}
        plain: dict[str, Any] = {
            role: [occurrence.text, occurrence.start, occurrence.end] for role, occurrence in occurrences.items()
        }
        yield json.dumps({**plain, "how": triple.how}, ensure_ascii=False)


def _header(path: Path, line: str) -> dict[str, Any]:
    try:
        header = json.loads(line)
        known = header["format"] == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise DataError(
            f"{path}:1: not a file of triples: expected a first line with the format {FORMAT!r}, got "
            f"{line[:60]!r}. Make one with wordstill meaning pairs."
        )
    if header.get("schema") != SCHEMA:
        raise DataError(f"{path}:1: schema {header.get('schema')!r}, this version reads {SCHEMA}.")
    return dict(header)


def _triple(path: Path, number: int, line: str) -> Triple:
    try:
        plain = json.loads(line)
        occurrences = [Occurrence.read(*plain[role]) for role in ROLES]
        how = str(plain["how"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{path}:{number}: not a triple ({type(error).__name__}: {error}): {line[:60]!r}. "
            "Expected original, positive and negative, each [text, start, end], and how."
        ) from error
    for role, occurrence in zip(ROLES, occurrences):
        start, end, length = occurrence.start, occurrence.end, len(occurrence.text)
        if not 0 <= start < end <= length:
            raise DataError(
                f"{path}:{number}: the span ({start}, {end}) of the {role} is outside its text of {length} characters."
            )
    original, positive, negative = occurrences
    return Triple(original, positive, negative, how)
