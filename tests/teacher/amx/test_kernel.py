"""Tiles are used only where a child has lived through them; else there is a reason."""

from __future__ import annotations

import os
import signal

import pytest

from wordstill.teacher import device
from wordstill.teacher.amx import amx_library as module
from wordstill.teacher.amx.amx_library import AmxUnavailable, CannotCompile, Kernel, kernel


@pytest.fixture
def forgetful():
    module.find_kernel.cache_clear()
    yield
    module.find_kernel.cache_clear()


def no_compiler():
    raise CannotCompile("no C compiler was found")


@pytest.mark.parametrize(
    ("place", "name", "value", "reason"),
    [
        (module.sys, "platform", "darwin", "on Linux and x86-64 only"),
        (module.platform, "machine", lambda: "aarch64", "on Linux and x86-64 only"),
        (device, "amx_announced", lambda: False, "this processor has no matrix tiles"),
        (device, "bfloat16_is_safe", lambda: False, "would kill this process"),
        (module, "load_library", no_compiler, "no C compiler was found"),
    ],
    ids=["system", "processor", "without tiles", "too late", "no compiler"],
)
def test_reasons(place, name, value, reason, tiles, forgetful, monkeypatch):
    monkeypatch.setattr(place, name, value)
    for _ in range(2):
        with pytest.raises(AmxUnavailable, match=reason):
            kernel()


@pytest.mark.parametrize("trouble", ["dies", "is wrong"])
def test_a_bad_kernel_does_no_harm(trouble, tiles, forgetful, monkeypatch):
    def linear(self, x, weight, bias, y, *, gelu):
        if trouble == "dies":
            os.kill(os.getpid(), signal.SIGILL)
        y.zero_()

    monkeypatch.setattr(Kernel, "linear", linear)
    with pytest.raises(AmxUnavailable, match="matrix tiles do not work"):
        kernel()


def test_the_system_may_refuse(tiles, forgetful, monkeypatch):
    monkeypatch.setattr(device, "survives", lambda product: True)
    usual = module.load_library()
    monkeypatch.setattr(usual, "amx_allow", lambda: -1)
    monkeypatch.setattr(module, "load_library", lambda: usual)
    with pytest.raises(AmxUnavailable, match="the operating system does not give"):
        kernel()


def test_it_is_found_once(tiles, monkeypatch):
    monkeypatch.setattr(module, "load_library", lambda: pytest.fail("it is there already"))
    assert kernel() is tiles
