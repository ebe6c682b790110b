"""ELMo's subwords: the bytes of each token, of which the model makes words again."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from torch import Tensor

BEGIN_TEXT, END_TEXT, BEGIN_WORD, END_WORD, PADDING = range(256, 261)
"""Characters beside the 256 bytes, as the authors number them."""
CHARACTERS = 261
SUBWORDS = CHARACTERS + 256
"""A byte inside a token has its own number; the first one of a token is counted from ``CHARACTERS`` on."""
LONGEST_TEXT = 1 << 30
INSIDE = "▸"
"""In front of a byte that does not begin a token; the alphabet of bytes lacks it."""
TOKENS = "|".join(
    [
        r"(?<!\w)\d+(?:[.,:/]\d+)*(?!\w)",
        r"(?<!\w)(?:\p{L}\.){2,}",
        r"(?<=\w)[nN]['’][tT](?!\w)",
        r"(?<=\w)['’](?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL])(?!\w)",
        r"\.{2,}|-{2,}",
        r"(?<!\w)['’-]|['’-](?!\w)",
        r"[^\w\s'’-]",
    ]
)
"""What stands as a token of its own, about as in the text that ELMo was trained on: ``do n't``, ``U.S.``,
``well-known``, ``3.5``. All else between two of them, or between spaces, is a token too."""


def make_tokenizer() -> Any:
    """A fast tokenizer whose subwords are bytes."""
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(_vocabulary(), [], continuing_subword_prefix=INSIDE))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s+"), "removed"),
            pre_tokenizers.Split(Regex(TOKENS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<S> $A </S>", special_tokens=[("<S>", BEGIN_TEXT), ("</S>", END_TEXT)]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend, bos_token="<S>", eos_token="</S>", pad_token="<pad>", model_max_length=LONGEST_TEXT
    )


def characters_of(subwords: Tensor, word: Tensor, words: int, longest: int) -> Tensor:
    """The characters of some tokens [N, longest], each between marks and filled up.

    Args:
        subwords: All subwords, token by token [P].
        word: The token of each, from 0, ascending [P].
        words: Number of tokens, N.
        longest: Characters of a token, its two marks counted; what is longer is cut.
    """
    lengths = torch.bincount(word, minlength=words)
    place = torch.arange(len(subwords), device=word.device) - (lengths.cumsum(0) - lengths)[word]
    kept = place < longest - 2
    found = torch.full((words, longest), PADDING, dtype=torch.int64, device=word.device)
    found[:, 0] = BEGIN_WORD
    found[word[kept], place[kept] + 1] = character_of(subwords[kept])
    ends = lengths.clamp(max=longest - 2) + 1
    return found.scatter_(1, ends[:, None], END_WORD)


def character_of(subwords: Tensor) -> Tensor:
    """The character that a subword is, whether it begins a token or not."""
    return torch.where(subwords >= CHARACTERS, subwords - CHARACTERS, subwords)


def begins_token(subwords: Tensor) -> Tensor:
    """Which subwords begin a token; the marks around a text are tokens too."""
    return (subwords >= CHARACTERS) | (subwords == BEGIN_TEXT) | (subwords == END_TEXT)


def _vocabulary() -> dict[str, int]:
    numbers = {name: byte for byte, name in _names_of_bytes().items()}
    inside = {f"{INSIDE}{name}": byte for name, byte in numbers.items()}
    specials = {"<S>": BEGIN_TEXT, "</S>": END_TEXT, "<begin>": BEGIN_WORD, "<end>": END_WORD, "<pad>": PADDING}
    return inside | specials | {name: CHARACTERS + byte for name, byte in numbers.items()}


def _names_of_bytes() -> dict[int, str]:
    """The letter that stands for each byte in byte-level tokenizers: itself if it can be seen, else one from U+0100."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(256 + place) for place, byte in enumerate(unseen)}
