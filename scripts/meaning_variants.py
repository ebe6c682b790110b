"""Settings of distillers given as text."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from wordstill.errors import UsageError
from wordstill.meaning import DistillerConfig, TrainConfig


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


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
