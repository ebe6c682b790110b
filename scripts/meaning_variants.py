"""Settings of distillers given as text, and which of several is best on development data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from wordstill.errors import UsageError
from wordstill.evaluate.locate import locate
from wordstill.meaning import DistillerConfig, TrainConfig
from wordstill.meaning.reading import StateReader
from wordstill.meaning.representation import Representation
from wordstill.meaning.tasks.lexical import predict

DEVELOPMENT = ("train", "dev")
"""Parts of WiC that are not its test part."""


def variant(base: TrainConfig, text: str) -> tuple[str, TrainConfig]:
    """Read ``NAME`` or ``NAME:field=value,field=value``, with fields of the training or of the distillers."""
    name, _, settings = text.partition(":")
    values = dict(part.split("=", 1) for part in settings.split(",") if part)
    shape = {field.name for field in fields(DistillerConfig)}
    known = shape | {field.name for field in fields(TrainConfig)}
    if unknown := values.keys() - known:
        raise UsageError(f"{text!r}: there is no setting {sorted(unknown)[0]!r}; there are {sorted(known)}.")
    of_shape = {key: _value(value) for key, value in values.items() if key in shape}
    of_training = {key: _value(value) for key, value in values.items() if key not in shape}
    return name, replace(base, distiller=replace(base.distiller, **of_shape), **of_training)


def wic_development(reader: StateReader, representations: Mapping[str, Representation]) -> dict[str, float]:
    """How well cosines tell the pairs of WiC with the same sense from others: area under the curve.

    It needs no threshold, and all pairs but those of the test part are used.
    """
    found = locate("wic")
    parts = found.reader(found.path).parts
    predicted = predict(reader, representations, [pair for part in DEVELOPMENT for pair in parts[part]])
    same = predicted.gold == 1
    count = int(same.sum())
    areas: dict[str, float] = {}
    for name, values in predicted.cosines.items():
        ranks = rankdata(np.where(predicted.found, values, -1.0))
        area = (ranks[same].sum() - count * (count + 1) / 2) / (count * (len(same) - count))
        areas[name] = float(area)
    return areas


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
