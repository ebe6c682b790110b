"""Text added, taken away and merged: the same as if it had been read, or never read."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.corpus import VocabularyConfig
from wordstill.distillation import DistillConfig, distill
from wordstill.errors import DataError, UsageError
from wordstill.formats.artifact import SUMS
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.incremental import add, merge, remove

pytestmark = pytest.mark.usefixtures("models_read_once")

KEEP = ScaleConfig(keep_sums=True)
HERE = {"device": "cpu", "dtype": "float32"}
WORDS = ("the", "old", "still", "river", "heat", "keep", "never seen", "isthmus")
SUMMED = {
    "still:dim=16,lower_weight=0": 5e-6,
    "sentence": 1e-6,
    "sentence:prior=fitted": 1e-6,
    "ase:context=mean": 1e-7,
    "still.v1": 5e-6,
}
"""Methods, and how near their values are to one reading of both texts, whose batches and rounding are others. Eight
words are fewer than the width, so whitening multiplies the rounding of sums."""
COSINE = 1e-6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("incremental")


@pytest.fixture(scope="module")
def more(folder: Path) -> Path:
    chooser = random.Random(1)
    words = ("isthmus", "the", "river", "keep", "heat", "wholly", "unknown")
    path = folder / "more.txt"
    path.write_text("\n".join(" ".join(chooser.choices(words, k=9)) + "." for _ in range(25)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fixed(config: DistillConfig) -> DistillConfig:
    """Only the words of a list, whatever the text."""
    return replace(config, vocabulary=VocabularyConfig(min_count=10**12, words=WORDS))


def assert_close(ours: WordVectors, theirs: WordVectors, tolerance: float) -> None:
    assert ours.words == theirs.words
    assert ours.counts.tolist() == theirs.counts.tolist()
    np.testing.assert_allclose(ours.matrix, theirs.matrix, atol=tolerance * np.abs(theirs.matrix).max())
    np.testing.assert_allclose(ours.unit @ ours.unit.T, theirs.unit @ theirs.unit.T, atol=COSINE)


@pytest.fixture(params=SUMMED)
def kept(request, tmp_path, short_text, fixed):
    config = replace(fixed, methods=(request.param,))
    distill_in_shards(short_text, tmp_path / "table", config, KEEP)
    return tmp_path / "table", config, SUMMED[request.param]


def test_add_is_reading_both_and_remove_is_never_having_read(kept, short_text, more):
    table, config, tolerance = kept
    before = WordVectors.load(table)
    bytes_before = {path.name: path.read_bytes() for path in table.iterdir()}
    changed = add(table, more, **HERE)
    (both,) = distill([short_text, more], config=config).values()
    assert_close(changed.table, both, tolerance)
    assert changed.table.provenance["corpus"]["words"] == both.provenance["corpus"]["words"]
    with pytest.raises(UsageError, match="made from this text already, which would count twice"):
        add(table, more, **HERE)
    assert not table.with_name("table.partial").exists()
    remove(table, more, **HERE)
    after = WordVectors.load(table)
    assert {path.name: path.read_bytes() for path in table.iterdir()} == bytes_before
    assert_close(after, before, 0)


def test_merged_tables_are_the_table_of_both_texts(tmp_path, short_text, more, fixed):
    config = replace(fixed, methods=(next(iter(SUMMED)),))
    distill_in_shards(short_text, tmp_path / "one", config, KEEP)
    distill_in_shards(more, tmp_path / "other", config, KEEP)
    merged = merge([tmp_path / "one", tmp_path / "other"], tmp_path / "merged")
    (both,) = distill([short_text, more], config=config).values()
    assert_close(merged, both, next(iter(SUMMED.values())))
    assert len(merged.provenance["corpus"]["parts"]) == 2
    with pytest.raises(UsageError, match="same text, which would count twice"):
        merge([tmp_path / "one", tmp_path / "merged"], tmp_path / "twice")
    with pytest.raises(UsageError, match=r"fit for sharing.*Use ase"):
        merge([tmp_path / "one"], tmp_path / "shared", min_count=20)


def test_a_minimum_count_leaves_no_trace_of_rare_words(tmp_path, short_text, more, fixed):
    config = replace(fixed, methods=("ase",))
    for name, text in (("one", short_text), ("other", more)):
        distill_in_shards(text, tmp_path / name, config, KEEP)
    counts = {name: dict(zip(*table_counts(tmp_path / name))) for name in ("one", "other")}
    least = sorted(counts["one"].values())[4]
    merged = merge([tmp_path / "one", tmp_path / "other"], tmp_path / "merged", min_count=least)
    for word, count in zip(merged.words, merged.counts):
        assert count == sum(side.get(word, 0) for side in counts.values() if side.get(word, 0) >= least)


def table_counts(folder: Path) -> tuple[tuple[str, ...], list[int]]:
    table = WordVectors.load(folder)
    return table.words, table.counts.tolist()


def test_frequent_new_words_are_reported(tmp_path, short_text, more, config):
    distill_in_shards(short_text, tmp_path / "table", replace(config, methods=("ase",)), KEEP)
    change = add(tmp_path / "table", more, tmp_path / "out", **HERE)
    assert set(change.newcomers) == {"isthmus", "wholly", "unknown"}
    assert (tmp_path / "out" / SUMS).exists()
    assert add(tmp_path / "table", more, tmp_path / "again", **HERE).table.words == change.table.words


def test_text_that_was_never_read_is_not_taken_away(tmp_path, short_text, more, fixed):
    distill_in_shards(short_text, tmp_path / "table", replace(fixed, methods=("sentence",)), KEEP)
    before = (tmp_path / "table" / SUMS).read_bytes()
    with pytest.raises(DataError, match=r"not part of the table's.*Nothing was changed"):
        remove(tmp_path / "table", more, **HERE)
    (tmp_path / "shuffled.txt").write_text("the old still. the heat.", encoding="utf-8")
    with pytest.raises(DataError, match="sentences would be taken away that are not there"):
        remove(tmp_path / "table", tmp_path / "shuffled.txt", **HERE)
    with pytest.raises(DataError, match="Nothing would be left"):
        remove(tmp_path / "table", short_text, **HERE)
    assert (tmp_path / "table" / SUMS).read_bytes() == before


def test_what_does_not_go_together_is_refused_by_name(tmp_path, short_text, more, fixed, config):
    for name, text, settings in (
        ("one", short_text, replace(fixed, methods=("ase",))),
        ("layer", more, replace(fixed, methods=("ase:layer=1",))),
        (
            "words",
            more,
            replace(fixed, methods=("ase",), vocabulary=VocabularyConfig(min_count=10**12, words=WORDS[1:])),
        ),
        ("sketch", more, replace(fixed, methods=("principal",))),
    ):
        distill_in_shards(text, tmp_path / name, settings, KEEP)
    with pytest.raises(UsageError, match=r"method.layer was 3, now 1"):
        merge([tmp_path / "one", tmp_path / "layer"], tmp_path / "out")
    with pytest.raises(UsageError, match=r"do not have the same words: .*words lacks 'the'"):
        merge([tmp_path / "one", tmp_path / "words"], tmp_path / "out")
    with pytest.raises(UsageError, match=r"keeps more than sums \(sketches\)"):
        remove(tmp_path / "sketch", more, **HERE)
    (tmp_path / "one" / SUMS).unlink()
    with pytest.raises(UsageError, match=r"has no sums.safetensors.*--keep-sums"):
        add(tmp_path / "one", more, **HERE)
    with pytest.raises(UsageError, match="nowhere does not exist"):
        add(tmp_path / "nowhere", more, **HERE)
