"""Methods by name and settings, as the user writes them: ``still``, ``ase:layer=all,subword=max``."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from wordstill.errors import UsageError, unknown_name
from wordstill.methods.base import Method, Setup
from wordstill.teacher.layers import resolve_layers


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

    Args:
        texts: For example ``["still", "ase:layer=0-2"]``.
        methods: The table of methods.
        depth: Number of the teacher's last layer.
    """
    specs = [spec for text in texts for spec in _read(text, methods, depth)]
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"The method {label!r} was asked for twice. Name each method and setting once.")
    if not specs:
        raise UsageError(f"No method was named. Known: {', '.join(sorted(methods))}.")
    return specs


def _read(text: str, methods: Mapping[str, type[Method]], depth: int) -> list[MethodSpec]:
    name, _, settings = text.partition(":")
    if name not in methods:
        raise unknown_name("method", name, methods)
    method = methods[name]
    given = _settings(settings, name)
    hints = get_type_hints(method.config_type)
    for key in given:
        if key not in hints:
            raise unknown_name(f"setting of {name}", key, hints)
    plain = {key: _value(value, hints[key], f"{name}:{key}") for key, value in given.items() if key != "layer"}
    label = "-".join([name, *(f"{key}-{value}" for key, value in given.items() if key != "layer")])
    if "layer" not in hints:
        return [MethodSpec(label, method, method.config_type(**plain))]
    layers = resolve_layers(given.get("layer", "last"), depth)
    return [
        MethodSpec(
            f"{label}-layer-{layer}" if "layer" in given else label,
            method,
            method.config_type(layer=layer, **plain),
        )
        for layer in layers
    ]


def _settings(text: str, name: str) -> dict[str, str]:
    given: dict[str, str] = {}
    last = ""
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if equals:
            last = key.strip()
            given[last] = value.strip()
        elif last == "layer":
            given[last] += f",{part}"
        else:
            raise UsageError(f"Cannot read {part!r} in the settings of {name}. Expected {name}:key=value,key=value.")
    return given


def _value(text: str, hint: Any, where: str) -> Any:
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise unknown_name(f"value of {where}", text, get_args(hint))
        return text
    if get_origin(hint) in (Union, types.UnionType):
        if text.lower() == "none":
            return None
        hint = next(option for option in get_args(hint) if option is not type(None))
    if hint is bool:
        return _boolean(text, where)
    try:
        return hint(text)
    except ValueError:
        raise UsageError(f"{where}: expected {hint.__name__}, got {text!r}.") from None


def _boolean(text: str, where: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise UsageError(f"{where}: expected true or false, got {text!r}.")
    return text.lower() == "true"


def settings_of(spec: MethodSpec) -> dict[str, Any]:
    """The method's name and settings as plain data, for provenance."""
    return {"name": spec.method.name, **dataclasses.asdict(spec.config)}
