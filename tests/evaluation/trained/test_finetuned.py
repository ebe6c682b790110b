from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordstill.core.progress import count_bar  # noqa: E402
from wordstill.evaluation.trained.config import FinetunedConfig  # noqa: E402
from wordstill.evaluation.trained.finetuned import FinetunedTask, FinetunedTrainer, FrozenTask  # noqa: E402
from wordstill.evaluation.trained.fitting import Choice, fit, seeded  # noqa: E402
from wordstill.evaluation.trained.word_table import length_sorted  # noqa: E402
from wordstill.vectors import WordVectors  # noqa: E402

QUICK = FinetunedConfig(epochs=(1, 2), learning_rates=(3e-3,), batch=8, seeds=1, device="cpu")
KINDS = ("bert-uncased", "roberta", "gpt2", "t5")
SENTENCES = (("The", "cat", "sat"), ("unbelievable",), ("a", "dog", ",", "too", "."))


@pytest.fixture
def trainer(tiny_model, tiny_tokenizer):
    def make(kind: str, classes: int = 2, **changes: object) -> FinetunedTrainer:
        config = replace(QUICK, dropout=0.0, **changes)
        model = tiny_model(kind)
        model = model.get_encoder() if kind == "t5" and hasattr(model, "get_encoder") else model
        return FinetunedTrainer(model, tiny_tokenizer(kind), kind, classes, config, torch.device("cpu"))

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_found_by_their_first_sub_words(trainer, kind):
    made = trainer(kind)
    part = made.encode(SENTENCES, np.zeros(9, dtype=np.int64), of_words=True)
    assert part.firsts.lengths.tolist() == [3, 1, 5]
    for place, sentence in enumerate(SENTENCES):
        firsts = part.firsts.rows[part.firsts.starts[place] : part.firsts.starts[place + 1]]
        ids = part.sentences.rows[part.sentences.starts[place] : part.sentences.starts[place + 1]]
        assert (np.diff(firsts) > 0).all()
        alone = [made.tokenizer.encode([" " * bool(number) + word]).ids for number, word in enumerate(sentence)]
        if kind == "bert-uncased":
            assert [ids[first] for first in firsts] == [pieces[0] for pieces in alone]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_words", [False, True])
def test_batch_mates_have_no_influence(trainer, kind, of_words):
    made = trainer(kind)
    model = made.new_model().eval()
    size = 9 if of_words else 3
    part = made.encode(SENTENCES, np.zeros(size, dtype=np.int64), of_words=of_words)
    together = made.scores(model, part, np.arange(3))
    alone = torch.cat([made.scores(model, part, np.array([place])) for place in range(3)])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-3)


def test_what_is_too_long_is_cut_off(trainer):
    made = trainer("bert-uncased", max_length=6)
    part = made.encode([("cat",) * 40], np.zeros(40, dtype=np.int64), of_words=True)
    assert part.sentences.lengths.tolist() == [6]
    assert part.firsts.rows.max() < 6


@pytest.mark.parametrize("of_words", [False, True])
def test_it_learns_and_leaves_the_model_as_it_was(trainer, of_words):
    made = trainer("bert-uncased")
    before = {name: weight.clone() for name, weight in made.model.state_dict().items()}
    sentences = tuple(("cat",) if number % 2 else ("dog", "dog") for number in range(24))
    labels = np.array([number % 2 for number, row in enumerate(sentences) for _ in range(len(row) if of_words else 1)])
    part = made.encode(sentences, labels, of_words=of_words)
    with count_bar("try", 0, "sentences", show=False) as bar:
        model = fit(made, part, Choice(3e-3, 6, 0.0), 0, bar)
    assert made.accuracy(model, part) == 1
    assert made.accuracy(model, part + part) == 1
    assert all(torch.equal(weight, before[name]) for name, weight in made.model.state_dict().items())


def test_a_frozen_model_is_a_linear_layer_over_its_means(trainer):
    """What is learnt is what the same steps on mean states of the model teach a linear layer."""
    made = trainer("bert-uncased")
    made.config = replace(made.config, frozen=True, dropout=0.0)
    before = {name: weight.clone() for name, weight in made.model.state_dict().items()}
    sentences = tuple(("cat",) if number % 2 else ("dog", "dog") for number in range(8))
    part = made.encode(sentences, np.arange(8) % 2, of_words=False)
    with count_bar("try", 0, "sentences", show=False) as bar:
        model = fit(made, part, Choice(1e-2, 3, 0.0), 0, bar)
    assert all(torch.equal(weight, before[name]) for name, weight in made.model.state_dict().items())
    with seeded(0, torch.device("cpu")):
        head = made.new_model().head
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-2, weight_decay=0.01)
    random = np.random.default_rng(0)
    for _ in range(3):
        for places in length_sorted(part.sentences.lengths, made.config.batch, random):
            rows = [
                part.sentences.rows[part.sentences.starts[place] : part.sentences.starts[place + 1]] for place in places
            ]
            with torch.no_grad():
                means = [made.model(torch.from_numpy(row)[None]).last_hidden_state[0].mean(dim=0) for row in rows]
            loss = torch.nn.functional.cross_entropy(head(torch.stack(means)), torch.from_numpy(part.targets[places]))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
    torch.testing.assert_close(model.head.weight, head.weight, rtol=1e-4, atol=1e-5)


def test_frozen_is_a_task_of_its_own(tiny_teachers, tmp_path, polar_set, polar_vectors):
    folder = save(tiny_teachers, tmp_path / "teacher")
    quick = replace(QUICK, frozen=True)
    score = FrozenTask(polar_set(60), quick, teacher=folder).run(polar_vectors)
    assert score.task == "frozen" and score.problem is None
    printed = FrozenTask(polar_set(60)).config
    assert printed.frozen and (printed.epochs, printed.learning_rates) == ((3, 4, 5, 6), (1e-4, 3e-4, 1e-3))


def save(tiny_teachers, folder):
    tiny_teachers.make_model("bert-uncased").save_pretrained(folder)
    tiny_teachers.make_tokenizer("bert-uncased").save_pretrained(folder)
    return str(folder)


def test_the_parent_is_named_by_the_provenance(tiny_teachers, tmp_path, polar_set, polar_vectors):
    folder = save(tiny_teachers, tmp_path / "teacher")
    table = WordVectors(polar_vectors.words, polar_vectors.matrix, provenance={"teacher": {"name": folder}})
    score = FinetunedTask(polar_set(60), QUICK).run(table)
    assert score.task == "parent"
    assert score.settings["teacher"] == folder
    assert score.coverage.used == score.coverage.total
    assert 0 < score.value <= 100
    assert FinetunedTask(polar_set(60), QUICK, teacher=folder).run(polar_vectors) == score


def test_a_parent_that_cannot_be_loaded_is_told(polar_set, polar_vectors, tmp_path):
    score = FinetunedTask(polar_set(60), QUICK, teacher=str(tmp_path / "gone")).run(polar_vectors)
    assert score.value is None and "gone" in score.problem and "does not exist" in score.problem


def test_tags_are_learnt_too(tiny_teachers, tmp_path, span_set, polar_vectors):
    folder = save(tiny_teachers, tmp_path / "teacher")
    score = FinetunedTask(span_set(100), replace(QUICK, limit=30), teacher=folder).run(polar_vectors)
    assert score.metric == "span_f1"
    assert 0 <= score.value <= 100


def test_a_table_without_a_parent_has_no_score(polar_set, polar_vectors):
    assert "the model that it was distilled from" in FinetunedTask(polar_set()).run(polar_vectors).problem
