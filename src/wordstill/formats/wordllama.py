"""WordLlama's tables, which are only read: a row for each token, and the tokenizer beside it.

NAME_DIM.safetensors         the rows
NAME_tokenizer_config.json   the tokenizer, as in the tokenizers library
"""

from __future__ import annotations

from pathlib import Path

from wordstill.core.tensors import map_tensors
from wordstill.errors import FormatError
from wordstill.formats.base import STRICT, Format, ReadOptions
from wordstill.formats.sniff import head, not_this
from wordstill.formats.static_model import SENTENCES_LAYOUT, matrix_of_tokens, table_of_tokens
from wordstill.formats.static_tokenizer import LoadedTokenizer, read_tokens
from wordstill.vectors.table import WordVectors

TOKENIZER = "_tokenizer_config.json"
TENSOR = SENTENCES_LAYOUT.tensor


def read(path: Path, options: ReadOptions = STRICT) -> WordVectors:
    """Read the one table in a folder, with its tokenizer."""
    if path.is_file():
        raise not_this(path, head(path), "a folder of WordLlama")
    found = tables(path)
    if len(found) != 1:
        names = ", ".join(tensors.name for tensors, _ in found) or "none"
        raise FormatError(f"{path} must hold one NAME_DIM.safetensors with its NAME{TOKENIZER}; found {names}.")
    ((tensors, tokenizer),) = found
    tokens = read_tokens(tokenizer)
    matrix = matrix_of_tokens(tensors, len(tokens))
    return table_of_tokens(LoadedTokenizer(tokenizer, tokens, matrix, unknown=True), matrix, options)


def recognizes(path: Path) -> bool:
    """Whether a folder has a table and its tokenizer."""
    if not path.is_dir():
        return False
    try:
        return any(TENSOR in map_tensors(tensors)[0] for tensors, _ in tables(path))
    except (FormatError, OSError):
        return False


def tables(folder: Path) -> list[tuple[Path, Path]]:
    """The tables of a folder, each with its tokenizer."""
    pairs = [
        (tensors, tensors.with_name(f"{tensors.stem.rpartition('_')[0]}{TOKENIZER}"))
        for tensors in sorted(folder.glob("*_*.safetensors"))
    ]
    return [(tensors, tokenizer) for tensors, tokenizer in pairs if tokenizer.is_file()]


WORDLLAMA = Format("wordllama", (), read, recognizes=recognizes, folder=True, float16=True)
