"""A tagger: vectors and a character CNN, a bidirectional LSTM, a CRF (Ma & Hovy 2016)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wordstill.evaluate.extrinsic.config import TaggerConfig
from wordstill.evaluate.extrinsic.crf import Crf
from wordstill.evaluate.extrinsic.learner import on_device, on_gpu
from wordstill.evaluate.extrinsic.tag_coding import Surfaces, TaggedRows
from wordstill.evaluate.extrinsic.word_table import PADDING, Ids, Sentences, length_sorted

NCRFPP_DECAY = 0.05
NCRFPP_PENALTY = 1e-8


class CharacterCnn(nn.Module):
    """The largest value of each filter over the characters of a word, (words, filters)."""

    def __init__(self, kinds: int, size: int, filters: int) -> None:
        super().__init__()
        self.table = nn.Embedding(kinds, size, padding_idx=PADDING)
        self.filters = nn.Conv1d(size, filters, kernel_size=3, padding=1)

    def forward(self, characters: Tensor) -> Tensor:
        """Numbers of characters, (words, characters)."""
        if not characters.is_cuda:
            characters = characters[:, : max(1, int((characters != PADDING).sum(dim=1).max()))]
        values: Tensor = self.filters(self.table(characters).transpose(1, 2))
        outside = (characters == PADDING)[:, None, :]
        # Of padding itself nothing may come, not even minus infinity.
        pooled = values.masked_fill(outside, -torch.inf).amax(dim=2)
        return torch.where(outside.all(dim=2), 0.0, pooled)


class Tagger(nn.Module):
    """Scores of tags for every word, and the CRF over them.

    Args:
        matrix: Vectors, (rows, dim).
        surfaces: The words.
        tags: How many.
        config: Its sizes.
    """

    def __init__(self, matrix: Tensor, surfaces: Surfaces, tags: int, config: TaggerConfig) -> None:
        super().__init__()
        # On a GPU spelling every word costs less than waiting until the different ones are found.
        self.once = not matrix.is_cuda
        self.vectors = nn.Parameter(matrix.clone() if config.tuned else matrix, requires_grad=config.tuned)
        self.rows = nn.Buffer(torch.from_numpy(surfaces.rows))
        self.characters = nn.Buffer(torch.from_numpy(surfaces.characters))
        self.spelling = CharacterCnn(surfaces.kinds, config.character_size, config.character_filters)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(
            matrix.shape[1] + config.character_filters,
            config.hidden // 2,
            batch_first=True,
            bidirectional=True,
        )
        self.output = nn.Linear(config.hidden, tags)
        self.crf = Crf(tags)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Scores (sentences, words, tags) for numbers of surfaces (sentences, words).

        Lengths are on the CPU, the longest first: a batch that had to be sorted here would keep it waiting.
        """
        inputs = self.dropout(self._known(words))
        packed = pack_padded_sequence(inputs, lengths, batch_first=True)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores: Tensor = self.output(self.dropout(states))
        return scores

    def _known(self, words: Tensor) -> Tensor:
        """Vectors and spellings, (sentences, words, dim + filters)."""
        distinct, places = torch.unique(words, return_inverse=True) if self.once else (words.flatten(), None)
        known = torch.cat(
            [self.vectors[self.rows[distinct]], self.spelling(self.characters[distinct])], dim=1
        )
        return known.view(*words.shape, -1) if places is None else nn.functional.embedding(places, known)


class TaggingLearner:
    """Trains and asks ``Tagger``.

    Args:
        matrix: Vectors, (rows, dim).
        surfaces: The words.
        tags: How many.
        config: Sizes of the model and of a batch.
        device: Where it runs.
    """

    def __init__(
        self,
        matrix: NDArray[np.float32],
        surfaces: Surfaces,
        tags: int,
        config: TaggerConfig,
        device: torch.device,
    ) -> None:
        self.matrix = torch.from_numpy(matrix).to(device)
        self.surfaces, self.tags, self.config, self.device = surfaces, tags, config, device
        self.clip: float | None = config.clip

    def new_model(self) -> Tagger:
        """A tagger with fresh weights."""
        return Tagger(self.matrix, self.surfaces, self.tags, self.config)

    def optimiser(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """Adam, or plain gradient descent as in NCRF++."""
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        if self.config.optimiser == "sgd":
            return torch.optim.SGD(trained, lr=learning_rate, weight_decay=NCRFPP_PENALTY)
        return torch.optim.Adam(trained, lr=learning_rate, fused=on_gpu(self.device))

    def rate(self, learning_rate: float, epoch: int) -> float:
        """Constant with Adam; NCRF++ lets it fall."""
        if self.config.optimiser == "adam":
            return learning_rate
        return learning_rate / (1 + NCRFPP_DECAY * (epoch - 1))

    def losses(
        self, model: nn.Module, part: TaggedRows, random: np.random.Generator
    ) -> Iterator[tuple[Tensor, int]]:
        """The loss of every batch of one epoch: a sum over sentences with ``sgd``, else their mean."""
        assert isinstance(model, Tagger)
        for places in self._longest_first(part, self.config.batch, random):
            words, lengths = self._batch(part.sentences, places)
            tags = on_device(part.tags.padded(places), self.device)
            losses = model.crf.loss(model(words, lengths), tags, lengths)
            yield losses.sum() if self.config.optimiser == "sgd" else losses.mean(), len(places)

    @torch.inference_mode()
    def predict(self, model: nn.Module, part: TaggedRows) -> Sentences:
        """The best tags of each sentence."""
        assert isinstance(model, Tagger)
        predicted = np.zeros_like(part.sentences.rows)
        for places in self._longest_first(part, 4 * self.config.batch, None):
            words, lengths = self._batch(part.sentences, places)
            found = model.crf.decode(model(words, lengths), lengths.to(self.device)).cpu().numpy()
            for place, row in zip(places, found):
                start, end = part.sentences.starts[place : place + 2]
                predicted[start:end] = row[: end - start]
        return Sentences(predicted, part.sentences.starts)

    def size(self, part: TaggedRows) -> int:
        """Sentences of a part."""
        return len(part.sentences)

    def _longest_first(
        self, part: TaggedRows, size: int, random: np.random.Generator | None
    ) -> Iterator[Ids]:
        return (places[::-1] for places in length_sorted(part.sentences.lengths, size, random))

    def _batch(self, sentences: Sentences, places: Ids) -> tuple[Tensor, Tensor]:
        words = on_device(sentences.padded(places), self.device)
        return words, torch.from_numpy(sentences.lengths[places])
