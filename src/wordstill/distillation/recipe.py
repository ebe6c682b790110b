"""The recipe: everything that determines a result, as plain data for checkpoints and provenance."""

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
    """What the lengths of vectors mean."""
    versions: dict[str, str]
    development: dict[str, Any] | None = None
    """The settings of early stopping; None reads all epochs."""
    seeds: dict[str, int] | None = None
    """The seed of each method by label, if there are several."""
    snapshots: tuple[int, ...] = ()
    """Words after which snapshots are taken, which changes the order of reading."""
    occurrences: dict[str, Any] | None = None
    """Which occurrences are kept with the tables; None keeps none."""
    folds: dict[str, Any] | None = None
    """How the text is divided into folds and groups; None keeps no rows by fold."""

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
        """The recipe with the facts that every run has."""
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
        """The recipe as plain data, without folds and occurrences if there are none."""
        optional = ("folds", "occurrences")
        return {name: fact for name, fact in asdict(self).items() if fact is not None or name not in optional}

    def provenance(self, label: str) -> dict[str, Any]:
        """The provenance of one method's table."""
        facts = self.facts()
        facts["method"] = facts.pop("methods")[label]
        facts["seed"] = (facts.pop("seeds") or {}).get(label, self.seed)
        return facts if self.snapshots else {key: value for key, value in facts.items() if key != "snapshots"}

    def changes(self, label: str, provenance: Mapping[str, Any]) -> str:
        """How a table's provenance differs from this recipe; empty if it does not."""
        expected = json.loads(json.dumps(self.provenance(label)))
        before = {name: provenance.get(name) for name in expected}
        if (development := expected.get("development")) and before["development"]:
            # A table also records which epoch was kept.
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
    """The settings and size of a vocabulary, as plain data."""
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
