"""The package as a whole: what it needs, what it shows, and which room knows which."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wordstill
from wordstill import WordVectors

SOURCE = Path(wordstill.__file__).parent
PROJECT = SOURCE.parents[1] / "pyproject.toml"
BASE = ("numpy", "safetensors")

CORE = {
    "vectors",
    "checks",
    "neighbours",
    "spelling",
    "ngrams",
    "queries",
    "analogies",
    "backoff",
    "teacher_backoff",
    "sentences",
    "approximate",
    "formats",
}

ROOMS = (
    {"errors", "heap"},
    {"files", "lock", "settings"},
    CORE,
    {"postprocess"},
    {"corpus"},
    {"teacher"},
    {"methods"},
    {
        "checkpoint",
        "working_folder",
        "prefetch",
        "crew",
        "stopwatch",
        "recipe",
        "engine",
        "input_text",
        "development",
        "run",
        "distillation",
        "estimate",
        "words_alone",
    },
    {"baselines"},
    {"evaluate", "extrinsic"},
    {"meaning"},
    {"cli", "demo", "__main__"},
)
"""From left to right; a room imports only from its own place and from the left of it."""

VECTORS_ONLY = CORE | {"errors", "files"}
STRICTER = {
    "evaluate": VECTORS_ONLY | {"evaluate"},
    "extrinsic": VECTORS_ONLY | {"evaluate", "teacher"},
}
"""How good vectors are has nothing to do with how they were made; only the tasks that train know the teacher,
for its device and because the parent model is their upper row."""

FOREIGN = {
    "corpus": {"torch", "transformers", "tokenizers"},
    "evaluate": {"torch", "transformers"},
    "cli": {"torch"},
}
"""What a room must not know from outside the package."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
    """``wordstill.corpus.store`` is in ``corpus``; the package itself is no room."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every module that is imported anywhere in a file, with the names taken from it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or "", tuple(alias.name for alias in node.names)


def known_rooms(path: Path) -> set[str]:
    """The rooms that a file imports from."""
    found = set()
    for module, names in imports(path):
        if module == "wordstill":
            found.update(name for name in names if name != "__version__")
        elif module.startswith("wordstill."):
            found.add(room_of(module))
    return found


def own_room(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return "extrinsic" if parts[:2] == ("evaluate", "extrinsic") else parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_rooms_know_only_rooms_to_their_left(path):
    room = own_room(path)
    if room == "__init__":
        return
    place = next((number for number, rooms in enumerate(ROOMS) if room in rooms), None)
    assert place is not None, f"{room} has no place in ROOMS"
    allowed = STRICTER.get(room, set().union(*ROOMS[: place + 1]))
    assert known_rooms(path) <= allowed
    top = {module.partition(".")[0] for module, _ in imports(path)}
    assert not top & FOREIGN.get(room, set())


def test_the_rooms_above_are_found_at_all():
    assert known_rooms(SOURCE / "run.py") >= {"corpus", "teacher", "methods", "engine", "vectors"}
    assert "torch" in {module for module, _ in imports(SOURCE / "engine.py")} | {
        module for module, _ in imports(SOURCE / "methods" / "base.py")
    }


USE_WITHOUT_EXTRAS = """
import sys

allowed = {names} | set(sys.stdlib_module_names) | {{"wordstill"}}


class OnlyBase:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, OnlyBase())
import wordstill

vectors = wordstill.WordVectors.load({path!r})
assert vectors.most_similar("king", topn=1)[0][0] == "queen"
assert vectors.counts.tolist() == [3, 2, 1]
assert vectors.provenance == {{"seed": 0}}
vectors.save({path!r} + ".txt")
assert wordstill.WordVectors.load({path!r} + ".txt").words == vectors.words
assert wordstill.evaluate is not None
loaded = {{name.partition(".")[0] for name in sys.modules}}
assert not loaded & {{"torch", "transformers", "tokenizers", "scipy", "sklearn", "gensim", "typer", "tqdm"}}
print("done")
"""


def test_reading_vectors_needs_the_base_only(tmp_path):
    matrix = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
    table = WordVectors(
        ["king", "queen", "river"], matrix, counts=np.array([3, 2, 1]), provenance={"seed": 0}
    )
    path = tmp_path / "vectors"
    table.save(path)
    script = USE_WITHOUT_EXTRAS.format(names=set(BASE), path=str(path))
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_public_names():
    assert set(wordstill.__all__) == {"WordVectors", "__version__", "distill", "evaluate", "prepare"}
    from wordstill.corpus import prepare
    from wordstill.distillation import distill
    from wordstill.evaluate import evaluate

    assert (wordstill.distill, wordstill.evaluate, wordstill.prepare) == (distill, evaluate, prepare)
    with pytest.raises(AttributeError, match="module 'wordstill' has no attribute 'destill'"):
        wordstill.destill  # noqa: B018


def test_evaluate_stays_the_function_after_its_room_is_imported():
    import wordstill.evaluate.report

    assert callable(wordstill.evaluate)


def test_the_version_is_the_projects():
    assert wordstill.__version__ == tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]


def test_types_are_declared():
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
