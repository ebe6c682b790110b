from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch

from wordstill.baselines.base import WordText
from wordstill.baselines.glove import Cooccurrences, GloveConfig, GloveModel, gradients_of

CPU = torch.device("cpu")


def slow_counts(text: WordText, window: int) -> dict[tuple[int, int], float]:
    """By plain loops over the paragraphs."""
    counts: dict[tuple[int, int], float] = defaultdict(float)
    for paragraph in text.corpus:
        words = [
            text.vocabulary.id(word.text)
            for sentence in paragraph.sentences
            for word in sentence.words
            if word.text in text.vocabulary
        ]
        for place, one in enumerate(words):
            for distance in range(1, window + 1):
                if place + distance < len(words):
                    two = words[place + distance]
                    counts[min(one, two), max(one, two)] += 1 / distance
    return counts


def counted(cells: Cooccurrences, seed: int = 0) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for part in cells.read(np.random.default_rng(seed)):
        for key, value in zip(part.keys.tolist(), part.values.tolist()):
            pair = divmod(key, cells.size)
            assert pair not in found
            found[pair] = value
    return found


@pytest.fixture(scope="module")
def lines() -> list[str]:
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(30)]
    return [" ".join(generator.choice(words, size=generator.integers(1, 25))) + ". A b." for _ in range(40)]


@pytest.mark.parametrize(("limit", "forms"), [(1 << 25, 1 << 20), (50, 100), (200, 30), (20, 1000)])
def test_counts_are_those_of_plain_loops_however_little_memory(make_text, lines, tmp_path, limit, forms):
    text = make_text(lines, stretch_forms=forms, min_count=3)
    cells = Cooccurrences(text, 4, tmp_path, limit=limit)
    expected = slow_counts(text, 4)
    found = counted(cells)
    assert found.keys() == expected.keys() and cells.cells == len(expected)
    for pair, value in expected.items():
        assert found[pair] == pytest.approx(value, rel=1e-6)
    assert (cells.parts > 1) == (limit < 1000)
    assert not list(tmp_path.glob("run-*"))


def test_parts_come_in_another_order_each_time(make_text, lines, tmp_path):
    cells = Cooccurrences(make_text(lines), 4, tmp_path, limit=100)
    orders = [list(counted(cells, seed)) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    # A part is a sample of all cells, not a range of words.
    part = next(cells.read(np.random.default_rng(0)))
    assert len(np.unique(part.keys // cells.size)) > 10


def test_gradients_are_those_of_autograd():
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(40, 6, dtype=torch.float64, generator=generator) for _ in range(2))
    counts = torch.rand(40, dtype=torch.float64, generator=generator) * 30 + 0.1
    config = GloveConfig(dim=5, x_max=10)
    found = gradients_of(left, right, counts, config)
    left.requires_grad_()
    right.requires_grad_()
    loss = torch.zeros((), dtype=torch.float64)
    for one, two, count in zip(left, right, counts):
        error = one[:5] @ two[:5] + one[5] + two[5] - count.log()
        loss = loss + 0.5 * min(1.0, (float(count) / 10) ** 0.75) * error**2
    loss.backward()
    assert found.total.item() == pytest.approx(loss.item(), abs=1e-10)
    torch.testing.assert_close(found.left, left.grad, atol=1e-8, rtol=0)
    torch.testing.assert_close(found.right, right.grad, atol=1e-8, rtol=0)


def test_a_step_is_adagrad_on_the_sum_of_a_rows_gradients():
    config = GloveConfig(dim=3, rate=0.1)
    model = GloveModel(config, 4, CPU, seed=0)
    before = [table.clone() for table in model.tables]
    first, second = torch.tensor([0, 0, 2]), torch.tensor([1, 1, 2])
    counts = torch.tensor([5.0, 7.0, 200.0])
    model.step(first, second, counts)
    # Pairs of two words count both ways, the pair of a word with itself once.
    left, right = torch.tensor([0, 0, 2, 1, 1]), torch.tensor([1, 1, 2, 0, 0])
    doubled = torch.cat([counts, counts[:2]])
    found = gradients_of(before[0][left], before[1][right], doubled, config)
    for side, rows, gradient in ((0, left, found.left), (1, right, found.right)):
        total = torch.zeros(4, 4).index_add_(0, rows, gradient)
        expected = before[side] - 0.1 * total / (1 + total.square()).sqrt()
        torch.testing.assert_close(model.tables[side], expected)
    assert torch.equal(model.tables[0][3], before[0][3])


def test_training_fits_the_logarithms_of_counts():
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(12, 2))
    pairs = [(one, two) for one in range(12) for two in range(one, 12)]
    logs = np.array([vectors[one] @ vectors[two] + 2 for one, two in pairs])
    model = GloveModel(GloveConfig(dim=8, rate=0.2), 12, CPU, seed=0)
    first, second = (torch.tensor(side) for side in zip(*pairs))
    counts = torch.from_numpy(np.exp(logs)).float()
    losses = [float(model.step(first, second, counts)) for _ in range(600)]
    assert losses[-1] < 0.02 * losses[0]


def online(model: GloveModel, left, right, counts, order, scale=1.0) -> tuple[np.ndarray, np.ndarray]:
    """A step for each cell, with the squares of all gradients before it; those of the authors' code are of steps."""
    tables = [table.double().numpy().copy() for table in model.tables]
    squares = [np.ones_like(table) for table in tables]
    for cell in order:
        rows = left[cell], right[cell]
        one, two = tables[0][rows[0]], tables[1][rows[1]]
        error = one[:-1] @ two[:-1] + one[-1] + two[-1] - np.log(counts[cell])
        slope = min(1.0, (counts[cell] / 100) ** 0.75) * error
        gradients = np.append(slope * two[:-1], slope), np.append(slope * one[:-1], slope)
        for table, square, row, gradient in zip(tables, squares, rows, gradients):
            table[row] -= 0.05 * gradient / np.sqrt(square[row])
            square[row] += (scale * gradient) ** 2
    return tables[0], tables[1]


def test_batches_learn_as_much_as_single_cells():
    generator = np.random.default_rng(1)
    pairs = np.array([(one, two) for one in range(40) for two in range(one + 1, 40)])
    counts = np.exp(generator.normal(2, 1, len(pairs)))
    config = GloveConfig(dim=6)
    model, reference = (GloveModel(config, 40, CPU, seed=0) for _ in range(2))
    first, second = torch.from_numpy(pairs).unbind(1)
    values = torch.from_numpy(counts).float()
    left, right = np.concatenate([pairs, pairs[:, ::-1]]).T
    doubled = np.concatenate([counts, counts])

    def loss(tables) -> float:
        rows = [torch.as_tensor(table)[torch.as_tensor(side)] for table, side in zip(tables, (left, right))]
        return gradients_of(*rows, torch.from_numpy(doubled), config).total.item()

    start = loss([table.double() for table in model.tables])
    order = np.concatenate([generator.permutation(len(left)) for _ in range(8)])
    expected = loss([torch.from_numpy(table) for table in online(reference, left, right, doubled, order)])
    for _ in range(8):
        for chosen in np.array_split(generator.permutation(len(pairs)), 100):
            model.step(first[chosen], second[chosen], values[chosen])
    assert expected < 0.3 * start
    assert loss([table.double() for table in model.tables]) < 1.1 * expected


def test_squares_of_cells_are_those_of_the_authors_code():
    generator = np.random.default_rng(2)
    pairs = np.array([(one, two) for one in range(9) for two in range(one + 1, 9)])
    counts = np.exp(generator.normal(2, 1, len(pairs)))
    model, reference = (GloveModel(GloveConfig(dim=4, squares="cells"), 9, CPU, seed=0) for _ in range(2))
    left, right = np.stack([pairs, pairs[:, ::-1]], axis=1).reshape(-1, 2).T
    expected = online(reference, left, right, np.repeat(counts, 2), [*range(len(left))] * 20, scale=0.05)
    for _ in range(20):
        for pair, count in zip(pairs, counts):
            # Both directions in one step: no row of a table is in both.
            model.step(*torch.from_numpy(pair)[:, None], torch.tensor([count], dtype=torch.float32))
    for table, slow in zip(model.tables, expected):
        np.testing.assert_allclose(table.numpy(), slow, atol=2e-5)


def test_a_frequent_row_steps_by_so_many_mean_steps_at_most():
    steps = {}
    for limit in (2.0, 100.0):
        model = GloveModel(GloveConfig(dim=3, squares="cells", row_limit=limit), 2, CPU, seed=0)
        before = model.tables[0][0].clone()
        model.step(torch.zeros(6, dtype=torch.int64), torch.ones(6, dtype=torch.int64), torch.full((6,), 9.0))
        steps[limit] = model.tables[0][0] - before
    torch.testing.assert_close(3 * steps[2.0], steps[100.0])


def test_windows_end_with_the_paragraph(make_text, tmp_path):
    text = make_text(["a b. c", "d e"])
    cells = counted(Cooccurrences(text, 10, tmp_path))
    names = text.vocabulary.keys
    pairs = {frozenset((names[one], names[two])) for one, two in cells}
    assert frozenset("bc") in pairs and frozenset("cd") not in pairs
