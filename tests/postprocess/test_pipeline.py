from __future__ import annotations

import json
import re

import numpy as np
import pytest

from wordstill.core.tensors import write_tensors
from wordstill.errors import FormatError, UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.retrofit import Lexicon, retrofitter
from wordstill.vectors import WordVectors


@pytest.fixture
def table():
    matrix = np.random.default_rng(1).standard_normal((30, 5)).astype(np.float32) + 1
    return WordVectors([f"word{number}" for number in range(30)], matrix, counts=np.arange(30, 0, -1))


CHAIN = "centre,whiten:exponent=0.3,common=20,unit,abtt:directions=2,uncovec:alpha=0.2,pca"


def test_a_chain_is_its_steps_one_after_the_other(table):
    pipeline = Pipeline.from_spec(CHAIN)
    by_hand = table
    for step in Pipeline.from_spec(CHAIN):
        by_hand = step.fit(by_hand).transform(by_hand)
    after = pipeline.fit_transform(table)
    np.testing.assert_array_equal(after.matrix, by_hand.matrix)
    assert len(pipeline) == len(after.provenance["transforms"]) == 6
    np.testing.assert_array_equal(Pipeline.from_spec(CHAIN).fit(table).transform(table).matrix, after.matrix)


@pytest.mark.parametrize(
    ("chain", "steps"),
    [
        ("centre", ["centre"]),
        (" centre , unit ", ["centre", "unit"]),
        ("whiten: exponent = 0.3 , common=5", ["whiten"]),
        ("pca:dim=2,centre", ["pca", "centre"]),
        ("pca:dim=none", ["pca"]),
    ],
)
def test_chains_as_people_write_them(chain, steps):
    assert [step.short_name for step in Pipeline.from_spec(chain)] == steps


def test_settings_reach_the_steps():
    whiten, pca = Pipeline.from_spec("whiten:exponent=0.3,common=5,pca:dim=2")
    assert (whiten.config.exponent, whiten.config.common, pca.config.dim) == (0.3, 5, 2)


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ("", "Unknown transform ''."),
        ("centr", "Unknown transform 'centr'. Did you mean 'centre'"),
        ("centre,", "Unknown transform ''."),
        ("dim=3", "Unknown transform 'dim=3'. Known: abtt, average, centre"),
        ("pca:dim", "Cannot read 'dim' in the settings of pca. Expected pca:setting=value,..."),
        ("pca:dim=2,dim=3", "pca:dim is set twice, to '2' and '3'. Set it once."),
        ("pca:size=2", "Unknown setting of pca 'size'. Known: common, dim."),
        ("unit:dim=2", "unit has no settings; got 'dim'."),
        ("pca:dim=two", "pca:dim: expected a whole number or none, got 'two'."),
        ("pca:dim=0", "pca: dim must be 1 or more; got 0."),
        ("whiten:exponent=2", "whiten: exponent must be from 0 to 1; got 2.0."),
        ("whiten:exponent=nan", "whiten:exponent must be a finite number; got nan."),
        ("uncovec:alpha=-2", "uncovec: alpha must be from -1 to 1; got -2.0."),
        ("abtt:directions=-1", "abtt: directions must be 0 or more; got -1."),
        ("centre:common=0", "centre: common must be 1 or more; got 0."),
        ("trim:words=0", "trim: words must be 1 or more; got 0."),
        ("concatenate:words=some", "Unknown value of concatenate:words 'some'."),
        ("average:align=maybe", "average:align: expected true or false, got 'maybe'."),
    ],
)
def test_chains_that_cannot_be_read(chain, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        Pipeline.from_spec(chain)


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ("pca:dim=6", "pca:dim must be at most 5, the table's; got 6."),
        ("abtt:directions=5", "abtt:directions must be below the dimension, 5; got 5."),
    ],
)
def test_chains_that_do_not_suit_the_table(table, chain, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        Pipeline.from_spec(chain).fit(table)


def test_save_and_load(table, tmp_path):
    pipeline = Pipeline.from_spec(CHAIN)
    after = pipeline.fit_transform(table)
    pipeline.save(tmp_path / "learnt")
    again = Pipeline.load(tmp_path / "learnt")
    assert again.made(after)
    assert not again.made(table)
    assert [step.entry() for step in again] == [step.entry() for step in pipeline]
    np.testing.assert_array_equal(again.transform(table).matrix, after.matrix)
    with pytest.raises(UsageError, match="exists"):
        pipeline.save(tmp_path / "learnt")
    pipeline.save(tmp_path / "learnt", overwrite=True)


def test_what_is_not_fitted_or_has_a_table_in_it_is_not_saved(table, tmp_path):
    with pytest.raises(UsageError, match="has learned nothing yet"):
        Pipeline.from_spec("centre").save(tmp_path / "learnt")
    kind = type(Pipeline.from_spec("concatenate").transforms[0])
    joined = Pipeline([kind(kind.config_type(table=table))]).fit(table)
    lexicon = Lexicon.from_links([("word1", "word2", 1.0)])
    linked = Pipeline([retrofitter("faruqui", lexicon)]).fit(table)
    with pytest.raises(UsageError, match="only if its lexicon is named by its path"):
        linked.save(tmp_path / "learnt")
    with pytest.raises(UsageError, match="only if its table is named by its path"):
        joined.save(tmp_path / "learnt")
    assert not (tmp_path / "learnt").exists()


def test_one_flipped_bit_is_told(tmp_path):
    path = tmp_path / "learnt"
    table = WordVectors(["a", "b", "c"], np.arange(6, dtype=np.float32).reshape(3, 2))
    Pipeline.from_spec("centre").fit(table).save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(FormatError):
            Pipeline.load(path)


def test_a_transform_without_its_array(tmp_path):
    """D20: a KeyError."""
    path = tmp_path / "learnt"
    chain = json.dumps([{"name": Pipeline.from_spec("centre").transforms[0].name, "settings": {}}])
    write_tensors(path, {"0.other": np.ones(3)}, {"format": "wordstill transforms", "chain": chain}, checksum=True)
    table = WordVectors(["a", "b", "c"], np.arange(6, dtype=np.float32).reshape(3, 2))
    with pytest.raises(FormatError, match="lack the array"):
        Pipeline.load(path).transform(table)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "does not hold fitted transforms"),
        ({"format": "wordstill transforms"}, "the list of transforms is damaged"),
        ({"format": "wordstill transforms", "chain": "[3]"}, "the list of transforms is damaged"),
        (
            {"format": "wordstill transforms", "chain": '[{"name": "turn.v1", "settings": {}}]'},
            r"the transform 'turn\.v1' is not known",
        ),
        (
            {"format": "wordstill transforms", "chain": '[{"name": "pca.v1", "settings": {"size": 1}}]'},
            r"pca\.v1 has no settings",
        ),
    ],
)
def test_files_that_hold_something_else(tmp_path, metadata, message):
    path = tmp_path / "learnt"
    write_tensors(path, {"0.mean": np.ones(3)}, metadata, checksum=True)
    with pytest.raises(FormatError, match=message):
        Pipeline.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="There is no file"):
        Pipeline.load(tmp_path / "nothing")


def test_american_names_are_aliases():
    american, british = Pipeline.from_spec("center,quantize"), Pipeline.from_spec("centre,quantise")
    assert list(map(type, american.transforms)) == list(map(type, british.transforms))
