from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.methods.sentence import Bags, Sentence, SentenceConfig, observe_bags
from wordstill.methods.sentence_regression import Features, regress
from wordstill.methods.sums import RowSums

WORDS, WIDTH = 30, 8


def make_bags(seed: int = 0, sentences: int = 80) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Sentences of random words and vectors in three batches, and the same as dense matrices."""
    generator = np.random.default_rng(seed)
    bags, design, targets = Bags(WORDS, WIDTH, torch.device("cpu")), [], []
    for _ in range(3):
        vectors = generator.normal(size=(sentences, WIDTH)).astype(np.float32)
        owner = np.sort(generator.integers(0, sentences, size=5 * sentences))
        words = np.minimum(generator.geometric(0.1, size=len(owner)) - 1, WORDS - 3)
        bags.add(torch.from_numpy(words), torch.from_numpy(owner), torch.from_numpy(vectors))
        rows = np.zeros((sentences, WORDS))
        np.add.at(rows, (owner, words), 1)
        design.append(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1))
        targets.append(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return bags, np.concatenate(design), np.concatenate(targets)


def dense(design: np.ndarray, targets: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    means = design @ prior
    prior = prior * np.sum(means * targets) / np.sum(means * means)
    gram = design.T @ design + strength * np.eye(len(prior))
    return prior + np.linalg.solve(gram, design.T @ (targets - design @ prior))


def dense_prior(tables: list[np.ndarray], counts: np.ndarray, design: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The table of `Features`, from dense matrices."""
    units = []
    for table in tables:
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        units.append(np.where(lengths > 0, table / np.where(lengths > 0, lengths, 1), 0))
    features = np.hstack(units) * (0.01 / (0.01 + counts / counts.sum()))[:, None]
    means = design @ features
    gram = means.T @ means
    gram += 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    return features @ np.linalg.solve(gram, means.T @ targets)


@pytest.mark.parametrize("columns", [3, 64])
@pytest.mark.parametrize("rows_at_once", [1, 7, 1000])
@pytest.mark.parametrize("n_tables", [1, 3])
def test_the_fitted_prior_is_that_of_dense_matrices(columns, rows_at_once, n_tables):
    bags, design, targets = make_bags()
    generator = np.random.default_rng(1)
    tables = [generator.normal(size=(WORDS, WIDTH)).astype(np.float32) + 1 for _ in range(n_tables)]
    # As of a word that is not read alone.
    tables[-1][::5] = 0
    counts = bags.targets.counts
    features = Features([torch.from_numpy(table) for table in tables], counts, rows_at_once)
    found = regress(bags, features, 0.03, columns_at_once=columns).table.numpy()
    prior = dense_prior(tables, counts.numpy(), design, targets)
    np.testing.assert_allclose(found, dense(design, targets, prior, 0.03), atol=2e-4)
    # Held near it, nearly nothing is left but its scale.
    near = regress(bags, features, 1e9, columns_at_once=columns).table.numpy()
    np.testing.assert_allclose(near, dense(design, targets, prior, 1e9), atol=1e-5)


@pytest.mark.parametrize("strength", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("columns", [3, 64])
@pytest.mark.parametrize("together", [0, 7, 256])
def test_the_regression_is_that_of_dense_matrices(strength, columns, together):
    bags, design, targets = make_bags()
    prior = np.random.default_rng(1).normal(size=(WORDS, WIDTH)) + 1
    start = torch.from_numpy(prior.astype(np.float32))
    found = regress(bags, start, strength, columns_at_once=columns, together=together)
    np.testing.assert_allclose(found.table.numpy(), dense(design, targets, prior, strength), atol=2e-4)
    assert found.residual <= 1e-6
    # Of all words together, the first step is the solution.
    assert (found.steps == 1) == (together >= WORDS)


def test_words_that_only_stand_together_need_no_strength():
    words, sentences = torch.tensor([0, 1, 2, 0, 1]), torch.tensor([0, 0, 0, 1, 1])
    bags = Bags(3, 1, torch.device("cpu"))
    bags.add(words, sentences, torch.tensor([[1.0], [-1.0]]))
    found = regress(bags, torch.zeros(3, 1), 1e-12).table[:, 0]
    assert float(found[:2].mean()) == pytest.approx(-1, abs=1e-4)
    assert float(found.mean()) == pytest.approx(1, abs=1e-4)


def test_the_rounding_of_sums_is_not_amplified():
    """As it is by conjugate gradients that stop early, which find a direction that hardly counts sooner or later."""
    generator = np.random.default_rng(0)
    rows, sentences = 400, 900
    owner = np.sort(generator.integers(0, sentences, size=12 * sentences))
    words = generator.integers(0, rows, size=len(owner))
    bags, strength = Bags(rows, 1, torch.device("cpu")), 0.03
    bags.add(torch.from_numpy(words), torch.from_numpy(owner), torch.ones(sentences, 1))
    design = np.zeros((sentences, rows))
    np.add.at(design, (owner, words), 1 / np.bincount(owner, minlength=sentences)[owner])
    gram = design.T @ design + strength * np.eye(rows)
    scale = np.sqrt(np.bincount(words, 1 / np.bincount(owner)[owner] ** 2, rows) + strength)
    main = np.linalg.eigh(gram / np.outer(scale, scale))[1][:, -1]
    tables, found = [], generator.normal(size=rows)
    for share in (0.0, 1e-7):
        targets = scale * (found - (1 - share) * (main @ found) * main)
        bags.targets.sums = torch.from_numpy(targets[:, None])
        tables.append(regress(bags, torch.zeros(rows, 1), strength).table.numpy())
    (first, second), exact = tables, np.linalg.solve(gram, targets[:, None])
    assert np.abs(second - exact).max() < 1e-5 * np.abs(exact).max()
    assert np.abs(first - second).max() < 1e-6 * np.abs(exact).max()


def test_words_in_no_sentence_keep_their_prior_row():
    bags, design, _ = make_bags()
    prior = np.random.default_rng(1).normal(size=(WORDS, WIDTH)) + 1
    found = regress(bags, torch.from_numpy(prior.astype(np.float32)), 0.1).table.numpy()
    unseen = design.sum(axis=0) == 0
    assert unseen.sum() >= 2
    ratio = found[unseen] / prior[unseen]
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-5)


def test_more_text_than_fits_is_sampled_by_paragraph(text):
    """Whatever the batches are, the same paragraphs are taken."""
    sizes = set()
    for budget in (100, 300):
        bags = Bags(len(text.vocabulary), text.teacher.width, torch.device("cpu"))
        total = 0
        for states in text.states(False, budget, (3,)):
            observe_bags(bags, states, states.sentences(3), words=100, most_words=34)
            total += len(states.known)
        sizes.add(bags.size)
        assert 0.15 * total < bags.size < 0.5 * total
    assert len(sizes) == 1


def test_a_saved_state_of_any_size_is_taken_up():
    bags, _, _ = make_bags()
    fresh = Bags(WORDS, WIDTH, torch.device("cpu"))
    fresh.resize_for(bags.state_dict())
    for key, tensor in fresh.state_dict().items():
        assert tensor.shape == bags.state_dict()[key].shape


def test_the_mean_of_rows_is_near_the_teachers_sentence(text):
    """Much nearer than the mean of plain mean states."""
    sentence, ase = text.run("sentence:strength=0.01").finish(), text.run("ase").finish()
    assert sentence.words == ase.words
    cosines = {"sentence": [], "ase": []}
    for states in text.states(False, 100, (3,)):
        targets = states.sentences(3).numpy()
        for number, target in enumerate(targets):
            rows = [row for row, owner in zip(states.word_ids.tolist(), states.word_sentence.tolist())
                    if owner == number and row >= 0]  # fmt: skip
            for name, table in (("sentence", sentence), ("ase", ase)):
                mean = table.matrix[rows].mean(axis=0)
                cosines[name].append(mean @ target / np.linalg.norm(mean) / np.linalg.norm(target))
    assert np.mean(cosines["sentence"]) > np.mean(cosines["ase"]) + 0.01


@pytest.mark.parametrize("target", ["mean", "first", "last"])
def test_what_counts_as_the_sentence(text, target):
    method = text.run(f"sentence:target={target}")
    expected = RowSums(len(text.vocabulary), text.teacher.width, torch.device("cpu"))
    for states in text.states(False, 100, (3,)):
        for number in range(len(states.batch.sentence_start)):
            low, high = int(states.batch.sentence_start[number]), int(states.batch.sentence_end[number])
            whole = int(states.batch.sentence_text[number])
            first, last = int(states.batch.text_offsets[whole]), int(states.batch.text_offsets[whole + 1]) - 1
            place = {"mean": slice(low, high), "first": slice(first, first + 1), "last": slice(last, last + 1)}[target]
            vector = states.hidden[3][place].mean(dim=0)
            words = states.known[states.word_sentence[states.known] == number]
            share = vector / vector.norm() / max(len(words), 1)
            expected.add(states.word_ids[words], share.expand(len(words), -1))
    np.testing.assert_allclose(method.bags.targets.sums.numpy(), expected.sums.numpy(), atol=1e-5)


def test_text_without_any_word_of_the_vocabulary_is_refused(hand_made_run):
    with pytest.raises(UsageError, match=r"sentence learns from words in the text.* use decontextual"):
        Sentence(SentenceConfig(layer=0), hand_made_run([0, 0], width=3))


@pytest.mark.parametrize(("setting", "value"), [("strength", 0.0), ("state_prior", -1.0)])
def test_settings_out_of_range(setting, value):
    with pytest.raises(UsageError, match=f"{setting} must be .*got {value}"):
        SentenceConfig(layer=0, **{setting: value})
