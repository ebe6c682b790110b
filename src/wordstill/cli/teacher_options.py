"""Options of ``wordstill distill`` about the model and how it reads."""

from __future__ import annotations

from typing import Annotated

import typer

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
