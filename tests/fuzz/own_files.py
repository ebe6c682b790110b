"""Files of ours that are read back, every one: no change of them may go unnoticed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from tests.fuzz.scenarios import saved_teacher, tiny_teacher
from tests.fuzz.seeds import TABLE, TEXT, Target, digest
from wordstill import formats
from wordstill.core.resume import CheckpointFile, keep_record, read_record
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig, prepare
from wordstill.corpus.paragraphs import group_parts
from wordstill.corpus.readers import read_parts
from wordstill.corpus.segment import LineSplitter
from wordstill.corpus.shards import Shard, ShardMaker
from wordstill.corpus.sources import find_sources
from wordstill.corpus.words import StoreWords
from wordstill.distillation import DistillConfig
from wordstill.errors import DataError
from wordstill.explore.layout import MapMaker, WordMap
from wordstill.formats.floret import FloretTable
from wordstill.meaning import MeaningEncoder
from wordstill.meaning.distiller import DistillerConfig, Distillers
from wordstill.meaning.occurrence import Occurrence, OccurrenceStore
from wordstill.meaning.state_cache import StateCache
from wordstill.meaning.triples import Triple, Triples
from wordstill.postprocess import Pipeline
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.kept_sums import KeptSums
from wordstill.scale.ledger import Ledger
from wordstill.scale.part_files import Part
from wordstill.scale.shared_folder import LocalFolder
from wordstill.teacher import TeacherConfig
from wordstill.teacher.isolated_words import TeacherBackoff
from wordstill.teacher.subwords import FormSubwords, KeptSubwords
from wordstill.vectors.folds import Folds
from wordstill.vectors.occurrences import Occurrences

ALL = ("",)
AGAIN = "What is damaged is not used, but made again."


def _make_table(path: Path) -> None:
    table = TABLE.replace(subwords=FloretTable(np.ones((3, TABLE.dim), np.float32), 1, 2, 1, 0))
    places = np.arange(3), np.arange(3, dtype=np.int32), np.ones(3, dtype=np.uint8)
    states = np.ones((3, 2), dtype=np.float16)
    table.occurrences = Occurrences(["king", "queen"], np.array([2, 1]), np.array([0, 2, 3]), states, *places, layer=1)
    cells, first, counts = np.arange(2, dtype=np.int32), np.zeros(2, np.int32), np.array([2, 1])
    sizes, names = np.array([9]), (("all",), ("documents",))
    table.folds = Folds(np.ones((2, TABLE.dim), np.float32), cells, first, counts, first[:1], sizes, *names)
    table.save(path)


def _read_table(path: Path) -> str:
    table = formats.read(path)
    table.find(["king", "kings"])
    table.neighbors([table.words[0]], 2)
    parts: list[Any] = [table.words, table.matrix, table.provenance, table.subwords]
    if table.occurrences is not None:
        rows = range(len(table.occurrences.words))
        parts += [table.occurrences.means, *(part for row in rows for part in table.occurrences.of_row(row)[1:])]
    if table.folds is not None:
        parts += vars(table.folds.verified()).values()
    return digest(*parts)


def _make_store(path: Path) -> None:
    """With groups, its words, and the subwords that a tokenizer has made of its forms."""
    source = path.with_name("text.jsonl")
    years = enumerate(TEXT.split("\n"), 1985)
    source.write_text("".join(json.dumps({"text": line, "year": year}) + "\n" for year, line in years))
    prepare(source, path, PrepareConfig(group="year", bins="decade"), workers=1)
    FormSubwords(Corpus.open(path), tiny_teacher().tokenizer, least_kept=1)


def _read_store(path: Path) -> str:
    corpus = Corpus.open(path, verify=True)
    subwords = KeptSubwords(corpus, tiny_teacher().tokenizer).chunk()
    words = StoreWords.load(path, corpus.hash, len(corpus.forms.word_starts))
    if subwords is None or words is None:
        raise DataError(AGAIN)
    texts = [corpus.text(number) for number in range(len(corpus))]
    return digest(texts, corpus.n_words, corpus.hash, [*words], words.counts, words.of_slot, *subwords)


def _make_shard(path: Path) -> None:
    source = path.with_name("text.txt")
    source.write_text(TEXT, encoding="utf-8")
    config = PrepareConfig(sentences_per_line=True, group="file:text")
    for block in group_parts(read_parts(find_sources(source), config, 1 << 16), 1 << 16):
        ShardMaker(config, LineSplitter(), path)(block)
        source.write_text(block.digest())


def _read_shard(path: Path) -> str:
    tally = Shard(path, 0).finished(path.with_name("text.txt").read_text())
    if tally is None:
        raise DataError(AGAIN)
    return digest(tally)


@dataclass(frozen=True)
class _Progress:
    words: int = 0


RECIPE = json.dumps({"seed": 0, "method": {"name": "still", "dim": 4}})


def _make_checkpoint(path: Path) -> None:
    CheckpointFile(path, RECIPE).save({"words": 5}, {"sums": TABLE.matrix, "counts": np.arange(7)})


def _read_checkpoint(path: Path) -> str:
    loaded = CheckpointFile(path, RECIPE).load(_Progress)
    return "" if loaded is None else digest(loaded[0], *(loaded[1][name] for name in sorted(loaded[1])))


def _read_record(path: Path) -> str:
    keep_record(path, {"command": "work", "seed": 0})
    return digest(read_record(path))


def _lengths(words: Any) -> Any:
    return np.array([[len(word), word.count("e"), 1.0] for word in words])


def _words(path: Path) -> str:
    found = TeacherBackoff(TABLE, _lengths, teacher="letters", cache=path).find(["kings", "rivers"])
    return digest(*(np.round(vector, 3) for vector in found))  # type: ignore[arg-type]


def _make_map(path: Path) -> None:
    TABLE.save(path)
    maker, places = MapMaker(TABLE, path), np.ones((len(TABLE), 2), np.float32)
    maker.keep(WordMap("tsne", maker.rows, places, np.zeros(len(TABLE), np.uint8), ("royal",)))


def _read_map(path: Path) -> str:
    kept = MapMaker(TABLE, path).kept("tsne")
    if kept is None or kept.clusters is None:
        raise DataError(AGAIN)
    return digest(kept.places, kept.clusters, kept.cluster_names)


def _make_uses(path: Path) -> None:
    OccurrenceStore([Occurrence("the old bank", 8, 12)] * 3, np.ones((3, 4), np.float32), "encoder").save(path)


def _read_uses(path: Path) -> str:
    store = OccurrenceStore.load(path)
    return digest([occurrence.word for occurrence in store.occurrences], store.vectors, store.encoder)


class _Reader:
    """Gives each occurrence a state of ones."""

    layers, shape = (0, 1), (2, 2)
    teacher = SimpleNamespace(identity="ones", precision="float32")

    def states(self, occurrences: list[Occurrence]) -> Any:
        return torch.ones(len(occurrences), *self.shape), np.ones(len(occurrences), dtype=bool)


def _states(path: Path) -> str:
    bank = Occurrence("bank", 0, 4)
    triples = Triples([Triple(bank, bank, bank)] * 3, {}, "hash")
    cache = StateCache.build(path, _Reader(), triples, block=2)  # type: ignore[arg-type]
    return digest(cache.rows(slice(None)).float().numpy())


def _make_encoder(path: Path) -> None:
    teacher = tiny_teacher()
    shape = MeaningEncoder(teacher, Distillers(1, teacher.width, DistillerConfig(heads=1)), "1").reader.shape
    with torch.random.fork_rng():
        torch.manual_seed(0)
        distillers = Distillers(*shape, DistillerConfig(heads=1, feedforward=1))
    MeaningEncoder(teacher, distillers, "1").save(path)


def _read_encoder(path: Path) -> str:
    encoder = MeaningEncoder.load(path, teacher=tiny_teacher())
    weights = encoder.distillers.state_dict()
    return digest(encoder.reader.layers, *(weights[name].numpy() for name in sorted(weights)))


def _make_part(path: Path) -> None:
    Part({"still": {"sums": TABLE.matrix, "sparse": np.eye(7, 4, dtype=np.float32)}}, cut=2).write(path)


def _read_part(path: Path) -> str:
    part, facts = Part.read(path)
    return digest(facts, part.cut, *(array for state in part.states.values() for _, array in sorted(state.items())))


@cache
def _sums() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_text(TEXT, encoding="utf-8")
        teacher = TeacherConfig(str(saved_teacher(folder)), device="cpu", dtype="float32")
        config = DistillConfig(("ase",), teacher, vocabulary=VocabularyConfig(min_count=6))
        distill_in_shards(folder / "text.txt", folder / "out", config, ScaleConfig(keep_sums=True))
        return (folder / "out" / "sums.safetensors").read_bytes()


def _read_sums(path: Path) -> str:
    kept = KeptSums.read(path)
    return digest(kept.facts, kept.vocabulary.keys, kept.finish().matrix)


def _make_ledger(path: Path) -> None:
    ledger = Ledger(LocalFolder(path), me="worker")
    ledger.open_plan({"seed": 0, "shards": 3})
    for shard in range(2):
        claim = ledger.claim(shard, {})
        assert claim is not None
        ledger.fail(claim, "no reason") if shard else ledger.commit(claim, "parts/0.1-x.safetensors")


def _read_ledger(path: Path) -> str:
    ledger = Ledger(LocalFolder(path))
    ledger.open_plan({"seed": 0, "shards": 3})
    ledger.refresh()
    return digest(ledger.failures(), ledger.done, ledger.left_out())


def _read_learnt(path: Path) -> str:
    return digest(Pipeline.load(path).transform(TABLE).matrix)


def _own(name: str, make: Callable[[Path], object], read: Callable[[Path], Any], file: str = "seed") -> Target:
    return Target(name, make, read, file=file, checked=ALL)


TABLE_FILES = ("words", "vectors", "config", "occurrences", "folds", "subwords")
OWN_FILES = [
    Target(
        "artifact",
        _make_table,
        _read_table,
        checked=tuple(f"{name}.{ending}" for name in TABLE_FILES for ending in ("txt", "json", "safetensors")),
    ),
    Target("map", _make_map, _read_map, checked=("map-tsne.safetensors",)),
    _own("store", _make_store, _read_store),
    _own("shard", _make_shard, _read_shard),
    _own("checkpoint", _make_checkpoint, _read_checkpoint, "checkpoint"),
    _own("record", lambda path: keep_record(path, {"command": "work", "seed": 0}), _read_record, "settings.json"),
    _own(
        "transforms", lambda path: Pipeline.from_spec("centre,pca:dim=2").fit(TABLE).save(path), _read_learnt, "learnt"
    ),
    _own("words cache", _words, _words, "words"),
    _own("sums of a shard", _make_part, _read_part, "part"),
    _own("kept sums", lambda path: path.write_bytes(_sums()), _read_sums, "sums.safetensors"),
    _own("ledger", _make_ledger, _read_ledger),
    _own("states", _states, _states),
    Target("encoder", _make_encoder, _read_encoder, checked=("config.json", "distillers.safetensors")),
    _own("uses", _make_uses, _read_uses),
]
