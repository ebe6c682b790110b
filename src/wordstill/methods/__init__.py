"""Distillation methods, one file each, and their registry."""

from __future__ import annotations

from wordstill.core.plugins import Registry
from wordstill.methods.ase import Ase
from wordstill.methods.base import Method, RunContext
from wordstill.methods.bert_skipgram import BertSkipgram
from wordstill.methods.context_to_vec import ContextToVec
from wordstill.methods.decontextual import Decontextual, TokenTable
from wordstill.methods.principal import Principal
from wordstill.methods.sentence import Sentence
from wordstill.methods.specification import MethodSpec, parse_specs, read_specs
from wordstill.methods.still import Still
from wordstill.methods.still_v1 import StillV1
from wordstill.methods.x2static import X2Static

METHODS: Registry[type[Method]] = Registry(
    "method",
    "wordstill.methods",
    {
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
    },
    Method,
)

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
