"""Folders of model2vec, sentence-transformers' StaticEmbedding and WordLlama: a tokenizer, and a row for each token.

The first two libraries read both layouts. The vector of a text is the mean of its tokens' rows; with the tokenizer
that we write (`wordstill.formats.static_tokenizer`), it equals that of `SentenceEncoder` with the plain mean. Rows keep
their lengths.

A folder written by another program has its own tokenizer, which splits texts for the table that is read from it.
Such tables are made for averaging, so their provenance says that their lengths are sentence weights.

WordLlama's tables are only read: ``NAME_DIM.safetensors`` has the rows, ``NAME_tokenizer_config.json`` the tokenizer.
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
from wordstill.errors import FormatError, UsageError
from wordstill.formats.base import STRICT, Format, ReadOptions, check_words, head, make_table, not_this, to_float
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
from wordstill.formats.static_tokenizer import LoadedTokenizer, WordTokens, read_tokens, words_of
from wordstill.vectors.compressed import Matrix
from wordstill.vectors.sentences import LENGTHS, SENTENCE_LENGTHS
from wordstill.vectors.table import WordVectors

TENSORS, MODULES, CARD = "model.safetensors", "modules.json", "README.md"
KIND = "StaticEmbedding"

TOKENIZER, TOKENS = "tokenizer.json", "tokens"
WORDLLAMA_TOKENIZER = "_tokenizer_config.json"
OWN_TOKENIZER = "own"
"""Value in the record for a table with a tokenizer that we did not write."""


@dataclass(frozen=True)
class Layout:
    """The file layout of one of the two libraries."""

    tool: str
    tensor: str
    config: str
    folder: str
    """The subfolder with the tokenizer and the numbers; empty for the model's folder itself."""
    float16: bool

    def settings(self, vectors: WordVectors) -> dict[str, Any]:
        """The content of the library's configuration file."""
        if self is MODEL2VEC_LAYOUT:
            return {
                "model_type": "model2vec",
                "architectures": ["StaticModel"],
                "normalize": False,
                "max_length": None,
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
    tokens = read_tokens(inner / TOKENIZER)
    matrix = matrix_of_tokens(inner / TENSORS, len(tokens))
    record = read_object(path / RECORD) if (path / RECORD).exists() else None
    if record is None or record.get(TOKENS) == OWN_TOKENIZER:
        counts, provenance = read_record(path, len(tokens))
        # model2vec leaves unknown pieces out of a mean, sentence-transformers counts them.
        tokenizer = LoadedTokenizer(inner / TOKENIZER, tokens, matrix, unknown=layout is not MODEL2VEC_LAYOUT)
        return table_of_tokens(tokenizer, matrix, options, counts, provenance)
    words = _words(path / RECORD, record, tokens, inner / TOKENIZER)
    counts, provenance = read_record(path, len(words))
    return make_table(inner / TOKENIZER, words, matrix[: len(words)], options, counts=counts, provenance=provenance)


def table_of_tokens(
    tokenizer: LoadedTokenizer,
    matrix: Matrix,
    options: ReadOptions,
    counts: NDArray[np.int64] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> WordVectors:
    """A table of tokens, with its tokenizer."""
    return make_table(
        tokenizer.path,
        tokenizer.tokens,
        matrix,
        options,
        counts=counts,
        provenance={LENGTHS: SENTENCE_LENGTHS, **(provenance or {})},
        subwords=tokenizer,
        tokenizer=tokenizer,
    )


def _words(path: Path, record: Mapping[str, Any], tokens: Sequence[str], tokenizer: Path) -> Sequence[str]:
    """The words of a table that we wrote."""
    if isinstance(saved := record.get(TOKENS), dict):
        try:
            return words_of(tokens, saved)
        except FormatError as error:
            raise FormatError(f"{path}: {error}.") from None
    # Until version 0.1 the last row was for unknown tokens.
    return tokens[:-1] if tokens and tokens[-1] == _unknown_token(tokenizer) else tokens


def _write(vectors: WordVectors, path: Path, *, layout: Layout) -> None:
    refuse_foreign(path, (TENSORS, MODULES, CARD, TOKENIZER, layout.config, RECORD))
    provenance = parse_object(provenance_text(vectors), "The provenance")
    check_words(vectors)
    own = _own_tokenizer(vectors)
    tokens = None if own else WordTokens.of(vectors.words)
    with atomic_folder(path, overwrite=True) as folder:
        inner = folder / layout.folder
        inner.mkdir(exist_ok=True)
        tokenizer = json_text(tokens.settings(), TOKENIZER) if tokens else own
        (inner / TOKENIZER).write_bytes(tokenizer.encode("utf-8"))
        write_tensors(inner / TENSORS, _tensors(vectors.matrix, tokens, layout), {"format": "pt"})
        module = {"idx": 0, "name": "0", "path": layout.folder or ".", "type": f"sentence_transformers.models.{KIND}"}
        (folder / MODULES).write_text(json.dumps([module], indent=2) + "\n", encoding="utf-8")
        settings = json_text(layout.settings(vectors), layout.config)
        (folder / layout.config).write_text(settings, encoding="utf-8")
        (folder / CARD).write_text(card(vectors, provenance), encoding="utf-8")
        write_record(folder, vectors, more={TOKENS: tokens.record() if tokens else OWN_TOKENIZER})


def _own_tokenizer(vectors: WordVectors) -> str:
    """The ``tokenizer.json`` that the table came with; empty if there is none."""
    if not isinstance(vectors.tokenizer, LoadedTokenizer):
        return ""
    if tuple(vectors.tokenizer.tokens) != vectors.words:
        raise UsageError(
            f"The table came with a tokenizer of {len(vectors.tokenizer.tokens):,} tokens, of which it has "
            f"{len(vectors):,}. A model needs a row for each: write the whole table."
        )
    return vectors.tokenizer.text


def _tensors(matrix: Matrix, tokens: WordTokens | None, layout: Layout) -> dict[str, NDArray[Any]]:
    """The arrays to write; other spellings of a word share its row."""
    if not layout.float16:
        matrix = matrix.astype(np.float32, copy=False)
    if tokens is None or len(tokens.rows) == len(matrix):
        return {layout.tensor: matrix}
    if layout is MODEL2VEC_LAYOUT:
        return {layout.tensor: matrix, "mapping": np.array(tokens.rows, dtype=np.int64)}
    return {layout.tensor: matrix[list(tokens.rows)]}


def _recognizes(path: Path, *, layout: Layout) -> bool:
    if not path.is_dir():
        return False
    try:
        inner = _inner(path)
        return (inner / TOKENIZER).is_file() and layout.tensor in map_tensors(inner / TENSORS)[0]
    except (FormatError, OSError):
        return False


def _inner(path: Path) -> Path:
    """The folder of the embedding according to the list of modules; without a list, the folder itself."""
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


def matrix_of_tokens(path: Path, tokens: int) -> Matrix:
    """A row for each token, selected by the stored mapping and multiplied by the stored weights, if there are any."""
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


def _unknown_token(path: Path) -> str | None:
    """The unknown token, if the tokenizer is one that we write."""
    model: Mapping[str, Any] = read_object(path)["model"]
    return model.get("unk_token") if model.get("type") == "WordLevel" else None


def _format(layout: Layout) -> Format:
    read, write = partial(_read, layout=layout), partial(_write, layout=layout)
    recognizes, suffixes = partial(_recognizes, layout=layout), (f".{layout.tool}",)
    return Format(
        layout.tool,
        suffixes,
        read,
        write,
        recognizes,
        records=True,
        folder=True,
        float16=layout.float16,
        keeps_subwords=lambda vectors: isinstance(vectors.subwords, LoadedTokenizer),
        keeps_tokenizer=True,
    )


MODEL2VEC, SENTENCE_TRANSFORMERS = _format(MODEL2VEC_LAYOUT), _format(SENTENCES_LAYOUT)


def _read_wordllama(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the only table in a folder, with its tokenizer."""
    if path.is_file():
        raise not_this(path, head(path), "a folder of WordLlama")
    found = _wordllama_tables(path)
    if len(found) != 1:
        names = ", ".join(tensors.name for tensors, _ in found) or "none"
        raise FormatError(
            f"{path} must hold one NAME_DIM.safetensors with its NAME{WORDLLAMA_TOKENIZER}; found {names}."
        )
    ((tensors, tokenizer),) = found
    tokens = read_tokens(tokenizer)
    matrix = matrix_of_tokens(tensors, len(tokens))
    return table_of_tokens(LoadedTokenizer(tokenizer, tokens, matrix, unknown=True), matrix, options)


def _recognizes_wordllama(path: Path) -> bool:
    """Whether a folder has a table with its tokenizer."""
    if not path.is_dir():
        return False
    try:
        return any(SENTENCES_LAYOUT.tensor in map_tensors(tensors)[0] for tensors, _ in _wordllama_tables(path))
    except (FormatError, OSError):
        return False


def _wordllama_tables(folder: Path) -> list[tuple[Path, Path]]:
    """The tables of a folder, each with its tokenizer."""
    pairs = [
        (tensors, tensors.with_name(f"{tensors.stem.rpartition('_')[0]}{WORDLLAMA_TOKENIZER}"))
        for tensors in sorted(folder.glob("*_*.safetensors"))
    ]
    return [(tensors, tokenizer) for tensors, tokenizer in pairs if tokenizer.is_file()]


WORDLLAMA = Format("wordllama", (), _read_wordllama, recognizes=_recognizes_wordllama, folder=True, float16=True)
