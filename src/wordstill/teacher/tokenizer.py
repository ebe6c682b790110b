"""The tokenizer of a teacher, its length limits, and the alignment of words with subwords.

Words are aligned by character spans, never by matching strings or counting punctuation. A word owns every subword
whose span overlaps its own by at least one character. So a subword that covers two words (``."`` in byte-level BPE)
belongs to both, and all byte subwords of an emoji belong to the word that contains it. A subword without characters
of the text, such as a lone space mark, has an empty span and overlaps nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tokenizers import Tokenizer

from wordstill.core.ragged import Ints, offsets_of, owners
from wordstill.errors import TeacherError, UsageError

USUAL_LIMIT = 512
HIDDEN = "\U0010ffff"
"""A code point that no text contains; put before a special token's name, it keeps text from matching the name."""
SPACE_MARKS = (("▁", '"▁"'), ("Ġ", '"ByteLevel"'))
"""Subwords for a space alone, each with a string in the definition of tokenizers that use it."""
SPACE_SPLITTERS = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})

# One of each kind that pre-tokenizers distinguish: letters of many scripts, digits, marks, contractions.
NEIGHBORS = (
    *"aZéßяΩ中あカ한اאก1٣²Ⅷ.,:;!?'’\"“”()[]-–—…%$€+=/\\_@#&*~`^|<>😀♥▁ĠΣſ",
    "12", "3.5", "1,000", "''", "``", "'s", "'S", "n't", "l'", "...", '."', "),", "e\u0301", "\u0301",
    "❤\ufe0f", "👍🏽", "🇩🇪", "👩\u200d👩\u200d👧", "\u200b", "\u200d", "\u00ad", "\ufeff", "\u2060", "\x07",
    "\ufffd", "aA", "Aa", "a1", "1a", "a.", ".a", "中a", "[SEP]", "<s>", "</s>", "<|endoftext|>",
)  # fmt: skip


@dataclass(frozen=True)
class EncodedTexts:
    """The concatenated subwords of several texts.

    ``ids``, ``starts`` and ``ends`` have one entry per subword; spans are in characters of its own text.
    ``offsets`` are the bounds of each text's subwords (one more than texts), and ``characters`` the length of each
    text.
    """

    ids: Ints
    starts: Ints
    ends: Ints
    offsets: Ints
    characters: Ints

    def align(self, text: Ints, start: NDArray[np.integer] | int, end: NDArray[np.integer]) -> tuple[Ints, Ints]:
        """The range of subwords of each span, relative to the start of the first text; empty if dropped.

        Spans [N] are in ascending order of texts, and in characters of their own text.
        """
        base = offsets_of(self.characters)
        of_subword, of_span = base[owners(np.diff(self.offsets))], base[text]
        return align(self.starts + of_subword, self.ends + of_subword, start + of_span, end + of_span)


class SubwordTokenizer:
    """A fast tokenizer without truncation and padding, with special tokens kept apart from text.

    Text that looks like a special token (``[SEP]``, ``<s>``) is read as plain text.

    Args:
        tokenizer: A fast tokenizer from transformers.
        name: The teacher's name, for messages.

    Attributes:
        prefix: Ids of the special tokens before a text.
        suffix: Ids of the special tokens after a text.
        pad_id: Id of the padding token.
        unknown_id: Id of the unknown token, -1 if there is none.
        mask_id: Id of the mask token, None if there is none.
        max_length: Maximum length of a text that the tokenizer declares.
        definition: The whole tokenizer as JSON, part of a teacher's fingerprint.

    Raises:
        TeacherError: The tokenizer has no character offsets or no subwords, or puts special tokens inside a text.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise TeacherError(
                f"The tokenizer of {name} has no character offsets (it is {type(tokenizer).__name__}, not "
                "a fast one). wordstill needs them to align words; use a model that ships a tokenizer.json."
            )
        self.name = name
        plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        plain.no_truncation()
        plain.no_padding()
        _refuse_empty(plain, name)
        self.definition = str(plain.to_str())
        self.backend = read_specials_as_text(plain)
        self.pad_id, self.max_length = int(tokenizer.pad_token_id or 0), int(tokenizer.model_max_length)
        self.unknown_id = -1 if tokenizer.unk_token_id is None else int(tokenizer.unk_token_id)
        self.mask_id = None if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
        self.prefix, self.suffix = specials_around(self.backend, name)
        self._space_ids = _space_ids(self.backend)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Subwords of each text, without special tokens.

        The span of a lone space mark is empty, although some tokenizers report the first character of the next word.
        """
        return self.with_empty_space_marks(self.encode_raw(texts))

    def encode_raw(self, texts: Sequence[str]) -> EncodedTexts:
        """Like `encode`, but the spans of space marks are those that the tokenizer reports."""
        encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        lengths = np.fromiter((len(encoding) for encoding in encodings), dtype=np.int64, count=len(encodings))
        ids = np.array([number for encoding in encodings for number in encoding.ids], dtype=np.int64)
        spans = [span for encoding in encodings for span in encoding.offsets]
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        characters = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return EncodedTexts(ids, starts, ends, offsets_of(lengths), characters)

    def with_empty_space_marks(self, subwords: EncodedTexts) -> EncodedTexts:
        """The same subwords with empty spans for lone space marks."""
        return replace(subwords, ends=np.where(np.isin(subwords.ids, self._space_ids), subwords.starts, subwords.ends))

    def splits_at_spaces(self) -> bool:
        """Whether the tokenizer never joins characters across a single space, by its definition and in a test."""
        definition = json.loads(self.backend.to_str())
        return (
            any(map(_splits, _steps(definition["pre_tokenizer"])))
            and not any(map(_reaches_over_spaces, definition["added_tokens"]))
            and _neighbors_stay_apart(self.backend)
        )


def text_limit(model: Any, tokenizer: SubwordTokenizer, wanted: int | None) -> int:
    """Maximum length of a text, including special tokens; by default the model's limit, but usually at most 512.

    Raises:
        UsageError: The wanted limit exceeds the model's positions, or leaves no room for text.
    """
    positions, usual = _positions(model), getattr(model, "usual_limit", USUAL_LIMIT)
    if wanted is None:
        limit = min(tokenizer.max_length, positions or usual, usual)
    elif positions is not None and wanted > positions:
        raise UsageError(
            f"max_length {wanted} is more than the {positions} positions of {tokenizer.name}. "
            f"Use at most {positions}, or omit it."
        )
    else:
        limit = wanted
    room_beside_specials(limit, tokenizer)
    return limit


def room_beside_specials(limit: int, tokenizer: SubwordTokenizer) -> int:
    """How many subwords of text fit into a limit with special tokens."""
    specials = len(tokenizer.prefix) + len(tokenizer.suffix)
    if limit <= specials:
        raise UsageError(
            f"A limit of {limit} subwords leaves no room for text next to the {specials} special tokens of "
            f"{tokenizer.name}. Use a max_length of {specials + 1} or more."
        )
    return limit - specials


def first_position(model: Any) -> int:
    """Index of a text's first position; models like RoBERTa count from the padding id on."""
    embeddings = getattr(getattr(model, "base_model", model), "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


def _positions(model: Any) -> int | None:
    declared = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    # XLNet, whose positions are relative, declares -1.
    return int(declared) - first_position(model) if declared and declared > 0 else None


def align(
    subword_starts: ArrayLike, subword_ends: ArrayLike, word_starts: ArrayLike, word_ends: ArrayLike
) -> tuple[Ints, Ints]:
    """The half-open range of subwords of each word; empty if the tokenizer dropped the word.

    All spans are in the same character coordinates, with subwords in reading order (for several texts, add each
    text's start). Cost: one binary search per word.

    >>> start, end = align([0, 3, 4], [3, 4, 8], [0, 3], [4, 8])
    >>> start.tolist(), end.tolist()
    ([0, 1], [2, 3])
    """
    starts, ends = np.asarray(subword_starts, dtype=np.int64), np.asarray(subword_ends, dtype=np.int64)
    real = np.flatnonzero(starts < ends)
    low = np.searchsorted(np.maximum.accumulate(ends[real]), word_starts, side="right")
    high = np.searchsorted(np.maximum.accumulate(starts[real]), word_ends, side="left")
    numbers = np.append(real, len(starts))
    nowhere = np.searchsorted(np.maximum.accumulate(ends), word_starts, side="right")
    start = np.where(low < high, numbers[low], nowhere)
    end = np.where(low < high, numbers[high - 1] + 1, nowhere)
    return start.astype(np.int64), end.astype(np.int64)


def specials_around(backend: Tokenizer, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ids of the special tokens before and after a text.

    Raises:
        TeacherError: Adding special tokens changes the subwords of the text itself.
    """
    bare = backend.encode("a", add_special_tokens=False).ids
    full = backend.encode("a", add_special_tokens=True)
    before = full.special_tokens_mask.index(0) if 0 in full.special_tokens_mask else len(full)
    after = before + len(bare)
    if full.ids[before:after] != bare:
        raise TeacherError(
            f"The tokenizer of {name} changes a text when it adds special tokens (without them 'a' is "
            f"{bare}, with them {full.ids}); wordstill cannot align its words."
        )
    return tuple(full.ids[:before]), tuple(full.ids[after:])


def read_specials_as_text(plain: Tokenizer) -> Tokenizer:
    """The same tokenizer, which reads ``</s>`` or ``[SEP]`` in a text as ordinary subwords."""
    plain.encode_special_tokens = True
    definition = json.loads(plain.to_str())
    reachable = _reachable(plain, definition)
    if not reachable:
        return plain
    # Unigram models have the names of special tokens among their subwords, and find them in text.
    for token in definition["added_tokens"]:
        token["content"] = _hidden(token["content"], reachable)
    vocabulary = definition["model"]["vocab"]
    definition["model"]["vocab"] = (
        {_hidden(subword, reachable): number for subword, number in vocabulary.items()}
        if isinstance(vocabulary, dict)
        else [[_hidden(subword, reachable), score] for subword, score in vocabulary]
    )
    reader = Tokenizer.from_str(json.dumps(definition))
    reader.encode_special_tokens = True
    return reader


def _reachable(backend: Tokenizer, definition: dict[str, Any]) -> set[str]:
    """The special tokens, except the unknown token, that the model finds in a text with their name."""
    model = definition["model"]
    unknown = model.get("unk_id")
    if model.get("unk_token") is not None:
        unknown = backend.token_to_id(model["unk_token"])
    return {
        token["content"]
        for token in definition["added_tokens"]
        if token["special"]
        and token["id"] != unknown
        and token["id"] in backend.encode(token["content"], add_special_tokens=False).ids
    }


def _hidden(subword: str, names: set[str]) -> str:
    return HIDDEN + subword if subword in names else subword


def _steps(pre_tokenizer: dict[str, Any] | None) -> list[dict[str, Any]]:
    if pre_tokenizer is None:
        return []
    if pre_tokenizer["type"] == "Sequence":
        return [step for inner in pre_tokenizer["pretokenizers"] for step in _steps(inner)]
    return [pre_tokenizer]


def _splits(step: dict[str, Any]) -> bool:
    kind = step["type"]
    if kind == "ByteLevel":
        return bool(step.get("use_regex", True))
    if kind == "Metaspace":
        return bool(step.get("split", True))
    if kind == "Split":
        pattern = step["pattern"]
        return r"\s" in pattern.get("Regex", "") or pattern.get("String") == " "
    return kind in SPACE_SPLITTERS


def _reaches_over_spaces(token: dict[str, Any]) -> bool:
    # Special tokens are never searched in text.
    return not token["special"] and bool(token["rstrip"] or " " in token["content"].strip(" "))


def _neighbors_stay_apart(backend: Tokenizer) -> bool:
    """Whether a text with every pair of neighbors has the same subwords as its words alone."""

    def ids(text: str) -> list[int]:
        return list(backend.encode(text, add_special_tokens=False).ids)

    first, *rest = chain.from_iterable(product(NEIGHBORS, repeat=2))
    alone = {word: ids(f" {word}") for word in NEIGHBORS}
    return ids(" ".join([first, *rest])) == [*ids(first), *chain.from_iterable(map(alone.__getitem__, rest))]


def _refuse_empty(plain: Tokenizer, name: str) -> None:
    """Refuse a tokenizer without subwords, which transformers creates for a model saved without tokenizer files."""
    special = {token.content for token in plain.get_added_tokens_decoder().values() if token.special}
    if len(plain.get_vocab().keys() - special - {"▁"}) == 0:
        raise TeacherError(
            f"The tokenizer of {name} knows only {len(special)} special tokens: the model was saved "
            "without its tokenizer. Save both into one folder with save_pretrained."
        )


def _space_ids(backend: Tokenizer) -> list[int]:
    definition = json.loads(backend.to_str())
    makers = json.dumps([definition["normalizer"], definition["pre_tokenizer"]], ensure_ascii=False)
    found = [backend.token_to_id(mark) for mark, sign in SPACE_MARKS if sign in makers]
    return [number for number in found if number is not None]
