"""Files of gensim's test data for the demo and three data sets: from the package, or from its wheel.

gensim itself is not needed, and has no wheels for the newest versions of Python.
"""

from __future__ import annotations

import hashlib
import importlib.util
import zipfile
from collections.abc import Mapping
from pathlib import Path

from wordstill.core.files import user_cache, write_file
from wordstill.errors import DataError

FOLDER = "test/test_data"
EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
FILES: Mapping[str, str] = {
    EXCERPT: "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d",
    "wordsim353.tsv": "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
    "simlex999.txt": "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
    "questions-words.txt": "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
}
"""SHA-256 by name."""


def gensim_folder() -> Path | None:
    """The folder with these files: gensim's package or the cache; None if there is neither."""
    spec = importlib.util.find_spec("gensim")
    # Importing gensim takes a second, and its files need no code.
    if spec is not None and spec.origin is not None and (Path(spec.origin).parent / FOLDER).is_dir():
        return Path(spec.origin).parent
    cache = user_cache("gensim")
    return cache if (cache / FOLDER).is_dir() else None


def unpack_gensim(wheel: Path) -> Path:
    """Copy the files from a wheel of gensim into the user's cache; nothing is installed or run.

    Raises:
        DataError: It is not such a wheel, or has other files.
    """
    target = user_cache("gensim") / FOLDER
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, expected in FILES.items():
                content = archive.read(f"gensim/{FOLDER}/{name}")
                got = hashlib.sha256(content).hexdigest()
                if got != expected:
                    raise DataError(f"{wheel}: {name} has sha256 {got}, expected {expected}. Use gensim 4.4.0.")
                target.mkdir(parents=True, exist_ok=True)
                write_file(target / name, content)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{wheel} is not a wheel of gensim with test data ({error}). Use gensim 4.4.0.") from None
    return target
