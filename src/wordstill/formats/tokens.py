"""A vocabulary as ``tokenizer.json``, the file of the tokenizers library that static sentence models carry.

The tokenizer we write cuts text at blanks and marks and looks each piece up; it lower-cases first if no word
of the table has a capital. A word with a blank in it keeps its vector, but no text is cut so as to find it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wordstill.errors import FormatError
from wordstill.formats.base import encode_word
from wordstill.formats.record import json_text, read_object
from wordstill.vectors import WordVectors

TOKENIZER = "tokenizer.json"
UNKNOWN = "[UNK]"

# Letters and figures with inner apostrophes, hyphens and full stops (don't, well-known, 3.5), or equal marks.
PIECES = r"[\p{L}\p{M}\p{N}_]+(?:['’.,\-][\p{L}\p{M}\p{N}_]+)*|([^\s\p{L}\p{M}\p{N}_])\1*"


def write_tokenizer(folder: Path, vectors: WordVectors) -> str:
    """Write the words, and after them the name that unknown pieces get; give that name."""
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
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": PIECES},
            "behavior": "Removed",
            "invert": True,
        },
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
    }
    (folder / TOKENIZER).write_bytes(json_text(settings, TOKENIZER).encode("utf-8"))
    return unknown


def read_tokens(path: Path) -> list[str]:
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


def unknown_token(path: Path) -> str | None:
    """The name that unknown pieces get, if the tokenizer is one that we write."""
    model: Mapping[str, Any] = read_object(path)["model"]
    return model.get("unk_token") if model.get("type") == "WordLevel" else None


def _numbered(tokens: Sequence[Any], path: Path) -> dict[Any, Any]:
    numbers = {token: number for number, token in enumerate(tokens) if isinstance(token, str)}
    if len(numbers) != len(tokens):
        raise FormatError(f"{path}: 'model.vocab' has a token twice, or one that is no string.")
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
