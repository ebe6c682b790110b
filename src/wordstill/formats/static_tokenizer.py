"""``tokenizer.json`` of static sentence models: the one that we write, and those that come with other tables.

The tokenizer that we write finds the words and phrases of `wordstill.vectors.sentences` in a text, and drops those
that the table does not have, so that the mean over its tokens equals the vector of `SentenceEncoder`:

    normalizer      composed characters, lower case if no word of the table has a capital, single spaces
    pre-tokenizer   a pattern of phrases and words, the rest removed; a marker before each and for its spaces
    model           byte-pair encoding without merges: a word of the vocabulary is a token, and any other word falls
                    into characters, which are dropped because no token is a single character

A tokenizer cannot look up a word as written and then in lower case. So a table with capitals gets additional tokens:
its lower-case words capitalized and in all caps, unless the table has these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import FormatError, MissingExtra
from wordstill.formats.record import read_object
from wordstill.vectors.compressed import Matrix
from wordstill.vectors.sentences import APOSTROPHES, CJK, composed, pattern_for, pattern_text, phrases_of

MARKERS = "▁▂▃▄▅▆▇█\ue000\ue001\ue002\ue003"
LETTER, MARKS = rf"[\p{{L}}\p{{N}}&&[^{CJK}]]", r"\p{M}"
END = rf"(?!(?<![{CJK}])(?:{LETTER}|[{MARKS}]|[{APOSTROPHES}]{LETTER}))"
"""Where a phrase must end: not inside a word."""


@dataclass(frozen=True)
class WordTokens:
    """The tokens of a table's words."""

    tokens: tuple[str, ...]
    """A token for each row, then those for other spellings."""
    rows: tuple[int, ...]
    """The row of each token."""
    words: int
    """Number of tokens that are not other spellings."""
    marker: str
    spelled: Mapping[str, str]
    """Words that cannot be derived from their tokens."""
    lower: bool
    phrases: tuple[str, ...]
    """Phrases that are a single token in texts, with single spaces."""

    @classmethod
    def of(cls, words: Sequence[str]) -> WordTokens:
        """Choose the tokens."""
        letters = set().union(*words)
        marker = next((marker for marker in MARKERS if marker not in letters), None)
        if marker is None:
            raise FormatError(f"The words of the table have all of the characters {' '.join(MARKERS)}.")
        lower = all(word == word.lower() for word in words)
        phrases = phrases_of(words)
        found_as = {word: phrase for phrase, word in phrases.items()}
        tokens = [
            marker + (found_as[word].replace(" ", marker) if word in found_as else word or marker) for word in words
        ]
        spelled = {token: word for token, word in zip(tokens, words) if word_of(token, marker) != word}
        more = {} if lower else other_spellings({found_as.get(word, word): row for row, word in enumerate(words)})
        return cls(
            (*tokens, *(marker + name.replace(" ", marker) for name in more)),
            (*range(len(words)), *more.values()),
            len(words),
            marker,
            spelled,
            lower,
            (*phrases, *(name for name in more if " " in name)),
        )

    def record(self) -> dict[str, Any]:
        """The information that `words_of` needs."""
        return {"marker": self.marker, "words": self.words, "spelled": dict(self.spelled)}

    def settings(self) -> dict[str, Any]:
        """The content of ``tokenizer.json``."""
        case = [{"type": "Lowercase"}] if self.lower else []
        space = {"type": "Replace", "pattern": {"Regex": r"[\s_]+"}, "content": " "}
        words = {"type": "Split", "pattern": {"Regex": self.pattern()}, "behavior": "Removed", "invert": True}
        marks = {"type": "Metaspace", "replacement": self.marker, "prepend_scheme": "always", "split": False}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, *case, space]},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, marks]},
            "post_processor": None,
            "decoder": None,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": True,
                "vocab": dict(zip(self.tokens, range(len(self.tokens)))),
                "merges": [],
            },
        }

    def pattern(self) -> str:
        """A regular expression for phrases, longest first, and words."""
        words = pattern_text(LETTER, MARKS)
        # The end is checked once after all phrases, because character classes take long to compile.
        return f"{one_of(self.phrases)}{END}|{words}" if self.phrases else words


def word_of(token: str, marker: str) -> str:
    """The word or phrase of a token."""
    return token[1:].replace(marker, " ")


def words_of(tokens: Sequence[str], record: Mapping[str, Any]) -> list[str]:
    """The words of a table, from its tokens in order and `WordTokens.record`."""
    marker, count, spelled = record.get("marker"), record.get("words"), record.get("spelled")
    if not isinstance(marker, str) or type(count) is not int or not isinstance(spelled, dict):
        raise FormatError("its 'tokens' must have 'marker', 'words' and 'spelled'")
    if not 0 <= count <= len(tokens):
        raise FormatError(f"its 'tokens' counts {count} words, but there are {len(tokens)} tokens")
    return [str(spelled.get(token, word_of(token, marker))) for token in tokens[:count]]


def other_spellings(names: Mapping[str, int]) -> dict[str, int]:
    """Capitalized and all-caps spellings of lower-case words and phrases, with the row of the word."""
    more: dict[str, int] = {}
    for name, row in names.items():
        if name == name.lower() and name != name.upper() and found_in_texts(name):
            capitals = " ".join(part[:1].upper() + part[1:] for part in name.split(" "))
            for other in (name[:1].upper() + name[1:], capitals, name.upper()):
                if other not in names and other.lower() == name:
                    more.setdefault(other, row)
    return more


def found_in_texts(name: str) -> bool:
    """Whether splitting a text can yield this word or phrase."""
    pieces = pattern_for(name).findall(name)
    return composed(name) == name and (pieces == [name] or (len(pieces) > 1 and " " in name))


def one_of(texts: Iterable[str]) -> str:
    """A regular expression that matches the longest of some texts, built from a trie."""
    tree: dict[str, Any] = {}
    for text in texts:
        node = tree
        for letter in text:
            node = node.setdefault(letter, {})
        node[""] = ""
    return _branches(tree)


def _branches(tree: Mapping[str, Any]) -> str:
    # Longer texts come before the end of a shorter one.
    parts = [*_branch_texts(tree), *([""] if "" in tree else [])]
    return parts[0] if parts == [""] else f"(?:{'|'.join(parts)})"


def _branch_texts(tree: Mapping[str, Any]) -> Iterator[str]:
    for letter, below in tree.items():
        run = letter
        while len(below) == 1 and "" not in below:
            ((following, below),) = below.items()
            run += following
        if letter:
            yield re.escape(run).replace(r"\ ", " ") + _branches(below)


def read_tokens(path: Path) -> list[str]:
    """The tokens in the order of their ids, for any kind of tokenizer."""
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


class LoadedTokenizer:
    """The tokenizer that came with a table; splits texts, and words that are not tokens.

    Args:
        path: The ``tokenizer.json``.
        tokens: The table's words, in the order of the tokenizer's ids.
        matrix: Their vectors.
        unknown: Whether to keep the unknown token.
    """

    def __init__(self, path: Path, tokens: Sequence[str], matrix: Matrix, *, unknown: bool) -> None:
        self.path, self.tokens, self._matrix = path, tokens, matrix
        self.text = path.read_bytes().decode("utf-8", "replace")
        model = read_object(path)["model"]
        self._unknown = None if unknown else _unknown_number(model, tokens)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [self.tokens[number] for number in self._numbers(text)]

    def vector(self, word: str) -> NDArray[np.float32]:
        """The mean vector of a word's tokens; zeros if it has none."""
        numbers = self._numbers(word)
        if not numbers:
            return np.zeros(self._matrix.shape[1], dtype=np.float32)
        mean: NDArray[np.float32] = self._matrix[numbers].mean(axis=0, dtype=np.float32)
        return mean

    def _numbers(self, text: str) -> list[int]:
        numbers = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [number for number in numbers if number != self._unknown]

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra("tokenizers", "distill", "Splitting text by a table's own tokenizer") from None
        try:
            tokenizer = Tokenizer.from_str(self.text)
        except Exception as error:
            # The library has no error classes.
            raise FormatError(f"{self.path} cannot be used as a tokenizer: {error}.") from None
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _unknown_number(model: Mapping[str, Any], tokens: Sequence[str]) -> int | None:
    """The id of the unknown token."""
    name, number = model.get("unk_token"), model.get("unk_id")
    if isinstance(name, str):
        return tokens.index(name) if name in tokens else None
    return number if isinstance(number, int) else None
