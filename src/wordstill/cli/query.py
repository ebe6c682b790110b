"""``wordstill similar`` and ``wordstill analogy``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli.open_tables import open_table
from wordstill.cli.options import Topn, VectorsPath, argument, option
from wordstill.cli.printing import show_scored
from wordstill.errors import UsageError, unknown_name
from wordstill.vectors.analogies import Rule

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors
    from wordstill.vectors.oov import Backoff


SIMILAR_EXAMPLES = """\
wordstill similar vectors queen river
wordstill similar glove.6B.100d.txt Queen quenn --unknown case --unknown spelling --topn 5"""


def similar(
    vectors: VectorsPath,
    words: Annotated[list[str], argument("WORD", "Words to look up.")],
    topn: Topn = 10,
    unknown: Unknown = None,
    teacher: TeacherName = None,
) -> None:
    """Show the nearest words of each word, with the cosine."""
    table = open_for_words(vectors, unknown, teacher)
    report_substitutes(table, words)
    for number, (word, scored) in enumerate(zip(words, table.neighbors(words, topn))):
        if len(words) > 1:
            typer.echo(f"{chr(10) if number else ''}{word}")
        show_scored(scored)


ANALOGY_EXAMPLES = """\
wordstill analogy vectors man king woman
wordstill analogy vectors france,spain paris,madrid italy --rule 3cosavg"""


def analogy(
    vectors: VectorsPath,
    a: Annotated[str, argument("A", "For example man.")],
    b: Annotated[str, argument("B", "For example king.")],
    c: Annotated[str, argument("C", "For example woman.")],
    topn: Topn = 10,
    rule: Annotated[
        str,
        option(
            "NAME",
            "3cosadd: nearest to B - A + C; 3cosmul: the largest product of cosines; 3cosavg: A and B "
            "may be several words in the same relation, separated by commas.",
        ),
    ] = "3cosadd",
    unknown: Unknown = None,
    teacher: TeacherName = None,
) -> None:
    """Answer "A is to B as C is to what?", with the score of each answer."""
    table = open_for_words(vectors, unknown, teacher)
    first, second = (text.split(",") if rule == "3cosavg" else [text] for text in (a, b))
    report_substitutes(table, [*first, *second, c])
    show_scored(table.analogy(first, second, c, topn, cast(Rule, rule)))


TEACHER = "teacher"
DEFAULT_TEACHER = "all-MiniLM-L6-v2"

Unknown = Annotated[
    list[str] | None,
    option(
        "NAME",
        "How to find vectors for words that are not in the table, in this order; may be repeated. case: "
        "the word in another case; subwords: the table's character n-grams, used by default if it has any; "
        "ngrams: words with common letter n-grams; "
        "spelling: the word spelled most like it; teacher: a model encodes the word, once.",
        "--unknown",
        "-u",
    ),
]
TeacherName = Annotated[
    str | None,
    option(
        "NAME",
        "Model that reads words with --unknown teacher; by default the one that the table came from.",
        "--teacher",
    ),
]


def open_for_words(path: Path, unknown: Sequence[str] | None, teacher: str | None) -> WordVectors:
    """The table at a path, with these policies for words it does not have."""
    table = open_table(path)
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

    name = teacher or _recorded_teacher(table) or DEFAULT_TEACHER
    digest = hashlib.sha256(f"{path.resolve()}\0{name}".encode()).hexdigest()[:16]
    folder = user_cache("words")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"Cannot cache the teacher's words in {folder}: {error.strerror}.") from None
    cache = folder / f"{digest}.safetensors"
    return TeacherBackoff(table, WordsAlone(name), teacher=name, cache=cache, disposable=True)


def _recorded_teacher(table: WordVectors) -> str | None:
    teacher = table.provenance.get("teacher")
    name = teacher.get("name") if isinstance(teacher, dict) else teacher
    return name if isinstance(name, str) else None
