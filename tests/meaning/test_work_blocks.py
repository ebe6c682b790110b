"""Triples and uses in blocks: the same bytes, whoever made them."""

from __future__ import annotations

import pickle
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning import DistillerConfig, Distillers, MeaningEncoder, Occurrence, work_blocks
from wordstill.meaning.encode_uses import UseReader, UseWork, encode_uses
from wordstill.meaning.make_encoder import make_encoder
from wordstill.meaning.make_triples import Mode, PairConfig, TripleWork, TripleWorkers, make_triples
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.meaning.work_blocks import Workers, blocks_of, divide
from wordstill.scale.pools import InlinePool
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

WORDS = ["river", "house", "still", "old", "small", "knows", "nobody", "grey", "turned", "stands", "why", "words"]
TEXTS = [f"nobody {WORDS[n % 12]} the {WORDS[n // 3 % 12]} by {WORDS[n // 5 % 12]} number {n}" for n in range(40)]
CONFIG = PairConfig(build=BuildConfig(0.1, 0.0))


def sent(work):
    return pickle.loads(pickle.dumps(work))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("blocks")


@pytest.fixture(scope="module")
def saved_encoder(folder, saved_masked_model):
    teacher = Teacher.from_config(TeacherConfig(str(saved_masked_model), "cpu", "float32"))
    torch.manual_seed(0)
    distillers = Distillers(1, teacher.width, DistillerConfig(heads=4))
    MeaningEncoder(teacher, distillers, "2").save(folder / "encoder")
    return MeaningEncoder.load(folder / "encoder", device="cpu", dtype="float32")


def test_two_workers_make_the_triples_of_one(folder, saved_masked_model):
    masked = MaskedModel.from_pretrained(saved_masked_model, device="cpu", dtype="float32")
    table = WordVectors(WORDS, np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32))
    table.save(folder / "vectors")
    sources = Sources([Occurrence.at(text, 1) for text in TEXTS], None, "text")
    make_triples(sources, masked, table, folder / "plain.jsonl", CONFIG, block=4)
    out = folder / "triples.jsonl"
    by = TripleWorkers(Workers(2), str(folder / "vectors"))
    make_triples(sources, masked, table, out, CONFIG, block=4, by=by)
    assert out.read_bytes() == (folder / "plain.jsonl").read_bytes()
    assert not out.with_name("triples.jsonl.partial").exists()
    with pytest.raises(UsageError, match="omit enough and seconds"):
        make_triples(sources, masked, table, folder / "more.jsonl", CONFIG, by=by, enough=3)


def test_a_worker_resumes_what_was_stopped_and_encodes_the_same_uses(folder, saved_encoder, monkeypatch):
    lines = [*TEXTS, Occurrence.at("nobody knows", "knows")]
    store = encode_uses(saved_encoder, lines, folder / "plain", block=8)
    assert store.occurrences[0].word == "knows"
    assert [use.text for use in store.occurrences[1::8]] == TEXTS
    out, real, made = folder / "uses", UseReader.read, []

    def stopping(self, block, *rest):
        if len(made) == 3:
            signal.raise_signal(signal.SIGINT)
        made.append(block)
        return real(self, block, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(UseReader, "read", stopping)
        with pytest.raises(Interrupted, match="encoding lines: 17 of 41 lines done and saved"):
            encode_uses(saved_encoder, lines, out, block=8)
    before = contents(folder / "uses.partial")
    with pytest.raises(DataError, match=r"other settings: words was None, now \['old'\]"):
        encode_uses(saved_encoder, lines, out, ["old"], block=8)
    with monkeypatch.context() as patch:
        # A worker has what was sent to it, and loads the encoder itself.
        patch.setattr(work_blocks, "open_pool", lambda work, folder, *_: InlinePool(sent(work).open(1), folder))
        encode_uses(saved_encoder, lines, out, workers=Workers(1), block=8)
    assert len(before) == 5
    assert contents(out) == contents(folder / "plain")


def test_workers_of_another_version_or_model_are_refused_by_name(folder, saved_encoder, saved_masked_model):
    work = UseWork.of(saved_encoder, None)
    with pytest.raises(DataError, match=r"run was started with 0\.0"):
        replace(work, version="0.0").open(1)
    with pytest.raises(DataError, match="encoder was 'another', now"):
        replace(work, fingerprint="another").open(1)
    WordVectors(WORDS, np.ones((12, 2), dtype=np.float32)).save(folder / "ones")
    place = TripleWorkers(Workers(1), str(folder / "ones"))
    masked = MaskedModel.from_pretrained(saved_masked_model, device="cpu")
    models = {"masked_model": {"name": masked.name, "fingerprint": "f"}, "paraphraser": None, "vectors": "v"}
    triples = TripleWork.of(place, masked, CONFIG.build, Mode.SUBSTITUTED, models)
    with pytest.raises(DataError, match=r"masked_model\.fingerprint was 'f', now .*; vectors was 'v', now"):
        triples.open(1)
    unsaved = MeaningEncoder(saved_encoder.teacher, saved_encoder.distillers, "2")
    with pytest.raises(UsageError, match="load the encoder from its folder"):
        UseWork.of(unsaved, None)


class Broken:
    """Work that cannot be done."""

    device = "cpu"

    def open(self, cores):
        return self

    def read(self, block, report):
        raise ValueError("rotten")


def test_a_block_that_fails_three_times_is_named(tmp_path):
    blocks = blocks_of(["a", "b", "c"], 2, "lines")
    with pytest.raises(DataError, match=r"Shard 0 \(lines 1 to 2\) failed 3 times; .*rotten.*tries again\.$"):
        divide(blocks, tmp_path, Broken(), Workers(1), Path.read_bytes, "reading lines")
    with pytest.raises(UsageError, match="more than this machine has cores"):
        divide(blocks, tmp_path, Broken(), Workers(10_000), Path.read_bytes, "reading lines")


def test_too_many_workers_are_refused_before_anything_is_read(tmp_path):
    with pytest.raises(UsageError, match="more than this machine has cores"):
        make_encoder("no text", tmp_path / "out", "no model", workers=Workers(10_000))
    assert not list(tmp_path.iterdir())
