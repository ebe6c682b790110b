"""Whether a tokenizer never joins across a blank, so that a text's sub-words are those of its forms."""

from __future__ import annotations

import json
from itertools import chain, product
from typing import Any

from tokenizers import Tokenizer

BLANK_SPLITTERS = frozenset({"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})

# One of each kind that pre-tokenizers tell apart: letters of many scripts, digits, marks, contractions.
NEIGHBOURS = (
    *"aZéßяΩ中あカ한اאก1٣²Ⅷ.,:;!?'’\"“”()[]-–—…%$€+=/\\_@#&*~`^|<>😀♥▁ĠΣſ",
    "12", "3.5", "1,000", "''", "``", "'s", "'S", "n't", "l'", "...", '."', "),", "e\u0301", "\u0301",
    "❤\ufe0f", "👍🏽", "🇩🇪", "👩\u200d👩\u200d👧", "\u200b", "\u200d", "\u00ad", "\ufeff", "\u2060", "\x07",
    "\ufffd", "aA", "Aa", "a1", "1a", "a.", ".a", "中a", "[SEP]", "<s>", "</s>", "<|endoftext|>",
)  # fmt: skip


def splits_at_blanks(backend: Tokenizer) -> bool:
    """Whether this tokenizer, by its construction and in experiments, never joins across a single blank."""
    definition = json.loads(backend.to_str())
    return (
        any(map(_splits, _steps(definition["pre_tokenizer"])))
        and not any(map(_reaches_over_blanks, definition["added_tokens"]))
        and _neighbours_stay_apart(backend)
    )


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
    return kind in BLANK_SPLITTERS


def _reaches_over_blanks(token: dict[str, Any]) -> bool:
    # Special tokens are never looked for in text.
    return not token["special"] and bool(token["rstrip"] or " " in token["content"].strip(" "))


def _neighbours_stay_apart(backend: Tokenizer) -> bool:
    """Whether a text in which every pair stands side by side has the sub-words of its words alone."""

    def ids(text: str) -> list[int]:
        return list(backend.encode(text, add_special_tokens=False).ids)

    first, *rest = chain.from_iterable(product(NEIGHBOURS, repeat=2))
    alone = {word: ids(f" {word}") for word in NEIGHBOURS}
    return ids(" ".join([first, *rest])) == [*ids(first), *chain.from_iterable(map(alone.__getitem__, rest))]
