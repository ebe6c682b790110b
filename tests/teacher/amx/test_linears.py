from __future__ import annotations

import torch
from torch import nn

from wordstill.teacher.amx.amx_layers import linear_weight


def test_weights_of_gpt2_lie_the_other_way(tiny_model):
    layer = tiny_model("gpt2").h[0].attn.c_attn
    x = torch.randn(5, 32)
    torch.testing.assert_close(nn.functional.linear(x, linear_weight(layer), layer.bias), layer(x))
    assert linear_weight(nn.LayerNorm(4)) is None
