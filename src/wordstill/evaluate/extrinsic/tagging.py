"""Tagging: chunks, parts of speech and names, word by word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wordstill.errors import TrainingError
from wordstill.evaluate.extrinsic.config import TaggerConfig
from wordstill.evaluate.extrinsic.examples import Published, Words, divide_in_order, tag_problem
from wordstill.evaluate.extrinsic.extras import require_training
from wordstill.evaluate.extrinsic.tag_coding import TagCoder, are_spans
from wordstill.evaluate.extrinsic.trained import Frame, TrainedScore
from wordstill.evaluate.extrinsic.word_table import WordTable, distinct_words
from wordstill.evaluate.loaded import Loaded
from wordstill.evaluate.protocol import Protocol, resolve

if TYPE_CHECKING:
    from wordstill.vectors import WordVectors

DIGIT = re.compile(r"\d")


class TaggingTask:
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

    def __init__(
        self,
        dataset: str | Path | Loaded[Published[Words]],
        config: TaggerConfig | None = None,
        *,
        progress: bool = False,
    ) -> None:
        self.dataset = Loaded[Published[Words]].load(dataset, self.kind)
        self.config = config or TaggerConfig()
        self.progress = progress

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.dataset.name

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
        forms = [DIGIT.sub("0", word) for word in words] if config.digits_to_zero else None
        table = WordTable.of(words, vectors, rules, leave_out=False, scale=config.scale, forms=forms)
        frame = Frame(self.kind, self.metric, self.dataset, rules, table.coverage(sentences))
        if problem := tag_problem(splits) or frame.coverage_problem():
            return frame.without_figure(problem)
        require_training("The tagger")
        from wordstill.evaluate.extrinsic.tagger_training import tag_test_part

        coder = TagCoder.of(splits.train)
        try:
            predicted, settings = tag_test_part(
                splits, coder, words, table, config, seed, self.name, progress=self.progress
            )
        except TrainingError as error:
            return frame.without_figure(str(error))
        counts = np.stack([coder.counts(splits.test.targets, tags) for tags in predicted])
        return frame.of_counts(counts, int(counts[0, :, 1].sum()), settings, seed)
