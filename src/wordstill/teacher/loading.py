"""Finding a model by name: embedded, in a folder, or on the Hugging Face Hub."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from wordstill.errors import TeacherError
from wordstill.teacher.embedded import NAME, embedded_teacher

EMBEDDED_NAMES = (NAME, f"sentence-transformers/{NAME}", "embedded")


def load_model_and_tokenizer(name: str) -> tuple[Any, Any]:
    """The model that gives hidden states (of an encoder-decoder, the encoder) and its tokenizer."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer
    from transformers.utils import logging

    source = str(embedded_teacher()) if name in EMBEDDED_NAMES else name
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(source)
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModel.from_pretrained(source, config=config, dtype="auto")
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise TeacherError(_explain(name, error)) from error
    finally:
        if bars:
            logging.enable_progress_bar()
    return (model.get_encoder() if config.is_encoder_decoder else model), tokenizer


def _explain(name: str, error: Exception) -> str:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    known = [NAME, *_cached_models()]
    folder = Path(name)
    if folder.is_dir():
        found = ", ".join(sorted(os.listdir(folder))[:8]) or "nothing"
        return f"The folder {folder} holds no model that transformers can load ({reason}). It holds: {found}."
    near = _near(name, known)
    return (
        f"Cannot load the teacher {name!r}: it is no folder here, and the Hugging Face Hub did not give it "
        f"({reason}).{near} Without a network these work: {', '.join(known)}, or a folder with a saved model."
    )


def _near(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def _cached_models() -> list[str]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        return sorted(repo.repo_id for repo in scan_cache_dir().repos if repo.repo_type == "model")
    except CacheNotFound:
        return []
