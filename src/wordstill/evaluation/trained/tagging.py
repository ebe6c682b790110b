"""Tagging with a BiLSTM-CRF: chunks, parts of speech and names."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wordstill.core.early_stopping import Patience
from wordstill.core.progress import count_bar
from wordstill.core.settings import Config
from wordstill.evaluation.data.examples import TAGS, Published, Splits, Words, divide_in_order
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.text_sets import read_own_tagged
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.trained.base import (
    NO_TEACHER,
    Predicted,
    Ready,
    TagTargets,
    TrainedTask,
    running_words,
    table_problem,
)
from wordstill.evaluation.trained.config import NCRFPP, TaggerConfig, require_training
from wordstill.evaluation.trained.crf import Crf
from wordstill.evaluation.trained.fitting import Choice, Trainer, fit, on_device, on_gpu
from wordstill.evaluation.trained.tags import Surfaces, TagCoder, TaggedRows, score_of
from wordstill.evaluation.trained.word_table import PADDING, Ids, Sentences, WordTable, distinct_words, length_sorted
from wordstill.teacher import Teacher, TeacherConfig, recorded_teacher
from wordstill.teacher.device import choose_device
from wordstill.teacher.spans import Spans, StateReader

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


NCRFPP_DECAY = 0.05
NCRFPP_PENALTY = 1e-8


class CharacterCnn(nn.Module):
    """A convolution over the characters of a word with max pooling, (words, filters)."""

    def __init__(self, kinds: int, size: int, filters: int) -> None:
        super().__init__()
        self.table = nn.Embedding(kinds, size, padding_idx=PADDING)
        self.filters = nn.Conv1d(size, filters, kernel_size=3, padding=1)

    def forward(self, characters: Tensor) -> Tensor:
        """Of character numbers (words, characters)."""
        if not characters.is_cuda:
            characters = characters[:, : max(1, int((characters != PADDING).sum(dim=1).max()))]
        values: Tensor = self.filters(self.table(characters).transpose(1, 2))
        outside = (characters == PADDING)[:, None, :]
        # Padding alone gives zeros, not minus infinity.
        pooled = values.masked_fill(outside, -torch.inf).amax(dim=2)
        return torch.where(outside.all(dim=2), 0.0, pooled)


class Tagger(nn.Module):
    """Scores of tags for every word, and the CRF over them.

    Args:
        matrix: Vectors, (rows, dim).
        surfaces: The words.
        tags: Number of tags.
        config: Sizes.
    """

    def __init__(self, matrix: Tensor, surfaces: Surfaces, tags: int, config: TaggerConfig) -> None:
        super().__init__()
        # On a GPU, spelling every word costs less than waiting until the distinct ones are found.
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

        Lengths are on the CPU, the longest first, so that nothing waits for a GPU to sort the batch.
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


class TaggingTrainer(Trainer[TaggedRows]):
    """Trains a ``Tagger`` and predicts with it.

    Args:
        matrix: Vectors, (rows, dim).
        surfaces: The words.
        tags: Number of tags.
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

    def optimizer(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """Adam, or SGD as in NCRF++."""
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        if self.config.optimiser == "sgd":
            return torch.optim.SGD(trained, lr=learning_rate, weight_decay=NCRFPP_PENALTY)
        return torch.optim.Adam(trained, lr=learning_rate, fused=on_gpu(self.device))

    def rate(self, learning_rate: float, epoch: int) -> float:
        """Constant with Adam; it decays as in NCRF++ with SGD."""
        if self.config.optimiser == "adam":
            return learning_rate
        return learning_rate / (1 + NCRFPP_DECAY * (epoch - 1))

    def losses(self, model: nn.Module, part: TaggedRows, random: np.random.Generator) -> Iterator[tuple[Tensor, int]]:
        """The loss of every batch of one epoch: the sum over sentences with ``sgd``, else the mean."""
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


DIGIT = re.compile(r"\d")


def spelled(word: str, config: TaggerConfig) -> str:
    """A word as it is looked up and spelled."""
    return DIGIT.sub("0", word) if config.digits_to_zero else word


class BestEpoch:
    """Early stopping on the development part that keeps the weights of the best epoch."""

    def __init__(
        self, trainer: TaggingTrainer, coder: TagCoder, dev: TaggedRows, gold: tuple[Words, ...], patience: int
    ) -> None:
        self.trainer, self.coder, self.dev, self.gold = trainer, coder, dev, gold
        self.stopping = Patience(patience)
        self.weights: dict[str, Any] = {}

    def train(self, part: TaggedRows, choice: Choice, seed: int, bar: Any) -> nn.Module:
        """Train, and restore the best epoch."""
        model = fit(self.trainer, part, choice, seed, bar, self.after_epoch)
        model.load_state_dict(self.weights)
        return model

    def after_epoch(self, epoch: int, model: nn.Module) -> bool:
        """Score an epoch, and return whether to continue."""
        counts = self.coder.counts(self.gold, self.coder.decode(self.trainer.predict(model, self.dev)))
        if self.stopping.best == 0:
            # Patience starts with the first span that is found.
            self.stopping.best = -math.inf
        if self.stopping.update(float(score_of(counts)), epoch):
            self.weights = copy.deepcopy(model.state_dict())
        return not self.stopping.should_stop


class TaggerInput(NamedTuple):
    """Words as the tagger reads them."""

    surfaces: Surfaces
    numbers: list[list[list[int]]]
    """The surface numbers of each sentence of each part."""
    matrix: NDArray[np.float32]
    """Their vectors, (rows, dim)."""


class TaggingTask(TrainedTask[TaggerConfig]):
    """Span F1, or the accuracy of tags that are not spans, of a BiLSTM with a CRF.

    Spans are learned as BIOES. Each seed trains on the training part, and its best epoch on the development part is
    scored. Words that the table lacks are still read by their characters; with ``oov=skip`` their vector is zeros,
    since every word must get a tag. A user's own file has a word and its tag on each line, and an empty line between
    sentences.
    """

    kind = "tagging"
    needs = (TAGS,)
    own_reader = staticmethod(read_own_tagged)
    usual: ClassVar[Config] = TaggerConfig()

    def _splits(self) -> Splits[Words]:
        return divide_in_order(self.dataset.content).thinned(self.config.limit, seed=0)

    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[Words], seed: int) -> Ready:
        config, sentences = self.config, [sentence for part in splits for sentence in part.sentences]
        words = distinct_words(sentences)
        forms = [spelled(word, config) for word in words]
        table = WordTable.of(words, vectors, rules, leave_out=False, scale=config.scale, forms=forms)
        if config.absent == "random" and rules.oov == "skip":
            table = table.with_random_absent(seed)
        coverage = table.coverage(sentences)

        def predict(targets: TagTargets) -> Predicted:
            number = {word: place for place, word in enumerate(words, start=1)}
            numbers = [[[number[word] for word in sentence] for sentence in part.sentences] for part in splits]
            surfaces = Surfaces.of(forms, [table.rows[word] for word in words], _seen(splits, config))
            return self._predict(splits, targets.coder, TaggerInput(surfaces, numbers, table.matrix), seed)

        return Ready(coverage, table_problem(coverage), predict)

    def _predict(self, splits: Splits[Words], coder: TagCoder, given: TaggerInput, seed: int) -> Predicted:
        """Each seed's tags for the test part, as numbers, with the epochs that were kept."""
        require_training("The tagger")
        config, size = self.config, len(splits.train)
        trainer = TaggingTrainer(given.matrix, given.surfaces, len(coder.tags), config, choose_device(config.device))
        train, dev, test = (
            TaggedRows(Sentences.of(of_part), coder.numbers(part))
            for part, of_part in zip(splits, given.numbers, strict=True)
        )
        predicted, epochs, scores = [], [], []
        with count_bar(self.name, config.seeds * config.epochs * size, "sentences", show=self.progress) as bar:
            for offset in range(config.seeds):
                search = BestEpoch(trainer, coder, dev, splits.dev.targets, config.patience)
                model = search.train(train, Choice(config.learning_rate, config.epochs, 0.0), seed + offset, bar)
                bar.total -= (config.epochs - search.stopping.step) * size
                predicted.append(trainer.predict(model, test).rows)
                epochs.append(search.stopping.best_step)
                scores.append(search.stopping.best)
        return predicted, {"epochs": epochs, "dev": scores}


class NcrfppTask(TaggingTask):
    """The same with all settings of NCRF++, which the papers used: 100 epochs of small steps, vectors trained too."""

    kind = "ncrfpp"
    usual = NCRFPP


class StatesTask(TaggingTask):
    """The tagger over the last states of the frozen model that vectors were distilled from.

    A word is the mean state of its subwords in its sentence (the rows BERT and GPT-2 of the papers' tables on tagging);
    a word that the tokenizer drops is zeros. Only the table's provenance is used. Everything else is as in
    `TaggingTask`. Memory: a vector for every running word of the set.

    Args:
        dataset: As for `TaggingTask`.
        config: Settings of the tagger.
        teacher: A folder, a name on the Hub, or the embedded model; None takes what the table's provenance names.
        progress: Show a bar with the rate and the time left.
    """

    kind = "states"

    def __init__(
        self,
        dataset: str | Path | LoadedDataset[Published[Words]],
        config: TaggerConfig | None = None,
        *,
        teacher: str | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(dataset, config, progress=progress)
        self.teacher = teacher

    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[Words], seed: int) -> Ready:
        teacher = self.teacher or recorded_teacher(vectors)

        def predict(targets: TagTargets) -> Predicted:
            assert teacher is not None, "Ready has a problem without a teacher"
            given = _running_input(splits, self.config, teacher)
            predicted, settings = self._predict(splits, targets.coder, given, seed)
            return predicted, {"teacher": teacher, **settings}

        return Ready(running_words(splits), None if teacher else NO_TEACHER, predict)


def word_states(teacher: str, sentences: Sequence[Words], device: str = "auto") -> NDArray[np.float32]:
    """States [words + 1, width] of the running words of sentences, scaled to mean square 1, after a row of zeros."""
    model = Teacher.from_config(TeacherConfig(teacher, device))
    reader = StateReader(model, str(model.depth))
    matrix = np.zeros((1 + sum(map(len, sentences)), model.width), dtype=np.float32)
    for numbers, states in reader.read([" ".join(sentence) for sentence in sentences], Spans.of_words(sentences)):
        matrix[1 + numbers] = states[:, 0].float().cpu().numpy()
    size = float(np.sqrt(np.mean(np.square(matrix[1:]))))
    return matrix / size if size > 0 else matrix


def _running_input(splits: Splits[Words], config: TaggerConfig, teacher: str) -> TaggerInput:
    """Input in which every running word is a surface of its own, because it has its own vector."""
    sentences = [sentence for part in splits for sentence in part.sentences]
    words = [spelled(word, config) for sentence in sentences for word in sentence]
    surfaces = Surfaces.of(words, range(1, len(words) + 1), _seen(splits, config))
    count = itertools.count(1)
    numbers = [[[next(count) for _ in sentence] for sentence in part.sentences] for part in splits]
    return TaggerInput(surfaces, numbers, word_states(teacher, sentences, config.device))


def _seen(splits: Splits[Words], config: TaggerConfig) -> set[str]:
    return {spelled(word, config) for sentence in splits.train.sentences for word in sentence}
