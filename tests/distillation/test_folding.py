"""Groups and folds of a run: what is dealt, what the artifact holds, and that the whole stays as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from wordstill.core.resume import CHECKPOINT
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig, prepare
from wordstill.corpus.dealing import LEAST_FOLDS, Cells, deal_folds
from wordstill.distillation import DistillConfig, distill, plan
from wordstill.distillation.estimate import dry_run
from wordstill.errors import DataError, FormatError, UsageError
from wordstill.formats.artifact import FOLDS
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

WORDS = ["river", "stone", "house", "page", "query", "vapour", "town", "winter", "letter", "bridge", "market"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator, path = np.random.default_rng(0), tmp_path_factory.mktemp("folding") / "rows.jsonl"
    with path.open("w") as file:
        for number in range(90):
            text = "\n".join(" ".join(generator.choice(WORDS, 8)) + "." for _ in range(int(generator.integers(1, 4))))
            file.write(json.dumps({"text": text, "year": (1900, 1950, 2000, None)[number % 4]}) + "\n")
    return path


@pytest.fixture(scope="module")
def grouped(rows: Path) -> Corpus:
    return prepare([rows], rows.parent / "grouped", PrepareConfig(group="year"), workers=1)


@pytest.fixture(scope="module")
def config(saved_teacher: Path) -> DistillConfig:
    return DistillConfig(
        ("still",), TeacherConfig(str(saved_teacher), device="cpu", dtype="float32"), VocabularyConfig(3), budget=60
    )


@pytest.fixture(scope="module")
def made(grouped: Corpus, config: DistillConfig) -> Path:
    out = grouped.path.parent / "vectors"
    distill(grouped.path, out, config=config)
    return out


class TestDealing:
    def test_documents_are_not_cut_and_folds_are_of_equal_size(self, grouped: Corpus):
        plan = deal_folds(grouped, 6)
        assert grouped.documents is not None
        assert grouped.groups is not None
        for document in np.unique(grouped.documents):
            assert len(np.unique(plan.of_paragraph[grouped.documents == document])) == 1
        dealt = plan.of_paragraph >= 0
        assert np.array_equal(dealt, grouped.groups >= 0)
        assert np.array_equal(plan.group_of_fold[plan.of_paragraph[dealt]], grouped.groups[dealt])
        assert plan.names == ("1900", "1950", "2000")
        assert set(plan.dealt) == {"documents"}
        assert 15 <= len(plan) <= 21
        assert plan.words.min() > 0.5 * plan.words.mean()
        assert plan.words.sum() == sum(grouped.words_by_group())
        assert np.array_equal(plan.of_paragraph, deal_folds(grouped, 6).of_paragraph)
        assert not np.array_equal(plan.of_paragraph, deal_folds(grouped, 6, seed=1).of_paragraph)

    @pytest.mark.parametrize(("small", "folds"), [(1, 1), (9, 2), (12, 5)])
    def test_a_small_group_does_not_cost_the_others_their_documents(self, tmp_path: Path, small: int, folds: int):
        """Passages of one document are no independent units, so folds of them would make p-values too small."""
        rows = [("some words of a text. " * 20, f"big {n % 2}") for n in range(60)]
        rows += [("some words of a text. " * 10, "small")] * small
        (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text, "g": name}) for text, name in rows))
        corpus = prepare([tmp_path / "a.jsonl"], tmp_path / "store", PrepareConfig(group="g"), workers=1)
        plan = deal_folds(corpus, 10)
        sizes = np.bincount(plan.group_of_fold)
        assert plan.dealt == ("documents",) * 3
        assert 10 <= sizes[0] <= 30
        assert sizes[2] == folds

    def test_a_larger_group_has_more_folds_and_a_small_one_enough(self, tmp_path: Path):
        lines = [json.dumps({"text": "some words of a text.", "g": "big" if n % 20 else "small"}) for n in range(400)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        corpus = prepare([tmp_path / "a.jsonl"], tmp_path / "store", PrepareConfig(group="g"), workers=1)
        plan = deal_folds(corpus, 20)
        sizes = dict(zip(plan.names, np.bincount(plan.group_of_fold)))
        assert sizes["small"] == LEAST_FOLDS
        assert sizes["big"] == 19 * LEAST_FOLDS

    def test_runs_of_paragraphs_are_dealt_where_documents_are_few(self, tmp_path: Path):
        (tmp_path / "a.txt").write_text("some words of a text.\n" * 400)
        corpus = prepare([tmp_path / "a.txt"], tmp_path / "store", PrepareConfig(documents=True), workers=1)
        plan = deal_folds(corpus, 10)
        assert plan.dealt == ("paragraphs",)
        assert plan.names == ("all",)
        assert len(plan) == 10
        changes = (np.diff(plan.of_paragraph) != 0).sum()
        assert 20 < changes < 60

    def test_cells_count_what_is_there(self, grouped: Corpus):
        vocabulary = Vocabulary.build(grouped, VocabularyConfig(1, words=("river stone",)))
        plan = deal_folds(grouped, 6)
        cells = Cells.count(grouped, vocabulary, plan, 1)
        expected: dict[tuple[str, int], int] = {}
        for paragraph, fold in zip(grouped, plan.of_paragraph.tolist()):
            for sentence in paragraph.sentences if fold >= 0 else ():
                words = [word.text.lower() for word in sentence.words]
                pairs = [" ".join(pair) for pair in pairwise(words) if pair == ("river", "stone")]
                for word in words + pairs:
                    expected[word, fold] = expected.get((word, fold), 0) + 1
        found = {(vocabulary.keys[word], fold) for word, fold in zip(cells.words.tolist(), cells.folds.tolist())}
        assert found == set(expected)
        for number, (word, fold) in enumerate(zip(cells.words.tolist(), cells.folds.tolist())):
            assert cells.table[cells.row_of_word[word], fold] == number


class TestRuns:
    def test_the_whole_is_the_same_to_the_byte(self, rows: Path, made: Path, config: DistillConfig, tmp_path: Path):
        plain = prepare([rows], tmp_path / "plain", workers=1)
        distill(plain.path, tmp_path / "vectors", config=config)
        for name in ("vectors.safetensors", "words.txt"):
            assert (tmp_path / "vectors" / name).read_bytes() == (made / name).read_bytes()
        assert not (tmp_path / "vectors" / FOLDS).exists()
        assert "folds" not in json.loads((tmp_path / "vectors" / "config.json").read_text())["provenance"]

    def test_the_artifact_opens_as_one_table_and_as_one_for_each_group(self, made: Path, grouped: Corpus):
        table = WordVectors.load(made)
        assert table.groups == ("1900", "1950", "2000")
        assert table.folds is not None
        assert table.provenance["folds"]["dealt"] == ["documents"] * 3
        group = table.group("1950")
        assert set(group.words) <= set(table.words)
        assert group.provenance["group"] == "1950"
        assert grouped.groups is not None
        expected = sum(
            word.text.lower() == "river"
            for paragraph, number in zip(grouped, grouped.groups.tolist())
            if number == 1
            for sentence in paragraph.sentences
            for word in sentence.words
        )
        assert group.counts is not None
        assert group.counts[group.index("river")] == expected
        with pytest.raises(UsageError, match=r"Unknown group '1951'\. Did you mean '1950'"):
            table.group("1951")

    def test_folds_of_text_without_groups(self, rows: Path, config: DistillConfig):
        (table,) = distill(rows, config=replace(config, folds=8, track=("river", "stone"))).values()
        assert table.folds is not None
        assert len(table.folds) == 8
        assert table.groups == ("all",)
        assert table.folds.dealt == ("documents",)
        assert {table.words[row] for row in table.folds.words.tolist()} == {"river", "stone"}

    @pytest.mark.filterwarnings("ignore:The text was prepared without documents")
    def test_a_stopped_run_gives_the_same(self, grouped: Corpus, made: Path, config, tmp_path: Path, monkeypatch):
        from wordstill.methods import Still

        calls, observe = [], Still.observe

        def failing(self: Still, states: object) -> None:
            calls.append(1)
            if len(calls) == 6:
                raise DataError("stopped")
            observe(self, states)

        monkeypatch.setattr(Still, "observe", failing)
        settings = replace(config, checkpoint_seconds=0)
        with pytest.raises(DataError, match="stopped"):
            distill(grouped.path, tmp_path / "out", config=settings)
        assert list(tmp_path.glob(f"*/{CHECKPOINT}*"))
        distill(grouped.path, tmp_path / "out", config=settings)
        for name in ("vectors.safetensors", FOLDS):
            assert (tmp_path / "out" / name).read_bytes() == (made / name).read_bytes()

    def test_sums_on_disk_are_the_same(self, grouped: Corpus, made: Path, config, tmp_path: Path, monkeypatch):
        monkeypatch.setattr(plan, "free_memory", lambda device: 0)
        distill(grouped.path, tmp_path / "out", config=config)
        assert (tmp_path / "out" / FOLDS).read_bytes() == (made / FOLDS).read_bytes()
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_the_dry_run_says_what_folds_take(self, grouped: Corpus, made: Path, config: DistillConfig):
        _, estimate = dry_run([grouped.path], config, probe_seconds=0.1)
        folds = WordVectors.load(made).folds
        assert folds is not None
        assert estimate.cells == len(folds.rows)
        # Of `still`: states, a low layer, the window, and each neighbor's states and input embeddings.
        assert estimate.cell_bytes == len(folds.rows) * 32 * 4 * 7
        assert not estimate.cells_on_disk

    def test_a_damaged_file_is_found(self, made: Path, tmp_path: Path):
        copy = tmp_path / "copy"
        WordVectors.load(made).save(copy)
        assert (copy / FOLDS).read_bytes() == (made / FOLDS).read_bytes()
        (copy / FOLDS).write_bytes((copy / FOLDS).read_bytes()[:-4])
        with pytest.raises(FormatError, match=FOLDS):
            WordVectors.load(copy)


class TestRefused:
    @pytest.mark.parametrize("method", ["x2static", "decontextual", "ase:context=max"])
    def test_methods_without_folds(self, method: str, grouped: Corpus, config: DistillConfig):
        with pytest.raises(UsageError, match=r"keeps no sums that could be divided.*; still, ase, still.v1 do"):
            DistillConfig((method,), folds=5)
        with pytest.raises(UsageError, match="keeps no sums that could be divided"):
            distill(grouped.path, config=replace(config, methods=(method,)))

    def test_no_word_is_frequent_enough(self, grouped: Corpus, config: DistillConfig):
        with pytest.raises(DataError, match="No word occurs 10000 times"):
            distill(grouped.path, config=replace(config, enough=10_000))

    def test_words_without_a_vector(self, grouped: Corpus, config: DistillConfig):
        with pytest.raises(DataError, match="--track names words without a vector: 'rivers'"):
            distill(grouped.path, config=replace(config, track=("rivers",)))

    def test_text_without_documents_is_warned_of(self, rows: Path, config: DistillConfig, tmp_path: Path):
        corpus = prepare([rows], tmp_path / "plain", workers=1)
        with pytest.warns(UserWarning, match="prepared without documents"):
            distill(corpus.path, config=replace(config, folds=5))
