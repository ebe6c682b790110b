"""Which sentences are read together: texts that fit the teacher, and batches within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from wordstill.teacher.batches.config import BatchConfig
from wordstill.teacher.ragged import Ints, offsets_of

Measure = Callable[[Ints], Ints]


def plan_texts(
    lengths: Ints, bounds: Ints, first_paragraph: int, room: int, measure: Measure
) -> tuple[Ints, Ints]:
    """Make texts of paragraphs, splitting those over ``room`` sub-words at sentence ends.

    Args:
        lengths: Sub-words of each sentence.
        bounds: Where each paragraph begins, in sentences of the corpus, and where the last one ends.
        first_paragraph: Number of the first paragraph.
        room: Most sub-words of a text; only a single sentence (beside empty ones) may have more.
        measure: Sub-words of texts given as rows (first sentence, sentence after the last). A part of a
            paragraph can have more than its sentences have in the paragraph: a tokenizer may have joined some
            across a sentence's end.

    Returns:
        Rows (first sentence, sentence after the last, paragraph), and the sub-words of each.
    """
    before, audible = offsets_of(lengths), offsets_of(np.minimum(lengths, 1))
    totals = np.diff(before[bounds - bounds[0]])
    paragraphs = np.arange(first_paragraph, first_paragraph + len(totals))
    rows = np.stack([bounds[:-1], bounds[1:], paragraphs], axis=1)
    fits = totals <= room
    split = [_greedy_texts(lengths, row, int(bounds[0]), room) for row in rows[~fits]]
    kept, sums = [rows[fits]], [totals[fits]]
    waiting = np.concatenate([np.empty((0, 3), dtype=np.int64), *split])
    while len(waiting):
        real = measure(waiting[:, :2])
        first, last = waiting[:, 0] - bounds[0], waiting[:, 1] - bounds[0]
        late = (real > room) & (audible[last] - audible[first] > 1)
        kept.append(waiting[~late])
        sums.append(real[~late])
        waiting = _halves(waiting[late])
    return np.concatenate(kept), np.concatenate(sums)


def plan_batches(lengths: Ints, room: int, specials: int, config: BatchConfig) -> list[Ints]:
    """Numbers of the texts of each batch, from long to short; texts without sub-words are left out.

    Texts of like length are read together: so little is padded, and packed attention has even work.

    Args:
        lengths: Sub-words of each text without special tokens.
        room: Where a longer text is cut.
        specials: Special tokens of each text.
        config: Size of the batches.
    """
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    whole = np.minimum(lengths[order], room) + specials
    cut = within_sum if config.packed else within_budget
    return [order[chosen] for chosen in cut(whole, config.budget)]


def within_budget(lengths: Ints, budget: int) -> Iterator[slice]:
    """Slices of texts sorted from long to short, each at most ``budget`` when padded to its longest.

    A text that is over the budget alone is a slice of its own.
    """
    start = 0
    while start < len(lengths):
        count = max(1, budget // int(lengths[start]))
        yield slice(start, start + count)
        start += count


def within_sum(lengths: Ints, budget: int) -> Iterator[slice]:
    """Slices of texts as they come, each at most ``budget`` together.

    A text that is over the budget alone is a slice of its own.
    """
    before, start = offsets_of(lengths), 0
    while start < len(lengths):
        end = int(np.searchsorted(before, before[start] + budget, side="right")) - 1
        yield slice(start, max(end, start + 1))
        start = max(end, start + 1)


def _greedy_texts(lengths: Ints, row: Ints, base: int, room: int) -> Ints:
    first, last, paragraph = row.tolist()
    cuts, filled = [first], 0
    for sentence in range(first, last):
        length = int(lengths[sentence - base])
        if length and filled and filled + length > room:
            cuts.append(sentence)
            filled = 0
        filled += length
    edges = np.array([*cuts, last], dtype=np.int64)
    return np.stack([edges[:-1], edges[1:], np.full(len(cuts), paragraph)], axis=1)


def _halves(rows: Ints) -> Ints:
    middle = (rows[:, 0] + rows[:, 1]) // 2
    left = np.stack([rows[:, 0], middle, rows[:, 2]], axis=1)
    right = np.stack([middle, rows[:, 1], rows[:, 2]], axis=1)
    return np.concatenate([left, right])
