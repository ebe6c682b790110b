"""Options that several commands have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.corpus import PrepareConfig


TEXT = "Text"
VOCABULARY = "Vocabulary"

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
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of everything random.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]
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

MinCount = Annotated[
    int,
    typer.Option(
        "--min-count", metavar="N", min=1, help="Leave rarer words out.", rich_help_panel=VOCABULARY
    ),
]
MaxVocab = Annotated[
    int | None,
    typer.Option(
        "--max-vocab",
        metavar="N",
        min=1,
        help="Keep only so many, the most frequent.",
        rich_help_panel=VOCABULARY,
    ),
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="RULE",
        help="lower joins all case variants of a word, none does not.",
        rich_help_panel=VOCABULARY,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", help="auto, text, jsonl, parquet or mediawiki.", rich_help_panel=TEXT
    ),
]
Field = Annotated[
    str, typer.Option("--field", metavar="NAME", help="JSONL field or Parquet column.", rich_help_panel=TEXT)
]
SentencesPerLine = Annotated[
    bool,
    typer.Option(
        "--sentences-per-line",
        help="A line is a sentence and a blank line ends a paragraph; otherwise a line is a paragraph.",
        rich_help_panel=TEXT,
    ),
]
Filter = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="NAME",
        help="Which paragraphs are kept: none, x2static (3 sentences and 140 characters at least) or "
        "sentences-10-40 (sentences of 10 to 40 words).",
        rich_help_panel=TEXT,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="CODE",
        help="Keep only paragraphs in this language, such as en.",
        rich_help_panel=TEXT,
    ),
]
SplitterLanguage = Annotated[
    str,
    typer.Option(
        "--splitter-language",
        metavar="CODE",
        help="Language whose abbreviations the sentence splitter knows.",
        rich_help_panel=TEXT,
    ),
]
Errors = Annotated[
    str,
    typer.Option(
        "--errors",
        metavar="RULE",
        help="strict stops at bytes that are not text, replace puts U+FFFD there.",
        rich_help_panel=TEXT,
    ),
]
Encoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="Of text and JSONL files.", rich_help_panel=TEXT),
]


def prepare_config(**settings: Any) -> PrepareConfig:
    """The text settings, checked by their room."""
    from wordstill.corpus import PrepareConfig

    return PrepareConfig(**settings)


def output_folder(path: Path) -> Path:
    """An output that has a name of its own, so that there can be temporary names beside it."""
    if path.name in ("", ".."):
        raise UsageError(
            f"--out {path} names no new folder. Give a name for the result, for example vectors."
        )
    return path


def wants_progress(asked: bool | None) -> bool:
    """Whether to show progress bars."""
    return sys.stderr.isatty() if asked is None else asked


PANEL = "Teacher"

Name = Annotated[
    str,
    typer.Option(
        "--teacher",
        metavar="NAME|FOLDER",
        help="A model of the Hugging Face Hub or a folder; the default needs no network.",
        rich_help_panel=PANEL,
    ),
]
Device = Annotated[
    str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.", rich_help_panel=PANEL)
]
Precision = Annotated[
    str,
    typer.Option(
        "--dtype",
        metavar="NAME",
        help="auto, float32, bfloat16 or float16.",
        rich_help_panel=PANEL,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        metavar="N",
        min=1,
        help="Longest text in sub-words; by default the model's limit, at most 512.",
        rich_help_panel=PANEL,
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="N",
        min=1,
        help="Sub-words in a batch; by default 2,048, on a GPU 131,072.",
        rich_help_panel=PANEL,
    ),
]
Read = Annotated[
    str,
    typer.Option(
        "--read",
        metavar="UNIT",
        help="What the model reads as one text: each sentence by itself, or a whole paragraph.",
        rich_help_panel=PANEL,
    ),
]
BatchesPlace = Annotated[
    str,
    typer.Option(
        "--batches",
        metavar="PLACE",
        help="Where batches are made: host, device, or auto, which takes a GPU that can make them.",
        rich_help_panel=PANEL,
    ),
]
