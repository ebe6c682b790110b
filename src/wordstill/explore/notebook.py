"""The page inside a notebook: one frame that holds everything, so it works offline and in a saved notebook."""

from __future__ import annotations

import base64
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wordstill.corpus import Corpus
from wordstill.explore.library import Library
from wordstill.explore.offline import make_page

if TYPE_CHECKING:
    from wordstill.vectors.table import AnyPath, WordVectors

MOST_BYTES = 8_000_000
"""A notebook keeps the page in its file, so it is smaller than that of ``--html``."""


class Notebook:
    """A page that a notebook shows when it is the last line of a cell.

    Args:
        vectors: The table.
        text: A prepared text to show sentences from.
        layout: How the map is computed; PCA by default, because a cell should not take minutes.
        height: Of the frame, in pixels.
    """

    def __init__(
        self, vectors: WordVectors, text: AnyPath | None = None, *, layout: str | None = None, height: int = 640
    ) -> None:
        corpus = None if text is None else Corpus.open(Path(text))
        self.library = Library({"table": vectors}, {}, corpus, method=layout or "pca")
        self.height = height

    @cached_property
    def page(self) -> bytes:
        """The page, cut to the most frequent words where the whole table would be too large."""
        return make_page(self.library, MOST_BYTES)[0]

    def _repr_html_(self) -> str:
        # A frame with its text in an attribute would take the notebook's address for its own, and its links with it.
        data = base64.b64encode(self.page).decode()
        return (
            f'<iframe src="data:text/html;base64,{data}" title="wordstill" width="100%" height="{self.height}" '
            'style="border:1px solid #ccc;border-radius:8px"></iframe>'
        )
