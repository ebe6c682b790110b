"""The package as a whole: what it needs, what it shows, and which room knows which."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wordstill
from wordstill import WordVectors

SOURCE = Path(wordstill.__file__).parent
PROJECT = SOURCE.parents[1] / "pyproject.toml"
BASE = ("numpy", "safetensors")

ROOMS = (
    "errors",
    "core",
    "vectors",
    "formats",
    "postprocess",
    "corpus",
    "teacher",
    "methods",
    "distillation",
    "scale",
    "baselines",
    "evaluation",
    "meaning",
    "analysis",
    "reproduction",
    "explore",
    "cli",
    "demo",
    "__main__",
)
"""From left to right; a room imports only itself and rooms to the left of it."""

VECTORS_ONLY = {"errors", "core", "vectors", "formats"}
STRICTER = {"evaluation": VECTORS_ONLY | {"evaluation"}, "trained": VECTORS_ONLY | {"evaluation", "teacher"}}
"""How good vectors are has nothing to do with how they were made; only the tasks that train know the teacher,
for its device and because the finetuned model is their upper row."""

BACKWARDS = {("vectors", "formats"), ("vectors", "explore")}
"""`WordVectors.save`, `load` and `explore` find the format and the page when they are called."""

FOREIGN = {
    "core": {"torch", "transformers", "tokenizers"},
    "vectors": {"torch", "transformers", "tokenizers"},
    "formats": {"torch", "transformers"},
    "corpus": {"torch", "transformers", "tokenizers"},
    "evaluation": {"torch", "transformers"},
    "cli": {"torch"},
}
"""What a room must not know from outside the package."""

SHARED_NAMES = {"__init__", "base", "config", "registry"}
MOST_AT_ROOT, MOST_IN_FOLDER, MOST_LINES = 4, 20, 400


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


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
            found.update(name for name in names if name in ROOMS)
        elif module.startswith("wordstill."):
            found.add(module.split(".")[1])
    return found


def own_room(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return "trained" if parts[:2] == ("evaluation", "trained") else parts[0].removesuffix(".py")


def wrong_imports(path: Path) -> Iterator[str]:
    room = own_room(path)
    left = ROOMS[: ROOMS.index("evaluation" if room == "trained" else room) + 1]
    allowed = STRICTER.get(room, set(left)) | {to for own, to in BACKWARDS if own == room}
    foreign = {module.partition(".")[0] for module, _ in imports(path)} & FOREIGN.get(room, set())
    for other in sorted(known_rooms(path) - allowed | foreign):
        yield f"{path.relative_to(SOURCE)} imports {other}"


def test_rooms_know_only_rooms_to_their_left():
    paths = [path for path in modules() if path != SOURCE / "__init__.py"]
    assert [line for path in paths for line in wrong_imports(path)] == []


def test_wrong_imports_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    (tmp_path / "corpus").mkdir()
    path = tmp_path / "corpus" / "store.py"
    path.write_text("import torch\nfrom wordstill.teacher import Teacher\nfrom wordstill.core import files\n")
    assert list(wrong_imports(path)) == ["corpus/store.py imports teacher", "corpus/store.py imports torch"]


TEACHER_SHOWS = {"wordstill.teacher", "wordstill.teacher.device", "wordstill.teacher.spans"}


def test_meaning_and_evaluation_know_nothing_inside_the_teacher():
    paths = [path for path in modules() if own_room(path) in {"meaning", "evaluation", "trained"}]
    assert [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in paths
        for module, _ in imports(path)
        if module.startswith("wordstill.teacher") and module not in TEACHER_SHOWS
    ] == []


def test_the_house_is_in_order():
    folders = Counter(path.parent for path in modules() if path.stem != "__init__")
    names = Counter(path.stem for path in modules())
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    at_root = [path.name for path in modules() if path.parent == SOURCE]
    twice = {name for name, count in names.items() if count > 1} - SHARED_NAMES
    assert [
        *(f"loose at the root: {name}" for name in at_root[MOST_AT_ROOT:]),
        *(f"{folder}: {count} modules" for folder, count in folders.items() if count > MOST_IN_FOLDER),
        *(f"{name}.py is the name of {names[name]} files" for name in sorted(twice)),
        *(f"{path}: {count} lines" for path, count in lines.items() if count > MOST_LINES),
    ] == []


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
    table = WordVectors(["king", "queen", "river"], matrix, counts=np.array([3, 2, 1]), provenance={"seed": 0})
    path = tmp_path / "vectors"
    table.save(path)
    script = USE_WITHOUT_EXTRAS.format(names=set(BASE), path=str(path))
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_public_names():
    public = {"WordVectors", "__version__", "distill", "distill_from_teacher", "evaluate", "prepare"}
    assert set(wordstill.__all__) == public
    from wordstill.corpus import prepare
    from wordstill.distillation import distill
    from wordstill.evaluation import evaluate

    assert (wordstill.distill, wordstill.evaluate, wordstill.prepare) == (distill, evaluate, prepare)
    with pytest.raises(AttributeError, match="module 'wordstill' has no attribute 'destill'"):
        wordstill.destill  # noqa: B018


def test_completion_shows_the_public_names_only():
    assert dir(wordstill) == sorted(wordstill.__all__)


LAZY = """
import sys
import wordstill
wordstill.WordVectors
loaded = [name for name in sys.modules if name.startswith(("wordstill.evaluation", "wordstill.corpus"))]
assert not loaded, loaded
import wordstill.evaluation.suite, wordstill.distillation.engine
assert callable(wordstill.evaluate) and callable(wordstill.distill)
"""


def test_opening_vectors_loads_no_other_room_and_functions_stay_functions():
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_version_is_the_projects():
    assert wordstill.__version__ == tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]


def test_types_are_declared():
    assert (SOURCE / "py.typed").is_file()
