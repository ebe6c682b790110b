"""Options that commands share: single ones, and groups that a command declares as one parameter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.corpus import PrepareConfig, VocabularyConfig
    from wordstill.corpus.vocabulary import KeyRule
    from wordstill.teacher import TeacherConfig

TEACHER, VOCABULARY, TEXT = "Teacher", "Vocabulary", "Text"
"""Panels of the help, below the options that most people use."""

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="Text, JSONL, Parquet or MediaWiki files, also compressed; folders or globs of them; - for the "
        "standard input.",
        show_default=False,
    ),
]
NewFolder = Annotated[
    Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to make.", show_default=False)
]
NewTable = Annotated[
    Path, typer.Option("--out", "-o", metavar="PATH", help="The folder or file to write.", show_default=False)
]
TargetFormat = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Format to write; by default by the name.", show_default=False
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write everything as JSON.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of everything random.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing output, and start again.")]
ShowProgress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Show progress bars; by default only on a terminal."),
]
VectorsPath = Annotated[
    Path,
    typer.Argument(
        metavar="VECTORS", help="A folder or file of word vectors, in any known format.", show_default=False
    ),
]
Topn = Annotated[int, typer.Option("--topn", "-n", metavar="N", min=1, help="How many words to show.")]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
Dtype = Annotated[str, typer.Option("--dtype", metavar="NAME", help="auto, float32, bfloat16 or float16.")]


@dataclass(frozen=True)
class TeacherOptions:
    """Which model reads the text, and on what."""

    teacher: Annotated[
        str,
        typer.Option(
            metavar="NAME|FOLDER",
            help="A model of the Hugging Face Hub or a folder; the default needs no network.",
        ),
    ] = "all-MiniLM-L6-v2"
    device: Device = "auto"
    dtype: Dtype = "auto"
    max_length: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Longest text in subwords; by default the model's limit, at most 512.",
            rich_help_panel=TEACHER,
        ),
    ] = None

    def config(self) -> TeacherConfig:
        """The settings, checked by their room."""
        from wordstill.teacher import TeacherConfig

        return TeacherConfig(self.teacher, self.device, self.dtype, max_length=self.max_length)


@dataclass(frozen=True)
class VocabularyOptions:
    """Which words get a vector."""

    min_count: Annotated[int, typer.Option(metavar="N", min=1, help="Drop rarer words.")] = 5
    words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Words or phrases, one per line, that must get a vector, however rare."
        ),
    ] = None
    max_vocab: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Keep only the N most frequent words.", rich_help_panel=VOCABULARY
        ),
    ] = None
    key: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="lower merges the case variants of a word, none keeps them apart.",
            rich_help_panel=VOCABULARY,
        ),
    ] = "lower"

    def config(self) -> VocabularyConfig:
        """The settings, checked by their room, with the words of the list."""
        from wordstill.corpus import Vocabulary, VocabularyConfig

        words = Vocabulary.read_word_list(self.words) if self.words is not None else ()
        return VocabularyConfig(self.min_count, self.max_vocab, cast("KeyRule", self.key), words)


@dataclass(frozen=True)
class TextOptions:
    """How files of text are read."""

    format: Annotated[
        str,
        typer.Option(metavar="NAME", help="auto, text, jsonl, parquet or mediawiki.", rich_help_panel=TEXT),
    ] = "auto"
    field: Annotated[
        str, typer.Option(metavar="NAME", help="JSONL field or Parquet column.", rich_help_panel=TEXT)
    ] = "text"
    sentences_per_line: Annotated[
        bool,
        typer.Option(
            "--sentences-per-line",
            help="A line is a sentence and an empty line ends a paragraph; otherwise a line is a paragraph.",
            rich_help_panel=TEXT,
        ),
    ] = False
    filter: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Which paragraphs are kept: none, x2static (3 sentences and 140 characters at least) or "
            "sentences-10-40 (sentences of 10 to 40 words).",
            rich_help_panel=TEXT,
        ),
    ] = "none"
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            help="Keep only paragraphs in this language, such as en.",
            rich_help_panel=TEXT,
        ),
    ] = None
    splitter_language: Annotated[
        str,
        typer.Option(
            metavar="CODE",
            help="Language whose abbreviations the sentence splitter knows.",
            rich_help_panel=TEXT,
        ),
    ] = "en"
    errors: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="strict stops at undecodable bytes, replace inserts U+FFFD.",
            rich_help_panel=TEXT,
        ),
    ] = "strict"
    encoding: Annotated[
        str, typer.Option(metavar="NAME", help="Encoding of text and JSONL files.", rich_help_panel=TEXT)
    ] = "utf-8"

    def config(self) -> PrepareConfig:
        """The settings, checked by their room."""
        from wordstill.corpus import PrepareConfig

        return PrepareConfig(**asdict(self))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer: a parameter that is a group of options becomes these options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        if (group := groups.get(parameter.name)) is None:
            options.append(parameter.replace(annotation=hints[parameter.name], kind=Parameter.KEYWORD_ONLY))
            continue
        own = get_type_hints(group, include_extras=True)
        options += [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=own[field.name])
            for field in fields(group)
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        made: dict[str, Any] = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    # typer reads the signature of what was wrapped, unless it cannot see it.
    del run.__wrapped__
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def output_folder(path: Path) -> Path:
    """Check that an output has a name, because temporary names are derived from it."""
    if path.name in ("", ".."):
        raise UsageError(f"--out {path} is not a new folder. Name the result, for example vectors.")
    return path


def wants_progress(asked: bool | None) -> bool:
    """Whether to show progress bars."""
    return sys.stderr.isatty() if asked is None else asked
