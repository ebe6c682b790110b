"""The page in a notebook: one self-contained frame, which works offline and in a saved notebook.

If anywidget is installed, Python can read and set the chosen word.
"""

from __future__ import annotations

from functools import cache, cached_property
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordstill.corpus import Corpus
from wordstill.errors import MissingExtra
from wordstill.explore.library import Library
from wordstill.explore.offline import make_page

if TYPE_CHECKING:
    from wordstill.vectors.table import AnyPath, WordVectors

MOST_BYTES = 8_000_000
"""The page is saved in the notebook file, so it is smaller than that of ``--html``."""
MEANING_WORDS = 200
SANDBOX = "allow-scripts allow-downloads"
"""The frame has its own origin and no access to the notebook."""


class Notebook:
    """A page that a notebook displays if it is the last line of a cell.

    With the extra ``notebook``, ``word`` is the word on the page, and ``words`` are those selected with the lasso.

    Args:
        vectors: The table.
        text: A prepared text to show sentences from.
        layout: Layout of the map; PCA by default, because a cell should not take minutes.
        height: Height of the frame in pixels.
    """

    def __init__(
        self, vectors: WordVectors, text: AnyPath | None = None, *, layout: str | None = None, height: int = 640
    ) -> None:
        corpus = None if text is None else Corpus.open(Path(text))
        self.library = Library({"table": vectors}, {}, corpus, method=layout or "pca")
        self.height = height

    @cached_property
    def page(self) -> bytes:
        """The page, with the most frequent words only if the whole table would be too large."""
        return make_page(self.library, MOST_BYTES, MEANING_WORDS)[0]

    @property
    def _text(self) -> str:
        # Not as a data: address, because browsers limit these to two million characters.
        return self.page.decode()

    @cached_property
    def _widget(self) -> Any:
        if find_spec("anywidget") is None:
            raise MissingExtra("anywidget", "notebook", "A page that Python can follow")
        return _widget_class()(page=self._text, height=self.height)

    @property
    def word(self) -> str:
        """The word on the page; set it to show another one."""
        return str(self._widget.word)

    @word.setter
    def word(self, word: str) -> None:
        self._widget.word = word

    @property
    def words(self) -> list[str]:
        """The words last selected with the lasso."""
        return list(self._widget.words)

    def _repr_mimebundle_(self, **choice: Any) -> Any:
        """The widget; a notebook adds the HTML below, which it shows without a kernel."""
        return self._widget._repr_mimebundle_(**choice) if find_spec("anywidget") else {}

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self._text)}" title="wordstill" sandbox="{SANDBOX}" width="100%" '
            f'height="{self.height}" style="border:1px solid #ccc;border-radius:8px"></iframe>'
        )


@cache
def _widget_class() -> Any:
    """A widget with the page, whose word and selected words can be read and set from Python."""
    import anywidget
    import traitlets

    class PageWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = (files("wordstill.explore") / "static" / "widget.js").read_text(encoding="utf-8")
        page = traitlets.Unicode("").tag(sync=True)
        height = traitlets.Int(640).tag(sync=True)
        word = traitlets.Unicode("").tag(sync=True)
        words = traitlets.List(traitlets.Unicode()).tag(sync=True)

    return PageWidget
