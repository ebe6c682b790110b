"""Fine-tuning the teacher, or training a linear layer on it while it is frozen."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from wordstill.core.settings import Config
from wordstill.evaluation.data.examples import LABELS, TAGS, Published, Splits, Words, divide_by_class, divide_in_order
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.text_sets import read_own_labeled
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.trained.base import NO_TEACHER, Predicted, Ready, Targets, TrainedTask, running_words
from wordstill.evaluation.trained.config import FROZEN, FinetunedConfig, require_training
from wordstill.evaluation.trained.fitting import ClassifiedRows, Classifier, on_device, on_gpu, search_and_retrain
from wordstill.evaluation.trained.word_table import Ids, Sentences
from wordstill.teacher import (
    SubwordTokenizer,
    load_model_and_tokenizer,
    recorded_teacher,
    room_beside_specials,
    text_limit,
    wanted_states,
)
from wordstill.teacher.device import choose_device
from wordstill.teacher.spans import Spans

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


WEIGHT_DECAY = 0.01
LONGEST_GRADIENT = 1.0


class ModelWithHead(nn.Module):
    """The model, dropout and a linear layer; a frozen model is not trained, and stays in evaluation mode."""

    def __init__(self, model: nn.Module, width: int, classes: int, dropout: float, *, frozen: bool = False) -> None:
        super().__init__()
        self.frozen = frozen
        self.model = model.requires_grad_(not frozen)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, classes)

    def train(self, mode: bool = True) -> ModelWithHead:
        """Set training mode, except for a frozen model."""
        super().train(mode)
        self.model.train(mode and not self.frozen)
        return self


class FinetunedTrainer(Classifier):
    """Trains a model with a linear layer and predicts with it.

    A sentence is the mean of the last states of its subwords, which suits encoders and decoders alike; a word is the
    last state of its first subword.

    Args:
        model: A transformers model that returns hidden states; every training starts from a copy of it.
        tokenizer: Its fast tokenizer.
        name: The model's name.
        classes: Number of classes.
        config: Settings.
        device: Where it runs.
    """

    clip = LONGEST_GRADIENT
    read_batches = 2
    config: FinetunedConfig

    def __init__(
        self, model: Any, tokenizer: Any, name: str, classes: int, config: FinetunedConfig, device: torch.device
    ) -> None:
        self.name, self.classes, self.config, self.device = name, classes, config, device
        self.tokenizer = SubwordTokenizer(tokenizer, name)
        usual = text_limit(model, self.tokenizer, None)
        self.room = room_beside_specials(min(usual, config.max_length), self.tokenizer)
        settings = model.config.get_text_config()
        self.width, self.depth = int(settings.hidden_size), int(settings.num_hidden_layers)
        model.config.use_cache = settings.use_cache = False
        self.model = model.to(torch.float32)

    def encode(self, sentences: Sequence[Words], targets: Ids, *, of_words: bool) -> ClassifiedRows:
        """Sentences as subwords, truncated at the limit."""
        prefix, suffix = self.tokenizer.prefix, self.tokenizer.suffix
        encoded = self.tokenizer.encode([" ".join(sentence) for sentence in sentences])
        rows = [
            [*prefix, *encoded.ids[start : min(end, start + self.room)].tolist(), *suffix]
            for start, end in pairwise(encoded.offsets.tolist())
        ]
        if not of_words:
            return ClassifiedRows(Sentences.of(rows), targets)
        words = Spans.of_words(sentences)
        start, end = encoded.align(words.text, words.start, words.end)
        first = start - encoded.offsets[words.text]
        # A word that was dropped or truncated takes the state of the first position.
        places = np.where((start < end) & (first < self.room), first + len(prefix), 0)
        firsts = Sentences(places, np.searchsorted(words.text, np.arange(len(sentences) + 1)))
        return ClassifiedRows(Sentences.of(rows), targets, firsts)

    def new_model(self) -> nn.Module:
        """A copy of the model with a fresh linear layer."""
        frozen = self.config.frozen
        model = self.model if frozen else copy.deepcopy(self.model)
        return ModelWithHead(model, self.width, self.classes, self.config.dropout, frozen=frozen)

    def optimizer(self, model: nn.Module, learning_rate: float) -> torch.optim.Optimizer:
        """AdamW."""
        return torch.optim.AdamW(
            [weight for weight in model.parameters() if weight.requires_grad],
            lr=learning_rate,
            weight_decay=WEIGHT_DECAY,
            fused=on_gpu(self.device),
        )

    def scores(self, model: nn.Module, part: ClassifiedRows, places: Ids) -> Tensor:
        """Scores of the classes for all sentences, or for all words in order."""
        assert isinstance(model, ModelWithHead)
        ids = on_device(part.sentences.padded(places, fill=self.tokenizer.pad_id), self.device)
        lengths = on_device(part.sentences.lengths[places], self.device)
        inside = torch.arange(ids.shape[1], device=self.device) < lengths[:, None]
        output = model.model(input_ids=ids, attention_mask=inside.long())
        states = wanted_states(output, (self.depth,), self.depth, self.name)[self.depth]
        if part.firsts is None:
            pooled = (states * inside[:, :, None]).sum(dim=1) / lengths[:, None]
        else:
            sentence = np.repeat(np.arange(len(places)), part.firsts.lengths[places])
            word = part.firsts.rows[part.targets_of(places)]
            pooled = states[on_device(sentence, self.device), on_device(word, self.device)]
        scores: Tensor = model.head(model.dropout(pooled))
        return scores


class FinetunedTask(TrainedTask[FinetunedConfig]):
    """Accuracy, or span F1, of the fine-tuned language model that vectors were distilled from.

    Only the table's provenance is used.

    Args:
        dataset: As for ``ClassificationTask`` and ``TaggingTask``.
        config: Settings.
        teacher: A folder, a name on the Hub, or the embedded model; None takes what the table's provenance
            names.
        progress: Show a bar with the rate and the time left.
    """

    kind = "parent"
    needs = (LABELS, TAGS)
    # A registered set has labels or tags; a user's own file has labels.
    own_reader = staticmethod(read_own_labeled)
    usual: ClassVar[Config] = FinetunedConfig()

    def __init__(
        self,
        dataset: str | Path | LoadedDataset[Published[str]] | LoadedDataset[Published[Words]],
        config: FinetunedConfig | None = None,
        *,
        teacher: str | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(dataset, config, progress=progress)
        self.teacher = teacher

    def _splits(self) -> Splits[Any]:
        config, published = self.config, self.dataset.content
        divided = divide_in_order(published) if self.tagged else divide_by_class(published, config.split_seed)
        splits: Splits[Any] = divided.thinned(config.limit, config.split_seed)
        return splits

    def _ready(self, vectors: WordVectors, rules: Protocol, splits: Splits[Any], seed: int) -> Ready:
        teacher = self.teacher or recorded_teacher(vectors)

        def predict(targets: Targets) -> Predicted:
            assert teacher is not None, "Ready has a problem without a teacher"
            return self._predict(teacher, splits, targets, seed)

        return Ready(running_words(splits), None if teacher else NO_TEACHER, predict)

    def _predict(self, teacher: str, splits: Splits[Any], targets: Targets, seed: int) -> Predicted:
        require_training("Training the parent model further")
        model, tokenizer = load_model_and_tokenizer(teacher)
        trainer = FinetunedTrainer(
            model, tokenizer, teacher, targets.classes, self.config, choose_device(self.config.device)
        )
        parts = [
            trainer.encode(part.sentences, numbers, of_words=self.tagged)
            for part, numbers in zip(splits, targets.numbers)
        ]
        predicted, choice = search_and_retrain(trainer, parts, seed, self.name, progress=self.progress)
        return predicted, {"teacher": teacher, **asdict(choice)}


class FrozenTask(FinetunedTask):
    """The same with a frozen model; only the linear layer is trained."""

    kind = "frozen"
    usual = FROZEN
