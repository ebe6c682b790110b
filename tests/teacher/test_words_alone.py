from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.isolated_words import WordsAlone


@pytest.fixture(scope="module")
def teacher(tiny_model, tiny_tokenizer):
    config = TeacherConfig("tiny", device="cpu", dtype="float32")
    return Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), config)


def slow_state(teacher, word, layer):
    ids = [*teacher.tokenizer.prefix, *teacher.tokenizer.encode([f" {word}"]).ids, *teacher.tokenizer.suffix]
    with torch.inference_mode():
        output = teacher.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
    return output.hidden_states[layer][0, 1:-1].mean(dim=0).numpy()


@pytest.mark.parametrize("layer", [None, 1])
def test_each_word_has_the_mean_state_of_its_sub_words(teacher, layer):
    words = ["river", "the", "riverside", "a", "river"]
    states = WordsAlone(teacher, layer)(words)
    for word, state in zip(words, states, strict=True):
        expected = slow_state(teacher, word, teacher.depth if layer is None else layer)
        np.testing.assert_allclose(state, expected, atol=1e-5)


def test_what_has_no_sub_words_gets_zeros(teacher):
    states = WordsAlone(teacher)(["river", "", "\u200b"])
    assert states[0].any()
    assert not states[1].any()
    assert WordsAlone(teacher)([]).shape == (0, teacher.width)


def test_the_model_is_loaded_when_it_is_needed():
    reader = WordsAlone("no/such/teacher")
    with pytest.raises(Exception, match="no/such/teacher"):
        reader(["river"])
