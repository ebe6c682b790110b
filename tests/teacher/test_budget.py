from __future__ import annotations

import warnings

import pytest
import torch

from wordstill.teacher.batch import ON_CPU, ON_GPU, usual_budget

GPU = torch.device("cuda")


def test_a_cpu_reads_little_at_one_time():
    assert usual_budget(torch.device("cpu"), 768) == ON_CPU


@pytest.mark.parametrize(("gib", "width"), [(80, 768), (140, 1024)])
def test_a_large_gpu_reads_the_usual_number(gib, width, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (gib << 30, gib << 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert usual_budget(GPU, width) == ON_GPU


@pytest.mark.parametrize(("free", "expected"), [(2 << 30, 16_384), ((2 << 30) - (1 << 28), 16_384), (4096, 1)])
def test_a_small_one_reads_what_fits_and_says_so(free, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80 << 30))
    with pytest.warns(UserWarning, match=f"so {expected} subwords are read at a time instead of {ON_GPU}"):
        assert usual_budget(GPU, 768) == expected
