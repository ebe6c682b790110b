"""The tagger over contextual states."""

from __future__ import annotations

import numpy as np

from wordstill.evaluation.trained.config import TaggerConfig
from wordstill.evaluation.trained.tagging import StatesTask, word_states
from wordstill.vectors import WordVectors

SENTENCES = [("the", "old", "house"), ("still", "stands", "by", "the", "river")]


def test_states_are_those_of_the_model_in_the_sentence(saved_teacher, tiny_model, tiny_tokenizer):
    found = word_states(str(saved_teacher), SENTENCES, "cpu")
    tokenizer, model = tiny_tokenizer("bert-cased"), tiny_model("bert-cased").eval()
    rows = []
    for sentence in SENTENCES:
        encoded = tokenizer(" ".join(sentence), return_offsets_mapping=True, return_tensors="pt")
        states = model(encoded["input_ids"]).last_hidden_state[0].detach().numpy()
        start = 0
        for word in sentence:
            spans = encoded["offset_mapping"][0].tolist()
            inside = [n for n, (low, high) in enumerate(spans) if start <= low < high <= start + len(word)]
            rows.append(states[inside].mean(axis=0))
            start += len(word) + 1
    expected = np.stack(rows) / np.sqrt(np.mean(np.square(rows)))
    assert not found[0].any()
    np.testing.assert_allclose(found[1:], expected, atol=2e-2)


def test_a_tag_that_only_the_states_can_know_is_learnt(saved_teacher, tmp_path):
    words = ("the", "old", "still", "stands", "small", "house", "river", "nobody")
    random = np.random.default_rng(0)
    lines = [f"{word} {'A' if word < 'q' else 'B'}" for _ in range(150) for word in (*random.choice(words, 4), "")]
    (tmp_path / "tags.txt").write_text("\n".join(line.strip() if len(line) > 2 else "" for line in lines))
    table = WordVectors(["the"], np.ones((1, 2), dtype=np.float32))
    config = TaggerConfig(epochs=4, seeds=1, hidden=16, learning_rate=0.02, device="cpu")
    task = StatesTask(tmp_path / "tags.txt", config, teacher=str(saved_teacher))
    score = task.run(table)
    assert score.problem is None and score.value > 90
    assert score.coverage.used == score.coverage.total == 600
    nameless = StatesTask(tmp_path / "tags.txt", config).run(table)
    assert nameless.value is None and "give one (--teacher)" in str(nameless.problem)
