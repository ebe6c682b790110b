"""wordstill distils contextual language models into word vectors that stay still.

>>> from wordstill import WordVectors, distill, evaluate, prepare
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wordstill.evaluate import evaluate
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from wordstill.corpus import prepare
    from wordstill.distillation import distill

__version__ = "0.1.0"
__all__ = ["WordVectors", "__version__", "distill", "evaluate", "prepare"]


def __getattr__(name: str) -> Any:
    # What needs torch or the text tools is imported on first use, so that reading vectors needs numpy only.
    if name == "prepare":
        from wordstill.corpus import prepare

        return prepare
    if name == "distill":
        from wordstill.distillation import distill

        return distill
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
