from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.methods.sums import Moments, RowExtremes, RowSums

ROWS, WIDTH = 6, 4
CPU = torch.device("cpu")


def batches(seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Rows and values; row 5 never comes, one batch is empty, some rows come several times in a batch."""
    generator = np.random.default_rng(seed)
    sizes = (9, 0, 1, 30)
    return [
        (
            torch.from_numpy(generator.integers(0, 5, size)),
            torch.from_numpy(generator.normal(size=(size, WIDTH))).float(),
        )
        for size in sizes
    ]


def reference(kind: str, given: list[tuple[torch.Tensor, torch.Tensor]]) -> np.ndarray:
    pool = {"mean": np.mean, "max": np.max, "min": np.min}[kind]
    rows, values = (np.concatenate([pair[which].numpy() for pair in given]) for which in (0, 1))
    return np.array(
        [pool(values[rows == row], axis=0) if (rows == row).any() else np.zeros(WIDTH) for row in range(ROWS)]
    )


def make(kind: str) -> RowSums | RowExtremes:
    return RowSums(ROWS, WIDTH, CPU) if kind == "mean" else RowExtremes(ROWS, WIDTH, CPU, kind)


@pytest.mark.parametrize("kind", ["mean", "max", "min"])
def test_rows_are_pooled(kind):
    table = make(kind)
    assert table.pooled().tolist() == np.zeros((ROWS, WIDTH)).tolist()
    for rows, values in batches():
        table.add(rows, values)
    np.testing.assert_allclose(table.pooled(), reference(kind, batches()), atol=1e-6)
    counts = np.bincount(np.concatenate([rows.numpy() for rows, _ in batches()]), minlength=ROWS)
    assert table.counts.tolist() == counts.tolist()
    assert table.counts[5] == 0


@pytest.mark.parametrize("kind", ["mean", "max", "min"])
@pytest.mark.parametrize("chosen", [True, False])
def test_rows_below_zero_are_nowhere(kind, chosen):
    with_them, without = make(kind), make(kind)
    for rows, values in batches():
        places = torch.arange(len(rows)).flip(0) if chosen else None
        given = torch.where(rows == 2, -1, rows)
        kept = given >= 0
        with_them.add(given, values, places)
        without.add(rows[kept], values, torch.arange(len(rows))[kept] if places is None else places[kept])
    assert torch.equal(with_them.pooled(), without.pooled())
    assert torch.equal(with_them.counts, without.counts)


@pytest.mark.parametrize("kind", ["mean", "max", "min"])
def test_merging_is_seeing_both(kind):
    first, second = make(kind), make(kind)
    for rows, values in batches(0):
        first.add(rows, values)
    for rows, values in batches(1):
        second.add(rows, values)
    first.merge(second)
    np.testing.assert_allclose(first.pooled(), reference(kind, batches(0) + batches(1)), atol=1e-6)
    assert int(first.counts.sum()) == 80
    assert int(second.counts.sum()) == 40


@pytest.mark.parametrize("kind", ["max", "min"])
def test_extremes_of_one_sign(kind):
    """The start value must not take part, whichever side of zero the values are."""
    for sign in (-1.0, 1.0):
        table = make(kind)
        table.add(torch.tensor([2]), torch.full((1, WIDTH), sign))
        assert table.pooled()[2].tolist() == [sign] * WIDTH


def test_some_rows_only():
    table = RowSums(ROWS, WIDTH, CPU)
    for rows, values in batches():
        table.add(rows, values)
    assert table.pooled(slice(2, 4)).tolist() == table.pooled()[2:4].tolist()


def test_a_frequent_row_does_not_lose_small_contributions():
    """One by one, a float32 sum of a hundred million would not grow by one any more."""
    table = RowSums(1, 1, CPU)
    table.add(torch.tensor([0]), torch.tensor([[1e8]]))
    table.add(torch.zeros(10_000, dtype=torch.int64), torch.ones(10_000, 1))
    assert float(table.sums[0, 0]) == 1e8 + 10_000


def weighted(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(300, WIDTH)) @ generator.normal(size=(WIDTH, WIDTH)) + 20
    return torch.from_numpy(values).float(), torch.from_numpy(generator.integers(0, 4, 300))


def test_moments_are_those_of_numpy():
    moments = Moments(WIDTH, CPU)
    assert moments.mean().tolist() == [0] * WIDTH
    assert moments.covariance().abs().max() == 0
    values, weights = weighted()
    for part in np.array_split(np.arange(300), 7):
        moments.add(values[part], weights[part])
    exact = values.double().numpy()
    np.testing.assert_allclose(moments.mean(), np.average(exact, axis=0, weights=weights), rtol=1e-12)
    expected = np.cov(exact.T, fweights=weights.numpy(), bias=True)
    np.testing.assert_allclose(moments.covariance(), expected, rtol=1e-10)


def test_merged_moments():
    both, first, second = (Moments(WIDTH, CPU) for _ in range(3))
    for part, seed in ((first, 0), (second, 1)):
        part.add(*weighted(seed))
        both.add(*weighted(seed))
    first.merge(second)
    for name, tensor in both.state_dict().items():
        np.testing.assert_allclose(first.state_dict()[name], tensor, rtol=1e-12)


def test_moments_of_wide_vectors():
    generator = torch.Generator().manual_seed(0)
    values, weights = (torch.rand(*size, generator=generator).double() for size in ((20, 1300), (20,)))
    moments = Moments(1300, CPU)
    moments.add(values, weights)
    torch.testing.assert_close(moments.products, (values * weights[:, None]).T @ values)


@pytest.mark.parametrize("part", [make("mean"), make("max"), Moments(WIDTH, CPU)], ids=lambda part: type(part).__name__)
def test_the_state_is_not_a_copy(part):
    """A method restores its parts by writing into their state."""
    for tensor in part.state_dict().values():
        tensor.fill_(1)
    assert all(float(tensor.double().mean()) == 1 for tensor in part.state_dict().values())
