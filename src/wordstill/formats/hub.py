"""Download and upload of tables on the Hugging Face Hub."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wordstill import formats
from wordstill.errors import DataError, MissingExtra, UsageError, in_one_line
from wordstill.formats.artifact import ARTIFACT
from wordstill.vectors import WordVectors

FILES = ("*.safetensors", "*.json", "*.txt", "*.md")
"""Files that are downloaded; none can contain code."""


def download(name: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None) -> WordVectors:
    """Load a table from the Hub by name, or from a folder; cached downloads need no network.

    Any folder that ``wordstill.formats.read`` recognizes will do, such as model2vec's.

    Raises:
        UsageError: The name is neither a folder nor like ``user/name``.
        DataError: The Hub does not have the table, or cannot be reached.
        FormatError: There are no word vectors.
    """
    if Path(name).exists():
        return formats.read(name)
    repo = _checked(os.fspath(name))
    hub = _hub()
    with _explained(f"Cannot get {repo!r} from the Hugging Face Hub"):
        folder = hub.snapshot_download(repo, revision=revision, token=token, allow_patterns=list(FILES))
    return formats.read(folder)


def upload(vectors: WordVectors, name: str, *, private: bool = False, token: str | None = None) -> str:
    """Upload a table in wordstill's format, with its model card, creating the repository if needed.

    Args:
        vectors: The table.
        name: Name of the repository, such as ``user/name``.
        private: Whether a new repository is private.
        token: Token for the Hub, by default that of ``hf auth login``.

    Returns:
        The URL of the commit.
    """
    repo = _checked(name)
    hub = _hub()
    with tempfile.TemporaryDirectory(prefix="wordstill-") as scratch:
        folder = Path(scratch) / "table"
        vectors.save(folder, ARTIFACT.name)
        with _explained(f"Cannot upload to {repo!r} on the Hugging Face Hub"):
            hub.create_repo(repo, private=private, token=token, exist_ok=True)
            done = hub.upload_folder(
                repo_id=repo, folder_path=folder, token=token, commit_message="Upload word vectors of wordstill"
            )
    return str(done.commit_url)


def _checked(name: str) -> str:
    user, slash, rest = name.partition("/")
    if not (user and slash and rest) or "/" in rest or name.startswith((".", "~")):
        raise UsageError(f"{name!r} is no folder here and no name on the Hugging Face Hub, which is like user/name.")
    return name


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingExtra("huggingface_hub", "hub", "The Hugging Face Hub") from None
    return huggingface_hub


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # The HTTP library and its errors depend on the version of the Hub's client.
        reason = in_one_line(error).rstrip(".")
        raise DataError(f"{what} ({reason}). Check the name, the network and your token (hf auth login).") from error
