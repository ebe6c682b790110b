"""Retrofitting as a step of a chain: by name, with provenance, saved and loaded."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wordstill.errors import DataError, UsageError
from wordstill.postprocess import Pipeline
from wordstill.postprocess.retrofit import CounterFit, CounterFitConfig, open_lexicon, retrofitter
from wordstill.vectors import WordVectors

LINKS = "w0 w1 w2\nw3 w4\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "alike.txt").write_text(LINKS)
    (tmp_path / "opposites.csv").write_text("w0,w5\nw6,w7\n")
    return tmp_path


@pytest.mark.parametrize("name", ["faruqui", "context-graph", "counterfit"])
def test_a_step_by_name_is_the_step_in_python(table, files, name):
    setting, file = ("antonyms", "opposites.csv") if name == "counterfit" else ("lexicon", "alike.txt")
    chained = Pipeline.from_spec(f"{name}:{setting}={files / file},passes=3").fit_transform(table)
    lexicon = open_lexicon(files / file)
    step = (
        CounterFit(CounterFitConfig(antonyms=lexicon, passes=3))
        if name == "counterfit"
        else retrofitter(name, lexicon, passes=3)
    )
    expected = step.fit_transform(table)
    np.testing.assert_array_equal(chained.matrix, expected.matrix)
    assert chained.provenance == expected.provenance


def test_provenance_has_the_checksum_of_a_lexicon_that_was_named(table, files):
    done = Pipeline.from_spec(f"faruqui:lexicon={files / 'alike.txt'}").fit_transform(table)
    (entry,) = done.provenance["transforms"]
    assert entry["lexicon"]["file"] == "alike.txt"
    assert entry["lexicon"]["sha256"] == hashlib.sha256(LINKS.encode()).hexdigest()


def test_saved_and_loaded_without_the_lexicon(table, files):
    spec = f"centre,context-graph:lexicon={files / 'alike.txt'},order=gauss-seidel"
    pipeline = Pipeline.from_spec(spec)
    after = pipeline.fit_transform(table)
    pipeline.save(files / "learnt")
    (files / "alike.txt").unlink()
    loaded = Pipeline.load(files / "learnt")
    again = loaded.transform(table)
    np.testing.assert_array_equal(again.matrix, after.matrix)
    assert again.provenance == after.provenance


def test_a_lexicon_by_the_name_of_a_wordnet_may_stand_anywhere(files):
    (step,) = Pipeline.from_spec("counterfit:margin=0.9,antonyms=wn:oewn:2024,synonyms=wn:odenet:1.4")
    assert step.config == CounterFitConfig(antonyms="wn:oewn:2024", synonyms="wn:odenet:1.4", margin=0.9)


def test_of_a_wordnet_antonyms_are_its_antonyms(tmp_path):
    (tmp_path / "data.adj").write_text(
        "00000001 00 a 02 hot 0 warm 0 001 ! 00000002 a 0101 | high\n"
        "00000002 00 a 01 cold 0 001 ! 00000001 a 0101 | low\n"
    )
    matrix = np.array([[1, 0.1], [1, 0], [1, 0.2]], np.float32)
    table = WordVectors(["hot", "warm", "cold"], matrix)
    done = Pipeline.from_spec(f"counterfit:antonyms={tmp_path},radius=0").fit_transform(table)
    assert done.provenance["transforms"][0]["antonyms"]["relations"] == ["antonyms"]
    assert done.similarity("hot", "cold") < table.similarity("hot", "cold") - 0.1
    np.testing.assert_allclose(done["warm"], table.unit[1], atol=1e-6)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("faruqui", UsageError, "faruqui:lexicon must name a lexicon; got none"),
        ("counterfit", UsageError, "counterfit:antonyms must name a lexicon; got none"),
        ("faruqui:lexicon=nowhere.txt", DataError, "There is no lexicon 'nowhere.txt'"),
        ("faruqui:nu=3", UsageError, "Unknown setting of faruqui 'nu'"),
        ("counterfit:unit=true", UsageError, "Unknown setting of counterfit 'unit'"),
        ("context-graph:order=sor", UsageError, "Unknown value of context-graph:order 'sor'"),
    ],
)
def test_bad_steps(table, spec, error, message):
    with pytest.raises(error, match=message):
        Pipeline.from_spec(spec).fit_transform(table)
