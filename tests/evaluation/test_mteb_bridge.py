from __future__ import annotations

import numpy as np
import pytest

from wordstill.errors import MissingExtra
from wordstill.evaluation.data.locate import LoadedDataset
from wordstill.evaluation.data.sentence_sets import SentencePairs
from wordstill.evaluation.mteb_bridge import StaticEncoder
from wordstill.evaluation.protocol import Protocol
from wordstill.evaluation.tasks.similarity import StsTask

WORDS = [f"w{number}" for number in range(30)]


@pytest.fixture
def texts() -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(WORDS, size=5)) for _ in range(80)]


def test_batches_and_lists_give_the_same(random_vectors, texts):
    encoder = StaticEncoder(random_vectors(WORDS))
    batches = [{"text": texts[:30]}, {"text": texts[30:]}]
    assert np.array_equal(encoder.encode(texts), encoder.encode(batches, task_metadata=None, hf_split="test"))
    assert encoder.encode(texts).shape == (80, 20)
    assert encoder.encode(texts).dtype == np.float32


def test_the_mean_of_known_words(random_vectors):
    vectors = random_vectors(["cat", "dog"])
    rows = StaticEncoder(vectors).encode(["Cat, unknown dog!", "nothing"])
    assert rows[0] == pytest.approx((vectors["cat"] + vectors["dog"]) / 2, abs=1e-6)
    assert not rows[1].any()


def test_similarities(random_vectors, texts):
    encoder = StaticEncoder(random_vectors(WORDS), protocol=Protocol("p", sentence="sif"))
    rows = encoder.encode(texts)
    table = encoder.similarity(rows[:3], rows[3:7])
    assert table.shape == (3, 4)
    assert encoder.similarity_pairwise(rows[:3], rows[3:6]) == pytest.approx(np.diag(table[:, :3]))
    assert encoder.similarity(rows[0], rows[0]) == pytest.approx(np.ones((1, 1)))


def test_without_mteb_the_error_names_it(random_vectors, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mteb", None)
    with pytest.raises(MissingExtra, match="mteb"):
        StaticEncoder(random_vectors("ab")).mteb_model_meta  # noqa: B018


@pytest.mark.slow
def test_mteb_scores_as_we_do(random_vectors, texts):
    mteb = pytest.importorskip("mteb")
    datasets = pytest.importorskip("datasets")
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    gold = np.random.default_rng(1).random(40)
    absent = "reference date domains task_subtypes license annotations_creators dialect sample_creation"

    class Own(AbsTaskSTS):
        metadata = TaskMetadata(
            name="OwnSTS",
            dataset={"path": "own/own", "revision": "1"},
            description="made up",
            type="STS",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
            bibtex_citation="",
            **dict.fromkeys(absent.split()),
        )
        min_score, max_score = 0, 1

        def load_data(self, **_):
            rows = {"sentence1": texts[:40], "sentence2": texts[40:], "score": gold.tolist()}
            self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})
            self.data_loaded = True

    vectors = random_vectors(WORDS)
    theirs = mteb.evaluate(StaticEncoder(vectors), Own(), cache=None).task_results[0].scores["test"][0]
    pairs = SentencePairs(tuple(texts[:40]), tuple(texts[40:]), gold, np.zeros(40, dtype=np.int64), ("all",))
    ours = StsTask(LoadedDataset("toy", pairs, "test", "0")).run(vectors)
    assert 100 * theirs["cosine_pearson"] == pytest.approx(ours.value, abs=1e-3)
