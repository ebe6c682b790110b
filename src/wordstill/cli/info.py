"""``wordstill info``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordstill.cli.open_tables import open_table, tables_inside
from wordstill.cli.options import AsJson, argument, flag
from wordstill.cli.printing import count_text, disk_bytes, disk_size, groups_text, show_facts, show_json
from wordstill.errors import in_one_line

if TYPE_CHECKING:
    from wordstill.corpus import Corpus
    from wordstill.vectors import WordVectors

EXAMPLES = """\
wordstill info vectors
wordstill info store --verify"""


HASH = re.compile("[0-9a-f]{64}")
"""Shown by its beginning; ``--json`` has all of it."""
LENGTHS = {"sentence": "weights of the words in a sentence", "unit": "1", "raw": "as the method computes them"}
"""What the recorded lengths of vectors mean."""


def command(
    path: Annotated[
        Path, argument("PATH", "Word vectors, a prepared text, or what meaning train and meaning encode write.")
    ],
    verify: Annotated[bool, flag("Read all files and compare them with the recorded checksums.", "--verify")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a file or folder contains and how it was made."""
    from wordstill.core.object_stores import local_copy
    from wordstill.corpus import is_store

    path = local_copy(path)
    if is_store(path):
        found = {path: _store_facts(path, verify=verify)}
    elif (meanings := _meaning_facts(path)) is not None:
        found = {path: meanings}
    else:
        found = {table: _table_facts(table, verify=verify) for table in tables_inside(path) or [path]}
    if as_json:
        show_json(
            {str(place): {"kind": each.kind, "size": disk_bytes(place), **each.data} for place, each in found.items()}
        )
        return
    for number, (place, each) in enumerate(found.items()):
        typer.echo(f"{chr(10) if number else ''}{place}: {each.kind}")
        show_facts(each.shown)
        if each.verified:
            typer.echo(each.verified)


@dataclass(frozen=True)
class _Found:
    kind: str
    shown: dict[str, str]
    """Facts for people."""
    data: dict[str, Any]
    """Facts for programs: numbers as numbers, records as they are kept."""
    verified: str = ""


def _meaning_facts(path: Path) -> _Found | None:
    """The facts of what ``wordstill meaning`` makes; None for anything else."""
    try:
        config = json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if (path / "uses.jsonl").is_file():
        shown = {"encoder": str(config["encoder"]), "size": disk_size(path)}
        return _Found("uses of words with their meanings", shown, config)
    if config.get("format") != "wordstill-meaning":
        return None
    facts = {name: _flat(config[name]) for name in ("teacher", "layers", "width", "distiller")}
    return _Found("an encoder of meanings", facts | {"size": disk_size(path)}, config)


COUNTED = {"words": "words and marks", "tokens": "runs without spaces", "forms": "distinct runs"}
"""Clearer names for some counts of a store."""


def _store_facts(path: Path, *, verify: bool) -> _Found:
    from wordstill.corpus import Corpus

    corpus = Corpus.open(path, verify=verify)
    counts = {
        COUNTED.get(name, name.replace("_", " ")): f"{number:,}" for name, number in corpus.meta["counts"].items()
    }
    facts = {
        **counts,
        **{name.replace("_", " "): _flat(value) for name, value in corpus.meta["settings"].items()},
        **_origins(corpus),
        "made from": _few(corpus.meta.get("sources", [])),
        "size": disk_size(path),
        "hash": _flat(corpus.hash),
    }
    return _Found("a prepared text", facts, dict(corpus.meta), "All files are as recorded." if verify else "")


def _origins(corpus: Corpus) -> dict[str, str]:
    if (origins := corpus.meta.get("origins")) is None:
        return {}
    facts = {"documents": f"{origins['documents']:,}"}
    if corpus.groups is None:
        return facts
    words = corpus.words_by_group()
    sizes = [f"{name} ({count_text(words[number], 'word')})" for number, name in enumerate(corpus.group_names)]
    return facts | {
        "groups": f"{', '.join(sizes[:12])}{', ...' if len(sizes) > 12 else ''}",
        "without a group": count_text(origins["ungrouped"], "paragraph"),
    }


def _table_facts(path: Path, *, verify: bool) -> _Found:
    from wordstill.formats import recognize
    from wordstill.formats.artifact import ARTIFACT
    from wordstill.formats.record import read_object

    table = open_table(path)
    kind = recognize(path)
    facts = {
        "format": kind.name,
        "words": f"{len(table):,}",
        "dimensions": str(table.dim),
        "numbers": table.storage,
        "counts": "none" if table.counts is None else f"{table.counts.sum():,} in all",
        "size": disk_size(path),
        **_fold_facts(table),
        **_shown_origin(table.provenance),
    }
    data = {
        "format": kind.name,
        "words": len(table),
        "dimensions": table.dim,
        "numbers": table.storage,
        "counts": None if table.counts is None else int(table.counts.sum()),
        "groups": list(table.folds.groups) if table.folds else [],
        "provenance": table.provenance,
    }
    if kind is ARTIFACT:
        data["sha256"] = read_object(path / "config.json")["sha256"].get("vectors.safetensors")
        facts["sha256"] = _flat(data["sha256"])
    verified = _verified(path, table, has_checksums=kind is ARTIFACT) if verify else ""
    return _Found("word vectors", facts, data, verified)


def _fold_facts(table: WordVectors) -> dict[str, str]:
    if (folds := table.folds) is None:
        return {}
    facts = {"groups": groups_text(folds.groups)} if len(folds.groups) > 1 else {}
    dealt = " and ".join(sorted(set(folds.dealt)))
    words = len(set(folds.words.tolist()))
    return facts | {"folds": f"{len(folds):,} of {dealt}, with rows for {count_text(words, 'word')}"}


def _verified(path: Path, table: WordVectors, *, has_checksums: bool) -> str:
    from wordstill.formats import artifact

    table.check_finite()
    if not has_checksums:
        return "All numbers are finite; this format records no checksums."
    artifact.read(path, verify=True)
    return "All numbers are finite, and all files are as recorded."


def _shown_origin(provenance: Mapping[str, Any]) -> dict[str, str]:
    """The provenance of a table, which may hold anything that JSON can."""
    try:
        return _origin(provenance)
    except (TypeError, ValueError, RecursionError) as error:
        return {"provenance": f"cannot be shown ({in_one_line(error)})"}


def _origin(provenance: Mapping[str, Any]) -> dict[str, str]:
    """The provenance of a table, one line for each part."""
    lines = {}
    for part in ("method", "teacher", "corpus", "vocabulary", "development", "versions"):
        if provenance.get(part) is not None:
            lines[part] = _flat(provenance[part])
    if lengths := provenance.get("lengths"):
        lines["lengths"] = LENGTHS.get(str(lengths), _flat(lengths))
    if "seed" in provenance:
        lines["seed"] = str(provenance["seed"])
    if cut := provenance.get("cut_sentences"):
        lines["cut"] = f"{count_text(cut, 'sentence')} over the teacher's limit"
    if skipped := provenance.get("left_out_shards"):
        lines["skipped"] = f"{count_text(len(skipped), 'shard')} that failed ({_flat(skipped)}), with --skip-bad"
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
    """A transform with its settings, without what it learned."""
    if not isinstance(step, Mapping):
        return str(step)
    return _flat({key: value for key, value in step.items() if key not in ("learnt", "objective")})


def _flat(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}" if value >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(_flat, value))
    if isinstance(value, str) and HASH.fullmatch(value):
        return f"{value[:12]}..."
    if not isinstance(value, Mapping):
        return str(value)
    named = [str(value["name"])] if "name" in value else []
    others = {key: inner for key, inner in value.items() if key != "name" and inner is not None}
    return ", ".join(named + [f"{key} {_flat(inner)}" for key, inner in others.items()])


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
