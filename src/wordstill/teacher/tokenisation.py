"""Sub-words of texts: ids and character spans, from any fast Hugging Face tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from wordstill.errors import TeacherError
from wordstill.teacher.ragged import Ints, offsets_of

BLANK_SPLITTERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}


@dataclass(frozen=True)
class Pieces:
    """The sub-words of several texts, laid end to end.

    ``ids``, ``starts`` and ``ends`` have one entry per sub-word, the spans in characters of its own text;
    ``offsets`` says where each text's sub-words begin (one more entry than texts).
    """

    ids: Ints
    starts: Ints
    ends: Ints
    offsets: Ints


class Subwords:
    """A tokenizer reduced to what the teacher pass needs: no truncation, no padding, specials known apart.

    Text that looks like a special token (``[SEP]``, ``<s>``) is read as plain text.

    Args:
        tokenizer: A fast tokenizer of transformers.
        name: The teacher's name, for messages.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise TeacherError(
                f"The tokenizer of {name} gives no character offsets (it is {type(tokenizer).__name__}, not a fast "
                "tokenizer). wordstill needs them to align words; use a model that ships a tokenizer.json."
            )
        self.name = name
        self.backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        self.pad_id = int(tokenizer.pad_token_id or 0)
        self.prefix, self.suffix = _specials(self.backend)

    @property
    def definition(self) -> str:
        """The whole tokenizer as JSON: part of a teacher's fingerprint."""
        return str(self.backend.to_str())

    def encode(self, texts: Sequence[str]) -> Pieces:
        """Sub-words of each text, without special tokens."""
        encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        lengths = np.fromiter((len(encoding) for encoding in encodings), dtype=np.int64, count=len(encodings))
        ids = [number for encoding in encodings for number in encoding.ids]
        spans = [span for encoding in encodings for span in encoding.offsets]
        table = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return Pieces(np.array(ids, dtype=np.int64), table[:, 0], table[:, 1], offsets_of(lengths))

    def splits_at_blanks(self) -> bool:
        """Whether, by its construction, this tokenizer never joins characters across a single blank."""
        return any(_splits_at_blanks(step) for step in _steps(json.loads(self.definition)["pre_tokenizer"]))


def _specials(backend: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    bare = backend.encode("a", add_special_tokens=False).ids
    full = backend.encode("a", add_special_tokens=True).ids
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return tuple(full[:start]), tuple(full[start + len(bare) :])
    raise TeacherError("The tokenizer changes a text when it adds special tokens; wordstill cannot align its words.")


def _steps(pre_tokenizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    if pre_tokenizer["type"] == "Sequence":
        return [step for inner in pre_tokenizer["pretokenizers"] for step in _steps(inner)]
    return [pre_tokenizer]


def _splits_at_blanks(step: dict[str, Any]) -> bool:
    kind = step["type"]
    if kind == "ByteLevel":
        return bool(step.get("use_regex", True))
    if kind == "Metaspace":
        return bool(step.get("split", True))
    if kind == "Split":
        pattern = step.get("pattern", {})
        return r"\s" in pattern.get("Regex", "") or pattern.get("String") == " "
    return kind in BLANK_SPLITTERS
