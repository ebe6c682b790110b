"""A lexicon by what a user calls it: a file, a WordNet folder, or a wordnet of the package ``wn``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordstill.errors import DataError
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.readers import read_lexicon
from wordstill.postprocess.retrofit.wn_package import read_wn
from wordstill.postprocess.retrofit.wordnet import read_wordnet

WN = "wn:"


def open_lexicon(
    source: str | Path,
    *,
    format: str | None = None,
    relations: Sequence[str] = ("synonyms",),
) -> Lexicon:
    """Read a lexicon.

    Args:
        source: A file of words (see `read_lexicon`), a folder of a WordNet database, or ``wn:`` and the name
            of a wordnet, such as ``wn:oewn:2024``.
        format: The format of a file; None chooses it by the suffix.
        relations: Which relations of a wordnet are links; files have none to choose from.
    """
    if str(source).startswith(WN):
        return read_wn(str(source).removeprefix(WN), relations)
    path = Path(source)
    if path.is_dir():
        return read_wordnet(path, relations)
    if not path.is_file():
        raise DataError(
            f"There is no lexicon {str(source)!r}. Give a file, a WordNet folder, or {WN}NAME for a wordnet "
            "of the package wn."
        )
    return read_lexicon(path, format)
