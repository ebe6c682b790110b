"""ELMo's published files: ``options.json`` and ``weights.hdf5``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from wordstill.core.guard import reading
from wordstill.errors import MissingExtra, TeacherError

LONGEST_TOKEN = 10_000
OPTIONS, WEIGHTS = "*options.json", "*weights.hdf5"
CELL = "RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def is_elmo(folder: Path) -> bool:
    """Whether a folder has ELMo's files, with any prefix to their names."""
    return any(folder.glob(OPTIONS)) and any(folder.glob(WEIGHTS))


def load_elmo(folder: Path) -> tuple[Any, Any]:
    """The model in a folder, and the tokenizer of all ELMo models.

    Raises:
        TeacherError: The two files do not belong together, or belong to another kind of model.
        DataError: A file cannot be read.
        MissingExtra: h5py is not installed.
    """
    options, weights = _one(folder, OPTIONS), _one(folder, WEIGHTS)
    if find_spec("h5py") is None:
        raise MissingExtra("h5py", "elmo", f"The teacher in {folder}")
    from wordstill.teacher.elmo.bilm import ElmoModel, make_tokenizer

    with reading(options):
        config = read_options(json.loads(options.read_text(encoding="utf-8")), options)
    with reading(weights):
        # Before the model is made, so that sizes in the options are checked against the weights first.
        found = read_weights(weights, config, options)
        model = ElmoModel(config)
        model.load_state_dict(found)
    return model, make_tokenizer()


def read_options(content: Any, where: Path) -> Any:
    """The configuration in ``options.json``.

    Raises:
        TeacherError: An option is missing or invalid.
    """
    from wordstill.teacher.elmo.bilm import ACTIVATIONS, ElmoConfig

    lstm, characters = (_section(content, name, where) for name in ("lstm", "char_cnn"))
    if characters["activation"] not in ACTIVATIONS:
        raise TeacherError(
            f"{where}: the activation {characters['activation']!r} is unknown. Expected {' or '.join(ACTIVATIONS)}."
        )
    if content.get("bidirectional") is False:
        raise TeacherError(f"{where}: the model reads in one direction. Expected a bidirectional one.")
    sizes = [int(size) for pair in characters["filters"] for size in pair]
    sizes += [int(lstm[name]) for name in ("projection_dim", "dim", "n_layers")]
    longest = int(characters["max_characters_per_token"])
    widest = max((int(width) for width, _ in characters["filters"]), default=0)
    if min(sizes) < 1 or not max(3, widest) <= longest <= LONGEST_TOKEN:
        raise TeacherError(
            f"{where}: the smallest size is {min(sizes)}, and tokens have {longest:,} characters. Expected sizes of 1 "
            f"or more, and tokens of {max(3, widest)} to {LONGEST_TOKEN:,} characters."
        )
    return ElmoConfig(
        filters=tuple((int(width), int(count)) for width, count in characters["filters"]),
        character_dim=int(characters["embedding"]["dim"]),
        max_characters=int(characters["max_characters_per_token"]),
        activation=characters["activation"],
        highways=int(characters["n_highway"]),
        projection_dim=int(lstm["projection_dim"]),
        cell_dim=int(lstm["dim"]),
        layers=int(lstm["n_layers"]),
        cell_clip=float(lstm["cell_clip"]),
        projection_clip=float(lstm["proj_clip"]),
        skip_connections=bool(lstm["use_skip_connections"]),
    )


def read_weights(path: Path, config: Any, options: Path) -> dict[str, Tensor]:
    """The weights by their names in `ElmoModel`.

    Raises:
        TeacherError: One is missing, or its shape does not match the options.
    """
    import h5py

    with h5py.File(path, "r") as file:

        def read(name: str, *shape: int) -> Tensor:
            found = file.get(name)
            got = getattr(found, "shape", None)
            if got != shape:
                what = "is missing" if got is None else f"has the shape {got}"
                raise TeacherError(
                    f"{path}: {name} {what}; {options.name} asks for {shape}. The two files do not belong together."
                )
            return torch.from_numpy(np.asarray(found[()], dtype=np.float32))

        return _weights(config, read)


def _weights(config: Any, read: Any) -> dict[str, Tensor]:
    from wordstill.teacher.elmo.bilm import CHARACTERS

    size, projection, cells = sum(count for _, count in config.filters), config.projection_dim, config.cell_dim
    found = {"embedder.characters.weight": read("char_embed", CHARACTERS, config.character_dim)}
    for number, (width, count) in enumerate(config.filters):
        kernel = read(f"CNN/W_cnn_{number}", 1, width, config.character_dim, count)
        found[f"embedder.convolutions.{number}.weight"] = kernel[0].permute(2, 1, 0).contiguous()
        found[f"embedder.convolutions.{number}.bias"] = read(f"CNN/b_cnn_{number}", count)
    for number in range(config.highways):
        for ours, theirs in (("gate", "carry"), ("transform", "transform")):
            place = f"embedder.highways.{number}.{ours}"
            found[f"{place}.weight"] = read(f"CNN_high_{number}/W_{theirs}", size, size).T.contiguous()
            found[f"{place}.bias"] = read(f"CNN_high_{number}/b_{theirs}", size)
    found["embedder.projection.weight"] = read("CNN_proj/W_proj", size, projection).T.contiguous()
    found["embedder.projection.bias"] = read("CNN_proj/b_proj", projection)
    for layer in range(config.num_hidden_layers):
        for direction, name in enumerate(("forward_cell", "backward_cell")):
            theirs, ours = CELL.format(direction=direction, layer=layer), f"layers.{layer}.{name}"
            # The first half is for the input, the second for the state.
            both = read(f"{theirs}/W_0", 2 * projection, 4 * cells).T
            found[f"{ours}.from_input.weight"] = both[:, :projection].contiguous()
            found[f"{ours}.from_state.weight"] = both[:, projection:].contiguous()
            found[f"{ours}.from_input.bias"] = read(f"{theirs}/B", 4 * cells)
            found[f"{ours}.projection.weight"] = read(f"{theirs}/W_P_0", cells, projection).T.contiguous()
    return found


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise TeacherError(f"{folder} holds {len(found)} files named {pattern} ({names}). Keep one.")
    return found[0]


def _section(content: Any, name: str, where: Path) -> Mapping[str, Any]:
    section = content.get(name) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise TeacherError(f"{where} has no part {name!r}. Expected the options of ELMo: lstm and char_cnn.")
    needed = {
        "lstm": ("projection_dim", "dim", "n_layers", "cell_clip", "proj_clip", "use_skip_connections"),
        "char_cnn": ("filters", "embedding", "max_characters_per_token", "activation", "n_highway"),
    }[name]
    if missing := [key for key in needed if key not in section]:
        raise TeacherError(f"{where}: {name} lacks {', '.join(missing)}.")
    return section
