"""Text that needs no network: the excerpt of an English Wikipedia dump inside gensim's package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wordstill.errors import DataError, MissingExtra

EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


def embedded_text() -> Path:
    """The dump's file: about 4,900 paragraphs and 460,000 words when prepared."""
    spec = find_spec("gensim")
    if spec is None or spec.origin is None:
        raise MissingExtra("gensim", "embedded", "The embedded Wikipedia text")
    path = Path(spec.origin).parent / "test" / "test_data" / EXCERPT
    if not path.is_file():
        raise DataError(f"{path} is missing: this gensim has no test data. Reinstall gensim 4.4 or newer.")
    return path
