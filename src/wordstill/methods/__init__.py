"""One file for each method, and the table of them."""

from __future__ import annotations

from wordstill.methods.ase import Ase
from wordstill.methods.base import Method, Setup
from wordstill.methods.decontextual import Decontextual
from wordstill.methods.specification import MethodSpec, check_specs, read_specs
from wordstill.methods.still import Still

METHODS: dict[str, type[Method]] = {"still": Still, "ase": Ase, "decontextual": Decontextual}

__all__ = [
    "METHODS",
    "Ase",
    "Decontextual",
    "Method",
    "MethodSpec",
    "Setup",
    "Still",
    "check_specs",
    "read_specs",
]
