"""A trained encoder on disk, without its teacher.

distillers.safetensors   the weights of both, float32
config.json              the teacher with its fingerprint, layers, shape, provenance, and a SHA-256
README.md                what it is and how it is used
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wordstill.errors import FormatError, TeacherError
from wordstill.files import atomic_folder, refuse_existing, refuse_foreign, sha256_of
from wordstill.formats.tensors import map_tensors, write_tensors
from wordstill.meaning.distiller import DistillerConfig, Distillers
from wordstill.meaning.identity import identity
from wordstill.teacher import Teacher, TeacherConfig

if TYPE_CHECKING:
    from wordstill.meaning.encoder import MeaningEncoder

FORMAT, SCHEMA = "wordstill-meaning", 1
WEIGHTS, CONFIG, CARD = "distillers.safetensors", "config.json", "README.md"


def write(encoder: MeaningEncoder, path: Path, *, overwrite: bool = False) -> None:
    """Write the folder; one that holds anything else is not replaced."""
    refuse_existing(path, overwrite=overwrite)
    refuse_foreign(path, (WEIGHTS, CONFIG, CARD))
    teacher = encoder.teacher
    weights = {
        name: weight.float().cpu().contiguous().numpy()
        for name, weight in encoder.distillers.state_dict().items()
    }
    with atomic_folder(path, overwrite=overwrite) as folder:
        write_tensors(folder / WEIGHTS, weights, {"format": FORMAT})
        config = {
            "format": FORMAT,
            "schema": SCHEMA,
            "teacher": {"name": teacher.config.name, "fingerprint": encoder.reader.identity},
            "layers": list(encoder.reader.layers),
            "width": teacher.width,
            "distiller": asdict(encoder.distillers.config),
            "provenance": dict(encoder.provenance),
            "sha256": sha256_of(folder / WEIGHTS),
        }
        text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
        (folder / CARD).write_text(_card(config), encoding="utf-8")


def read(
    path: Path, *, kind: str, device: str, dtype: str, teacher: str | Path | Teacher | None
) -> MeaningEncoder:
    """Open the folder, and load its teacher.

    Args:
        path: The folder.
        kind: Which vectors to give.
        device: Where the teacher runs.
        dtype: What it calculates in.
        teacher: Where the teacher is now, or the teacher itself; None looks where it was.

    Raises:
        FormatError: The folder is not such an encoder, or is damaged.
        TeacherError: The teacher is not the one that the distillers were trained on.
    """
    from wordstill.meaning.encoder import MeaningEncoder

    config = read_config(path)
    distillers = _distillers(path, config)
    if not isinstance(teacher, Teacher):
        name = config["teacher"]["name"] if teacher is None else str(teacher)
        teacher = Teacher.from_config(TeacherConfig(name, device, dtype))
    got, expected = identity(teacher.model, teacher.subwords.definition), config["teacher"]["fingerprint"]
    if got != expected:
        raise TeacherError(
            f"The distillers in {path} were trained on {config['teacher']['name']} with the fingerprint "
            f"{expected[:12]}, but {teacher.config.name} has {got[:12]}: its weights or its tokenizer are "
            "others. Give the right teacher."
        )
    layers = ",".join(map(str, config["layers"]))
    return MeaningEncoder(teacher, distillers, layers, kind=kind, provenance=config["provenance"])


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a saved encoder."""
    file = path / CONFIG
    if not file.is_file():
        raise FormatError(f"{path} is not a saved encoder: it has no {CONFIG}. Train one with meaning train.")
    try:
        config = json.loads(file.read_bytes())
        known = config["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise FormatError(f'{file} does not say "format": "{FORMAT}"; {path} is not a saved encoder.')
    if config.get("schema") != SCHEMA:
        raise FormatError(f"{file}: schema {config.get('schema')!r}, this version reads {SCHEMA}.")
    fields = ("teacher", "layers", "width", "distiller", "provenance", "sha256")
    if missing := [name for name in fields if name not in config]:
        raise FormatError(f"{file} lacks {', '.join(missing)}. The folder is damaged.")
    return dict(config)


def _distillers(path: Path, config: dict[str, Any]) -> Distillers:
    file = path / WEIGHTS
    try:
        got = sha256_of(file)
        if got != config["sha256"]:
            raise FormatError(
                f"{file} is damaged or was changed: SHA-256 {got}, expected {config['sha256']}."
            )
        distillers = Distillers(
            len(config["layers"]), config["width"], DistillerConfig(**config["distiller"])
        )
        arrays, _ = map_tensors(file)
        distillers.load_state_dict(
            {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        )
    except (OSError, TypeError, RuntimeError) as error:
        raise FormatError(f"{path} is not a whole encoder: {error}. Train it again.") from error
    return distillers


def _card(config: dict[str, Any]) -> str:
    teacher, provenance = config["teacher"], config["provenance"]
    facts = [
        f"- teacher: {teacher['name']} (fingerprint {teacher['fingerprint'][:16]}), not included",
        f"- layers: {', '.join(map(str, config['layers']))}; width {config['width']}",
    ]
    facts += [f"- {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in provenance.items()]
    return "\n".join(
        [
            "# Word meaning in context",
            "",
            "Two distillers over a frozen language model (Arase & Kajiwara 2021), made by wordstill.",
            "",
            *facts,
            "",
            "```python",
            "from wordstill.meaning import MeaningEncoder",
            "",
            'encoder = MeaningEncoder.load("this folder")',
            'encoder.encode("They sat on the bank.", (16, 20))',
            "```",
            "",
        ]
    )
