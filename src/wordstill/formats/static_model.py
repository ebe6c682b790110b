"""Folders of model2vec and of sentence-transformers' StaticEmbedding: a tokenizer and a row for each token.

Both tools open both. A text's vector there is the mean of those of its words; pieces that are not in the
table count as zeros in sentence-transformers and not at all in model2vec.

The vocabulary is ``tokenizer.json``, the file of the tokenizers library. The tokenizer we write cuts text at
spaces and marks and looks each piece up; it lower-cases first if no word of the table has a capital. A word
with a space in it keeps its vector, but no text is cut so as to find it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.core.files import atomic_folder, refuse_foreign
from wordstill.core.tensors import map_tensors, write_tensors
from wordstill.errors import FormatError
from wordstill.formats.base import STRICT, Format, ReadOptions, encode_word, make_table, to_float
from wordstill.formats.card import card
from wordstill.formats.record import (
    RECORD,
    json_text,
    parse_json,
    parse_object,
    provenance_text,
    read_object,
    read_record,
    write_record,
)
from wordstill.formats.sniff import head, not_this
from wordstill.vectors.table import Matrix, WordVectors

TENSORS, MODULES, CARD = "model.safetensors", "modules.json", "README.md"
KIND = "StaticEmbedding"

TOKENIZER = "tokenizer.json"
UNKNOWN = "[UNK]"

# Letters and figures with inner apostrophes, hyphens and full stops (don't, well-known, 3.5), or equal marks.
PIECES = r"[\p{L}\p{M}\p{N}_]+(?:['’.,\-][\p{L}\p{M}\p{N}_]+)*|([^\s\p{L}\p{M}\p{N}_])\1*"


@dataclass(frozen=True)
class Layout:
    """Where one of the two tools keeps what."""

    tool: str
    tensor: str
    config: str
    folder: str
    """The folder of tokenizer and numbers, inside that of the model; empty for the same."""
    float16: bool

    def settings(self, vectors: WordVectors) -> dict[str, Any]:
        """What its configuration says."""
        if self is MODEL2VEC_LAYOUT:
            return {
                "model_type": "model2vec",
                "architectures": ["StaticModel"],
                "normalize": False,
                "hidden_dim": vectors.dim,
                "embedding_dtype": str(vectors.matrix.dtype),
            }
        return {"model_type": "SentenceTransformer", "similarity_fn_name": "cosine", "prompts": {}}


MODEL2VEC_LAYOUT = Layout("model2vec", "embeddings", "config.json", "", float16=True)
SENTENCES_LAYOUT = Layout(
    "sentence-transformers", "embedding.weight", "config_sentence_transformers.json", "0_StaticEmbedding", float16=False
)


def _read(path: Path, options: ReadOptions = STRICT, *, layout: Layout) -> WordVectors:
    if path.is_file():
        raise not_this(path, head(path), f"a folder of {layout.tool}")
    inner = _inner(path)
    for name in (TENSORS, TOKENIZER):
        if not (inner / name).is_file():
            raise FormatError(f"{inner / name} is missing; {path} is not a whole folder of {layout.tool}.")
    tokens = _read_tokens(inner / TOKENIZER)
    matrix = _matrix(inner / TENSORS, len(tokens))
    if (path / RECORD).exists() and tokens and tokens[-1] == _unknown_token(inner / TOKENIZER):
        # This is our own: the last row stands for unknown pieces and is no word.
        tokens, matrix = tokens[:-1], matrix[:-1]
    counts, provenance = read_record(path, len(tokens))
    return make_table(inner / TOKENIZER, tokens, matrix, options, counts=counts, provenance=provenance)


def _write(vectors: WordVectors, path: Path, *, layout: Layout) -> None:
    refuse_foreign(path, (TENSORS, MODULES, CARD, TOKENIZER, layout.config, RECORD))
    provenance = parse_object(provenance_text(vectors), "The provenance")
    with atomic_folder(path, overwrite=True) as folder:
        inner = folder / layout.folder
        inner.mkdir(exist_ok=True)
        _write_tokenizer(inner, vectors)
        zeros = np.zeros((1, vectors.dim), dtype=vectors.matrix.dtype)
        matrix = np.concatenate([vectors.matrix, zeros])
        if not layout.float16:
            matrix = matrix.astype(np.float32, copy=False)
        write_tensors(inner / TENSORS, {layout.tensor: matrix}, {"format": "pt"})
        module = {"idx": 0, "name": "0", "path": layout.folder or ".", "type": f"sentence_transformers.models.{KIND}"}
        (folder / MODULES).write_text(json.dumps([module], indent=2) + "\n", encoding="utf-8")
        settings = json_text(layout.settings(vectors), layout.config)
        (folder / layout.config).write_text(settings, encoding="utf-8")
        (folder / CARD).write_text(card(vectors, provenance), encoding="utf-8")
        write_record(folder, vectors, always=True)


def _recognizes(path: Path, *, layout: Layout) -> bool:
    if not path.is_dir():
        return False
    try:
        inner = _inner(path)
        return (inner / TOKENIZER).is_file() and layout.tensor in map_tensors(inner / TENSORS)[0]
    except (FormatError, OSError):
        return False


def _inner(path: Path) -> Path:
    """The folder that the list of modules gives for the embedding; without a list, the folder itself."""
    if not (path / MODULES).is_file():
        return path
    modules = parse_json((path / MODULES).read_bytes(), path / MODULES)
    for module in modules if isinstance(modules, list) else ():
        if isinstance(module, Mapping) and str(module.get("type")).endswith(f".{KIND}"):
            name = str(module.get("path", ""))
            if name in ("", ".") or (Path(name).name == name and name != ".."):
                return path / name
            raise FormatError(f"{path / MODULES}: the path {name!r} is not a folder in {path}.")
    raise FormatError(f"{path / MODULES} names no {KIND}; only models that are a table of vectors are read.")


def _matrix(path: Path, tokens: int) -> Matrix:
    """A row for each token: those stored, chosen by a mapping and multiplied by weights if there are any."""
    tensors, _ = map_tensors(path)
    matrix = next(
        (tensors[name] for name in (MODEL2VEC_LAYOUT.tensor, SENTENCES_LAYOUT.tensor) if name in tensors), None
    )
    if matrix is None or matrix.ndim != 2:
        raise FormatError(f"{path} has the arrays {', '.join(tensors) or 'none'}, expected a matrix of embeddings.")
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        matrix = matrix[_checked_mapping(path, mapping, len(matrix))]
    if len(matrix) != tokens or (weights is not None and weights.shape != (tokens,)):
        raise FormatError(f"{path} has {len(matrix)} rows, the tokenizer next to it {tokens} tokens.")
    if weights is not None:
        matrix = to_float(matrix) * weights[:, None].astype(np.float32)
    return to_float(matrix)


def _checked_mapping(path: Path, mapping: NDArray[Any], rows: int) -> NDArray[Any]:
    if (
        mapping.ndim != 1
        or mapping.dtype.kind not in "iu"
        or (len(mapping) and not 0 <= int(mapping.min()) <= int(mapping.max()) < rows)
    ):
        raise FormatError(f"{path}: 'mapping' does not map each token to one of {rows} rows.")
    return mapping


def _write_tokenizer(folder: Path, vectors: WordVectors) -> None:
    """Write the words, and after them the name that unknown pieces get."""
    for row, word in enumerate(vectors.words):
        encode_word(word, row)
    unknown = UNKNOWN
    while unknown in vectors:
        unknown = f"[{unknown}]"
    vocabulary = dict(zip([*vectors.words, unknown], range(len(vectors) + 1)))
    lower = all(word == word.lower() for word in vectors.words)
    settings: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if lower else None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": PIECES}, "behavior": "Removed", "invert": True},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
    }
    (folder / TOKENIZER).write_bytes(json_text(settings, TOKENIZER).encode("utf-8"))


def _read_tokens(path: Path) -> list[str]:
    """The tokens in the order of their numbers, whatever the kind of tokenizer."""
    settings = read_object(path)
    model = settings.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict):
        numbers = dict(vocabulary)
    elif isinstance(vocabulary, list) and all(isinstance(row, list) and row for row in vocabulary):
        numbers = _numbered([row[0] for row in vocabulary], path)
    else:
        raise FormatError(f"{path}: 'model.vocab' is not a vocabulary.")
    for added in settings.get("added_tokens") or ():
        if not isinstance(added, dict):
            raise FormatError(f"{path}: 'added_tokens' has {added!r}, expected an object.")
        numbers[added.get("content")] = added.get("id")
    return _in_order(path, numbers)


def _unknown_token(path: Path) -> str | None:
    """The name that unknown pieces get, if the tokenizer is one that we write."""
    model: Mapping[str, Any] = read_object(path)["model"]
    return model.get("unk_token") if model.get("type") == "WordLevel" else None


def _numbered(tokens: Sequence[Any], path: Path) -> dict[Any, Any]:
    numbers = {token: number for number, token in enumerate(tokens) if isinstance(token, str)}
    if len(numbers) != len(tokens):
        raise FormatError(f"{path}: 'model.vocab' has a token twice, or one that is not a string.")
    return numbers


def _in_order(path: Path, numbers: Mapping[Any, Any]) -> list[str]:
    tokens: list[str | None] = [None] * len(numbers)
    for token, number in numbers.items():
        if not isinstance(token, str) or type(number) is not int or not 0 <= number < len(tokens):
            raise FormatError(
                f"{path}: the token {token!r} has the number {number!r}, expected 0 to {len(tokens) - 1}."
            )
        if tokens[number] is not None:
            raise FormatError(f"{path}: the tokens {tokens[number]!r} and {token!r} have the same number.")
        tokens[number] = token
    return [token for token in tokens if token is not None]


def _format(layout: Layout) -> Format:
    read, write = partial(_read, layout=layout), partial(_write, layout=layout)
    recognizes, suffixes = partial(_recognizes, layout=layout), (f".{layout.tool}",)
    return Format(layout.tool, suffixes, read, write, recognizes, records=True, folder=True, float16=layout.float16)


MODEL2VEC, SENTENCE_TRANSFORMERS = _format(MODEL2VEC_LAYOUT), _format(SENTENCES_LAYOUT)
