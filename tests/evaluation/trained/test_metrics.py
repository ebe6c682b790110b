from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordstill.evaluation.score import ItemScores, compare
from wordstill.evaluation.trained.tags import Span, accuracy, as_sums, macro_f1, score_of, span_counts, spans, to_bioes

WORKED = {
    "nothing": ("O O", []),
    "one word": ("B-X", [("X", 0, 1)]),
    "two words": ("B-X I-X O", [("X", 0, 2)]),
    "neighbours": ("B-X B-X I-X", [("X", 0, 1), ("X", 1, 3)]),
    "another kind": ("B-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
    "inside without begin": ("O I-X I-X O I-X", [("X", 1, 3), ("X", 4, 5)]),
    "bioes": ("B-X I-X E-X S-X O S-Y", [("X", 0, 3), ("X", 3, 4), ("Y", 5, 6)]),
    "inside after end": ("B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
    "inside after single": ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),
    "end alone": ("O E-X", [("X", 1, 2)]),
    "begin after inside": ("I-X B-X", [("X", 0, 1), ("X", 1, 2)]),
    "kind with a hyphen": ("B-creative-work I-creative-work", [("creative-work", 0, 2)]),
    "kind in capitals of marks": ("B-SBAR I-SBAR B-BOS", [("SBAR", 0, 2), ("BOS", 2, 3)]),
}


@pytest.mark.parametrize("name", WORKED)
def test_spans_of_worked_examples(name):
    tags, expected = WORKED[name]
    assert spans(tags.split()) == [Span(*span) for span in expected]


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "E-X", "S-Y"]), max_size=12))
def test_bioes_keeps_the_spans(tags):
    written = to_bioes(tags)
    assert spans(written) == spans(tags)
    assert to_bioes(written) == written
    assert len(written) == len(tags)


def test_bioes_of_a_worked_example():
    tags = ["B-NP", "I-NP", "I-NP", "B-VP", "O", "B-NP", "I-NP"]
    assert to_bioes(tags) == ("B-NP", "I-NP", "E-NP", "S-VP", "O", "B-NP", "E-NP")


def test_span_f1_of_a_worked_example():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG"]]
    predicted = [["B-PER", "O", "O", "B-LOC"], ["B-ORG", "I-ORG"]]
    counts = span_counts(gold, predicted)
    assert counts.tolist() == [[1, 2, 2], [0, 1, 1]]
    assert score_of(counts) == pytest.approx(2 * (1 / 3) * (1 / 3) / (2 / 3))
    assert score_of(np.zeros((4, 3), dtype=np.int64)) == 0


def test_labels_agree_with_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    gold, predicted = random.integers(0, 5, 200), random.integers(0, 4, 200)
    assert accuracy(gold, predicted) == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert macro_f1(gold, predicted, 6) == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))


@pytest.mark.parametrize("columns", [2, 3])
def test_the_interval_is_that_of_plain_resampling(columns):
    random = np.random.default_rng(0)
    counts = random.integers(1, 9, size=(2, 60, columns))
    counts[..., 0] = np.minimum(counts[..., 0], counts[..., 1:].min(axis=-1))
    items = ItemScores.of_ratio(as_sums(counts))
    low, high = items.interval(seed=5, resamples=300)
    drawn = np.random.default_rng(5).integers(0, 60, size=(300, 60))
    plain = [score_of(counts[:, places]).mean() for places in drawn]
    assert (low, high) == pytest.approx(tuple(np.percentile(plain, [2.5, 97.5])))
    assert items.value() == pytest.approx(score_of(counts).mean())
    assert low < items.value() < high


def test_taggers_are_compared_on_the_same_sentences():
    random = np.random.default_rng(0)
    gold = random.integers(1, 5, size=300)
    good, bad = (
        np.stack([np.minimum(gold, random.binomial(gold, share)), gold, gold], axis=-1)[None] for share in (0.9, 0.8)
    )
    test = compare(*(ItemScores.of_ratio(as_sums(counts)) for counts in (good, bad)), seed=1)
    assert test.difference == pytest.approx(score_of(good)[0] - score_of(bad)[0])
    assert test.interval.low < test.difference < test.interval.high
    assert test.p_value < 0.01
    same = compare(*(ItemScores.of_ratio(as_sums(good)) for _ in range(2)), seed=1)
    assert (same.difference, same.p_value) == (0, 1)
