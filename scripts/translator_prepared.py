"""What a translator is trained and measured on, made of files of pairs once for both directions.

tokenizer.json …   the vocabulary of both languages
ids.npz            sub-words of the pairs to train on
held-out.tsv       pairs to measure on
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import transformers
from translator_model import make_tokenizer
from translator_pairs import Pair, apart_from, lines_of, read_pairs
from translator_tokens import Rows, Tokenised

VOCABULARY_PAIRS = 200_000
IDS, HELD_OUT = "ids.npz", "held-out.tsv"


@dataclass(frozen=True)
class Prepared:
    """A vocabulary, pairs to train on, and pairs to measure on."""

    tokenizer: Any
    training: Tokenised
    held_out: list[Pair]

    @classmethod
    def of_files(cls, options: argparse.Namespace) -> Prepared:
        """Read, hold out, learn the vocabulary and make sub-words."""
        pairs = read_pairs(options.pairs, options.seed, options.limit)
        held_out = pairs[: options.held_out]
        training = apart_from(held_out, pairs[options.held_out :])
        tokenizer = make_tokenizer(training[:VOCABULARY_PAIRS], options.vocabulary)
        return cls(tokenizer, Tokenised.of(tokenizer, training), held_out)

    @classmethod
    def load(cls, folder: Path) -> Prepared:
        """What ``save`` wrote."""
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        with np.load(folder / IDS) as arrays:
            sides = [
                Rows(arrays[f"{side}_ids"].astype(np.int32), arrays[f"{side}_offsets"])
                for side in ("source", "target")
            ]
        training = Tokenised(int(tokenizer.pad_token_id), *sides)
        return cls(tokenizer, training, list(lines_of(folder / HELD_OUT)))

    def save(self, folder: Path) -> None:
        """Write everything; the sub-words last, which tell that the folder is whole."""
        self.tokenizer.save_pretrained(folder)
        lines = ("\t".join(pair) for pair in self.held_out)
        (folder / HELD_OUT).write_text("\n".join(lines) + "\n", encoding="utf-8")
        small = np.min_scalar_type(len(self.tokenizer))
        sources, targets = self.training.sources, self.training.targets
        np.savez(
            folder / IDS,
            source_ids=sources.ids.astype(small),
            source_offsets=sources.offsets,
            target_ids=targets.ids.astype(small),
            target_offsets=targets.offsets,
        )

    def reversed(self) -> Prepared:
        """The same pairs for translating the other way."""
        turned = [(second, first) for first, second in self.held_out]
        return Prepared(self.tokenizer, self.training.reversed(), turned)


def prepared(options: argparse.Namespace) -> Prepared:
    """What is in the folder already, or new, in the wanted direction."""
    folder: Path | None = options.prepared
    if folder is not None and (folder / IDS).exists():
        found = Prepared.load(folder)
    else:
        found = Prepared.of_files(options)
        if folder is not None:
            found.save(folder)
    return found.reversed() if options.reverse else found
