"""``wordstill change`` and ``--sure``, from text with groups to answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from wordstill.analysis.senses import Senses
from wordstill.analysis.usage_distance import usage_change
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig, prepare
from wordstill.distillation import DistillConfig, distill
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

WORDS = ("river", "stone", "house", "page", "query", "town", "winter", "letter", "bridge", "market")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, saved_teacher: Path) -> Path:
    """A folder with a store of three groups and its table; ``river`` has other neighbors in the last one."""
    folder, generator = tmp_path_factory.mktemp("change"), np.random.default_rng(0)
    with (folder / "text.jsonl").open("w") as file:
        for number in range(150):
            year = (1980, 1990, 2000)[number % 3]
            near = "winter letter letter winter" if year == 2000 else "stone house stone house"
            words = " ".join(generator.choice(WORDS[1:], 12))
            file.write(json.dumps({"text": f"The {near} river {near}. {words}.", "year": year}) + "\n")
    config = PrepareConfig(group="year", bins="decade")
    store = prepare([folder / "text.jsonl"], folder / "store", config, workers=1)
    teacher = TeacherConfig(str(saved_teacher), device="cpu", dtype="float32")
    kept = OccurrenceConfig(90, words=("river", "town"))
    config_of_run = DistillConfig(("still:dim=16",), teacher, VocabularyConfig(3), occurrences=kept)
    distill(store.path, folder / "vectors", config=config_of_run)
    return folder


def test_a_table_of_words_that_changed(cli, made: Path):
    ended = cli("change", made / "vectors", "--from", "1980s", "--to", "2000s", "--text", made / "store", "-n", 3)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert " ".join(lines[0].split()) == "pairwise 95 % interval p q word nearer in 1980s | 2000s"
    assert any(" river " in line for line in lines[1:])
    assert "1980s: The stone house stone house river" in ended.out
    assert "2000s: The winter letter letter winter river" in ended.out
    assert "words compared over 10 and 10 folds of documents" in ended.out


def test_json_has_everything(cli, made: Path, tmp_path: Path):
    figure = tmp_path / "change.svg"
    ended = cli("change", made / "vectors", "--words", "river,town", "--json", "--plot", figure)
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert (found["from"], found["to"], found["compared"]) == ("1980s", "2000s", 2)
    assert found["permutations"] == 9_999
    river = found["words"][0]
    assert river["word"] == "river"
    assert river["p"] < 0.01
    for measure in ("distance", "pairwise"):
        assert river[measure]["low"] <= river[measure]["value"] <= river[measure]["high"]
    assert [entry["group"] for entry in river["timeline"]] == ["1990s", "2000s"]
    assert river["timeline"][1]["distance"]["value"] > river["timeline"][0]["distance"]["value"]
    assert "winter" in river["nearer"]["2000s"] or "letter" in river["nearer"]["2000s"]
    assert set(river["neighbors"]) == {"1980s", "2000s"}
    assert figure.read_text().startswith("<svg")


def test_uses_that_were_kept_are_compared(cli, made: Path):
    ended = cli("change", made / "vectors", "--words", "river,stone", "--text", made / "store")
    assert ended.code == 0, ended.err
    assert ended.out.count("uses: average pairwise distance") == 1
    given = cli("change", made / "vectors", "--words", "river,town", "--text", made / "store", "--json")
    river, town = (
        next(each for each in json.loads(given.out)["words"] if each["word"] == word) for word in ("river", "town")
    )
    pairwise = river["uses"]["pairwise"]
    assert pairwise["p"] < 0.01
    assert pairwise["estimate"]["value"] > pairwise["chance"]
    kept, corpus = WordVectors.load(made / "vectors").occurrences.of("river"), Corpus.open(made / "store")
    groups = corpus.groups[np.searchsorted(corpus.paragraphs, kept.sentences, side="right") - 1]
    expected = cdist(kept.states[groups == 0], kept.states[groups == 2], "cosine").mean()
    assert pairwise["estimate"]["value"] == pytest.approx(expected, abs=1e-6)
    assert town["uses"] is None or town["uses"]["pairwise"]["p"] > 0.01


def test_words_that_cannot_be_compared_are_reported(cli, made: Path):
    ended = cli("change", made / "vectors", "--words", "river,nowhere", "--json")
    assert (ended.code, ended.err.count("warning: Skipped: The word 'nowhere'")) == (0, 1)
    found = json.loads(ended.out)
    assert (found["compared"], list(found["left_out"])) == (1, ["nowhere"])


def test_uses_of_few_documents_are_not_compared(made: Path, monkeypatch: pytest.MonkeyPatch):
    """Intervals of distances stay in their range, and four documents of each group are needed."""
    senses, corpus = Senses(WordVectors.load(made / "vectors")), Corpus.open(made / "store")
    found = usage_change(senses, corpus, "river", "1980s", "1990s")
    assert found is not None
    for each in filter(None, (found.pairwise, found.senses)):
        assert 0 <= each.estimate.low <= each.estimate.value <= each.estimate.high
    one = np.where(corpus.groups == 0, 0, np.arange(len(corpus.groups)) + 1)
    monkeypatch.setattr(corpus, "documents", one)
    assert usage_change(senses, corpus, "river", "1980s", "1990s") is None


def test_only_what_is_sure(cli, made: Path):
    found = json.loads(cli("change", made / "vectors", "--sure", "--json").out)
    assert all(entry["q"] < 0.05 for entry in found["words"])
    assert found["changed"] == len(found["words"])
    none = cli("change", made / "vectors", "--sure", "--rate", 0).out
    assert none.startswith("No word has a false discovery rate below 0.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "1970s"], "Unknown group '1970s'. Did you mean"),
        (["--words", "nothing"], "'nothing'"),
        (["--words", ","], "The list of words is empty"),
        (["--from", "2000s"], "got '2000s' twice"),
        (["--words", "river", "--least", "999"], "'river' occurs too rarely for a comparison"),
        (["--by", "distence"], "Unknown measure 'distence'. Did you mean 'distance'"),
        (["--plot", "change.pdf"], "A figure is written as .svg or .png"),
    ],
)
def test_wrong_questions_get_one_line(cli, made: Path, arguments: list[str], message: str):
    ended = cli("change", made / "vectors", *arguments)
    assert ended.code in (1, 2)
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_no_word_is_frequent_enough(cli, made: Path):
    ended = cli("change", made / "vectors", "--least", 9999)
    assert ended.code == 0, ended.err
    assert "No word is frequent enough in both groups" in ended.out
    assert "nearer in" not in ended.out


def test_a_table_without_groups_and_a_text_with_others(cli, made: Path, tmp_path: Path):
    WordVectors(["a", "b"], np.eye(2, dtype=np.float32)).save(tmp_path / "plain")
    assert "Change needs two groups, and the table has no groups" in cli("change", tmp_path / "plain").err
    prepare([made / "text.jsonl"], tmp_path / "store", workers=1)
    ended = cli("change", made / "vectors", "--text", tmp_path / "store")
    assert "was prepared without the groups" in ended.err
    assert "keeps no groups or folds" in cli("similar", tmp_path / "plain", "a", "--sure").err


def test_neighbors_with_intervals(cli, made: Path):
    ended = cli("similar", made / "vectors", "river", "--sure", "-n", 3)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[1].split()[-3:] == ["top", "3", "word"]
    assert len([line for line in lines if "%" in line and " to " in line]) == 3
    found = json.loads(cli("similar", made / "vectors", "river", "--sure", "--json", "-n", 3).out)["river"]
    plain = json.loads(cli("similar", made / "vectors", "river", "--json", "-n", 3).out)["river"]
    assert [(entry["word"], entry["score"]) for entry in found] == [(e["word"], e["score"]) for e in plain]
    assert all(0 <= entry["in_top"] <= 1 and entry["low"] <= entry["score"] <= entry["high"] for entry in found)
    ended = cli("analogy", made / "vectors", "stone", "house", "river", "--sure", "--json")
    assert ended.code == 0, ended.err
    assert "house - stone + river" in json.loads(ended.out)


def test_info_names_groups_and_folds(cli, made: Path):
    assert "3: 1980s, 1990s, 2000s" in cli("info", made / "vectors").out
    out = cli("info", made / "store").out
    assert "1980s (" in out
    assert "30 of documents" in cli("info", made / "vectors").out
