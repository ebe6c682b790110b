"""Commands whose result must be old or new, whole, whatever happens to them: for failing calls and for kills."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from wordstill import WordVectors
from wordstill.corpus import prepare
from wordstill.errors import WordstillError

REFUSED, STRANGE = 3, 4
HANG = 120
"""Seconds after which a process is ended: it hangs."""
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Scenario:
    """A command that replaces ``out`` in a folder."""

    name: str
    run: Callable[[Path, bool], None]
    """Makes ``out`` from what `prepare_folder` has put there; whether to start again."""
    suffix: str = ""

    def out(self, folder: Path) -> Path:
        """The result."""
        return folder / f"out{self.suffix}"


def prepare_folder(scenario: Scenario, folder: Path) -> None:
    """Inputs, and an older result of the same command over other ones."""
    folder.mkdir(parents=True)
    inputs(folder, seed=1)
    scenario.run(folder, True)
    inputs(folder, seed=0)


def inputs(folder: Path, seed: int) -> None:
    """Text, a table of vectors and triples, made from a seed."""
    chance = random.Random(seed)
    words = [f"{one}{two}" for one in ("riv", "hou", "sto", "wat") for two in ("er", "se", "ne", "le")]
    lines = [" ".join(chance.choices(words, k=9)).capitalize() + "." for _ in range(60)]
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    matrix = np.random.default_rng(seed).standard_normal((len(words), 6)).astype(np.float32)
    with (folder / "table.txt").open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} 6\n")
        file.writelines(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, matrix.tolist()))
    header = {"format": "wordstill-triples", "schema": 1, "triples": 40}
    triples = []
    for number in range(40):
        one, two = chance.sample(words, 2)
        text = f"the {one} of number {number}"
        original, negative = [text, 4, 4 + len(one)], [text.replace(one, two), 4, 4 + len(two)]
        positive = [f"so {text}", 7, 7 + len(one)]
        triples.append({"original": original, "positive": positive, "negative": negative, "how": "given"})
    lines = [json.dumps(part) for part in (header, *triples)]
    (folder / "triples.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def fingerprint(path: Path) -> str:
    """Of all bytes of a file or folder; empty where there is nothing."""
    if not os.path.lexists(path):
        return ""
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if file.is_file():
            digest.update(file.relative_to(path.parent).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def in_child(scenario: Scenario, folder: Path, *, overwrite: bool, before: Callable[[], None] = lambda: None) -> int:
    """Start the command in a process of its own; gives its number."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(HANG)
    warnings.simplefilter("ignore")
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    try:
        before()
        scenario.run(folder, overwrite)
    except WordstillError as error:
        (folder.parent / "refused.txt").write_text(str(error))
        os._exit(REFUSED)
    except BaseException as error:
        where = "".join(traceback.format_exception(error)[-3:])
        (folder.parent / "strange.txt").write_text(f"{error!r} {where}")
        os._exit(STRANGE)
    os._exit(0)


@cache
def _tiny_teachers() -> Any:
    spec = spec_from_file_location("tiny_teachers", TESTS / "teacher" / "tiny_teachers.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def saved_teacher(folder: Path) -> Path:
    """A folder with a tiny teacher."""
    place = folder / "teacher"
    _tiny_teachers().make_model("bert-cased").save_pretrained(place)
    _tiny_teachers().make_tokenizer("bert-cased").save_pretrained(place)
    return place


def _prepare(folder: Path, overwrite: bool) -> None:
    prepare(folder / "text.txt", folder / "out", workers=1, block_bytes=1000, overwrite=overwrite)


def _convert(folder: Path, overwrite: bool, suffix: str) -> None:
    WordVectors.load(folder / "table.txt").save(folder / f"out{suffix}", overwrite=True)


def _config(folder: Path, *methods: str) -> Any:
    from wordstill.corpus import PrepareConfig, VocabularyConfig
    from wordstill.distillation import DistillConfig
    from wordstill.teacher import TeacherConfig

    return DistillConfig(
        methods,
        TeacherConfig(str(saved_teacher(folder.parent)), device="cpu", dtype="float32"),
        prepare=PrepareConfig(),
        vocabulary=VocabularyConfig(min_count=1),
        budget=400,
        checkpoint_seconds=0.0,
    )


def _distill(folder: Path, overwrite: bool) -> None:
    from wordstill.distillation import distill

    config = _config(folder, "still", "x2static")
    distill(folder / "text.txt", folder / "out", config=config, overwrite=True, resume=not overwrite)


def _distill_in_shards(folder: Path, overwrite: bool, text: str = "text.txt", out: str = "out") -> None:
    """As with ``--workers``, but in this process."""
    from wordstill.scale import ScaleConfig, distill_in_shards

    scale = ScaleConfig(keep_sums=True, shard_words=200)
    config = _config(folder, "ase")
    distill_in_shards(folder / text, folder / out, config, scale, overwrite=True, resume=not overwrite)


def _add(folder: Path, overwrite: bool) -> None:
    from wordstill.scale.incremental import add

    if not (folder / "base").exists():
        (folder / "base.txt").write_text("The river and the stone. A house by the water.\n" * 9, encoding="utf-8")
        _distill_in_shards(folder, True, "base.txt", "base")
    add(folder / "base", folder / "text.txt", folder / "out", device="cpu", dtype="float32", overwrite=True)


@cache
def tiny_teacher() -> Any:
    """One of random weights."""
    return _tiny_teachers().make_teacher("bert-uncased")


def _train(folder: Path, overwrite: bool) -> None:
    from wordstill.meaning import DistillerConfig, TrainConfig, Triples, train_encoder

    config = TrainConfig(batch=8, max_epochs=2, warm_up=2, validation=4, distiller=DistillerConfig(heads=4))
    triples = Triples.read(folder / "triples.jsonl")
    if overwrite or (folder / "out.partial").exists() is False:
        train_encoder(triples, tiny_teacher(), folder / "out", config, other_teacher=True, overwrite=True)
    else:
        train_encoder(triples, tiny_teacher(), folder / "out", config, other_teacher=True)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("prepare", _prepare),
        Scenario("convert to a folder", lambda folder, overwrite: _convert(folder, overwrite, "")),
        Scenario("convert to a file", lambda folder, overwrite: _convert(folder, overwrite, ".txt"), ".txt"),
        Scenario("distill", _distill),
        Scenario("distill in shards", _distill_in_shards),
        Scenario("add", _add),
        Scenario("meaning train", _train),
    )
}
