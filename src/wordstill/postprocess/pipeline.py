"""The registry of transforms, and pipelines of them: parsed from text, fitted, saved and loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_path, disk_errors, refuse_existing
from wordstill.core.guard import reading
from wordstill.core.plugins import Registry
from wordstill.core.settings import Spec, configure
from wordstill.core.tensors import map_tensors, read_checked, write_tensors
from wordstill.errors import FormatError, UsageError
from wordstill.postprocess.base import Transform, record_of
from wordstill.postprocess.combine import Average, Concatenate
from wordstill.postprocess.linear_transforms import AllButTheTop, Center, Pca, SentenceWeights, Uncovec, Unit, Whiten
from wordstill.postprocess.retrofit import ContextGraph, CounterFit, Faruqui
from wordstill.postprocess.subword_rows import Subwords
from wordstill.postprocess.vocabulary_transforms import MergeCase, ProductQuantization, Quantize, Trim
from wordstill.vectors import WordVectors

TRANSFORMS: Registry[type[Transform]] = Registry(
    "transform",
    "wordstill.transforms",
    {
        kind.name.partition(".")[0]: kind
        for kind in (
            Center,
            Unit,
            SentenceWeights,
            AllButTheTop,
            Whiten,
            Pca,
            Uncovec,
            Quantize,
            ProductQuantization,
            Trim,
            MergeCase,
            Subwords,
            Concatenate,
            Average,
            Faruqui,
            ContextGraph,
            CounterFit,
        )
    },
    Transform,
    aliases={"center": "centre", "quantize": "quantise"},
)
KIND = "wordstill transforms"
CHAIN = "chain"


class Pipeline:
    """A chain of transforms, each fitted on the result of the previous one.

    Example:
        >>> pipeline = Pipeline.from_spec("center,whiten:exponent=0.3,pca:dim=200")  # doctest: +SKIP
        >>> better = pipeline.fit_transform(vectors)  # doctest: +SKIP
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self.transforms = list(transforms)

    @classmethod
    def from_spec(cls, text: str) -> Pipeline:
        """Parse a chain such as ``center,whiten:exponent=0.3,pca:dim=200``."""
        return cls([configure(spec, TRANSFORMS.find(spec.name)).build() for spec in Spec.parse_chain(text)])

    def __len__(self) -> int:
        return len(self.transforms)

    def __iter__(self) -> Iterator[Transform]:
        return iter(self.transforms)

    def fit(self, vectors: WordVectors) -> Self:
        """Fit each step on the result of the previous steps."""
        self.fit_transform(vectors)
        return self

    def transform(self, vectors: WordVectors) -> WordVectors:
        """Apply all steps."""
        for step in self.transforms:
            vectors = step.transform(vectors)
        return vectors

    def fit_transform(self, vectors: WordVectors) -> WordVectors:
        """Fit and apply each step in turn."""
        for step in self.transforms:
            vectors = step.fit_transform(vectors)
        return vectors

    def made(self, vectors: WordVectors) -> bool:
        """Whether exactly these steps are in the record of a table."""
        steps = [(step.name, step.digest) for step in self.transforms]
        record = [entry for entry in record_of(vectors) if isinstance(entry, dict)]
        return steps == [(entry.get("name"), entry.get("learnt")) for entry in record]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write settings and fitted states to a safetensors file."""
        path = Path(path)
        refuse_existing(path, overwrite=overwrite)
        chain = [_written(step) for step in self.transforms]
        tensors = {
            f"{number}.{key}": np.ascontiguousarray(array)
            for number, step in enumerate(self.transforms)
            for key, array in step.learnt.items()
        }
        with disk_errors(path), atomic_path(path) as temporary:
            write_tensors(temporary, tensors, {"format": KIND, CHAIN: json.dumps(chain)}, checksum=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Pipeline:
        """Read a file that `save` wrote."""
        path = Path(path)
        if not path.is_file():
            raise FormatError(f"There is no file {path} with fitted transforms.")
        with reading(path, FormatError):
            tensors, metadata = map_tensors(path)
            if metadata.get("format") != KIND:
                raise FormatError(f"{path} does not hold fitted transforms.")
            chain = _chain(path, metadata.get(CHAIN, ""))
            read_checked(path)
        steps = []
        for number, entry in enumerate(chain):
            step = _known(path, entry)
            start = f"{number}."
            step.state = _Learnt(
                (key.removeprefix(start), np.array(array)) for key, array in tensors.items() if key.startswith(start)
            )
            steps.append(step)
        return cls(steps)


class _Learnt(dict[str, NDArray[Any]]):
    """The fitted state of a transform in a file."""

    def __missing__(self, key: str) -> NDArray[Any]:
        raise FormatError(f"The fitted transforms lack the array {key!r}. Fit them again.")


def _written(step: Transform) -> dict[str, Any]:
    settings = dict(vars(step.config))
    for key, value in settings.items():
        if not isinstance(value, str | int | float | tuple | list | None):
            raise UsageError(f"A pipeline with {step.short_name} can be saved only if its {key} is named by its path.")
    return {"name": step.name, "settings": settings}


def _chain(path: Path, text: str) -> list[dict[str, Any]]:
    try:
        chain = json.loads(text)
        return [{"name": str(entry["name"]), "settings": dict(entry["settings"])} for entry in chain]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise FormatError(f"{path}: the list of transforms is damaged.") from None


def _known(path: Path, entry: Mapping[str, Any]) -> Transform:
    kind = TRANSFORMS.get(entry["name"].partition(".")[0])
    if kind is None or kind.name != entry["name"]:
        raise FormatError(f"{path}: the transform {entry['name']!r} is not known to this version.")
    try:
        return kind(kind.config_type(**entry["settings"]))
    except TypeError:
        raise FormatError(f"{path}: {entry['name']} has no settings {entry['settings']}.") from None
