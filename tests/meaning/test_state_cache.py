"""States on disk: resumed, checked, and on a disk that is full."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from wordstill.errors import DataError
from wordstill.meaning.occurrence import Occurrence
from wordstill.meaning.state_cache import RECORD, STATES, StateCache
from wordstill.meaning.triples import Triple, Triples

WIDTH = 8


class Reader:
    """Gives each occurrence a state made from its number."""

    layers = (0, 1)
    shape = (2, WIDTH)
    teacher = SimpleNamespace(identity="letters", precision="float32")

    def states(self, occurrences):
        numbers = torch.tensor([float(occurrence.text) for occurrence in occurrences])
        return numbers[:, None, None].expand(-1, *self.shape).contiguous(), np.ones(len(occurrences), dtype=bool)


def triples(count):
    return Triples([Triple(*[Occurrence(str(number), 0, 1)] * 3) for number in range(count)], {}, "hash")


def test_states_are_read_once_and_the_same_again(tmp_path):
    cache = StateCache.build(tmp_path, Reader(), triples(20), block=8)
    assert torch.equal(cache.rows(slice(None))[:, 0, 0, 0].float(), torch.arange(20.0))
    again = StateCache.build(tmp_path, Reader(), triples(20), block=8)
    assert torch.equal(again.rows(slice(None)), cache.rows(slice(None)))


@pytest.mark.parametrize("name", [STATES, RECORD])
def test_one_flipped_bit_is_told(tmp_path, name):
    """As D2: the states had no checksum."""
    StateCache.build(tmp_path, Reader(), triples(6), block=4)
    path = tmp_path / name
    whole = path.read_bytes()
    for place in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            StateCache.build(tmp_path, Reader(), triples(6), block=4)


def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(tmp_path):
    """D5: SIGBUS, because the file was sparse and written through mapped memory."""
    small = tmp_path / "small"
    small.mkdir()
    if (
        shutil.which("mount") is None
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no file system can be mounted here")
    try:
        child = os.fork()
        if child == 0:
            try:
                StateCache.build(small, Reader(), triples(4000), block=500)
            except DataError as error:
                os._exit(7 if "No space left" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        subprocess.run(["umount", str(small)], check=True)
