from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.teacher.gathering import send

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("kind", "wanted"), [(np.int64, torch.int64), (np.int32, torch.int32), (np.uint32, torch.int32)]
)
@pytest.mark.parametrize("numbers", [[], [3, 1, 2]])
def test_numbers_arrive_as_they_are(kind, wanted, numbers):
    sent = send(np.array(numbers, dtype=kind), CPU)
    assert sent.dtype == wanted
    assert sent.tolist() == numbers


def test_what_is_sent_is_a_copy():
    array = np.arange(4)
    sent = send(array, CPU)
    array[:] = 0
    assert sent.tolist() == [0, 1, 2, 3]


def test_columns_are_sent_too():
    assert send(np.arange(6).reshape(3, 2)[:, 1], CPU).tolist() == [1, 3, 5]
