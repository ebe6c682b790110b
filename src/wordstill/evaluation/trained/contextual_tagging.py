"""Contextual states as input of the tagger: what a language model gives where a table gives static vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordstill.errors import TeacherError, TrainingError
from wordstill.evaluation.data.examples import Published, Splits, Words, divide_in_order, tag_problem
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.protocol import Protocol, resolve
from wordstill.evaluation.score import Coverage
from wordstill.evaluation.trained.config import TaggerConfig, require_training
from wordstill.evaluation.trained.tagging import TaggingTask, spelled, tag_test_part
from wordstill.evaluation.trained.tags import Surfaces, TagCoder
from wordstill.evaluation.trained.trained_score import Frame, TrainedScore
from wordstill.teacher import Teacher, TeacherConfig, recorded_teacher
from wordstill.teacher.spans import Spans, StateReader

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors


class StatesTask(TaggingTask):
    """The tagger over the last states of the model that vectors were distilled from, which stays as it is.

    A word is the mean state of its subwords in its sentence (the rows BERT and GPT-2 of the papers' tables of
    tagging); one that the tokenizer drops has zeros. Everything else is as in `TaggingTask`. Memory: a vector for
    every running word of the set.

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

    def run(self, vectors: WordVectors, protocol: str | Protocol = "default", seed: int = 0) -> TrainedScore:
        """Score the teacher of a table; of the table itself only the provenance is looked at."""
        config = self.config
        splits = divide_in_order(self.dataset.content).thinned(config.limit, seed=0)
        running = sum(len(sentence) for part in splits for sentence in part.sentences)
        frame = Frame(self.kind, self.metric, self.dataset, resolve(protocol), Coverage(running, running))
        teacher = self.teacher or recorded_teacher(vectors, "--teacher")
        problem = tag_problem(splits)
        if problem is None and teacher is None:
            problem = "the table does not name the model that it was distilled from; give one (--teacher)"
        if problem is not None or teacher is None:
            return frame.without_score(str(problem))
        require_training("The tagger")
        coder = TagCoder.of(splits.train)
        try:
            sentences = [sentence for part in splits for sentence in part.sentences]
            matrix = word_states(teacher, sentences, config.device)
            predicted, settings = tag_test_part(
                splits, coder, _surfaces(splits, config), _numbers(splits), matrix, config, seed, self.name,
                progress=self.progress,
            )  # fmt: skip
        except (TeacherError, TrainingError) as error:
            return frame.without_score(str(error))
        counts = np.stack([coder.counts(splits.test.targets, tags) for tags in predicted])
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), {"teacher": teacher, **settings}, seed)


def word_states(teacher: str, sentences: Sequence[Words], device: str = "auto") -> NDArray[np.float32]:
    """[words + 1, width] states of the running words of sentences after a row of zeros; their mean square is 1."""
    model = Teacher.from_config(TeacherConfig(teacher, device))
    reader = StateReader(model, str(model.depth))
    spans = []
    for sentence in sentences:
        ends = list(accumulate(len(word) + 1 for word in sentence))
        spans.append([(end - 1 - len(word), end - 1) for word, end in zip(sentence, ends)])
    matrix = np.zeros((1 + sum(map(len, sentences)), model.width), dtype=np.float32)
    for numbers, states in reader.read([" ".join(sentence) for sentence in sentences], Spans.of(spans)):
        matrix[1 + numbers] = states[:, 0].float().cpu().numpy()
    size = float(np.sqrt(np.mean(np.square(matrix[1:]))))
    return matrix / size if size > 0 else matrix


def _surfaces(splits: Splits[Words], config: TaggerConfig) -> Surfaces:
    """Every running word is a surface of its own, since its vector is."""
    words = [spelled(word, config) for part in splits for sentence in part.sentences for word in sentence]
    seen = {spelled(word, config) for sentence in splits.train.sentences for word in sentence}
    return Surfaces.of(words, range(1, len(words) + 1), seen)


def _numbers(splits: Splits[Words]) -> list[list[list[int]]]:
    """Numbers of the surfaces of each sentence of each part."""
    start, numbers = 1, []
    for part in splits:
        of_part = []
        for sentence in part.sentences:
            of_part.append(list(range(start, start + len(sentence))))
            start += len(sentence)
        numbers.append(of_part)
    return numbers
