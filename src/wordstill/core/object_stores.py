"""Files of object stores and other remote places, by the addresses of fsspec, such as ``s3://`` and ``hf://``.

Each is copied whole into a cache, because readers map and seek, and compared with the size that the store tells.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from wordstill.core.files import atomic_path, user_cache
from wordstill.errors import DataError, MissingExtra, in_one_line

MARK = "://"
MOST_TRIES = 3


def is_address(text: str) -> bool:
    """Whether this is an address rather than a path."""
    scheme, mark, _ = text.partition(MARK)
    return bool(mark) and scheme.replace("+", "").isalnum()


def fetch(address: str) -> list[tuple[str, Path]]:
    """Addresses of the files behind an address, a pattern or a folder, in the order of their names, with local copies.

    Raises:
        MissingExtra: The package for this kind of address is not installed.
        DataError: There is nothing, or it cannot be read.
    """
    scheme = address.partition(MARK)[0]
    try:
        import fsspec

        store, path = fsspec.url_to_fs(address)
    except ImportError as error:
        raise MissingExtra(getattr(error, "name", None) or "fsspec", "scale", f"Reading {scheme}://") from error
    except ValueError as error:
        raise DataError(f"{address}: {error}. Known are the addresses of fsspec, such as s3:// and gs://.") from error
    try:
        names = store.glob(path) if store.isdir(path) is False and "*" in path else store.find(path)
        found = sorted(name for name in names if not any(part.startswith(".") for part in name.split("/")))
    except Exception as error:  # Every kind of store has its own errors.
        raise DataError(f"{address} cannot be read: {in_one_line(error)}.") from error
    if not found:
        raise DataError(f"There is no file at {address}.")
    return [(f"{scheme}{MARK}{name.lstrip('/')}", _copy(store, name, address)) for name in found]


def _copy(store: Any, name: str, address: str) -> Path:
    """The local copy of a file; one that is complete already is not fetched again."""
    try:
        facts = store.info(name)
        size = facts["size"]
        version = str(facts.get("ETag") or facts.get("mtime") or facts.get("created") or "")
        digest = hashlib.sha256(f"{address.partition(MARK)[0]} {name} {size} {version}".encode()).hexdigest()[:16]
        local = user_cache("objects") / digest / Path(name).name
        if local.exists() and local.stat().st_size == size:
            return local
        for _ in range(MOST_TRIES):
            with atomic_path(local) as temporary:
                store.get_file(name, str(temporary))
                got = temporary.stat().st_size
            if got == size:
                return local
            local.unlink()
    except DataError:
        raise
    except Exception as error:  # Every kind of store has its own errors.
        raise DataError(
            f"{name} of {address} cannot be read: {in_one_line(error)}. The same command tries again."
        ) from error
    raise DataError(
        f"{name} of {address} came in {got:,} bytes, expected {size:,}, {MOST_TRIES} times. "
        "The same command tries again."
    )
