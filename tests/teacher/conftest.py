from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from wordstill.corpus import Corpus, PrepareConfig, prepare
from wordstill.teacher import Teacher
from wordstill.teacher.device import bfloat16_is_safe
from wordstill.teacher.tokenizer import SubwordTokenizer

# Tiny products gain nothing from threads, and wait for each other where other work goes on.
torch.set_num_threads(1)
if bfloat16_is_safe():
    # Where matrix tiles are broken, oneDNN is told so just before; it listens only at its first product.
    torch.nn.functional.linear(*torch.ones(2, 64, 64, dtype=torch.bfloat16))

NASTY_WORDS = (
    "👩\u200d👩\u200d👧", "🇩🇪", "🇩🇪🇫🇷", "👍🏽", "❤\ufe0f", "😀😀", "e\u0301te\u0301", "\u0301",
    "\u0323\u0301x", "o\u0323\u0302", "क्षि", "\u0f71\u0f72", "中国人", "漢字かなカナ", "한국어", "العربية",
    "שלום", "ภาษาไทย", "①", "㎏", "ﬁn", "https://example.org/a?b=c&d", "someone@example.org", "3.5",
    "1,000", "99.9%", "½", "x²", "don't", "don’t", "'tis", "l'été", "well-known", "x--y", 'end."', "end),",
    "...", "…", "!?", "«ça»", "„b“", "U.S.", "e.g.", "a\u00a0b", "a\u202fb", "\u3000全角", "ｆｕｌｌ",
    "\u200b", "a\u200bb", "\u200d", "so\u00adft", "\u00ad", "\x07", "a\x01b", "\ufeff", "\u2060",
    "\u202e", "\ufffd", "\U000e0001", "[SEP]", "x[SEP]y", "<s>", "</s>", "[CLS].", "<|endoftext|>",
    "<unk>", "<0x41>", "▁", "▁a", "Ġ", "``quoted''", "''", "ß", "İ", "ſ", "ΑΣ", "Σ", "C++", "a/b",
    "snake_case", "#tag", "@user", "$5", "5€", "+1", "the", "The", "river,", "(about", "them).",
)  # fmt: skip
"""What tokenizers and aligners stumble over."""


@pytest.fixture(scope="session")
def nasty_words() -> tuple[str, ...]:
    return NASTY_WORDS


@pytest.fixture(scope="session")
def unique_words() -> Callable[[], Iterator[str]]:
    """Gives words that never repeat, in letters that every tiny tokenizer knows."""

    def words() -> Iterator[str]:
        for number in count(9):
            spelling, rest = "", number
            while rest:
                rest, digit = divmod(rest, 8)
                spelling += "aeinorst"[digit]
            yield spelling

    return words


@pytest.fixture(params=["bert-uncased", "roberta", "gpt2", "llama3", "llama2", "xlmr", "t5"])
def tokenizer(request: pytest.FixtureRequest, tiny_teacher: Callable[..., Teacher]) -> SubwordTokenizer:
    """The tokenizer of each kind of teacher that batches differ for."""
    return tiny_teacher(request.param).tokenizer


@pytest.fixture(scope="session")
def write_store(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Corpus]:
    """Makes a store of paragraphs; settings as keywords of PrepareConfig."""

    def write(*paragraphs: str, **settings: Any) -> Corpus:
        folder: Path = tmp_path_factory.mktemp("corpus")
        file = folder / "text.txt"
        file.write_text("\n".join(paragraphs), encoding="utf-8", newline="")
        config = PrepareConfig(**{"format": "text"} | settings)
        return prepare([file], folder / "store", config, workers=1)

    return write


@pytest.fixture(scope="session")
def nasty_store(write_store: Callable[..., Corpus]) -> Corpus:
    """Every nasty word first, last and between others, and words of 10,000 characters."""
    paragraphs = [f"{word} the {word} river {word}{word}. {word} stands. So it {word}" for word in NASTY_WORDS]
    beside = [f"{left} {right}" for left, right in pairwise(NASTY_WORDS)]
    long = [f"A {'x' * 10_000} word. And {'é' * 10_000}, {'1' * 10_000}!", "z" * 10_000]
    return write_store(*paragraphs, " ".join(NASTY_WORDS), ". ".join(NASTY_WORDS), *beside, *long)
