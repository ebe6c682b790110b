from __future__ import annotations

import signal

import numpy as np
import pytest

from wordstill.errors import DataError, Interrupted, UsageError
from wordstill.meaning import Triples
from wordstill.meaning.make_triples import PairConfig, make_triples
from wordstill.meaning.masked import whole_words
from wordstill.meaning.state_cache import StateCache
from wordstill.meaning.targets import Sources, TargetConfig, read_paraphrases
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors

CONFIG = PairConfig(
    count=200, targets=TargetConfig(5, 40, vocabulary=200, skipped=0.0), build=BuildConfig(0.3, 0.0, candidates=50)
)


def sources_of(file):
    return Sources.of_file(file, CONFIG.count, CONFIG.targets)


@pytest.fixture(scope="module")
def table(masked):
    words = sorted({word.lower() for word in whole_words(masked.tokenizer) if word})
    return WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32))


@pytest.fixture(scope="module")
def lines(table):
    generator = np.random.default_rng(1)
    words = [word for word in table.words if word.isascii() and len(word) > 1]
    made = [generator.choice(words, size=(2, 9), replace=False) for _ in range(40)]
    return [tuple(" ".join(half).capitalize() + "." for half in pair) for pair in made]


@pytest.fixture
def file(tmp_path, lines):
    path = tmp_path / "paraphrases.tsv"
    path.write_text("".join(f"{first}\t{second}\tmore\n" for first, second in lines), encoding="utf-8")
    return path


class Swapped:
    """Says every sentence with its words the other way round."""

    name = "swapped"

    def __init__(self):
        self.calls = 0

    def paraphrase(self, sentences):
        self.calls += 1
        return [" ".join(reversed(sentence.rstrip(".").split())) for sentence in sentences]


def test_ready_made_paraphrases(masked, table, file, tmp_path):
    sources = sources_of(file)
    triples = make_triples(sources, masked, table, tmp_path / "triples.jsonl", CONFIG)
    header = triples.header
    assert len(triples) + sum(header["dropped"].values()) == len(sources.targets) == header["targets"]
    assert header["mode"] == "given"
    assert header["masked_model"]["fingerprint"] == masked.fingerprint
    assert set(header["positives"]) <= {"given", "replaced"}
    for triple in triples:
        assert triple.negative.text.count(" ") == triple.original.text.count(" ")
        assert triple.negative.word.lower() != triple.original.word.lower()
    assert not (tmp_path / "triples.jsonl.partial").exists()


def test_substitution_needs_no_paraphrases(masked, table, file, tmp_path):
    sources = Sources(sources_of(file).targets, None, "text")
    triples = make_triples(sources, masked, table, tmp_path / "triples.jsonl", CONFIG)
    assert triples.header["mode"] == "substituted"
    for triple in triples:
        original, positive = triple.original, triple.positive
        assert original.replaced(positive.word) == positive
        assert original.replaced(triple.negative.word) == triple.negative
        assert len({original.word.lower(), positive.word.lower(), triple.negative.word.lower()}) == 3


def test_a_paraphraser(masked, table, file, tmp_path):
    sources = Sources(sources_of(file).targets, None, "text")
    triples = make_triples(sources, masked, table, tmp_path / "t.jsonl", CONFIG, paraphraser=Swapped())
    assert triples.header["mode"] == "round-trip"
    kept = [triple for triple in triples if triple.how == "round-trip"]
    assert kept or triples.header["positives"].get("replaced")
    assert all(triple.positive.word.lower() == triple.original.word.lower() for triple in kept)
    with pytest.raises(UsageError, match="already supplied"):
        make_triples(sources_of(file), masked, table, tmp_path / "u.jsonl", CONFIG, paraphraser=Swapped())


def test_what_was_stopped_is_resumed_and_gives_the_same_file(masked, table, file, tmp_path):
    sources = Sources(sources_of(file).targets, None, "text")
    whole = tmp_path / "whole.jsonl"
    make_triples(sources, masked, table, whole, CONFIG, paraphraser=Swapped(), block=8)

    class Stopping(Swapped):
        def paraphrase(self, sentences):
            if self.calls == 2:
                signal.raise_signal(signal.SIGINT)
            return super().paraphrase(sentences)

    out = tmp_path / "triples.jsonl"
    with pytest.raises(Interrupted, match=r"making triples: 16 of \d+ targets done and saved"):
        make_triples(sources, masked, table, out, CONFIG, paraphraser=Stopping(), block=8)
    assert not out.exists()
    assert len(list((tmp_path / "triples.jsonl.partial").glob("0*"))) == 2
    rest = Swapped()
    make_triples(sources, masked, table, out, CONFIG, paraphraser=rest, block=8)
    assert rest.calls == -(-len(sources.targets) // 8) - 2
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("limit", [{"enough": 3}, {"seconds": 0.0}])
def test_a_limit_ends_the_file_after_a_block(masked, table, file, tmp_path, limit):
    sources = sources_of(file)
    whole = make_triples(sources, masked, table, tmp_path / "whole.jsonl", CONFIG)
    triples = make_triples(sources, masked, table, tmp_path / "triples.jsonl", CONFIG, block=8, **limit)
    header = triples.header
    assert 0 < len(triples) < len(whole)
    assert header["targets"] % 8 == 0
    assert len(triples) + sum(header["dropped"].values()) == header["targets"] < len(sources.targets)
    assert list(triples) == whole[: len(triples)]
    assert not (tmp_path / "triples.jsonl.partial").exists()


def test_other_settings_are_refused(masked, table, file, tmp_path, monkeypatch):
    sources = sources_of(file)
    out = tmp_path / "triples.jsonl"
    read = [masked.predict]
    with monkeypatch.context() as patch:
        patch.setattr(masked, "predict", lambda *asked: read.pop()(*asked))
        with pytest.raises(IndexError):
            make_triples(Sources(sources.targets, None, "text"), masked, table, out, CONFIG, block=8)
    with pytest.raises(DataError, match=r"mode was 'substituted', now 'given'.*--overwrite"):
        make_triples(sources, masked, table, out, CONFIG, block=8)
    make_triples(sources, masked, table, out, CONFIG, overwrite=True)
    with pytest.raises(UsageError, match="exists already"):
        make_triples(sources, masked, table, out, CONFIG)


def test_no_triple_at_all(masked, file, tmp_path):
    nothing = WordVectors(["zorb"], np.ones((1, 2), dtype=np.float32))
    with pytest.raises(DataError, match=r"None of 40 targets gave a triple \(the target has no static vector: 40"):
        make_triples(sources_of(file), masked, nothing, tmp_path / "t.jsonl", CONFIG)
    assert not (tmp_path / "t.jsonl.partial").exists()


def test_nothing_is_predicted_for_targets_that_cannot_give_a_triple(masked, table, file, tmp_path, monkeypatch):
    occurrences = sources_of(file).targets
    unknown = {occurrence.word.lower() for occurrence in occurrences[::2]}
    kept = [word for word in table.words if word not in unknown]
    smaller = WordVectors(kept, table.matrix[[table.index(word) for word in kept]])
    asked, predict = [], masked.predict
    monkeypatch.setattr(masked, "predict", lambda some, *rest: asked.extend(some) or predict(some, *rest))
    triples = make_triples(Sources(occurrences, None, "text"), masked, smaller, tmp_path / "t.jsonl", CONFIG)
    assert asked == [occurrence for occurrence in occurrences if occurrence.word.lower() not in unknown]
    assert triples.header["dropped"]["the target has no static vector"] == len(occurrences) - len(asked)


@pytest.mark.parametrize(
    ("content", "message"),
    [("one column\n", r":1: expected a sentence, a tab"), ("\n\n", "has no paraphrases"), ("a\t \n", ":1:")],
)
def test_broken_paraphrases(tmp_path, content, message):
    (tmp_path / "p.tsv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_paraphrases(tmp_path / "p.tsv")
    with pytest.raises(DataError, match="Cannot read"):
        read_paraphrases(tmp_path / "nowhere.tsv")


OUTSIDE = '{"original": ["a", 0, 9], "positive": ["a", 0, 1], "negative": ["a", 0, 1], "how": "given"}'


@pytest.fixture
def triples(masked, table, file, tmp_path):
    return make_triples(sources_of(file), masked, table, tmp_path / "triples.jsonl", CONFIG)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: ["{}", *lines[1:]], ":1: not a file of triples"),
        (lambda lines: [lines[0].replace('"schema": 1', '"schema": 7'), *lines[1:]], "schema 7"),
        (lambda lines: lines[:-1], "but its first line says"),
        (lambda lines: [*lines[:-1], "{}"], "not a triple"),
        (lambda lines: [*lines[:-1], lines[-1].replace("]", ", 9]", 1)], "not a triple"),
        (lambda lines: [*lines[:-1], OUTSIDE.replace("9", "Infinity")], "not a triple"),
        (lambda lines: [*lines[:-1], OUTSIDE.replace("9", "[" * 50_000)], "not a triple"),
        (lambda lines: ["[" * 50_000, *lines[1:]], ":1: not a file of triples"),
        (lambda lines: [*lines[:-1], "[]"], "not a triple"),
        (lambda lines: [*lines[:-1], OUTSIDE], r"span \(0, 9\) of the original"),
    ],
)  # fmt: skip
def test_damaged_triples(triples, tmp_path, change, message):
    path = tmp_path / "triples.jsonl"
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Triples.read(path)


def test_states_are_read_once(triples, tiny_teacher, tmp_path):
    reader = StateReader(tiny_teacher("bert-uncased"))
    states = StateCache.build(tmp_path / "cache", reader, triples, block=5)
    assert len(states) == len(triples)
    assert states.dropped == 0
    rows = states.rows(np.array([3, 0]))
    assert rows.shape == (2, 3, *reader.shape)
    expected, _ = reader.states([triples[3].original, triples[3].positive, triples[3].negative])
    np.testing.assert_allclose(rows[0].float(), expected, rtol=1e-2, atol=1e-2)
    again = StateCache.build(tmp_path / "cache", _Unwilling(reader), triples)
    assert again.rows(slice(None)).equal(states.rows(slice(None)))


def test_a_stopped_reading_is_resumed(triples, tiny_teacher, tmp_path):
    reader = StateReader(tiny_teacher("bert-uncased"))
    whole = StateCache.build(tmp_path / "whole", reader, triples, block=5)
    with pytest.raises(Interrupted, match=r"reading states: 10 of \d+ triples done and saved"):
        StateCache.build(tmp_path / "cache", _Unwilling(reader, after=2), triples, block=5)
    resumed = StateCache.build(tmp_path / "cache", reader, triples, block=5)
    assert resumed.rows(slice(None)).equal(whole.rows(slice(None)))


def test_states_of_another_teacher_are_refused(triples, tiny_teacher, tmp_path):
    StateCache.build(tmp_path / "cache", StateReader(tiny_teacher("bert-uncased")), triples)
    with pytest.raises(DataError, match=r"other settings: teacher was .*delete the folder"):
        StateCache.build(tmp_path / "cache", StateReader(tiny_teacher("bert-cased")), triples)
    (tmp_path / "cache" / "cache.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        StateCache.build(tmp_path / "cache", StateReader(tiny_teacher("bert-uncased")), triples)


class _Unwilling:
    """A reader that is stopped after some calls."""

    def __init__(self, reader, after=0):
        self.reader, self.after = reader, after
        self.teacher, self.layers, self.shape = reader.teacher, reader.layers, reader.shape

    def states(self, occurrences):
        if not self.after:
            raise KeyboardInterrupt
        self.after -= 1
        return self.reader.states(occurrences)
