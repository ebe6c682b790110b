"""The page as a widget: the word that it shows and the words that a lasso chose can be read and set from Python."""

from __future__ import annotations

from importlib.resources import files

import anywidget
import traitlets


class PageWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A frame with the page in it."""

    _esm = (files("wordstill.explore") / "static" / "widget.js").read_text(encoding="utf-8")
    page = traitlets.Unicode("").tag(sync=True)
    """Its HTML."""
    height = traitlets.Int(640).tag(sync=True)
    word = traitlets.Unicode("").tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
