"""wordstill distills contextual language models into word vectors that stay still.

>>> from wordstill import WordVectors, distill, evaluate, prepare
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wordstill.errors import MissingExtra
from wordstill.vectors.table import WordVectors

if TYPE_CHECKING:
    from wordstill.corpus import prepare
    from wordstill.distillation import distill, distill_from_teacher
    from wordstill.evaluation import evaluate

__version__ = "0.1.0"
_ON_FIRST_USE = {
    "prepare": "wordstill.corpus",
    "distill": "wordstill.distillation",
    "distill_from_teacher": "wordstill.distillation",
    "evaluate": "wordstill.evaluation",
}
__all__ = ["WordVectors", "__version__", "distill", "distill_from_teacher", "evaluate", "prepare"]


def __getattr__(name: str) -> Any:
    # What needs torch or the data sets is imported on first use, so that reading vectors needs numpy only.
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_ON_FIRST_USE[name]), name)
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), "distill", f"wordstill.{name}") from error


def __dir__() -> list[str]:
    # For completion: what is imported on first use is there, and what only this module uses is not.
    return sorted(__all__)
