"""The convolutional classifier of the X2Static paper (Kim 2014 with one width of filters)."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordstill.evaluation.trained.config import CnnConfig
from wordstill.evaluation.trained.fitting import ClassifiedRows, Classifier, on_device, on_gpu
from wordstill.evaluation.trained.word_table import PADDING, Ids


class ConvolutionalClassifier(nn.Module):
    """A convolution over windows of words, max pooling over the sentence, and a linear layer.

    A convolution is linear, so each distinct word of a batch is multiplied by the filters once, and the products are
    added up over the windows: the same result with fewer products. On a GPU, products cost less than finding the
    distinct words, which would make the CPU wait. Windows are centered on words and padded with zeros.

    Args:
        matrix: Vectors, (rows, dim); the row ``PADDING`` is zeros.
        classes: Number of classes.
        config: Sizes.
        once: Whether to multiply each distinct word of a batch once; by default not on a GPU.
    """

    def __init__(self, matrix: Tensor, classes: int, config: CnnConfig, *, once: bool | None = None) -> None:
        super().__init__()
        self.once = once
        dim = matrix.shape[1]
        self.vectors = nn.Parameter(matrix.clone() if config.tuned else matrix, requires_grad=config.tuned)
        bound = 1 / math.sqrt(config.width * dim)
        self.filters = nn.Parameter(torch.empty(config.width, dim, config.filters).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(config.filters).uniform_(-bound, bound))
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.filters, classes)

    @property
    def margin(self) -> int:
        """Words of padding that a batch has on either side."""
        return len(self.filters) // 2

    def forward(self, rows: Tensor) -> Tensor:
        """Scores of the classes, (sentences, classes), for rows of shape (sentences, words + 2 margins)."""
        words = rows.shape[1] - 2 * self.margin
        once = not rows.is_cuda if self.once is None else self.once
        windows = self._added_up(rows, words) if once else self._multiplied(rows)
        inside = rows[:, self.margin : self.margin + words] != PADDING
        # Zero is the smallest value after ReLU, so it can mask windows outside the sentence.
        pooled = (torch.relu(windows) * inside[:, :, None]).amax(dim=1)
        scores: Tensor = self.output(self.dropout(pooled))
        return scores

    def _multiplied(self, rows: Tensor) -> Tensor:
        """The product of every window with all filters, (sentences, words, filters)."""
        windows = self._known(rows.unfold(1, len(self.filters), 1))
        return windows.flatten(2) @ self.filters.flatten(0, 1) + self.bias

    def _added_up(self, rows: Tensor, words: int) -> Tensor:
        """The same, from one product of each distinct word with each position of the filters."""
        distinct, places = torch.unique(rows, return_inverse=True)
        known = self._known(distinct)
        parts = (
            nn.functional.embedding(places[:, step : step + words], known @ weights)
            for step, weights in enumerate(self.filters)
        )
        return sum(parts, self.bias)

    def _known(self, rows: Tensor) -> Tensor:
        """Vectors; padding stays zero even if vectors are trained."""
        return nn.functional.embedding(rows, self.vectors, padding_idx=PADDING)


class ConvolutionTrainer(Classifier):
    """Trains a ``ConvolutionalClassifier`` and predicts with it.

    Args:
        matrix: Vectors, (rows, dim).
        classes: Number of classes.
        config: Sizes of the model and of a batch.
        device: Where it runs.
    """

    read_batches = 4
    config: CnnConfig

    def __init__(self, matrix: NDArray[np.float32], classes: int, config: CnnConfig, device: torch.device) -> None:
        self.matrix = torch.from_numpy(matrix).to(device)
        self.classes, self.config, self.device = classes, config, device

    def new_model(self) -> nn.Module:
        """A classifier with fresh filters."""
        return ConvolutionalClassifier(self.matrix, self.classes, self.config)

    def optimizer(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """Adam, as in the paper."""
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        return torch.optim.Adam(trained, lr=learning_rate, fused=on_gpu(self.device))

    def scores(self, model: nn.Module, part: ClassifiedRows, places: Ids) -> Tensor:
        """[sentences, classes]."""
        rows = on_device(part.sentences.padded(places, self.config.width // 2), self.device)
        scores: Tensor = model(rows)
        return scores
