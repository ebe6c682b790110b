"""Opening the tables that a user names: advice if a path holds something else, policies for unknown words."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.failures import warn
from wordstill.cli.options import option
from wordstill.core.guard import ByUser
from wordstill.core.object_stores import local_copy
from wordstill.errors import UsageError, natural_order, unknown_name
from wordstill.vectors.oov import UnknownWord

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors
    from wordstill.vectors.oov import Backoff

TEACHER = "teacher"


Unknown = Annotated[
    list[str] | None,
    option(
        "NAME",
        "What to do with words that are not in the table; may be repeated, tried in order. case: "
        "the word in another case; subwords: the table's character n-grams, used by default if it has any; "
        "ngrams: the mean of words that share letter n-grams; spelling: the most similarly spelled word; teacher: a "
        "model encodes the word, once.",
        "--unknown",
        "-u",
    ),
]
TeacherName = Annotated[
    str | None,
    option("NAME", "Model for --unknown teacher; by default the one the table was distilled from.", "--teacher"),
]


def open_table(path: Path) -> WordVectors:
    """The one table at a path."""
    from wordstill.corpus import is_store
    from wordstill.vectors import WordVectors

    path = local_copy(path)
    inner = tables_inside(path)
    if inner:
        names = ", ".join(str(table) for table in inner)
        raise UsageError(f"{path} holds {len(inner)} tables; name one of them: {names}.")
    if is_store(path):
        raise UsageError(f"{path} is a prepared text, not vectors. Make them: wordstill distill {path} --out vectors")
    return WordVectors.load(path)


def open_tables(paths: Sequence[Path]) -> dict[str, WordVectors]:
    """Tables by name; a folder with several contributes all of them."""
    places = table_paths(paths)
    short = [place.name for place in places]
    names = short if len(set(short)) == len(short) else [str(place) for place in places]
    return {name: open_table(place) for name, place in zip(names, places)}


def table_paths(paths: Sequence[Path]) -> list[Path]:
    """The path of each table that `open_tables` opens, in its order."""
    return [table for path in map(local_copy, paths) for table in tables_inside(path) or [path]]


def with_teacher(tables: Mapping[str, WordVectors], teacher: str) -> dict[str, WordVectors]:
    """The same tables, with another model recorded as their teacher."""
    named = {name: copy.copy(table) for name, table in tables.items()}
    for table in named.values():
        table.provenance = {**table.provenance, "teacher": {"name": ByUser(teacher)}}
    return named


def tables_inside(path: Path) -> list[Path]:
    """The tables in a folder that a distillation with several methods made, the default's first; none for any other."""
    from wordstill.formats.artifact import ARTIFACT

    if not path.is_dir() or ARTIFACT.recognizes(path):
        return []
    return sorted((inner for inner in path.iterdir() if ARTIFACT.recognizes(inner)), key=_in_order)


def _in_order(path: Path) -> list[bool | str | int]:
    """A sort key: the default method is what the others are compared with, and layer 10 comes after layer 9."""
    return [path.name != "still", *natural_order(path.name)]


def open_for_words(path: Path, unknown: Sequence[str] | None, teacher: str | None) -> WordVectors:
    """The table at a path, with these policies for words it does not have."""
    return with_policies(open_table(path), path, unknown, teacher)


def with_policies(table: WordVectors, path: Path, unknown: Sequence[str] | None, teacher: str | None) -> WordVectors:
    """A table with policies for words it does not have; what a teacher reads is cached by the table's path."""
    if not unknown:
        return table
    from wordstill.vectors.oov import BACKOFFS

    for name in unknown:
        if name not in (*BACKOFFS, TEACHER):
            raise unknown_name("policy for unknown words", name, (*BACKOFFS, TEACHER))
    policies: list[str | Backoff] = [
        _teacher_backoff(table, path, teacher) if name == TEACHER else name for name in unknown
    ]
    return table.with_backoff(*policies)


def known_words(table: WordVectors, words: Sequence[str]) -> list[str]:
    """The words that have a vector; the others are reported, and are an error only if there is nothing else."""
    report_substitutes(table, words)
    missing = [word for word, found in zip(words, table.find(words, own=True)) if found is None]
    known = [word for word in words if word not in missing]
    for word in missing if known else missing[:1]:
        error = UnknownWord(word, table.words)
        if not known:
            raise error
        warn(str(error))
    return known


def report_substitutes(table: WordVectors, words: Sequence[str]) -> None:
    """Report on the standard error which words are not in the table, and what replaces them."""
    missing = [word for word in words if word not in table]
    for word, found in zip(missing, table.find(missing, own=True)):
        if isinstance(found, int):
            typer.echo(f"{word!r} is not in the table; using {table.words[found]!r} instead.", err=True)
        elif found is not None:
            typer.echo(f"{word!r} is not in the table; its vector is estimated.", err=True)


def _teacher_backoff(table: WordVectors, path: Path, teacher: str | None) -> Backoff:
    from wordstill.core.files import user_cache
    from wordstill.teacher.isolated_words import TeacherBackoff, WordsAlone
    from wordstill.teacher.loading import recorded_teacher
    from wordstill.teacher.teacher import TeacherConfig

    name = teacher or recorded_teacher(table) or TeacherConfig().name
    digest = hashlib.sha256(f"{path.resolve()}\0{name}".encode()).hexdigest()[:16]
    folder = user_cache("words")
    cache: Path | None = folder / f"{digest}.safetensors"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        warn(f"The teacher's vectors of words are not cached: {folder} cannot be written ({error.strerror}).")
        cache = None
    return TeacherBackoff(table, WordsAlone(name), teacher=name, cache=cache, disposable=True)
