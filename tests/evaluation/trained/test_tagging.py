from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from wordstill.core.progress import count_bar  # noqa: E402
from wordstill.errors import UsageError  # noqa: E402
from wordstill.evaluation import PROTOCOLS, Evaluation, evaluate  # noqa: E402
from wordstill.evaluation.data.examples import Examples, Published  # noqa: E402
from wordstill.evaluation.trained.config import NCRFPP, TaggerConfig  # noqa: E402
from wordstill.evaluation.trained.fitting import Choice, fit, seeded  # noqa: E402
from wordstill.evaluation.trained.tagging import BestEpoch, NcrfppTask, TaggingTask, TaggingTrainer, spelled  # noqa: E402
from wordstill.evaluation.trained.tags import Surfaces, TaggedRows  # noqa: E402
from wordstill.evaluation.trained.word_table import Sentences, WordTable  # noqa: E402

QUICK = TaggerConfig(
    hidden=16, character_size=4, character_filters=6, learning_rate=0.03, epochs=4, batch=8, seeds=2, device="cpu"
)


def test_spans_are_learnt(span_set, polar_vectors):
    score = TaggingTask(span_set(), QUICK).run(polar_vectors)
    assert score.metric == "span_f1"
    assert score.value > 90
    assert score.interval.low <= score.value <= score.interval.high
    assert score.deviation is not None
    assert [part.name for part in score.parts] == ["seed 0", "seed 1"]
    assert all(1 <= epoch <= 4 for epoch in score.settings["epochs"])


def parts_of_speech(span_set):
    made = span_set()
    train = made.content.train
    return replace(
        made,
        content=Published(Examples(train.sentences, tuple(tuple(word[:3] for word in row) for row in train.sentences))),
    )


def test_tags_that_are_no_spans_are_scored_word_by_word(span_set, random_vectors):
    made = parts_of_speech(span_set)
    # Vectors that tell nothing: only the spelling does.
    words = sorted({word for row in made.content.train.sentences for word in row})
    score = TaggingTask(made, QUICK).run(random_vectors(words))
    assert score.metric == "accuracy"
    assert score.value > 90
    test = made.content.train.sentences[-10:]
    assert score.n == sum(map(len, test))


def test_equal_seeds_give_equal_scores(span_set, random_vectors):
    made = span_set()
    quick = replace(QUICK, epochs=1)
    words = sorted({word for row in made.content.train.sentences for word in row})
    first, second, other = (TaggingTask(made, quick).run(random_vectors(words), seed=seed) for seed in (0, 0, 5))
    assert first == second
    assert first.parts != other.parts


def test_the_presets_of_ncrfpp_run(span_set, polar_vectors):
    config = replace(NCRFPP, hidden=16, epochs=2, seeds=1, device="cpu")
    score = NcrfppTask(span_set(), config).run(polar_vectors)
    assert score.problem is None and score.task == "ncrfpp"
    assert score.settings["epochs"][0] in (1, 2)


def test_steps_of_ncrfpp_are_plain_gradient_descent():
    """A sum over sentences, a small penalty, no clipping however long the gradient, and a rate that falls."""
    random, words = np.random.default_rng(0), ["a", "bb", "ccc"]
    surfaces = Surfaces.of(words, range(1, 4), words)
    matrix = 30 * random.normal(size=(4, 5)).astype(np.float32)
    config = replace(NCRFPP, hidden=8, dropout=0.0, batch=20, device="cpu")
    trainer = TaggingTrainer(matrix, surfaces, 3, config, torch.device("cpu"))
    rows = [random.integers(1, 4, size=4).tolist() for _ in range(6)]
    tags = [random.integers(0, 3, size=4).tolist() for _ in range(6)]
    part = TaggedRows(Sentences.of(rows), Sentences.of(tags))
    fitted = fit(trainer, part, Choice(0.5, 2, 0.0), 3, count_bar("try", 2, "sentences", show=False))
    with seeded(3, torch.device("cpu")):
        plain = trainer.new_model()
    lengths = torch.full((6,), 4)
    longest = 0.0
    for epoch in range(2):
        loss = sum(
            plain.crf.loss(plain(torch.tensor([row]), lengths[:1]), torch.tensor([tag]), lengths[:1])[0]
            for row, tag in zip(rows, tags)
        )
        gradients = torch.autograd.grad(loss, list(plain.parameters()))
        longest = max(longest, float(sum(each.square().sum() for each in gradients) ** 0.5))
        with torch.no_grad():
            for weight, gradient in zip(plain.parameters(), gradients):
                weight -= 0.5 / (1 + 0.05 * epoch) * (gradient + 1e-8 * weight)
    assert longest > 5
    for (name, weight), expected in zip(fitted.named_parameters(), plain.parameters()):
        torch.testing.assert_close(weight, expected, rtol=1e-3, atol=1e-4, msg=name)


def test_ncrfpp_spells_digits_as_zeros():
    made = {spelled(word, config) for config in (NCRFPP, QUICK) for word in ("1984", "2001")}
    assert made == {"0000", "1984", "2001"}


def test_ncrfpp_draws_vectors_of_absent_words(random_vectors):
    words, vectors = ("in", "out", "off"), random_vectors(["in"])
    table = WordTable.of(words, vectors, PROTOCOLS["default"], leave_out=False, scale="as-is")
    drawn = table.with_random_absent(0)
    assert np.array_equal(drawn.matrix[drawn.rows["in"]], table.matrix[table.rows["in"]])
    absent = drawn.matrix[[drawn.rows["out"], drawn.rows["off"]]]
    assert not table.matrix[table.rows["out"]].any() and absent.all()
    assert np.abs(absent).max() <= (3 / vectors.dim) ** 0.5


def test_digits_become_zero_before_the_lookup(span_set, random_vectors):
    made = span_set()
    vectors = random_vectors(["good0", "bad0", "plain0", "good00", "bad00", "plain00"])
    plain, zeros = (
        TaggingTask(made, replace(QUICK, epochs=1, seeds=1, digits_to_zero=digits)).run(vectors).coverage
        for digits in (False, True)
    )
    assert plain.used < zeros.used == zeros.total


def test_problems_are_said(span_set, polar_vectors, random_vectors):
    assert "none of the" in TaggingTask(span_set(), QUICK).run(random_vectors(["other"])).problem
    assert "development part has only 5" in TaggingTask(span_set(50), QUICK).run(polar_vectors).problem


def test_a_training_that_goes_astray_has_no_score(span_set, polar_vectors):
    wild = replace(QUICK, optimiser="sgd", learning_rate=1e30, clip=1e30, epochs=2, seeds=1)
    assert "Training diverged" in TaggingTask(span_set(), wild).run(polar_vectors).problem


def test_a_set_with_labels_is_refused(polar_set):
    with pytest.raises(UsageError, match="has no tags, which the task 'tagging' needs; it has labels"):
        TaggingTask(polar_set())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"hidden": 3}, "hidden must be"), ({"optimiser": "adma"}, "Did you mean 'adam'"), ({"epochs": 0}, "epochs")],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(UsageError, match=message):
        TaggerConfig(**wrong)


def test_batch_mates_have_no_influence_on_a_sentence():
    random = np.random.default_rng(0)
    words = ["a", "bb", "ccc", "dddd", "e" * 20]
    surfaces = Surfaces.of(words, range(1, 6), words)
    matrix = random.normal(size=(6, 5)).astype(np.float32)
    trainer = TaggingTrainer(matrix, surfaces, 4, QUICK, torch.device("cpu"))
    torch.manual_seed(0)
    model = trainer.new_model().eval()
    rows = [random.integers(1, 6, size=size).tolist() for size in (9, 3, 1)]
    together = model(torch.from_numpy(Sentences.of(rows).padded(np.arange(3))), torch.tensor([9, 3, 1]))
    for place, row in enumerate(rows):
        alone = model(torch.tensor([row]), torch.tensor([len(row)]))
        torch.testing.assert_close(together[place, : len(row)], alone[0])


def test_patience_begins_when_something_is_found():
    scores = [0.0, 0.0, 0.0, 0.2, 0.1, 0.3, 0.3, 0.2]
    trainer = SimpleNamespace(predict=lambda model, part: None)
    coder = SimpleNamespace(
        decode=lambda tags: tags, counts=lambda gold, found: np.array([[int(100 * scores.pop(0)), 100]])
    )
    search = BestEpoch(trainer, coder, None, (), patience=2)
    model = torch.nn.Linear(1, 1)
    going_on = [search.after_epoch(epoch, model) for epoch in range(1, 9)]
    assert going_on == [True] * 7 + [False]
    assert (search.stopping.best_step, search.stopping.best) == (6, 0.3)


def test_tags_are_predicted_in_the_order_of_the_sentences():
    rows = [[1, 2, 3], [3, 1, 2, 3, 1, 2], [2], [1, 1]]
    surfaces = Surfaces.of(["a", "bb", "ccc"], range(1, 4), ["abc"])
    matrix = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    trainer = TaggingTrainer(matrix, surfaces, 4, replace(QUICK, batch=1), torch.device("cpu"))
    torch.manual_seed(0)
    model = trainer.new_model().eval()
    found = trainer.predict(model, TaggedRows(Sentences.of(rows), Sentences.of(rows)))
    for place, row in enumerate(rows):
        alone = trainer.predict(model, TaggedRows(Sentences.of([row]), Sentences.of([row])))
        assert found.rows[found.starts[place] : found.starts[place + 1]].tolist() == alone.rows.tolist()


def test_spelling_every_word_gives_the_scores_of_spelling_each_once():
    surfaces = Surfaces.of(("ab", "c", "abcd"), [1, 2, 3], {"ab", "c"})
    torch.manual_seed(0)
    matrix = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    model = TaggingTrainer(matrix, surfaces, 3, QUICK, torch.device("cpu")).new_model().eval()
    words, lengths = torch.tensor([[1, 2, 1], [3, 3, 0]]), torch.tensor([3, 2])
    once = model(words, lengths)
    model.once = False
    torch.testing.assert_close(model(words, lengths), once)


@pytest.mark.usefixtures("bars")
def test_evaluate_shows_the_progress_of_training(span_set, polar_vectors, tmp_path, monkeypatch, capsys):
    train = span_set().content.train
    lines = (
        "".join(f"{word} {tag}\n" for word, tag in zip(words, tags))
        for words, tags in zip(train.sentences, train.targets)
    )
    (tmp_path / "spans.txt").write_text("\n".join(lines))
    monkeypatch.setattr(TaggingTask, "usual", QUICK)
    sets = [f"tagging:{tmp_path / 'spans.txt'}"]
    (score,) = evaluate(polar_vectors, sets, progress=True).scores["vectors"].values()
    assert score.value > 90
    shown = capsys.readouterr().err
    assert "spans.txt" in shown and "sentences/s" in shown
    evaluate(polar_vectors, sets)
    assert not capsys.readouterr().err


def test_two_tables_are_tested_against_each_other(span_set, polar_vectors, random_vectors):
    words = sorted({word for row in span_set().content.train.sentences for word in row})
    task = TaggingTask(span_set(), replace(QUICK, epochs=1, seeds=1))
    scores = {
        name: {"spans": task.run(table)}
        for name, table in {"good": polar_vectors, "empty": random_vectors(words)}.items()
    }
    (test,) = Evaluation(scores, PROTOCOLS["default"], 0).comparisons()
    assert (test.first, test.second, test.dataset) == ("empty", "good", "spans")
    assert test.difference == pytest.approx(scores["empty"]["spans"].value - scores["good"]["spans"].value)
    assert test.n == 10
