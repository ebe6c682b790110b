"""Tagging: chunks, parts of speech and names, word by word."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wordstill.core.patience import Patience
from wordstill.errors import TrainingError
from wordstill.evaluation.data.examples import TAGS, Published, Splits, Words, divide_in_order, tag_problem
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.text_sets import read_own_tagged
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.tasks.base import Task
from wordstill.evaluation.trained.config import NCRFPP, TaggerConfig, require_training
from wordstill.evaluation.trained.crf import Crf
from wordstill.evaluation.trained.fitting import Bar, Choice, Learner, fit, on_device, on_gpu, progress_bar
from wordstill.evaluation.trained.tags import Surfaces, TagCoder, TaggedRows, are_spans, score_of
from wordstill.evaluation.trained.trained_score import Frame, TrainedScore
from wordstill.evaluation.trained.word_table import PADDING, Ids, Sentences, WordTable, distinct_words, length_sorted
from wordstill.teacher.device import choose_device

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


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
            matrix.shape[1] + config.character_filters, config.hidden // 2, batch_first=True, bidirectional=True
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
        known = torch.cat([self.vectors[self.rows[distinct]], self.spelling(self.characters[distinct])], dim=1)
        return known.view(*words.shape, -1) if places is None else nn.functional.embedding(places, known)


class TaggingLearner(Learner[TaggedRows]):
    """Trains and asks ``Tagger``.

    Args:
        matrix: Vectors, (rows, dim).
        surfaces: The words.
        tags: How many.
        config: Sizes of the model and of a batch.
        device: Where it runs.
    """

    def __init__(
        self, matrix: NDArray[np.float32], surfaces: Surfaces, tags: int, config: TaggerConfig, device: torch.device
    ) -> None:
        self.matrix = torch.from_numpy(matrix).to(device)
        self.surfaces, self.tags, self.config, self.device = surfaces, tags, config, device
        self.clip = config.clip

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

    def losses(self, model: nn.Module, part: TaggedRows, random: np.random.Generator) -> Iterator[tuple[Tensor, int]]:
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

    def _longest_first(self, part: TaggedRows, size: int, random: np.random.Generator | None) -> Iterator[Ids]:
        return (places[::-1] for places in length_sorted(part.sentences.lengths, size, random))

    def _batch(self, sentences: Sentences, places: Ids) -> tuple[Tensor, Tensor]:
        words = on_device(sentences.padded(places), self.device)
        return words, torch.from_numpy(sentences.lengths[places])


def tag_test_part(
    splits: Splits[Words],
    coder: TagCoder,
    surfaces: Surfaces,
    numbers: Sequence[Sequence[Sequence[int]]],
    matrix: NDArray[np.float32],
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
        surfaces: The words.
        numbers: Those of the surfaces of each sentence of each part.
        matrix: Their vectors, (rows, dim).
        config: Settings.
        seed: The first one.
        title: What the bar says.
        progress: Whether it is shown.
    """
    learner = TaggingLearner(matrix, surfaces, len(coder.tags), config, choose_device(config.device))
    train, dev, test = (
        TaggedRows(Sentences.of(of_part), coder.numbers(part)) for part, of_part in zip(splits, numbers, strict=True)
    )
    predicted, epochs, scores = [], [], []
    with progress_bar(title, config.seeds * config.epochs * len(splits.train), show=progress) as bar:
        for offset in range(config.seeds):
            search = _BestEpoch(learner, coder, dev, splits.dev.targets, config.patience)
            model = search.train(train, Choice(config.learning_rate, config.epochs, 0.0), seed + offset, bar)
            bar.total -= (config.epochs - search.stopping.step) * len(splits.train)
            predicted.append(coder.decode(learner.predict(model, test)))
            epochs.append(search.stopping.best_step)
            scores.append(search.stopping.best)
    return predicted, {"epochs": epochs, "dev": scores}


DIGIT = re.compile(r"\d")


def spelled(word: str, config: TaggerConfig) -> str:
    """A word as it is looked up and spelled."""
    return DIGIT.sub("0", word) if config.digits_to_zero else word


class _BestEpoch:
    """Early stopping on the development part, which keeps the weights of the best epoch."""

    def __init__(
        self, learner: TaggingLearner, coder: TagCoder, dev: TaggedRows, gold: tuple[Words, ...], patience: int
    ) -> None:
        self.learner, self.coder, self.dev, self.gold = learner, coder, dev, gold
        self.stopping = Patience(patience)
        self.weights: dict[str, Any] = {}

    def train(self, part: TaggedRows, choice: Choice, seed: int, bar: Bar) -> nn.Module:
        """Train, and go back to the best epoch."""
        model = fit(self.learner, part, choice, seed, bar, self._look)
        model.load_state_dict(self.weights)
        return model

    def _look(self, epoch: int, model: nn.Module) -> bool:
        counts = self.coder.counts(self.gold, self.coder.decode(self.learner.predict(model, self.dev)))
        if self.stopping.best == 0:
            # Until the first span is found there is nothing to lose patience with.
            self.stopping.best = -math.inf
        if self.stopping.update(float(score_of(counts)), epoch):
            self.weights = copy.deepcopy(model.state_dict())
        return not self.stopping.should_stop


class TaggingTask(Task[Published[Words]]):
    """F1 of spans, or the accuracy of tags where they are no spans, of a BiLSTM with a CRF.

    Spans are learnt as BIOES. Each seed is trained on the training part, and its epoch that is best on the
    development part is scored. Words that the table lacks are still read by their characters; under the rule
    ``skip`` they have a vector of zeros, since every word must get a tag.

    Args:
        dataset: The name of a set of the registry, the path of an own file with a word and its tag on each
            line and a blank line between sentences, or a set that was read already.
        config: Settings of the tagger.
        progress: Show a bar with the rate and the time left.
    """

    kind = "tagging"
    needs = (TAGS,)
    own_reader = staticmethod(read_own_tagged)
    trains = True

    def __init__(
        self,
        dataset: str | Path | LoadedDataset[Published[Words]],
        config: TaggerConfig | None = None,
        *,
        progress: bool = False,
    ) -> None:
        super().__init__(dataset, progress=progress)
        self.config = config or TaggerConfig()

    @property
    def metric(self) -> str:
        """``span_f1`` or ``accuracy``, by the tags of the set."""
        return "span_f1" if are_spans(self.dataset.content.train.targets) else "accuracy"

    def words(self) -> tuple[str, ...]:
        """Every different word of the set."""
        return distinct_words(self.dataset.content.sentences())

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> TrainedScore:
        """Score a table; the seed is the first of training and that of the bootstrap."""
        rules, config = resolve(protocol), self.config
        splits = divide_in_order(self.dataset.content).thinned(config.limit, seed=0)
        sentences = [sentence for part in splits for sentence in part.sentences]
        words = distinct_words(sentences)
        forms = [spelled(word, config) for word in words]
        table = WordTable.of(words, vectors, rules, leave_out=False, scale=config.scale, forms=forms)
        if config.absent == "random" and rules.oov == "skip":
            table = table.with_random_absent(seed)
        frame = Frame(self.kind, self.metric, self.dataset, rules, table.coverage(sentences))
        if problem := tag_problem(splits) or frame.coverage_problem():
            return frame.without_score(problem)
        require_training("The tagger")

        coder = TagCoder.of(splits.train)
        number = {word: place for place, word in enumerate(words, start=1)}
        numbers = [[[number[word] for word in sentence] for sentence in part.sentences] for part in splits]
        seen = {spelled(word, config) for row in splits.train.sentences for word in row}
        surfaces = Surfaces.of(forms, [table.rows[word] for word in words], seen)
        try:
            predicted, settings = tag_test_part(
                splits, coder, surfaces, numbers, table.matrix, config, seed, self.name, progress=self.progress
            )
        except TrainingError as error:
            return frame.without_score(str(error))
        counts = np.stack([coder.counts(splits.test.targets, tags) for tags in predicted])
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), settings, seed)


class NcrfppTask(TaggingTask):
    """The same with every setting of NCRF++, which the papers used: 100 epochs of small steps, vectors trained too."""

    kind = "ncrfpp"

    def __init__(
        self,
        dataset: str | Path | LoadedDataset[Published[Words]],
        config: TaggerConfig | None = None,
        *,
        progress: bool = False,
    ) -> None:
        super().__init__(dataset, config or NCRFPP, progress=progress)
