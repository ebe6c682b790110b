"""Training taggers with several seeds, the best epoch of each being kept."""

from __future__ import annotations

import copy
from typing import Any

from torch import nn

from wordstill.evaluate.extrinsic.config import TaggerConfig
from wordstill.evaluate.extrinsic.examples import Splits, Words
from wordstill.evaluate.extrinsic.metrics import figure_of
from wordstill.evaluate.extrinsic.tag_coding import Surfaces, TagCoder, TaggedRows
from wordstill.evaluate.extrinsic.tagger import TaggingLearner
from wordstill.evaluate.extrinsic.training import Bar, Choice, fit, progress_bar
from wordstill.evaluate.extrinsic.word_table import Sentences, WordTable
from wordstill.teacher.device import choose_device


def tag_test_part(
    splits: Splits[Words],
    coder: TagCoder,
    words: Words,
    table: WordTable,
    config: TaggerConfig,
    seed: int,
    title: str,
    *,
    progress: bool,
) -> tuple[list[list[Words]], dict[str, Any]]:
    """The tags that each seed gives the test part, with the epochs that were kept.

    Args:
        splits: The three parts.
        coder: The tags.
        words: Every different word of them.
        table: Their vectors.
        config: Settings.
        seed: The first one.
        title: What the bar says.
        progress: Whether it is shown.
    """
    number = {word: place for place, word in enumerate(words, start=1)}
    surfaces = Surfaces.of(
        words, [table.rows[word] for word in words], {word for row in splits.train.sentences for word in row}
    )
    device = choose_device(config.device)
    learner = TaggingLearner(table.matrix, surfaces, len(coder.tags), config, device)
    train, dev, test = (
        TaggedRows(
            Sentences.of([[number[word] for word in sentence] for sentence in part.sentences]),
            coder.numbers(part),
        )
        for part in splits
    )
    predicted, epochs, figures = [], [], []
    with progress_bar(title, config.seeds * config.epochs * len(splits.train), show=progress) as bar:
        for offset in range(config.seeds):
            search = _BestEpoch(learner, coder, dev, splits.dev.targets, config.patience)
            model = search.train(train, Choice(config.learning_rate, config.epochs, 0.0), seed + offset, bar)
            bar.total -= (config.epochs - search.seen) * len(splits.train)
            predicted.append(coder.decode(learner.predict(model, test)))
            epochs.append(search.epoch)
            figures.append(search.figure)
    return predicted, {"epochs": epochs, "dev": figures}


class _BestEpoch:
    """Watches the development part, and keeps the weights of the best epoch."""

    def __init__(
        self,
        learner: TaggingLearner,
        coder: TagCoder,
        dev: TaggedRows,
        gold: tuple[Words, ...],
        patience: int,
    ) -> None:
        self.learner, self.coder, self.dev, self.gold, self.patience = learner, coder, dev, gold, patience
        self.figure, self.epoch, self.seen = 0.0, 0, 0
        self.weights: dict[str, Any] = {}

    def train(self, part: TaggedRows, choice: Choice, seed: int, bar: Bar) -> nn.Module:
        """Train, and go back to the best epoch."""
        model = fit(self.learner, part, choice, seed, bar, self._look)
        model.load_state_dict(self.weights)
        return model

    def _look(self, epoch: int, model: nn.Module) -> bool:
        counts = self.coder.counts(self.gold, self.coder.decode(self.learner.predict(model, self.dev)))
        figure = float(figure_of(counts))
        self.seen = epoch
        # Until the first span is found there is nothing to lose patience with.
        if figure > self.figure or self.figure == 0:
            self.figure, self.epoch, self.weights = figure, epoch, copy.deepcopy(model.state_dict())
        return epoch - self.epoch < self.patience
