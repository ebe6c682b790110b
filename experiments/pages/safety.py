"""The tables of SECURITY.md: tests of files and runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from experiments.record import current_command
from experiments.safety import RESULT
from experiments.scale import worker_kills

FAMILIES = {
    "vectors": (
        "table.model2vec", "table.sentence-transformers", "table.spacy", "table.parquet", "projector", "glove",
        "gensim", "word2vec.txt", "word2vec.txt.gz", "word2vec.txt.xz", "word2vec.txt.zst", "word2vec.txt.bz2",
        "word2vec.bin", "fasttext.bin", "floret", "wordllama",
    ),
    "text": (
        "text", "text.txt", "text.txt.gz", "text.txt.xz", "text.txt.zst", "text.txt.bz2", "text.csv", "text.parquet",
        "lines.jsonl", "groups.jsonl", "wiki.xml", "text.conllu", "trees.conllu",
    ),
    "lexicons and word lists": (
        "word list", "neighbours", "groups", "pairs.csv", "wordnet", "review.tsv", "decisions.tsv", "tests.toml",
        "tests.json", "tests.txt",
    ),
    "data sets, ratings, documents, models": (
        "similarity", "questions", "categories", "labels", "ratings.csv", "documents.jsonl", "documents.csv", "triples",
        "scores.json", "elmo",
    ),
}  # fmt: skip
OWN = "wordstill's own files"


def page() -> str:
    """A table for each part that was run."""
    record: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return "\n\n".join("\n".join(lines(record[part])) for part, lines in PARTS.items() if part in record)


def _fuzz(part: dict[str, Any]) -> Iterator[str]:
    yield "| readers | mutated files | read | refused | other exception, silent change, hang, crash, over 1 GB |"
    yield "|---|---:|---:|---:|---:|"
    families: dict[str, Counter[str]] = {}
    for name, counts in part["targets"].items():
        family = next((title for title, names in FAMILIES.items() if name in names), OWN)
        families.setdefault(family, Counter()).update(counts)
    for family in (*FAMILIES, OWN):
        if family in families:
            yield _fuzz_row(family, families[family])
    yield _fuzz_row(f"**all {len(part['targets'])} readers**", sum(families.values(), Counter()))
    yield ""
    yield _origin(part)


def _fuzz_row(name: str, counts: Mapping[str, int]) -> str:
    columns = (sum(counts.values()), *(counts.get(kind, 0) for kind in ("accepted", "refused", "found")))
    return f"| {name} | " + " | ".join(f"{number:,}" for number in columns) + " |"


def _flips(part: dict[str, Any]) -> Iterator[str]:
    yield "| file | bits flipped, one at a time | not refused |"
    yield "|---|---:|---:|"
    for name, counts in part["targets"].items():
        yield f"| {name} | {counts['tried']:,} | {counts['wrong']} |"
    yield ""
    yield _origin(part)


def _faults(part: dict[str, Any]) -> Iterator[str]:
    yield "| command, overwriting a result | file system calls | made to fail | result damaged or lost, wrong error |"
    yield "|---|---:|---:|---:|"
    for name, counts in part["scenarios"].items():
        yield f"| {name} | {counts['total']} | {counts['tried']} | {counts['wrong']} |"
    yield ""
    yield _origin(part)


def _kills(part: dict[str, Any]) -> Iterator[str]:
    yield "| command, overwriting a result | kills | result damaged or lost, or different bytes after resuming |"
    yield "|---|---:|---:|"
    for name, counts in part["scenarios"].items():
        yield f"| {name} | {counts['tried']} | {counts['wrong']} |"
    yield ""
    yield _origin(part)
    if worker_kills.RESULT.exists():
        yield ""
        yield from _worker_kills(json.loads(worker_kills.RESULT.read_text()))


def _worker_kills(record: dict[str, Any]) -> Iterator[str]:
    yield "| `distill --workers 2` | kills | runs | result damaged or lost, or different bytes after resuming |"
    yield "|---|---:|---:|---:|"
    kills, runs, wrong = record["kills"], record["runs"], len(record["wrong"])
    yield f"| a worker, or the driver | {kills['worker']} + {kills['driver']} | {runs} | {wrong} |"
    yield ""
    machine = record["machine"]
    yield (
        f"`{current_command(record['command'])}`, commit {record['commit']}, seed {record['seed']}, "
        f"on {machine['cpu']}, {machine['cores']} cores."
    )


def _cost(part: dict[str, Any]) -> Iterator[str]:
    yield "| cost of checksums | CPU time | of which SHA-256 |"
    yield "|---|---:|---:|"
    for name, found in part["shares"].items():
        share = 100 * found["hashing"] / found["seconds"]
        yield f"| {name} | {found['seconds']:.2f} s | {1000 * found['hashing']:.1f} ms, {share:.2f} % |"
    opening = part["opening"]
    yield f"| opening 200,000 words | {opening['seconds ms']:.1f} ms | {opening['hashing ms']:.1f} ms |"
    yield ""
    yield _origin(part)


def _origin(part: dict[str, Any]) -> str:
    machine, runs = part["machine"], [*part.get("earlier", []), part]
    commits, seeds = (", ".join(dict.fromkeys(str(run[key]) for run in runs)) for key in ("commit", "seed"))
    return (
        f"`{current_command(part['command'])}`{f', {len(runs)} runs' if len(runs) > 1 else ''}, commit {commits}, "
        f"seed {seeds}, {sum(run['seconds'] for run in runs) / 60:.0f} minutes on {machine['cpu']}, "
        f"{machine['cores']} cores."
    )


PARTS = {"fuzz": _fuzz, "flips": _flips, "faults": _faults, "kills": _kills, "cost": _cost}
