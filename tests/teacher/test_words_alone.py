from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.teacher import BatchConfig, Teacher, TeacherConfig, WordListBatches
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


@pytest.mark.parametrize("prompt", ["{}", "the {}", "{} is a river.", "what does the {} mean?"])
def test_words_in_a_prompt_are_the_words_of_that_text(teacher, prompt):
    words = ["river", "the", "riverside", "a", "xyzzy"]
    batches = WordListBatches(words, np.arange(5), teacher.tokenizer, BatchConfig(24, teacher.limit), prompt=prompt)
    found = {}
    for _, batch in batches.since((0, 0)):
        states = teacher.encode(batch, (teacher.depth,))
        for number, row in enumerate(states.word_ids.tolist()):
            found[words[row]] = states.words(teacher.depth)[number], states.sentences(teacher.depth)[number]
    for word in words:
        before, _, after = prompt.partition("{}")
        pieces = [teacher.tokenizer.encode([f" {part}"]).ids for part in (before, word, after)]
        start, end = len(pieces[0]), len(pieces[0]) + len(pieces[1])
        ids = [*teacher.tokenizer.prefix, *np.concatenate(pieces), *teacher.tokenizer.suffix]
        with torch.inference_mode():
            output = teacher.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        inside = output.hidden_states[-1][0, 1:-1]
        np.testing.assert_allclose(found[word][0], inside[start:end].mean(dim=0), atol=1e-5)
        np.testing.assert_allclose(found[word][1], inside.mean(dim=0), atol=1e-5)
