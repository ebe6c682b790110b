from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import TeacherError
from wordstill.teacher import BatchConfig, WordListBatches
from wordstill.teacher.layers import INPUT_EMBEDDINGS


@pytest.mark.parametrize("layer", [0, 3])
@pytest.mark.parametrize("subword", ["mean", "max", "min"])
def test_it_is_the_state_of_the_word_alone(text, slow, subword, layer):
    table = text.run(f"decontextual:subword={subword},layer={layer}").finish()
    pool = {"mean": np.mean, "max": np.max, "min": np.min}[subword]
    for word in text.vocabulary.keys:
        expected = pool(slow.alone(word)[layer], axis=0)
        np.testing.assert_allclose(table[word], expected, atol=2e-6, err_msg=word)


def test_no_text_is_read(text):
    method = text.build("decontextual")
    assert not method.reads_text
    assert method.isolated_words().tolist() == list(range(len(text.vocabulary)))


@pytest.mark.parametrize("subword", ["mean", "max"])
def test_the_token_table_is_the_models_own(text, slow, subword):
    """The rows of the input table, to which neither positions nor segments are added."""
    table = text.run(f"token-table:subword={subword}").finish()
    rows = text.teacher.model.get_input_embeddings().weight.detach().numpy()
    pool = {"mean": np.mean, "max": np.max}[subword]
    for word in text.vocabulary.keys:
        spelling = text.vocabulary.surfaces[text.vocabulary.id(word)]
        ids = slow.tokenizer(spelling, add_special_tokens=False)["input_ids"]
        np.testing.assert_allclose(table[word], pool(rows[ids], axis=0), atol=1e-6, err_msg=word)
    assert not np.allclose(table["the"], text.run("decontextual:layer=0").finish()["the"], atol=0.1)


def test_embeddings_of_another_size_are_refused(tiny_teacher):
    teacher = tiny_teacher("albert")
    batch = next(iter(WordListBatches(["the"], np.arange(1), teacher.tokenizer, BatchConfig(100, 64)).since((0, 0))))[1]
    with pytest.raises(TeacherError, match=r"have 16 dimensions, its states 32.*decontextual:layer=0"):
        teacher.encode(batch, (INPUT_EMBEDDINGS,))
