"""Options that commands share, alone or in groups, and how their help is shown."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from wordstill.core.plugins import find_plugins
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.corpus import PrepareConfig, VocabularyConfig
    from wordstill.corpus.vocabulary import KeyRule
    from wordstill.teacher import TeacherConfig


def option(metavar: str, help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option with a value; ``names`` unless typer should derive them from the parameter."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **settings)


def flag(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def argument(metavar: str, help: str, **settings: Any) -> Any:
    """A positional argument."""
    return typer.Argument(metavar=metavar, help=help, **settings)


TEACHER, VOCABULARY, TEXT, GROUPS = "Teacher", "Vocabulary", "Text", "Groups and folds"
"""Panels of the help, below the options that most people use."""

WORD_LISTS = (".txt", ".tsv", ".csv")
"""Suffixes of word lists: a name with one of them is a file, even if it is missing."""
PLUGINS = {
    "distill": "wordstill.methods",
    "train": "wordstill.baselines",
    "evaluate": "wordstill.tasks",
    "transform": "wordstill.transforms",
    "convert": "wordstill.formats",
}
"""Commands that can use plug-ins, with the group of their entry points."""

Inputs = Annotated[
    list[str],
    argument(
        "INPUT",
        "Text, JSONL, CSV, CoNLL-U, Parquet or MediaWiki files, compressed or not; folders, globs, or URLs such as "
        "s3://bucket/*.txt; - for standard input.",
    ),
]
NewFolder = Annotated[Path, option("DIR", "Output folder.", "--out", "-o")]
NewTable = Annotated[Path, option("PATH", "Output folder or file.", "--out", "-o")]
TargetFormat = Annotated[str | None, option("NAME", "Output format; by default chosen by the file name.", "--format")]
ReportFile = Annotated[Path | None, option("FILE", "Write everything as JSON.", "--out", "-o")]
Seed = Annotated[int, option("N", "Random seed.", "--seed", min=0)]
Overwrite = Annotated[bool, flag("Replace existing output and start over.", "--overwrite")]
ShowProgress = Annotated[
    bool | None,
    flag("Show progress: bars in a terminal, otherwise a line every 30 seconds.", "--progress/--no-progress"),
]
VectorsPath = Annotated[Path, argument("VECTORS", "A folder or file of word vectors, in any known format.")]
Topn = Annotated[int, option("N", "How many words to show.", "--topn", "--top", "-n", min=1)]
AsJson = Annotated[bool, flag("Print JSON.", "--json")]
WorkerCount = Annotated[
    int | None,
    option("N", "Divide the work among N processes of this machine, one for each GPU or core.", "--workers", min=1),
]
RayAddress = Annotated[
    str | None,
    option("ADDRESS", "Divide the work on a Ray cluster: its address, or auto; --workers limits it.", "--ray"),
]
Device = Annotated[str, option("NAME", "auto, cpu, cuda or cuda:1.", "--device")]
Dtype = Annotated[str, option("NAME", "auto, float32, bfloat16 or float16.", "--dtype")]


@dataclass(frozen=True)
class TeacherOptions:
    """Which model reads the text, and on which device."""

    teacher: Annotated[
        str, option("NAME|FOLDER", "A model on the Hugging Face Hub, or a folder; the default needs no network.")
    ] = "all-MiniLM-L6-v2"
    device: Device = "auto"
    dtype: Dtype = "auto"
    max_length: Annotated[
        int | None,
        option("N", "Longest input in subwords; by default the model's limit, at most 512.", panel=TEACHER, min=1),
    ] = None

    def config(self) -> TeacherConfig:
        """The settings, checked by their room."""
        from wordstill.teacher import TeacherConfig

        return TeacherConfig(self.teacher, self.device, self.dtype, max_length=self.max_length)


@dataclass(frozen=True)
class VocabularyOptions:
    """Which words get a vector."""

    min_count: Annotated[int, option("N", "Drop words that occur fewer times.", min=1)] = 5
    words: Annotated[
        Path | None, option("FILE", "Words and phrases, one per line, that get a vector however rare they are.")
    ] = None
    max_vocab: Annotated[int | None, option("N", "Keep only the N most frequent words.", panel=VOCABULARY, min=1)] = (
        None
    )
    key: Annotated[
        str,
        option(
            "RULE", "lower merges case variants of a word; none keeps them apart.", "--case", "--key", panel=VOCABULARY
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

    format: Annotated[str, option("NAME", "auto, text, jsonl, csv, conllu, parquet or mediawiki.", panel=TEXT)] = "auto"
    field: Annotated[str, option("NAME", "JSONL field, or CSV or Parquet column.", panel=TEXT)] = "text"
    sentences_per_line: Annotated[
        bool,
        flag(
            "Each line is a sentence and an empty line ends a paragraph; otherwise each line is a paragraph.",
            "--sentences-per-line",
            panel=TEXT,
        ),
    ] = False
    filter: Annotated[
        str,
        option(
            "NAME",
            "Which paragraphs to keep: none (all), x2static (at least 3 sentences and 140 characters) or "
            "sentences-10-40 (sentences of 10 to 40 words); lower, x2static-lower and sentences-10-40-lower also "
            "lowercase the text.",
            panel=TEXT,
        ),
    ] = "none"
    share: Annotated[
        float,
        option(
            "SHARE",
            "Keep a random share of the paragraphs, such as 0.1; a smaller share is a subset of a larger one.",
            panel=TEXT,
        ),
    ] = 1.0
    language: Annotated[
        str | None, option("CODE", "Keep only paragraphs in this language, such as en.", panel=TEXT)
    ] = None
    splitter_language: Annotated[str, option("CODE", "Language of the sentence splitter.", panel=TEXT)] = "en"
    segmenter: Annotated[
        str,
        option(
            "NAME",
            "How text is split into words: words; possessives (dog's becomes two words); chinese, japanese or "
            "thai, which need the extra of the same name.",
            panel=TEXT,
        ),
    ] = "words"
    errors: Annotated[
        str, option("RULE", "What to do with undecodable bytes: strict stops, replace inserts U+FFFD.", panel=TEXT)
    ] = "strict"
    encoding: Annotated[str, option("NAME", "Encoding of text, JSONL and CSV files.", panel=TEXT)] = "utf-8"
    group: Annotated[
        str | None,
        option(
            "FIELD",
            "What to group documents by: a JSONL field, a CSV or Parquet column, folder, or "
            "file:REGEX to match part of the path.",
            panel=GROUPS,
        ),
    ] = None
    bins: Annotated[
        str | None, option("SIZE", "Group dates by month, year, decade, century or N years.", panel=GROUPS)
    ] = None
    documents: Annotated[
        bool,
        flag(
            "Record which document each paragraph is from, for --folds; implied by --group.",
            "--documents",
            panel=GROUPS,
        ),
    ] = False

    def config(self) -> PrepareConfig:
        """The settings, checked by their room."""
        from wordstill.corpus import PrepareConfig

        return PrepareConfig(**asdict(self))


class HelpfulCommand(TyperCommand):
    """A command with plain help that names its plug-ins."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        if self.name in PLUGINS and (found := find_plugins(PLUGINS[self.name])):
            names = ", ".join(sorted(point.name for point in found))
            self.epilog = f"Plug-ins: {names}\n\n{self.epilog}"
        super().format_help(ctx, formatter)

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return _without_types(super().get_params(ctx))


class HelpfulGroup(TyperGroup):
    """A group of commands with plain help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, as the help shows them."""
        return _without_types(super().get_params(ctx))


class _NamedArgument(TyperArgument):
    """An argument shown as NAME, [NAME] or NAME..., where typer would add its type."""

    def display_type_rich(self, ctx: Any) -> None:
        """No type: the help says what to give."""

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """The argument in the usage line."""
        name = str(self.metavar or self.name)
        return [(name if self.required else f"[{name}]") + ("..." if self.nargs != 1 else "")]


def _without_types(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.__class__ = _NamedArgument
        elif parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


def add_command(app: typer.Typer, name: str, command: Callable[..., None], examples: str, **settings: Any) -> None:
    """Add a command whose parameters may be groups of options; ``examples`` has one per line."""
    help_text = flowing(command.__doc__ or "")
    app.command(name, cls=HelpfulCommand, help=help_text, epilog=examples_text(examples), **settings)(
        with_groups(command)
    )


def flowing(docstring: str) -> str:
    """A docstring with each paragraph on one line, which the help wraps at the width of the terminal."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.strip().split("\n\n"))


def examples_text(lines: str) -> str:
    """The end of a help text: each line is a paragraph with an example."""
    return "\n\n".join(f"Example: {line}" for line in lines.splitlines())


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


def words_or_file(text: str) -> list[str]:
    """The words of a file with one per line, or of a comma-separated text."""
    from wordstill.core.text_io import read_word_list

    if Path(text).is_file() or (Path(text).suffix in WORD_LISTS and "," not in text):
        return list(read_word_list(Path(text)))
    return [word.strip() for word in text.split(",") if word.strip()]


def refuse_report(path: Path | None, *, overwrite: bool) -> None:
    """Refuse a report that exists, before the work for it begins."""
    from wordstill.core.files import refuse_existing

    if path is not None:
        refuse_existing(path, overwrite=overwrite)


def shows_bar(asked: bool | None) -> bool:
    """Whether to show a bar of bytes; without --progress, a missing tqdm is no error."""
    return wants_progress(asked) and (asked is True or importlib.util.find_spec("tqdm") is not None)


def wants_progress(asked: bool | None) -> bool:
    """Whether to show progress: bars on a terminal or if asked for, a line now and then elsewhere."""
    from wordstill.core.progress import BARS_ANYWHERE

    BARS_ANYWHERE.set(asked is True)
    return asked is not False
