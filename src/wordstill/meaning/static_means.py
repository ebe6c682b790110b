"""A static table from meanings in context: each word's mean over its occurrences in a text."""

from __future__ import annotations

import numpy as np
import torch

from wordstill.core.progress import count_bar
from wordstill.corpus import Corpus, Vocabulary
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.methods.sums import RowSums
from wordstill.teacher import BatchConfig, TextBatches, subword_source
from wordstill.vectors import WordVectors


def static_table(
    encoder: MeaningEncoder, corpus: Corpus, vocabulary: Vocabulary, *, progress: bool = False
) -> WordVectors:
    """One vector for each word of a vocabulary that a text shows.

    Whole paragraphs are read, split at sentence ends where they are too long.
    """
    teacher, layers = encoder.teacher, encoder.reader.layers
    batches = TextBatches(
        corpus,
        vocabulary,
        subword_source(corpus, teacher.tokenizer),
        teacher.tokenizer,
        BatchConfig(encoder.reader.budget, teacher.limit),
    )
    sums = RowSums(len(vocabulary), encoder.dim, teacher.device)
    with count_bar("text", corpus.n_words, "words", show=progress) as bar:
        for _, batch in batches.since((0, 0)):
            states = teacher.encode(batch, layers)
            known = states.known
            if len(known):
                stacked = torch.stack([states.words(layer)[known] for layer in layers], dim=1)
                sums.add(states.word_ids[known], encoder.represent(stacked))
            bar.update(len(states.word_ids))
    seen = np.flatnonzero(sums.counts.cpu().numpy())
    matrix = sums.pooled().cpu().numpy()[seen]
    return WordVectors(
        [vocabulary.keys[row] for row in seen],
        matrix.astype(np.float32),
        counts=vocabulary.counts[seen],
        provenance={
            "method": f"mean of {encoder.kind} in context",
            "teacher": {"name": teacher.config.name, "fingerprint": teacher.identity},
            "encoder": encoder.fingerprint,
            "corpus": corpus.hash,
        },
    )
