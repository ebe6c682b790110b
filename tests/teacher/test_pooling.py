from __future__ import annotations

import pytest
import torch

from wordstill.teacher.states import RangeMeans


def slowly(values, first, last, sums):
    rows = [values[a:b].double() for a, b in zip(first.tolist(), last.tolist())]
    each = [part.sum(0) / (1 if sums else max(1, len(part))) for part in rows]
    return torch.stack(each).float()


@pytest.mark.parametrize("sums", [False, True], ids=["means", "sums"])
@pytest.mark.parametrize("shared", [0, 8, 1000], ids=["from sums of first rows", "usual", "one by one"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_ranges_of_every_kind(shared, sums, dtype):
    values = torch.randn(50, 6, generator=torch.Generator().manual_seed(0)).to(dtype)
    first = torch.tensor([0, 0, 3, 3, 49, 50, 7, 20, 0])
    last = torch.tensor([50, 1, 3, 9, 50, 50, 30, 21, 0])
    means = RangeMeans(values, times_shared=shared)
    for _ in range(2):
        result = means(first, last, sums=sums)
        assert result.dtype == torch.float32
        torch.testing.assert_close(result, slowly(values, first, last, sums), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 5])
def test_no_ranges_and_no_rows(rows):
    nothing, zeros = torch.empty(0, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
    assert RangeMeans(torch.randn(rows, 3))(nothing, nothing).shape == (0, 3)
    assert RangeMeans(torch.randn(rows, 3))(zeros, zeros).tolist() == [[0, 0, 0]] * 2
