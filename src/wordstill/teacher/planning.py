"""Which sentences are read together: texts that fit the teacher, and batches within a budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch

from wordstill.core.ragged import Ints, offsets_of
from wordstill.teacher.batch import BatchConfig

Measure = Callable[[Ints], Ints]
ON_CPU, ON_GPU = 2_048, 131_072
BYTES_FOR_EACH_NUMBER = 64
"""Memory of one subword, its words and their use by methods, for each number of its state."""
SHARE_OF_MEMORY = 0.5


def plan_texts(lengths: Ints, bounds: Ints, first_paragraph: int, room: int, measure: Measure) -> tuple[Ints, Ints]:
    """Make texts of paragraphs, splitting those over ``room`` subwords at sentence ends.

    Args:
        lengths: Subwords of each sentence.
        bounds: Where each paragraph begins, in sentences of the corpus, and where the last one ends.
        first_paragraph: Number of the first paragraph.
        room: Most subwords of a text; only a single sentence (beside empty ones) may have more.
        measure: Subwords of texts given as rows (first sentence, sentence after the last). A part of a
            paragraph can have more than its sentences have in the paragraph: a tokenizer may have joined some
            across a sentence's end.

    Returns:
        Rows (first sentence, sentence after the last, paragraph), and the subwords of each.
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
    """Numbers of the texts of each batch, from long to short; texts without subwords are left out.

    Texts of like length are read together: so little is padded, and packed attention has even work. Lengths are
    without the special tokens of each text; a text longer than the room is cut.
    """
    order = _long_to_short(lengths)
    whole = np.minimum(lengths[order], room) + specials
    cut = within_sum if config.packed else within_budget
    return [order[chosen] for chosen in cut(whole, config.budget)]


def batches_by_length(lengths: Ints, budget: int) -> Iterator[Ints]:
    """Numbers of the sequences of each batch, from long to short; those of length 0 are left out.

    The budget holds for a batch that is padded to its longest; a longer sequence is a batch of its own.
    """
    order = _long_to_short(lengths)
    return (order[chosen] for chosen in within_budget(lengths[order], budget))


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


def usual_budget(device: torch.device, width: int) -> int:
    """What suits a device and states of a width; less on a GPU with little free memory, with a warning."""
    if device.type != "cuda":
        return ON_CPU
    free = torch.cuda.mem_get_info(device)[0]
    fits = int(SHARE_OF_MEMORY * free / (BYTES_FOR_EACH_NUMBER * width))
    if fits >= ON_GPU:
        return ON_GPU
    # A power of two, so that a run can be resumed although a little more or less is free.
    fits = 1 << max(fits, 1).bit_length() - 1
    warnings.warn(
        f"Only {free / 2**30:.1f} GiB of the GPU's memory are free, so {fits} subwords are read at a time "
        f"instead of {ON_GPU}; that can be slower.",
        stacklevel=3,
    )
    return fits


def _long_to_short(lengths: Ints) -> Ints:
    """Numbers of the sequences that are not empty."""
    order = np.argsort(-lengths, kind="stable")
    return order[lengths[order] > 0]


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
