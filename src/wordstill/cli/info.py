"""``wordstill info``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.open_tables import open_table, tables_inside
from wordstill.cli.options import argument, flag
from wordstill.cli.printing import count_text, disk_size, show_facts

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill info vectors
wordstill info store --verify"""


def command(
    path: Annotated[Path, argument("PATH", "A prepared text, or word vectors.")],
    verify: Annotated[bool, flag("Read all files and compare them with the recorded checksums.", "--verify")] = False,
) -> None:
    """Show what a prepared text or a table of vectors contains and how it was made."""
    from wordstill.corpus import is_store

    if is_store(path):
        _show_store(path, verify=verify)
        return
    for number, table in enumerate(tables_inside(path) or [path]):
        if number:
            typer.echo()
        _show_table(table, verify=verify)


def _show_store(path: Path, *, verify: bool) -> None:
    from wordstill.corpus import Corpus

    corpus = Corpus.open(path, verify=verify)
    counts = {name.replace("_", " "): f"{number:,}" for name, number in corpus.meta["counts"].items()}
    typer.echo(f"{path}: a prepared text")
    show_facts(
        {
            **counts,
            **{name.replace("_", " "): str(value) for name, value in corpus.meta["settings"].items()},
            "made from": _few(corpus.meta.get("sources", [])),
            "size": disk_size(path),
            "hash": corpus.hash,
        }
    )
    if verify:
        typer.echo("All files are as recorded.")


def _show_table(path: Path, *, verify: bool) -> None:
    from wordstill.formats import recognize
    from wordstill.formats.artifact import ARTIFACT

    table = open_table(path)
    kind = recognize(path)
    facts = {
        "format": kind.name,
        "words": f"{len(table):,}",
        "dimensions": str(table.dim),
        "numbers": table.storage,
        "counts": "none" if table.counts is None else f"{table.counts.sum():,} in all",
        "size": disk_size(path),
        **_origin(table.provenance),
    }
    if kind is ARTIFACT:
        facts["sha256"] = json.loads((path / "config.json").read_bytes())["sha256"]["vectors.safetensors"]
    typer.echo(f"{path}: word vectors")
    show_facts(facts)
    if verify:
        typer.echo(_verified(path, table, has_checksums=kind is ARTIFACT))


def _verified(path: Path, table: WordVectors, *, has_checksums: bool) -> str:
    from wordstill.formats import artifact

    table.check_finite()
    if not has_checksums:
        return "All numbers are finite; this format records no checksums."
    artifact.read(path, verify=True)
    return "All numbers are finite, and all files are as recorded."


def _origin(provenance: Mapping[str, Any]) -> dict[str, str]:
    """The provenance of a table, one line for each part."""
    lines = {}
    for part in ("method", "teacher", "corpus", "vocabulary", "development", "versions"):
        if provenance.get(part) is not None:
            lines[part] = _flat(provenance[part])
    if "seed" in provenance:
        lines["seed"] = str(provenance["seed"])
    if cut := provenance.get("cut_sentences"):
        lines["cut"] = f"{count_text(cut, 'sentence')} over the teacher's limit"
    if trimmed := provenance.get("trimmed"):
        lines["trimmed"] = "; ".join(_trimmed(change) for change in trimmed)
    if steps := provenance.get("transforms"):
        lines["transforms"] = "; ".join(_step(step) for step in steps)
    return lines


def _trimmed(change: Any) -> str:
    """The sizes of the table before and after trimming."""
    try:
        return " to ".join(f"{rows:,} words x {dim}" for rows, dim in (change["from"], change["to"]))
    except (TypeError, KeyError, ValueError):
        return str(change)


def _step(step: Any) -> str:
    """A transform with its settings, without its learnt state."""
    if not isinstance(step, Mapping):
        return str(step)
    return _flat({key: value for key, value in step.items() if key not in ("learnt", "objective")})


def _flat(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    named = [str(value["name"])] if "name" in value else []
    others = {key: inner for key, inner in value.items() if key != "name" and inner is not None}
    return ", ".join(named + [f"{key} {_flat(inner)}" for key, inner in others.items()])


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
