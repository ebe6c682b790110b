"""Methods by name and settings, as the user writes them: ``still``, ``x2static:preset=paper``."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from wordstill.core.settings import read_value
from wordstill.errors import UsageError, unknown_name
from wordstill.methods.base import Method, Setup
from wordstill.teacher.layers import resolve_layers

LAYER = "layer"
PRESET = "preset"
LARGEST = 2**31 - 1
UNSAFE_IN_NAMES = re.compile(r"[^\w.+-]+")


@dataclass(frozen=True)
class MethodSpec:
    """A method with its settings, under the label that names its result."""

    label: str
    method: type[Method]
    config: Any

    def build(self, setup: Setup) -> Method:
        """The method, ready to observe."""
        return self.method(self.config, setup)


def read_specs(texts: Sequence[str], methods: Mapping[str, type[Method]], depth: int) -> list[MethodSpec]:
    """Read what the user asked for; a setting ``layer`` with several layers gives one method for each.

    Labels are fit for names of folders: ``still``, ``ase-subword-max-layer-2``.

    Args:
        texts: For example ``["still", "ase:layer=0-2"]``.
        methods: The table of methods.
        depth: Number of the teacher's last layer.

    Raises:
        UsageError: A name, setting or value is unknown, or the same is asked for twice.
    """
    specs = [spec for request in _requests(texts, methods) for spec in request.specs(depth)]
    _refuse_twice([spec.label for spec in specs])
    return specs


def check_specs(texts: Sequence[str], methods: Mapping[str, type[Method]]) -> None:
    """Refuse what is wrong whatever the teacher, as `read_specs` does, before one is loaded."""
    requests = _requests(texts, methods)
    for request in requests:
        request.config(layer=0)
    _refuse_twice([f"{request.label}-{request.layers or ''}" for request in requests])


def settings_of(spec: MethodSpec) -> dict[str, Any]:
    """The method's name and settings as plain data, for provenance."""
    return {"name": spec.method.name, **dataclasses.asdict(spec.config)}


@dataclass(frozen=True)
class _Request:
    """What one text asks for, before the teacher's layers are known."""

    name: str
    method: type[Method]
    settings: dict[str, Any]
    """The given settings without the layer, in the order of the method's fields."""
    layers: str | None
    """The given layers, None if none are."""
    preset: str | None = None
    """A named group of settings, over which the given ones have the last word."""

    @property
    def label(self) -> str:
        """The name and the given settings, without the layer."""
        preset = [] if self.preset is None else [self.preset]
        parts = [self.name, *preset, *(f"{key}-{value}" for key, value in self.settings.items())]
        return UNSAFE_IN_NAMES.sub("_", "-".join(parts))

    def config(self, layer: int) -> Any:
        """The method's settings with one layer.

        Raises:
            UsageError: They are out of range or do not go together.
        """
        has_layer = LAYER in get_type_hints(self.method.config_type)
        settings = {**self.method.presets.get(self.preset or "", {}), **self.settings}
        try:
            return self.method.config_type(**settings, **({LAYER: layer} if has_layer else {}))
        except UsageError as error:
            # Settings that several methods share do not know which one was asked for.
            if str(error).startswith(self.name):
                raise
            raise UsageError(f"{self.name}: {error}") from None

    def specs(self, depth: int) -> list[MethodSpec]:
        """One for each layer."""
        if self.layers is None:
            return [MethodSpec(self.label, self.method, self.config(depth))]
        return [
            MethodSpec(f"{self.label}-{LAYER}-{layer}", self.method, self.config(layer))
            for layer in resolve_layers(self.layers, depth)
        ]


def _requests(texts: Sequence[str], methods: Mapping[str, type[Method]]) -> list[_Request]:
    if not texts:
        raise UsageError(f"No method was named. Known: {', '.join(sorted(methods))}.")
    return [_request(text, methods) for text in texts]


def _request(text: str, methods: Mapping[str, type[Method]]) -> _Request:
    name, _, rest = (part.strip() for part in text.partition(":"))
    if name not in methods:
        raise unknown_name("method", name, methods)
    hints = get_type_hints(methods[name].config_type)
    given = _split(rest, name)
    preset = given.pop(PRESET, None)
    if preset is not None and preset not in methods[name].presets:
        raise unknown_name(f"preset of {name}", preset, methods[name].presets)
    for key in given:
        if key not in hints:
            raise unknown_name(f"setting of {name}", key, hints)
    settings = {
        key: _number_in_reach(read_value(given[key], hint, f"{name}:{key}"), f"{name}:{key}")
        for key, hint in hints.items()
        if key in given and key != LAYER
    }
    return _Request(name, methods[name], settings, given.get(LAYER), preset)


def _number_in_reach(value: Any, where: str) -> Any:
    """The value, unless it is a number that no setting can have."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} must be a finite number; got {value}.")
    if isinstance(value, int) and abs(value) > LARGEST:
        digits = len(str(abs(value)))
        raise UsageError(f"{where} must be a whole number up to {LARGEST:,}; got one of {digits} digits.")
    return value


def _split(text: str, name: str) -> dict[str, str]:
    """The settings as texts. A comma also stands between several layers."""
    given: dict[str, str] = {}
    last = ""
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and key in given:
            raise UsageError(f"{name}:{key} is set twice, to {given[key]!r} and {value!r}. Set it once.")
        if equals:
            last, given[key] = key, value
        elif last == LAYER:
            given[LAYER] += f",{part}"
        else:
            raise UsageError(
                f"Cannot read {part!r} in the settings of {name}. Expected {name}:setting=value,..."
            )
    return given


def _refuse_twice(labels: list[str]) -> None:
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(
                f"The method {label.rstrip('-')!r} was asked for twice. Name each method and setting once."
            )
