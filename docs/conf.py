"""Settings of the site, which ``make docs`` builds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import wordstill

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "wordstill"
version = release = wordstill.__version__
author = copyright = "the wordstill authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon", "sphinx_copybutton"]
# What tutorials write when they run is no page.
exclude_patterns = ["_build", "**.ipynb_checkpoints", "tutorials/*/**"]
html_theme = "furo"
html_title = "wordstill"
html_static_path: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
default_role = "code"

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]+)\)")
"""Links to files of the repository that are no pages of the site."""


def name_files_outside(app: Sphinx, name: str, source: list[str]) -> None:
    """Where a page links to a file of the repository, the site names the file."""
    source[0] = OUTSIDE.sub(lambda found: f"`{found[2].partition('#')[0]}`", source[0])


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", name_files_outside)
