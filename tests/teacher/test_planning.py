from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordstill.teacher import BatchConfig
from wordstill.teacher.batch import plan_batches, plan_texts, within_budget
from wordstill.teacher.batches import BATCHES_IN_WINDOW

PARAGRAPHS = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=8), min_size=1, max_size=6)


def plan(paragraphs, room, extra=0, base=100):
    """Plan paragraphs given as subwords of their sentences; a part has ``extra`` more than its sentences."""
    lengths = np.array([length for paragraph in paragraphs for length in paragraph])
    bounds = base + np.cumsum([0, *map(len, paragraphs)])

    def measure(texts):
        return np.array([lengths[a - base : b - base].sum() + extra for a, b in texts])

    rows, totals = plan_texts(lengths, bounds, 7, room, measure)
    return rows.tolist(), totals.tolist(), lengths, bounds


@given(PARAGRAPHS, st.integers(1, 20), st.integers(0, 3))
def test_every_sentence_once_and_only_single_ones_over_the_limit(paragraphs, room, extra):
    rows, totals, lengths, bounds = plan(paragraphs, room, extra)
    covered = sorted(sentence for first, last, _ in rows for sentence in range(first, last))
    assert covered == list(range(bounds[0], bounds[-1]))
    for (first, last, paragraph), total in zip(rows, totals):
        assert bounds[paragraph - 7] <= first < last <= bounds[paragraph - 7 + 1]
        assert total <= room or np.count_nonzero(lengths[first - bounds[0] : last - bounds[0]]) <= 1
        whole = (first, last) == (bounds[paragraph - 7], bounds[paragraph - 7 + 1])
        own = int(lengths[first - bounds[0] : last - bounds[0]].sum())
        assert total in {own, own + extra} if whole else total == own + extra


@given(PARAGRAPHS, st.integers(1, 20))
def test_a_paragraph_is_split_only_if_it_must_be_and_into_full_texts(paragraphs, room):
    rows, _, lengths, bounds = plan(paragraphs, room)
    for number, paragraph in enumerate(paragraphs):
        mine = sorted(row for row in rows if row[2] == number + 7)
        if sum(paragraph) <= room:
            assert len(mine) == 1
        for (first, last, _), (_, next_last, _) in pairwise(mine):
            assert lengths[first - bounds[0] : next_last - bounds[0]].sum() > room
            assert lengths[first - bounds[0] : last - bounds[0] + 1].sum() > room


@given(st.lists(st.integers(1, 30), max_size=30), st.integers(1, 60))
def test_batches_stay_within_the_budget(lengths, budget):
    lengths = np.array(sorted(lengths, reverse=True), dtype=np.int64)
    slices = list(within_budget(lengths, budget))
    assert [number for part in slices for number in range(len(lengths))[part]] == list(range(len(lengths)))
    for part in slices:
        count, longest = len(lengths[part]), lengths[part].max()
        assert count * longest <= budget or count == 1
        following = lengths[part.stop : part.stop + 1]
        assert len(following) == 0 or (count + 1) * longest > budget


def test_padded_batches_of_a_window_have_little_padding():
    budget = 4096
    lengths = np.random.default_rng(0).lognormal(4.4, 0.8, size=10_000).astype(np.int64).clip(1, 510)
    lengths = lengths[np.cumsum(lengths) <= BATCHES_IN_WINDOW[False] * budget]
    batches = plan_batches(lengths, 510, 2, BatchConfig(budget, 512))
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    whole = sum(int(lengths[rows].max() + 2) * len(rows) for rows in batches)
    assert int((lengths + 2).sum()) > 0.97 * whole
