"""Methods by name and settings, as the user writes them: ``still``, ``x2static:preset=paper``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from wordstill.core.plugins import Registry
from wordstill.core.settings import Configured, Spec, configure, configure_all, field_kinds
from wordstill.methods.base import Method
from wordstill.teacher.layers import resolve_layers

LAYER = "layer"

MethodSpec: TypeAlias = Configured[Method]


def read_specs(texts: Sequence[str], methods: Registry[type[Method]], depth: int) -> list[MethodSpec]:
    """Read what the user asked for; a setting ``layer`` with several layers gives one method for each.

    Labels are fit for names of folders: ``still``, ``ase-subword-max-layer-2``.

    Args:
        texts: For example ``["still", "ase:layer=0-2"]``.
        methods: The table of methods.
        depth: Number of the teacher's last layer.

    Raises:
        UsageError: A name, setting or value is unknown, or the same is asked for twice.
    """
    return _read(texts, methods, depth)


def check_specs(texts: Sequence[str], methods: Registry[type[Method]]) -> None:
    """Refuse what is wrong whatever the teacher, as `read_specs` does, before one is loaded."""
    _read(texts, methods, None)


def _read(texts: Sequence[str], methods: Registry[type[Method]], depth: int | None) -> list[MethodSpec]:
    return configure_all(texts, methods, lambda text: _each_layer(text, methods, depth))


def _each_layer(text: str, methods: Registry[type[Method]], depth: int | None) -> list[MethodSpec]:
    spec = Spec.parse(text, lists=(LAYER,))
    method = methods.find(spec.name)
    if LAYER not in field_kinds(method.config_type):
        return [configure(spec, method)]
    settings = dict(spec.settings)
    layers = settings.pop(LAYER, None)
    last = configure(Spec(spec.name, settings), method, layer=depth or 0)
    if layers is None:
        return [last]
    if depth is None:
        return [replace(last, label=f"{last.label}-{LAYER}-{layers}")]
    return [
        replace(last, label=f"{last.label}-{LAYER}-{layer}", config=replace(last.config, layer=layer))
        for layer in resolve_layers(layers, depth)
    ]
