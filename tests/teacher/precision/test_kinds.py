from __future__ import annotations

import pytest
import torch

from wordstill.errors import UsageError
from wordstill.teacher.precision.dtype import SortedLinear, in_precision

CPU, PROBE, DEPTH = torch.device("cpu"), torch.tensor([2, 7, 9, 3]), 3


def test_float32_on_a_cpu_has_sorted_weights(tiny_model):
    found = in_precision(tiny_model("bert-uncased"), "float32", CPU, PROBE, DEPTH, "tiny")
    assert found.dtype is torch.float32
    assert any(isinstance(module, SortedLinear) for module in found.modules())


@pytest.mark.parametrize("name", ["int8", "fp8"])
def test_an_unknown_precision(tiny_model, name):
    with pytest.raises(UsageError, match=f"Unknown dtype '{name}'.* auto, bfloat16, float16, float32\\."):
        in_precision(tiny_model("bert-uncased"), name, CPU, PROBE, DEPTH, "tiny")
