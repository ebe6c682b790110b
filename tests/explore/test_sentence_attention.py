"""Attention over a sentence: the weights of the equations, from what is kept beside the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from wordstill.corpus import VocabularyConfig, prepare
from wordstill.distillation import DistillConfig
from wordstill.distillation.plan import make_plan
from wordstill.errors import DataError, FormatError, UsageError
from wordstill.explore.sentence_attention import attend
from wordstill.formats.artifact import ATTENTION, write_artifacts
from wordstill.methods.bert_skipgram import BertSkipgram
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.device import to_arrays
from wordstill.vectors import WordVectors

SENTENCE = "the old still stands in a small house nobody knows"
Made = tuple[Path, BertSkipgram, int]


@pytest.fixture(scope="module", params=["preset=paper", "preset=paper-held,whiten=0.25,centre_table=true,window=2"])
def made(request, tmp_path_factory, short_text, saved_teacher) -> Made:
    folder = tmp_path_factory.mktemp("attention")
    corpus = prepare(short_text, folder / "store", workers=1)
    config = DistillConfig(
        (f"bert-skipgram:{request.param},dim=8,rate=0.5",),
        TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"),
        VocabularyConfig(min_count=1),
    )
    plan = make_plan(Teacher.from_config(config.teacher), corpus, config)
    tables = plan.run()
    (method,) = plan.engine.methods.values()
    write_artifacts(tables, folder / "vectors", {label: to_arrays(method.attention()) for label in tables})
    assert isinstance(method, BertSkipgram)
    return folder / "vectors", method, method.config.window


def slow(method: BertSkipgram, window: int, model: Any, tokenizer: Any) -> np.ndarray:
    """Word by word, from the model itself and the rows and the projection as they were learnt."""
    words = [word for word in SENTENCE.split() if word in method.run.vocabulary]
    places = [SENTENCE.split().index(word) for word in words]
    encoded = tokenizer(SENTENCE, return_offsets_mapping=True, return_tensors="pt")
    states = model.eval()(encoded["input_ids"]).last_hidden_state[0]
    starts = {word: SENTENCE.index(f" {word}") + 1 if number else 0 for number, word in enumerate(SENTENCE.split())}
    weights = np.zeros((len(words), len(words)))
    for i, center in enumerate(words):
        pieces = [
            n
            for n, (low, high) in enumerate(encoded["offset_mapping"][0].tolist())
            if starts[center] <= low < high <= starts[center] + len(center)
        ]
        query = method.projection.weights @ method.whitened(states[pieces].mean(dim=0, keepdim=True))[0]
        near = [j for j in range(len(words)) if j != i and abs(places[i] - places[j]) <= window]
        scores = torch.stack([method.rows.weights[method.run.vocabulary.id(words[j])] @ query for j in near])
        weights[i, near] = torch.softmax(scores, dim=0).detach().numpy()
    return weights


def test_the_weights_are_those_of_the_equations(made: Made, tiny_model: Callable, tiny_tokenizer: Callable):
    path, method, window = made
    found = attend(WordVectors.load(path), path, SENTENCE)
    assert found.words == [word for word in SENTENCE.split() if word not in ("nobody", "knows")] + ["nobody"]
    expected = slow(method, window, tiny_model("bert-cased"), tiny_tokenizer("bert-cased"))
    np.testing.assert_allclose(found.weights, expected, atol=1e-4)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    assert np.ptp(found.weights[0, 1:3]) > 1e-4


def test_what_cannot_be_shown(made: Made, tmp_path):
    path, _, _ = made
    table = WordVectors.load(path)
    with pytest.raises(DataError, match="has 1 of the words of 'the xyz'"):
        attend(table, path, "the xyz")
    table.save(tmp_path / "other", overwrite=True)
    with pytest.raises(UsageError, match="only tables of bert-skipgram with an attended objective"):
        attend(table, tmp_path / "other", SENTENCE)
    (tmp_path / "other" / ATTENTION).write_bytes((path / ATTENTION).read_bytes()[:-4] + b"abcd")
    with pytest.raises(FormatError, match="damaged"):
        attend(table, tmp_path / "other", SENTENCE)
