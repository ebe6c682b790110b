"""Distillation methods, one per file; their registry, and parsing specs such as ``x2static:preset=paper``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from wordstill.core.plugins import Registry
from wordstill.core.settings import Configured, Spec, configure, configure_all, each_of_grid, field_kinds
from wordstill.methods.ase import Ase
from wordstill.methods.base import Method, RunContext
from wordstill.methods.bert_skipgram import BertSkipgram
from wordstill.methods.context_to_vec import ContextToVec
from wordstill.methods.decontextual import Decontextual, TokenTable
from wordstill.methods.principal import Principal
from wordstill.methods.sentence import Sentence
from wordstill.methods.still import Still
from wordstill.methods.still_v1 import StillV1
from wordstill.methods.x2static import X2Static
from wordstill.teacher.layers import resolve_layers

LAYER = "layer"

MethodSpec: TypeAlias = Configured[Method]


@dataclass(frozen=True)
class MethodRequest(Configured[Method]):
    """A method with its settings, before the teacher's layers are known."""

    layers: str | None = None
    """The layers as given, at the end of the label; None takes the last."""

    def specs(self, depth: int) -> list[MethodSpec]:
        """The method for each layer of a teacher whose last layer has this number."""
        if LAYER not in field_kinds(self.kind.config_type):
            return [Configured(self.label, self.kind, self.config)]
        if self.layers is None:
            return [Configured(self.label, self.kind, replace(self.config, layer=depth))]
        start = self.label.removesuffix(self.layers)
        return [
            Configured(f"{start}{layer}", self.kind, replace(self.config, layer=layer))
            for layer in resolve_layers(self.layers, depth)
        ]


def read_specs(texts: Sequence[str], methods: Registry[type[Method]], depth: int) -> list[MethodSpec]:
    """Parse specs of methods; a setting ``layer`` with several layers gives one method for each.

    Labels can name folders: ``still``, ``ase-subword-max-layer-2``. ``depth`` is the number of the teacher's last
    layer.

    Raises:
        UsageError: A name, setting or value is unknown, or a method is given twice.
    """
    return resolve_specs(parse_specs(texts, methods), methods, depth)


def parse_specs(texts: Sequence[str], methods: Registry[type[Method]]) -> list[MethodRequest]:
    """The first half of `read_specs`, without a teacher: finds errors that do not depend on its layers."""
    return configure_all(texts, methods, lambda text: [_request(each, methods) for each in each_of_grid(text)])


def resolve_specs(requests: Sequence[MethodRequest], methods: Registry[type[Method]], depth: int) -> list[MethodSpec]:
    """The second half of `read_specs`: one method for each layer."""
    return configure_all(requests, methods, lambda request: request.specs(depth))


def _request(text: str, methods: Registry[type[Method]]) -> MethodRequest:
    spec = Spec.parse(text, lists=(LAYER,))
    method = methods.find(spec.name)
    if LAYER not in field_kinds(method.config_type):
        found = configure(spec, method)
        return MethodRequest(found.label, method, found.config)
    settings = dict(spec.settings)
    layers = settings.pop(LAYER, None)
    found = configure(Spec(spec.name, settings), method, layer=0)
    label = found.label if layers is None else f"{found.label}-{LAYER}-{layers}"
    return MethodRequest(label, method, found.config, layers)


_KINDS: dict[str, type[Method]] = {
    "still": Still,
    "sentence": Sentence,
    "ase": Ase,
    "decontextual": Decontextual,
    "token-table": TokenTable,
    "principal": Principal,
    "x2static": X2Static,
    "bert-skipgram": BertSkipgram,
    "context-to-vec": ContextToVec,
    "still.v1": StillV1,
}
METHODS: Registry[type[Method]] = Registry(
    "method", "wordstill.methods", _KINDS, Method, aliases={kind.name: name for name, kind in _KINDS.items()}
)
"""Methods by name. The name that tables record, such as ``still.v5``, is found too while it is the current version."""

__all__ = [
    "METHODS",
    "Ase",
    "BertSkipgram",
    "ContextToVec",
    "Decontextual",
    "Method",
    "MethodSpec",
    "Principal",
    "RunContext",
    "Sentence",
    "Still",
    "StillV1",
    "TokenTable",
    "X2Static",
    "parse_specs",
    "read_specs",
]
