from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from wordstill.errors import UsageError
from wordstill.teacher import device
from wordstill.teacher.device import (
    bfloat16_is_safe,
    choose_device,
    choose_precision,
    cpu_multiplies_bfloat16,
    survives_bfloat16,
    waking,
)

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def processor(monkeypatch):
    """Makes this processor announce matrix tiles or not, and live through a product in bfloat16 or not."""

    def make(*, announced, survives):
        trials = iter(survives) if isinstance(survives, list) else iter([survives] * 10)
        monkeypatch.setattr(device, "amx_announced", lambda: announced)
        monkeypatch.setattr(device, "survives_bfloat16", lambda: next(trials))
        monkeypatch.delenv(device.ISA_VARIABLE, raising=False)
        cpu_multiplies_bfloat16.cache_clear()

    yield make
    os.environ.pop(device.ISA_VARIABLE, None)
    cpu_multiplies_bfloat16.cache_clear()


def test_auto_takes_a_gpu_where_there_is_one(monkeypatch):
    for there, expected in ((True, CUDA), (False, CPU)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto") == expected


@pytest.mark.parametrize("wanted", ["", "gpu", "cuda:99", "meta", "cpu:x"])
def test_devices_that_cannot_be_used(wanted):
    with pytest.raises(UsageError, match=rf"The device '{wanted}' cannot be used here. Use auto or cpu"):
        choose_device(wanted)


@pytest.mark.parametrize(
    ("announced", "survives", "expected"),
    [(True, True, torch.bfloat16), (True, False, torch.float32), (False, True, torch.float32)],
    ids=["tiles", "broken tiles", "no tiles"],
)
def test_auto_on_a_processor(announced, survives, expected, processor):
    processor(announced=announced, survives=survives)
    assert choose_precision("auto", CPU) == expected


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ("AVX512_CORE_FP16", torch.float32),
        ("avx2", torch.float32),
        ("AVX512_CORE_AMX", torch.bfloat16),
        ("DEFAULT", torch.bfloat16),
    ],
)
def test_auto_where_the_environment_speaks_of_tiles(allowed, expected, processor, monkeypatch):
    processor(announced=True, survives=True)
    monkeypatch.setenv(device.ISA_VARIABLE, allowed)
    assert choose_precision("auto", CPU) == expected


@pytest.mark.parametrize(("supported", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_on_a_gpu(supported, expected, monkeypatch):
    asked = []
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **how: asked.append(how) or supported)
    with nullcontext() if supported else pytest.warns(UserWarning, match="This GPU has no bfloat16"):
        assert choose_precision("auto", CUDA) == expected
    assert asked == [{"including_emulation": False}]


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_names(name):
    assert choose_precision(name, CPU) == getattr(torch, name)


def test_unknown_name():
    with pytest.raises(UsageError, match=r"Unknown dtype 'bf16'\. Did you mean 'bfloat16' or 'float16'\?"):
        choose_precision("bf16", CPU)


def test_broken_tiles_are_avoided_when_bfloat16_is_asked_for(processor):
    processor(announced=True, survives=[False, True])
    assert choose_precision("bfloat16", CPU) == torch.bfloat16
    assert os.environ[device.ISA_VARIABLE] == "AVX512_CORE_FP16"


def test_when_it_is_too_late_to_avoid_them(processor):
    """oneDNN reads the variable at its first product; after that nothing helps but a new process."""
    processor(announced=True, survives=False)
    with pytest.raises(UsageError, match=r"would kill this process.*Set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16"):
        choose_precision("bfloat16", CPU)


@pytest.mark.parametrize(
    ("announced", "survives", "expected"),
    [(True, [True], True), (True, [False, True], True), (True, [False, False], False), (False, [True], True)],
    ids=["tiles", "broken tiles", "too late", "no tiles"],
)
def test_whether_bfloat16_is_safe(announced, survives, expected, processor):
    processor(announced=announced, survives=survives)
    assert bfloat16_is_safe() is expected
    assert (device.ISA_VARIABLE in os.environ) is (announced and not survives[0])


@pytest.mark.parametrize("announced", [True, False])
def test_processors_without_trouble_are_left_alone(announced, processor):
    processor(announced=announced, survives=True)
    assert choose_precision("bfloat16", CPU) == torch.bfloat16
    assert device.ISA_VARIABLE not in os.environ


def children() -> set[str]:
    """Numbers of this process's children, ended ones that nobody has waited for included."""
    threads = Path("/proc/self/task").iterdir()
    return {number for thread in threads for number in (thread / "children").read_text().split()}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="products are tried in a child on Linux only")
@pytest.mark.parametrize(
    ("product", "survives"),
    [
        (lambda one, other: one, True),
        (lambda one, other: os.kill(os.getpid(), signal.SIGILL), False),
        (lambda one, other: one.no_such_thing, False),
        (lambda one, other: signal.pause(), False),
    ],
    ids=["lives", "is killed", "fails", "hangs"],
)
def test_a_product_is_tried_in_a_child(product, survives, monkeypatch):
    monkeypatch.setattr(torch.nn.functional, "linear", product)
    before = children()
    assert survives_bfloat16(seconds=1) is survives
    assert children() == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="products are tried in a child on Linux only")
def test_the_child_never_comes_back_into_the_program(monkeypatch, tmp_path):
    def fail(one, other):
        raise RuntimeError("no such product")

    monkeypatch.setattr(torch.nn.functional, "linear", fail)
    try:
        assert not survives_bfloat16()
    except RuntimeError:
        (tmp_path / "came back").touch()
        os._exit(1)
    assert not any(tmp_path.iterdir())


def test_a_gpu_is_started_beside_other_work(monkeypatch):
    steps = []
    begun = threading.Event()

    class Driver:
        def __init__(self, name):
            assert name == "libcuda.so.1"

        def cuInit(self, flags):
            assert begun.wait(10)
            steps.append("driver")

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(device.ctypes, "CDLL", Driver)
    monkeypatch.setattr(device, "choose_device", lambda wanted: steps.append(wanted) or CPU)
    with waking("cuda:1"):
        steps.append("block")
        begun.set()
    assert steps == ["block", "driver", "cuda:1"]
    with waking("cpu"):
        pass
    assert len(steps) == 3


def test_a_driver_that_is_not_there_is_reported_by_whoever_needs_it(monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(device, "DRIVER", "libnowhere.so.1")
    with waking("auto"):
        pass


def test_threads_share_the_cores_and_give_them_back():
    torch.set_num_threads(2)
    seen = []
    with device.shared_cores(2) as take_share:

        def run():
            take_share()
            seen.append(torch.get_num_threads())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        seen.append(torch.get_num_threads())
    assert (seen, torch.get_num_threads()) == ([1, 1], 2)
    torch.set_num_threads(1)
