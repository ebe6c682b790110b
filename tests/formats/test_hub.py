"""Tables go to the Hub and come back, through huggingface_hub itself and a stand-in for its server."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import wordstill
from wordstill import WordVectors
from wordstill.errors import MissingExtra, UsageError

THERE_AND_BACK = """
import sys
import numpy as np
from wordstill import WordVectors
from wordstill.errors import DataError

table = WordVectors(["a", "b"], np.eye(2, dtype=np.float32), provenance={"seed": 7})
print(table.push_to_hub("me/first", private=True, token="hf_secret"))
for _ in range(2):
    back = WordVectors.from_pretrained("me/first")
    assert back.words == table.words and back.provenance["seed"] == 7
    assert (back.matrix == table.matrix).all()
try:
    WordVectors.from_pretrained("me/nothing")
except DataError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def hub_stand_in():
    pytest.importorskip("huggingface_hub")
    spec = spec_from_file_location("hub_stand_in", Path(__file__).parent / "hub_stand_in.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.stand_in() as server:
        yield server


def test_there_and_back(hub_stand_in, tmp_path):
    here = {"PYTHONPATH": str(Path(wordstill.__file__).parents[1]), "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    proxies = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HF_HUB_DISABLE_XET": "1"}
    environment = os.environ | here | proxies | {"HF_ENDPOINT": hub_stand_in.address}
    done = subprocess.run([sys.executable, "-c", THERE_AND_BACK], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr, hub_stand_in.asked)
    address, missing = done.stdout.splitlines()
    assert address.startswith(f"{hub_stand_in.address}/me/first/commit/")
    assert missing.startswith("Cannot get 'me/nothing' from the Hugging Face Hub (RepositoryNotFoundError")
    assert hub_stand_in.private == {"me/first": True}
    assert {"vectors.safetensors", "words.txt", "config.json", "README.md"} <= set(
        hub_stand_in.repositories["me/first"]
    )
    gets = [asked for asked in hub_stand_in.asked if asked.startswith("GET") and asked.endswith("vectors.safetensors")]
    assert len(gets) == 1, "the second time the cache is used"


def test_a_folder_is_opened_as_it_is(tmp_path):
    WordVectors(["a"], np.ones((1, 2), dtype=np.float32)).save(tmp_path / "table")
    assert WordVectors.from_pretrained(tmp_path / "table").words == ("a",)


@pytest.mark.parametrize("name", ["nowhere", "./nowhere", "a/b/c", "/tmp/nowhere", ""])
def test_what_is_no_name_is_refused_without_a_request(name):
    with pytest.raises(UsageError, match=r"which is like user/name"):
        WordVectors.from_pretrained(name or "~")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"huggingface_hub.*wordstill\[hub\]"):
        WordVectors.from_pretrained("me/first")
