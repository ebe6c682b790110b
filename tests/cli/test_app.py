from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import wordstill
import wordstill.corpus
import wordstill.teacher
from wordstill.cli import distill, evaluate, info, options, prepare, similar_analogy, train
from wordstill.cli.analysis import expand, norms, regress, test
from wordstill.cli.app import GPU_MEMORY
from wordstill.scale import ScaleConfig

COMMANDS = {
    "prepare": prepare,
    "distill": distill,
    "train": train,
    "evaluate": evaluate,
    "similar": similar_analogy,
    "analogy": similar_analogy,
    "info": info,
    "test": test,
    "norms": norms,
    "expand": expand,
    "regress": regress,
}


def test_version(cli):
    assert cli("--version").out == f"wordstill {wordstill.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(cli, name):
    shown = cli(name, "--help")
    assert shown.code == 0
    assert f"Example: wordstill {name} " in " ".join(shown.out.split())


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "wordstill", "--version"], capture_output=True, text=True)
    assert done.stdout.strip().endswith(wordstill.__version__)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="torch grows blocks on Linux only")
def test_gpu_memory_grows_unless_the_user_says_otherwise(cli, monkeypatch):
    monkeypatch.setenv(GPU_MEMORY, "max_split_size_mb:64")
    cli("--version")
    assert os.environ[GPU_MEMORY] == "max_split_size_mb:64"
    monkeypatch.delenv(GPU_MEMORY)
    cli("--version")
    assert os.environ[GPU_MEMORY] == "expandable_segments:True"


def test_help_lists_every_command(cli):
    shown = cli("--help").out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("similar",), ("distill", "text.txt"), ("distill", "--budget", "0")]
)
def test_wrong_usage_ends_with_2(cli, arguments):
    ended = cli(*arguments)
    assert ended.code == 2
    assert ended.err and not ended.out


def test_quick_commands_do_not_import_torch(vectors, store):
    table = str(vectors / "ase")
    calls = [["--help"], ["distill", "--help"], ["similar", table, "bador"], ["info", table], ["info", str(store)]]
    script = f"""
import sys
from wordstill.cli import app
for arguments in {calls!r}:
    app(arguments, standalone_mode=False)
heavy = {{"torch", "transformers", "scipy", "gensim", "pyarrow"}} & set(sys.modules)
sys.exit(f"imported: {{heavy}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_debug_shows_the_traceback(start):
    process = start("--debug", "info", "nowhere")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" in err


def test_a_closed_pipe_is_no_error(start, vectors):
    process = start("similar", vectors / "ase", "bador", "--topn", "50")
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""


def test_defaults_of_groups_are_those_of_the_library():
    assert options.TextOptions().config() == wordstill.corpus.PrepareConfig()
    assert options.VocabularyOptions().config() == wordstill.corpus.VocabularyConfig()
    assert options.TeacherOptions().config() == wordstill.teacher.TeacherConfig()


def test_distill_defaults_are_those_of_the_library(monkeypatch, cli, tmp_path):
    given = []
    monkeypatch.setattr("wordstill.cli.distill.show_dry_run", lambda *arguments: given.append(arguments))
    assert cli("distill", "text.txt", "--out", tmp_path / "vectors", "--dry-run").code == 0
    assert given == [(["text.txt"], tmp_path / "vectors", wordstill.distillation.DistillConfig(), None, ScaleConfig())]


def test_without_torch_distill_says_what_to_install(start, tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from wordstill.cli import main; main()"
    command = [sys.executable, "-c", script, "distill", "text.txt", "--out", str(tmp_path / "vectors")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'wordstill[distill]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [("wordstill ev", "evaluate"), ("wordstill meaning sim", "similar"), ("wordstill distill --min", "--min-count")],
)
def test_completion_in_bash(words, expected):
    environment = os.environ | {
        "PYTHONPATH": str(Path(wordstill.__file__).parents[1]),
        "_WORDSTILL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    script = "from wordstill.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert expected in done.stdout.split(), done.stderr


@pytest.mark.parametrize("name", ["", "distill", "similar", "data fetch", "meaning pairs"])
def test_help_has_no_types_of_python(cli, name):
    shown = cli(*name.split(), "--help").out
    assert "<" not in shown and "{" not in shown


def test_help_paragraphs_fill_the_line():
    from wordstill.cli.options import flowing

    assert (
        flowing("""One line.

    A long
    paragraph.
    """)
        == "One line.\n\nA long paragraph."
    )


def test_the_end_comes_after_what_was_registered_for_it():
    script = (
        "import atexit, sys; atexit.register(print, 'last'); sys.argv = ['wordstill', 'nothing'];"
        "from wordstill.cli import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "last\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_at_the_end_is_an_error():
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "wordstill", "--version"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
