"""Attention of short texts on a GPU against that of each text alone."""

import itertools

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

LENGTHS = (1, 7, 31, 32, 33, 64, 65, 130, 257)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "groups", "width"), [(12, 12, 64), (12, 12, 32), (8, 2, 128), (4, 1, 16)])
def test_every_text_sees_only_itself(heads, groups, width, causal):
    from wordstill.teacher.attention_kernels import attend_short_texts

    generator = torch.Generator("cuda").manual_seed(0)
    total = sum(LENGTHS)
    # As one fused projection gives them: the rows of each are not contiguous.
    fused = torch.randn(total, heads + 2 * groups, width, device="cuda", generator=generator).bfloat16()
    query, key, value = fused.split((heads, groups, groups), dim=1)
    bounds = torch.tensor([0, *itertools.accumulate(LENGTHS)], dtype=torch.int32, device="cuda")
    found = attend_short_texts(query, key, value, bounds, 0.3, causal)
    for begin, end in itertools.pairwise(bounds.tolist()):
        alone = [part[begin:end].transpose(0, 1)[None].float() for part in (query, key, value)]
        expected = scaled_dot_product_attention(
            *alone, is_causal=causal, scale=0.3, enable_gqa=heads != groups
        )
        assert torch.allclose(found[begin:end].float(), expected[0].transpose(0, 1), atol=2e-2)
