"""Kernels against loops, and against attention over each text alone; interpreted without a GPU."""

import itertools

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

pytest.importorskip("triton", reason="needs triton")
from wordstill.teacher.teacher_kernels import attend_short_texts, range_sums

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 2e-2}
DTYPES = [torch.float32, torch.bfloat16] if torch.cuda.is_available() else [torch.float32]
RANGES = ((0, 3), (3, 3), (2, 9), (8, 9), (0, 9))
LENGTHS = (1, 7, 31, 32, 33, 64, 65, 130)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "groups", "width"), [(2, 2, 64), (2, 2, 32), (4, 2, 128), (3, 1, 16)])
def test_every_text_sees_only_itself(heads, groups, width, causal, dtype):
    generator = torch.Generator().manual_seed(0)
    # As one fused projection gives them: the rows of each are not contiguous.
    fused = torch.randn(sum(LENGTHS), heads + 2 * groups, width, generator=generator).to(DEVICE, dtype)
    query, key, value = fused.split((heads, groups, groups), dim=1)
    bounds = torch.tensor([0, *itertools.accumulate(LENGTHS)], dtype=torch.int32, device=DEVICE)
    found = attend_short_texts(query, key, value, bounds, 0.3, causal)
    for begin, end in itertools.pairwise(bounds.tolist()):
        alone = [part[begin:end].transpose(0, 1)[None].float() for part in (query, key, value)]
        expected = scaled_dot_product_attention(*alone, is_causal=causal, scale=0.3, enable_gqa=heads != groups)
        difference = (found[begin:end].float() - expected[0].transpose(0, 1)).abs().max()
        assert difference < TOLERANCES[dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("biased", "reach"), [(True, None), (False, 9), (True, 40)])
def test_what_is_added_by_distance(biased, reach, causal, dtype):
    generator = torch.Generator().manual_seed(0)
    query, key, value = torch.randn(3, sum(LENGTHS), 2, 16, generator=generator).to(DEVICE, dtype)
    bounds = torch.tensor([0, *itertools.accumulate(LENGTHS)], dtype=torch.int32, device=DEVICE)
    table = torch.randn(2, 2 * max(LENGTHS) + 3, generator=generator).to(DEVICE) if biased else None
    found = attend_short_texts(query, key, value, bounds, 0.3, causal, table, reach)
    for begin, end in itertools.pairwise(bounds.tolist()):
        places = torch.arange(end - begin, device=DEVICE)
        distance = places - places[:, None]
        added = torch.zeros(2, len(places), len(places), device=DEVICE)
        if table is not None:
            added = added + table[:, distance + table.shape[1] // 2]
        seen = (distance.abs() < (reach or len(places))) & ((distance <= 0) | (not causal))
        added = added.masked_fill(~seen, -torch.inf)
        alone = [part[begin:end].transpose(0, 1)[None].float() for part in (query, key, value)]
        expected = scaled_dot_product_attention(*alone, attn_mask=added, scale=0.3)
        assert (found[begin:end].float() - expected[0].transpose(0, 1)).abs().max() < TOLERANCES[dtype]


@pytest.mark.parametrize("width", [5, 16, 1030])
@pytest.mark.parametrize("sums", [True, False])
def test_sums_of_every_range(width, sums):
    values = torch.randn(9, width, generator=torch.Generator().manual_seed(0))
    first, last = torch.tensor(RANGES).T.contiguous()
    found = range_sums(values.to(DEVICE), first.to(DEVICE), last.to(DEVICE), sums).cpu()
    for row, (begin, end) in zip(found, RANGES):
        total = values[begin:end].sum(dim=0)
        assert torch.allclose(row, total if sums else total / max(end - begin, 1), atol=1e-5)
