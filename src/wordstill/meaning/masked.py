"""Substitutes for a word, predicted by a masked language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from wordstill.core.ragged import Ints
from wordstill.errors import TeacherError
from wordstill.meaning.occurrence import Occurrence
from wordstill.teacher import (
    SubwordTokenizer,
    batches_by_length,
    fingerprint,
    load_model_and_tokenizer,
    room_beside_specials,
    text_limit,
)
from wordstill.teacher.device import choose_device, choose_precision

CPU_BUDGET, GPU_BUDGET = 2048, 32768


class Candidate(NamedTuple):
    """A predicted word and its probability."""

    word: str
    probability: float


class MaskedModel:
    """A masked language model with a fast tokenizer.

    The target is replaced by a single mask token, so only words of one subword are predicted. The paper's released
    code joins the predictions for several masks rank by rank, which rarely gives words.

    Attributes:
        fingerprint: Hash of the weights below the head and of the tokenizer, as of the model as a teacher.

    Raises:
        TeacherError: The tokenizer has no mask token.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str, *, device: str = "auto", dtype: str = "auto") -> None:
        self.name = name
        self.tokenizer = SubwordTokenizer(tokenizer, name)
        if tokenizer.mask_token_id is None:
            raise TeacherError(f"{name} has no mask token; use a masked language model such as BERT.")
        self.mask_id = int(tokenizer.mask_token_id)
        self.device = choose_device(device)
        self.fingerprint = fingerprint(model.base_model, self.tokenizer.definition, exact=False)
        self.room = room_beside_specials(text_limit(model, self.tokenizer, None), self.tokenizer)
        self.model = model.eval().to(self.device, choose_precision(dtype, self.device))
        self._words = whole_words(self.tokenizer)
        self._budget = CPU_BUDGET if self.device.type == "cpu" else GPU_BUDGET
        allowed = torch.tensor([word is not None for word in self._words])
        size = int(self.model.get_output_embeddings().weight.shape[0])
        self._banned = torch.ones(size, dtype=torch.bool)
        self._banned[: len(allowed)] = ~allowed[:size]
        self._banned = self._banned.to(self.device)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: str = "auto", dtype: str = "auto") -> MaskedModel:
        """Load a model by folder or by name on the Hub.

        Raises:
            TeacherError: There is no such model, or it was not trained to fill masks.
        """
        model, tokenizer = load_model_and_tokenizer(name, "masked language model")
        return cls(model, tokenizer, str(name), device=device, dtype=dtype)

    def predict(
        self, occurrences: Sequence[Occurrence], top: int = 100, least: float = 0.0
    ) -> list[list[Candidate] | None]:
        """For each occurrence, up to ``top`` whole words above a minimum probability, the most probable first.

        None if the tokenizer drops the word, or the text is over the model's limit.
        """
        ids, places = self._masked(occurrences)
        found: list[list[Candidate] | None] = [None] * len(occurrences)
        lengths = np.array([0 if row is None else len(row) for row in ids], dtype=np.int64)
        for rows in batches_by_length(lengths, self._budget):
            best, which = self._forward([ids[row] for row in rows], places[rows], top)
            counts = (best > least).sum(dim=1).tolist()
            for row, count, probabilities, pieces in zip(rows.tolist(), counts, best, which):
                found[row] = [
                    Candidate(str(self._words[piece]), probability)
                    for probability, piece in zip(probabilities[:count].tolist(), pieces[:count].tolist())
                ]
        return found

    def _masked(self, occurrences: Sequence[Occurrence]) -> tuple[list[Ints | None], Ints]:
        """Subwords of each text with the target masked, and the position of the mask."""
        prefix, suffix = self.tokenizer.prefix, self.tokenizer.suffix
        encoded = self.tokenizer.encode([occurrence.text for occurrence in occurrences])
        spans = np.array([(one.start, one.end) for one in occurrences], dtype=np.int64).reshape(-1, 2)
        start, end = encoded.align(np.arange(len(spans)), *spans.T)
        lengths = np.diff(encoded.offsets) - (end - start) + 1
        ids: list[Ints | None] = [None] * len(occurrences)
        for number in np.flatnonzero((start < end) & (lengths <= self.room)).tolist():
            low, high = encoded.offsets[number], encoded.offsets[number + 1]
            left, right = encoded.ids[low : start[number]], encoded.ids[end[number] : high]
            ids[number] = np.concatenate([prefix, left, [self.mask_id], right, suffix]).astype(np.int64)
        return ids, start - encoded.offsets[:-1] + len(prefix)

    @torch.inference_mode()
    def _forward(self, rows: Sequence[Ints | None], places: Ints, top: int) -> tuple[Tensor, Tensor]:
        texts = [torch.from_numpy(row) for row in rows if row is not None]
        padded = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=self.tokenizer.pad_id)
        lengths = torch.tensor([len(text) for text in texts])
        mask = torch.arange(padded.shape[1]) < lengths[:, None]
        with _head_at(self.model, torch.from_numpy(places).to(self.device)):
            logits = self.model(input_ids=padded.to(self.device), attention_mask=mask.long().to(self.device)).logits
        # Probabilities are over the whole vocabulary; subwords that are not whole words are removed afterwards.
        probabilities = torch.softmax(logits.float(), dim=-1).masked_fill(self._banned, 0.0)
        best, which = probabilities.topk(min(top, probabilities.shape[-1]), dim=-1)
        return best.cpu(), which.cpu()


def whole_words(tokenizer: SubwordTokenizer) -> list[str | None]:
    """The word of each subword that is a whole word; None for parts of words, punctuation and special tokens."""
    backend = tokenizer.backend
    size = backend.get_vocab_size()
    decoded = (backend.decode([number], skip_special_tokens=False) for number in range(size))
    # Tokenizers without a decoder keep the mark of the space before a word.
    texts = [text.strip().lstrip("Ġ▁") for text in decoded]
    encoded = backend.encode_batch([f" {text}" for text in texts], add_special_tokens=False)
    return [
        text if text.isalpha() and encoding.ids == [number] else None
        for number, (text, encoding) in enumerate(zip(texts, encoded))
    ]


@contextmanager
def _head_at(model: Any, places: Tensor) -> Iterator[None]:
    """Compute the output layer at one position of each row; for all positions it would be most of the work."""

    def pick(_: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden = inputs[0]
        return (hidden[torch.arange(len(hidden), device=hidden.device), places], *inputs[1:])

    hook = model.get_output_embeddings().register_forward_pre_hook(pick)
    try:
        yield
    finally:
        hook.remove()
