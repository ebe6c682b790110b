"""The C source is compiled once, whatever the state of the cache; without a compiler there is a reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial

import pytest

from wordstill.teacher.amx import amx_library
from wordstill.teacher.amx.amx_library import FLAGS, CannotCompile, cache_folder

# It takes less time.
QUICK = [flag.replace("-O3", "-O0") for flag in FLAGS]


@pytest.fixture(scope="module")
def small_source(tmp_path_factory):
    """A folder with sources of a line, which take no time."""
    folder = tmp_path_factory.mktemp("source")
    for name in (*amx_library.HEADERS, *amx_library.SOURCES):
        (folder / name).write_text("int amx_linear(void) { return 0; }\n" if name == "linear.c" else "")
    return folder


@pytest.fixture
def load_library(small_source):
    return partial(amx_library.load_library, small_source, QUICK)


@pytest.fixture(autouse=True)
def fresh_cache(monkeypatch, tmp_path, load_library):
    try:
        load_library()
    except CannotCompile as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Counts the compilations of a compiler that the environment names."""
    compiler, log = tmp_path / "counting compiler", tmp_path / "compilations"
    compiler.write_text(f'#!/bin/sh\ntest "$*" = "-g0 --version" || echo "$1" >> {log}\nexec cc "$@"\n')
    compiler.chmod(0o755)
    log.touch()
    monkeypatch.setenv("CC", f"'{compiler}' -g0")
    return lambda: log.read_text().split()


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
    assert amx_library.load_library(flags=QUICK).amx_linear
    before = kept().stat()
    assert amx_library.load_library(flags=QUICK).amx_linear
    assert (len(compilations()), kept().stat().st_mtime_ns) == (1, before.st_mtime_ns)
    assert [path.stat().st_mode & 0o777 for path in (kept(), kept().parent)] == [0o600, 0o700]


def test_another_source_is_another_library(tmp_path, small_source, load_library):
    load_library()
    other = shutil.copytree(small_source, tmp_path / "other")
    with (other / "linear.c").open("a") as file:
        file.write("int tiles_more(void) { return 7; }\n")
    assert amx_library.load_library(other, QUICK).tiles_more() == 7
    assert len(list(cache_folder().iterdir())) == 2


@pytest.mark.parametrize("keep", [0, 5000], ids=["empty", "half"])
def test_a_broken_library_is_made_anew(keep, compilations, load_library):
    load_library()
    path = kept()
    whole = path.read_bytes()
    # A new file: the old one is in use.
    path.unlink()
    path.write_bytes(whole[:keep])
    assert load_library().amx_linear
    assert kept().read_bytes()[:4] == b"\x7fELF"
    assert (len(kept().read_bytes()), len(compilations())) == (len(whole), 2)


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path, load_library):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load_library().amx_linear
    assert (tmp_path / "file").read_text() == "no folder"


def test_what_others_may_have_written_is_not_loaded(load_library):
    load_library()
    cache_folder().chmod(0o777)
    assert str(cache_folder()) not in load_library()._name


def test_two_processes_at_once(compilations, small_source, load_library):
    code = (
        "from pathlib import Path; from wordstill.teacher.amx.amx_library import load_library; "
        f"print(bool(load_library(Path({str(small_source)!r}), {QUICK}).amx_linear))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [run.communicate()[0].strip() for run in runs] == ["True", "True"]
    before = compilations()
    assert load_library().amx_linear
    assert kept()
    assert compilations() == before


@pytest.mark.parametrize("named", ["", "no-such-compiler -O2", "cc 'unbalanced"])
def test_without_a_compiler(named, monkeypatch, load_library):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", named)
    with pytest.raises(CannotCompile, match=r"no C compiler was found \(\$CC, cc, gcc, clang\)"):
        load_library()


@pytest.mark.parametrize("script", ["exit 1", 'test "$1" = --version', "kill -9 $$"])
def test_compilers_that_fail(script, monkeypatch, tmp_path, load_library):
    bad = tmp_path / "bad compiler"
    bad.write_text(f"#!/bin/sh\n{script}\n")
    bad.chmod(0o755)
    monkeypatch.setenv("CC", f"'{bad}' -m64")
    assert load_library().amx_linear
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotCompile, match=r"bad compiler' -m64 did not compile the kernel for tiles: "):
        load_library()


def test_the_compiler_that_the_environment_names_comes_first(compilations, load_library):
    load_library()
    assert compilations() == ["-g0"]
