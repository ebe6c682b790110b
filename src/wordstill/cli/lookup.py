"""Tables with an answer for words they do not have, as several commands want them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.tables import open_table
from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.backoff import Backoff
    from wordstill.vectors import WordVectors

TEACHER = "teacher"
DEFAULT_TEACHER = "all-MiniLM-L6-v2"

Unknown = Annotated[
    list[str] | None,
    typer.Option(
        "--unknown",
        "-u",
        metavar="NAME",
        help="What to do with words that the table lacks, in this order; may be repeated. case: the word in "
        "other letters; subwords: fastText's parts of words; ngrams: words that share its letters; "
        "spelling: the word spelt most like it; teacher: have a model read it, once.",
        show_default=False,
    ),
]
TeacherName = Annotated[
    str | None,
    typer.Option(
        "--teacher",
        metavar="NAME",
        help="Model that reads words with --unknown teacher; by default the one that the table came from.",
        show_default=False,
    ),
]


def open_for_words(path: Path, unknown: Sequence[str] | None, teacher: str | None) -> WordVectors:
    """The table at a path, with these policies for words it does not have."""
    table = open_table(path)
    if not unknown:
        return table
    from wordstill.backoff import BACKOFFS

    for name in unknown:
        if name not in (*BACKOFFS, TEACHER):
            raise unknown_name("policy for unknown words", name, (*BACKOFFS, TEACHER))
    policies: list[str | Backoff] = [
        _teacher_backoff(table, path, teacher) if name == TEACHER else name for name in unknown
    ]
    return table.with_backoff(*policies)


def tell_stand_ins(table: WordVectors, words: Sequence[str]) -> None:
    """Say on the standard error which words are not in the table, and what stands in for them."""
    missing = [word for word in words if word not in table]
    for word, found in zip(missing, table.find(missing)):
        if isinstance(found, int):
            typer.echo(f"{word!r} is not in the table; {table.words[found]!r} stands in for it.", err=True)
        elif found is not None:
            typer.echo(f"{word!r} is not in the table; its vector is estimated.", err=True)


def _teacher_backoff(table: WordVectors, path: Path, teacher: str | None) -> Backoff:
    from wordstill.files import user_cache
    from wordstill.teacher_backoff import TeacherBackoff
    from wordstill.words_alone import WordsAlone

    name = teacher or _recorded_teacher(table) or DEFAULT_TEACHER
    digest = hashlib.sha256(f"{path.resolve()}\0{name}".encode()).hexdigest()[:16]
    folder = user_cache("words")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot keep words that the teacher reads in {folder}: {error.strerror}.") from None
    return TeacherBackoff(table, WordsAlone(name), teacher=name, cache=folder / f"{digest}.safetensors")


def _recorded_teacher(table: WordVectors) -> str | None:
    teacher = table.provenance.get("teacher")
    name = teacher.get("name") if isinstance(teacher, dict) else teacher
    return name if isinstance(name, str) else None
