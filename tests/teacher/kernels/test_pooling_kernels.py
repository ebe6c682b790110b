"""Sums over ranges by the kernel against loops; interpreted without a GPU."""

import pytest
import torch

pytest.importorskip("triton", reason="needs triton")
from wordstill.teacher.kernels.pooling_kernels import range_sums

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RANGES = ((0, 3), (3, 3), (2, 9), (8, 9), (0, 9))


@pytest.mark.parametrize("width", [5, 16, 1030])
@pytest.mark.parametrize("sums", [True, False])
def test_every_range_for_itself(width, sums):
    values = torch.randn(9, width, generator=torch.Generator().manual_seed(0))
    first, last = torch.tensor(RANGES).T.contiguous()
    found = range_sums(values.to(DEVICE), first.to(DEVICE), last.to(DEVICE), sums).cpu()
    for row, (begin, end) in zip(found, RANGES):
        total = values[begin:end].sum(dim=0)
        assert torch.allclose(row, total if sums else total / max(end - begin, 1), atol=1e-5)
