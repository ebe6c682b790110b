"""The C source is compiled once, whatever the state of the cache; without a compiler there is a reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from wordstill.teacher.amx import amx_library
from wordstill.teacher.amx.amx_library import CannotCompile, cache_folder, load_library


@pytest.fixture(autouse=True)
def fresh_cache(monkeypatch, tmp_path):
    try:
        load_library()
    except CannotCompile as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # It takes less time.
    monkeypatch.setattr(amx_library, "FLAGS", [flag.replace("-O3", "-O0") for flag in amx_library.FLAGS])


@pytest.fixture
def compilations(monkeypatch):
    """Commands of the compilers that are run from now on."""
    seen, compiled = [], amx_library._compiled
    monkeypatch.setattr(amx_library, "_compiled", lambda compiler: seen.append(compiler) or compiled(compiler))
    return seen


def kept():
    [path] = cache_folder().iterdir()
    return path


def test_it_is_compiled_once(compilations):
    old = os.umask(0o002)
    try:
        twice(compilations)
    finally:
        os.umask(old)


def twice(compilations):
    assert load_library().amx_linear
    before = kept().stat()
    assert load_library().amx_linear
    assert (len(compilations), kept().stat().st_mtime_ns) == (1, before.st_mtime_ns)
    assert [path.stat().st_mode & 0o777 for path in (kept(), kept().parent)] == [0o600, 0o700]


def test_another_source_is_another_library(monkeypatch, tmp_path):
    load_library()
    for name in (*amx_library.HEADERS, *amx_library.SOURCES):
        shutil.copy(amx_library.FOLDER / name, tmp_path)
    with (tmp_path / "linear.c").open("a") as file:
        file.write("int tiles_more(void) { return 7; }\n")
    monkeypatch.setattr(amx_library, "FOLDER", tmp_path)
    assert load_library().tiles_more() == 7
    assert len(list(cache_folder().iterdir())) == 2


@pytest.mark.parametrize("keep", [0, 5000], ids=["empty", "half"])
def test_a_broken_library_is_made_anew(keep, compilations):
    load_library()
    path = kept()
    whole = path.read_bytes()
    # A new file: the old one is in use.
    path.unlink()
    path.write_bytes(whole[:keep])
    assert load_library().amx_linear
    assert kept().read_bytes()[:4] == b"\x7fELF"
    assert (len(kept().read_bytes()), len(compilations)) == (len(whole), 2)


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load_library().amx_linear
    assert (tmp_path / "file").read_text() == "no folder"


def test_what_others_may_have_written_is_not_loaded():
    load_library()
    cache_folder().chmod(0o777)
    assert str(cache_folder()) not in load_library()._name


def test_two_processes_at_once():
    code = (
        f"from wordstill.teacher.amx import amx_library; amx_library.FLAGS = {amx_library.FLAGS}; "
        "print(bool(amx_library.load_library().amx_linear))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [run.communicate()[0].strip() for run in runs] == ["True", "True"]
    assert amx_library._is_whole(kept())


@pytest.mark.parametrize("named", ["", "no-such-compiler -O2", "cc 'unbalanced"])
def test_without_a_compiler(named, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", named)
    with pytest.raises(CannotCompile, match=r"no C compiler was found \(\$CC, cc, gcc, clang\)"):
        load_library()


@pytest.mark.parametrize("script", ["exit 1", 'test "$1" = --version', "kill -9 $$"])
def test_compilers_that_fail(script, monkeypatch, tmp_path):
    bad = tmp_path / "bad compiler"
    bad.write_text(f"#!/bin/sh\n{script}\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CC", f"'{bad}' -m64")
    assert load_library().amx_linear
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotCompile, match=r"bad compiler' -m64 did not compile the kernel for tiles: "):
        load_library()


def test_the_compiler_that_the_environment_names_comes_first(monkeypatch, compilations):
    monkeypatch.setenv("CC", "cc -g0")
    load_library()
    assert compilations == [["cc", "-g0"]]
