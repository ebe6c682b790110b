"""Recipes: everything that determines a result, as plain data for checkpoints and provenance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wordstill import __version__
from wordstill.core.resume import differences
from wordstill.corpus import Corpus, Vocabulary
from wordstill.methods import MethodSpec
from wordstill.teacher import BatchConfig, Teacher

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")


@dataclass(frozen=True)
class Recipe:
    """The resolved settings of a run."""

    corpus: dict[str, Any]
    teacher: dict[str, Any]
    vocabulary: dict[str, Any]
    methods: dict[str, dict[str, Any]]
    batches: dict[str, Any]
    seed: int
    epochs: int
    lengths: str
    """What the lengths of vectors say."""
    versions: dict[str, str]
    development: dict[str, Any] | None = None
    """The source of the score in early stopping, and the patience; None reads all epochs."""
    seeds: dict[str, int] | None = None
    """The seed of each method by label, where a run has several."""
    snapshots: tuple[int, ...] = ()
    """Words after which reading pauses for a table, which changes the order of reading."""
    occurrences: dict[str, Any] | None = None
    """Which occurrences are kept beside the tables; None keeps none."""
    folds: dict[str, Any] | None = None
    """How the text is divided into folds and groups; None keeps no rows by fold, and says nothing."""

    @classmethod
    def resolve(
        cls,
        corpus: Corpus,
        teacher: Teacher,
        vocabulary: Vocabulary,
        specs: list[MethodSpec],
        batches: BatchConfig,
        seed: int,
        epochs: int = 1,
        lengths: str = "raw",
    ) -> Recipe:
        """What every run has; the rest is for those that have it."""
        return cls(
            corpus={"hash": corpus.hash, "words": corpus.n_words, "settings": corpus.meta["settings"]},
            teacher=_teacher_facts(teacher),
            vocabulary=vocabulary_facts(vocabulary),
            methods={spec.label: spec.facts() for spec in specs},
            batches=asdict(batches),
            seed=seed,
            epochs=epochs,
            lengths=lengths,
            versions={"wordstill": __version__, **{name: package_version(name) for name in PACKAGES}},
        )

    def to_json(self) -> str:
        """Deterministic JSON."""
        return json.dumps(self.facts(), sort_keys=True, ensure_ascii=False)

    def facts(self) -> dict[str, Any]:
        """As plain data; what is kept beside the vectors is part of it only where something is."""
        beside = ("folds", "occurrences")
        return {name: fact for name, fact in asdict(self).items() if fact is not None or name not in beside}

    def provenance(self, label: str) -> dict[str, Any]:
        """What the artifact of one method says of itself."""
        facts = self.facts()
        facts["method"] = facts.pop("methods")[label]
        facts["seed"] = (facts.pop("seeds") or {}).get(label, self.seed)
        return facts if self.snapshots else {key: value for key, value in facts.items() if key != "snapshots"}

    def changes(self, label: str, provenance: Mapping[str, Any]) -> str:
        """What a table records of its making that this recipe has otherwise; empty if it is the same."""
        expected = json.loads(json.dumps(self.provenance(label)))
        before = {name: provenance.get(name) for name in expected}
        if (development := expected.get("development")) and before["development"]:
            # A table also records the epoch that was kept.
            before["development"] = {name: before["development"].get(name) for name in development}
        return differences(before, expected)


def _teacher_facts(teacher: Teacher) -> dict[str, Any]:
    return {
        "name": teacher.config.name,
        "fingerprint": teacher.fingerprint,
        "layers": teacher.depth,
        "width": teacher.width,
        "parameters": teacher.parameters,
        "max_length": teacher.limit,
        "dtype": teacher.precision,
        "device": teacher.device.type,
    }


def vocabulary_facts(vocabulary: Vocabulary) -> dict[str, Any]:
    """Which words have vectors, as plain data."""
    config = vocabulary.config
    joined = "\n".join(config.words)
    return {
        "size": len(vocabulary),
        "min_count": config.min_count,
        "max_size": config.max_size,
        "key": config.key,
        "wanted_words": len(config.words),
        "wanted_words_sha256": hashlib.sha256(joined.encode()).hexdigest() if config.words else None,
    }


def package_version(package: str) -> str:
    """The version of an installed package, for provenance."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
