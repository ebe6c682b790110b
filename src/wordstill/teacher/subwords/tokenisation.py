"""Sub-words of texts: ids and character spans, from any fast Hugging Face tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from wordstill.errors import TeacherError
from wordstill.teacher.ragged import Ints, offsets_of
from wordstill.teacher.subwords.blanks import splits_at_blanks
from wordstill.teacher.subwords.specials import read_specials_as_text, specials_around

BLANK_MARKS = (("▁", '"▁"'), ("Ġ", '"ByteLevel"'))
"""Sub-words that stand for a blank alone, each with the sign of a tokenizer that uses it so."""


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

    Attributes:
        prefix: Ids of the special tokens before a text.
        suffix: Ids of those after it.
        pad_id: What fills the shorter texts of a batch.
        definition: The whole tokenizer as JSON: part of a teacher's fingerprint.

    Raises:
        TeacherError: The tokenizer gives no character offsets, knows no sub-words, or puts special tokens
            inside a text.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise TeacherError(
                f"The tokenizer of {name} gives no character offsets (it is {type(tokenizer).__name__}, not "
                "a fast one). wordstill needs them to align words; use a model that ships a tokenizer.json."
            )
        self.name = name
        plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        plain.no_truncation()
        plain.no_padding()
        _refuse_empty(plain, name)
        self.definition = str(plain.to_str())
        self.backend = read_specials_as_text(plain)
        self.pad_id = int(tokenizer.pad_token_id or 0)
        self.prefix, self.suffix = specials_around(self.backend, name)
        self._blank_ids = _blank_ids(self.backend)

    def encode(self, texts: Sequence[str]) -> Pieces:
        """Sub-words of each text, without special tokens.

        A lone blank mark has an empty span: some tokenizers give it the first character of the next word.
        """
        return self.with_blank_marks_empty(self.encode_as_told(texts))

    def encode_as_told(self, texts: Sequence[str]) -> Pieces:
        """The same with the spans that the tokenizer tells, of blank marks too."""
        encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        lengths = np.fromiter((len(encoding) for encoding in encodings), dtype=np.int64, count=len(encodings))
        ids = np.array([number for encoding in encodings for number in encoding.ids], dtype=np.int64)
        spans = [span for encoding in encodings for span in encoding.offsets]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        return Pieces(ids, starts, ends, offsets_of(lengths))

    def with_blank_marks_empty(self, pieces: Pieces) -> Pieces:
        """Sub-words with the span of every lone blank mark emptied."""
        return replace(
            pieces, ends=np.where(np.isin(pieces.ids, self._blank_ids), pieces.starts, pieces.ends)
        )

    def splits_at_blanks(self) -> bool:
        """Whether this tokenizer never joins characters across a single blank."""
        return splits_at_blanks(self.backend)


def _refuse_empty(plain: Tokenizer, name: str) -> None:
    """For a model without tokenizer files transformers may make one that finds every word unknown."""
    special = {token.content for token in plain.get_added_tokens_decoder().values() if token.special}
    if len(plain.get_vocab().keys() - special - {"▁"}) == 0:
        raise TeacherError(
            f"The tokenizer of {name} knows nothing but {len(special)} special tokens: the model was saved "
            "without its tokenizer. Save both into one folder with save_pretrained."
        )


def _blank_ids(backend: Tokenizer) -> list[int]:
    definition = json.loads(backend.to_str())
    makers = json.dumps([definition["normalizer"], definition["pre_tokenizer"]], ensure_ascii=False)
    found = [backend.token_to_id(mark) for mark, sign in BLANK_MARKS if sign in makers]
    return [number for number in found if number is not None]
