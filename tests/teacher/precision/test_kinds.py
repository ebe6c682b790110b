from __future__ import annotations

import pytest
import torch

from wordstill.errors import UsageError
from wordstill.teacher.precision import kinds
from wordstill.teacher.precision.cpu_linear import SortedLinear
from wordstill.teacher.precision.kinds import Int8Precision, Precision, in_precision

CPU, PROBE, DEPTH = torch.device("cpu"), torch.tensor([2, 7, 9, 3]), 3


def test_numbers_of_one_kind_learn_nothing(tiny_model):
    found = in_precision(tiny_model("bert-uncased"), "float32", CPU, PROBE, DEPTH, "tiny")
    assert (type(found), found.name, found.learns, found.ranges) == (Precision, "float32", False, None)
    assert any(isinstance(module, SortedLinear) for module in found.model.modules())
    before = found.model
    found.learn(None, None, 64, packed=True)
    found.refuse_unready()
    assert found.model is before


def test_int8_reads_nothing_before_it_has_learnt(tiny_model, monkeypatch):
    monkeypatch.setattr(kinds, "refuse_without_int8", lambda device, teacher: None)
    model = tiny_model("bert-uncased")
    found = in_precision(model, "int8", CPU, PROBE, DEPTH, "tiny")
    assert (type(found), found.learns, found.model is model) == (Int8Precision, True, True)
    with pytest.raises(UsageError, match="tiny can only be distilled in int8"):
        found.refuse_unready()


def test_an_unknown_precision(tiny_model):
    with pytest.raises(UsageError, match="Unknown dtype 'int4'"):
        in_precision(tiny_model("bert-uncased"), "int4", CPU, PROBE, DEPTH, "tiny")
