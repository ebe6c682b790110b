"""Packages that only training needs."""

from __future__ import annotations

import importlib.util

from wordstill.errors import MissingExtra

TRAINING = ("torch", "transformers", "tokenizers")


def require_training(feature: str) -> None:
    """Refuse to begin where a package is lacking.

    Raises:
        MissingExtra: It names the first package that is not installed.
    """
    for package in TRAINING:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "distill", feature)
