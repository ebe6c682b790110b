from __future__ import annotations

import numpy as np
import pytest


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
