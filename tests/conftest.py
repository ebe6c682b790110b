"""Fixtures for all rooms."""

from __future__ import annotations

import copy
import gc
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from wordstill.core.progress import BARS_ANYWHERE

if TYPE_CHECKING:
    from wordstill.teacher import Teacher

# torch looks at this when it is imported. Tiny matrices are not worth two threads, and no result may depend on them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Triton looks at this when it is imported. Where there is a GPU, kernels run on it.
if not Path("/dev/nvidia0").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_configure() -> None:
    """A shell lets commands in the background ignore Ctrl-C, and so would every process that tests start."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A third of the time of collecting tests would be looking for garbage among what is imported, which stays.
    gc.disable()


def pytest_collection_finish() -> None:
    """Garbage is looked for among what tests make."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first: at the end, one process would wait for the other."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session", autouse=True)
def no_sync() -> Iterator[None]:
    """Thousands of small files need not reach the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


@pytest.fixture
def bars() -> Iterator[None]:
    """Progress bars are drawn, although there is no terminal."""
    token = BARS_ANYWHERE.set(True)
    yield
    BARS_ANYWHERE.reset(token)


def _loaded(path: str) -> ModuleType:
    """A module beside the tests, loaded only where it is wanted: those of models need torch and transformers."""
    spec = spec_from_file_location(Path(path).stem, Path(__file__).parent / path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny_teachers() -> ModuleType:
    """Makes models and tokenizers of every kind."""
    return _loaded("teacher/tiny_teachers.py")


@pytest.fixture(scope="session")
def tiny_models() -> ModuleType:
    """Makes masked and translating models."""
    return _loaded("meaning/tiny_models.py")


@pytest.fixture(scope="session")
def saved_masked_model(
    tmp_path_factory: pytest.TempPathFactory, tiny_models: ModuleType, tiny_tokenizer: Callable[[str], Any]
) -> Path:
    """The folder of a saved masked language model of random weights; do not change it."""
    folder = tmp_path_factory.mktemp("saved") / "masked"
    tokenizer = tiny_models.with_mask(tiny_tokenizer("bert-uncased"))
    tiny_models.masked_bert(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_teachers: ModuleType) -> Callable[[str], Any]:
    """Gives the tokenizer of a kind of teacher, wrapped as transformers does."""
    return tiny_teachers.make_tokenizer


@pytest.fixture(scope="session")
def tiny_model(tiny_teachers: ModuleType) -> Callable[[str], Any]:
    """Gives a new model of a kind of teacher; always the same weights."""
    return tiny_teachers.make_model


@pytest.fixture(scope="session")
def tiny_teacher(tiny_teachers: ModuleType) -> Callable[..., Teacher]:
    """Gives a teacher by its kind, in float32 on the CPU unless told otherwise; do not change it."""
    return tiny_teachers.make_teacher


@pytest.fixture(scope="session")
def saved_teacher(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Any], tiny_tokenizer: Callable[[str], Any]
) -> Path:
    """The folder of a saved model of random weights, of width 32 and 3 blocks; do not change it."""
    folder = tmp_path_factory.mktemp("saved") / "teacher"
    tiny_model("bert-cased").save_pretrained(folder)
    tiny_tokenizer("bert-cased").save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def copy_of_model() -> Callable[..., tuple[Any, Any]]:
    """Loads a teacher's model and tokenizer as usual, but reads the files of a folder once: others get a copy."""
    from wordstill.teacher.loading import load_model_and_tokenizer

    kept: dict[Any, tuple[Any, Any]] = {}

    def load(name: str | Path) -> tuple[Any, Any]:
        folder = Path(name)
        if not folder.is_dir():
            return load_model_and_tokenizer(name)
        files = sorted((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in folder.iterdir())
        key = (folder.resolve(), *files)
        if key not in kept:
            kept[key] = load_model_and_tokenizer(name)
        model, tokenizer = kept[key]
        return copy.deepcopy(model), tokenizer

    return load


@pytest.fixture(scope="module")
def models_read_once(copy_of_model: Callable[..., tuple[Any, Any]]) -> Iterator[None]:
    """For rooms whose tests start many runs with the same teacher."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordstill.teacher.teacher.load_model_and_tokenizer", copy_of_model)
        yield


@pytest.fixture(scope="session")
def masking_teacher(tiny_model: Callable[[str], Any], tiny_tokenizer: Callable[[str], Any]) -> Teacher:
    """A teacher whose tokenizer has a token for masked words; do not change it."""
    from transformers import PreTrainedTokenizerFast

    from wordstill.teacher import Teacher, TeacherConfig

    plain = tiny_tokenizer("bert-uncased")
    names = {name: getattr(plain, name) for name in ("pad_token", "unk_token", "cls_token", "sep_token")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain.backend_tokenizer, mask_token="[UNK]", **names)
    return Teacher(tiny_model("bert-uncased"), tokenizer, TeacherConfig("tiny", "cpu", "float32"))


@pytest.fixture(scope="session")
def short_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 40 lines of few different words; do not change it."""
    words = ("the", "old", "still", "stands", "in", "a", "small", "house", "by", "river", "nobody", "moved", "it")
    words = (*words, "heat", "text", "cool", "vapour", "keep")
    chooser = random.Random(0)
    path = tmp_path_factory.mktemp("short") / "text.txt"
    lines = [" ".join(chooser.choices(words, k=12)) + "." for _ in range(40)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(params=[
    "bert-uncased", "bert-cased", "roberta", "roberta-prefix", "roberta-untrimmed", "gpt2", "modernbert",
    "llama3", "xlmr", "t5", "albert",
])  # fmt: skip
def space_splitting(request: pytest.FixtureRequest) -> str:
    """Each kind whose tokenizer never joins across a blank."""
    return str(request.param)


@pytest.fixture(params=["llama2", "swallowing"])
def space_joining(request: pytest.FixtureRequest) -> str:
    """Each kind whose tokenizer may join across a blank."""
    return str(request.param)
