"""Bags of words and word n-grams: of whole sentences, and of a sentence without one of its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

HASH_FACTOR = 0x9E3779B1


@dataclass(frozen=True)
class Bags:
    """What some sentences consist of, and what each of their words takes part in. S sentences, W words."""

    rows: Tensor
    """Row of each word, then of each n-gram that is left [M]."""
    sentence: Tensor
    """Sentence of each of them, from 0 [M]."""
    sizes: Tensor
    """How many a sentence has [S]."""
    parts: Tensor
    """For each word the places in ``rows`` of itself and of the n-grams with it, -1 for none [W, P]."""


class Examples(NamedTuple):
    """Targets with their contexts, as places in bags. T targets."""

    bags: Bags
    positions: Tensor
    """Which words of the bags are targets [T]."""
    targets: Tensor
    """Their ids [T]."""
    negatives: Tensor
    """Ids of negatives [T, N]."""


def make_bags(
    words: Tensor, sentence: Tensor, *, longest: int, first: int, buckets: int, dropped: int, noise: Tensor
) -> Bags:
    """Words and n-grams of some sentences.

    Args:
        words: Word ids in reading order [W].
        sentence: Of each word, from 0, ascending [W].
        longest: Words of the longest n-gram; 1 makes none.
        first: Row of the first n-gram; those before it are words.
        buckets: Rows that n-grams share by a hash.
        dropped: N-grams that each sentence loses at random; one always stays.
        noise: Random numbers that choose them, at least one for each n-gram of each length [(longest-1) W].
    """
    device, count = words.device, len(words)
    starts, lengths, rows = _ngrams(words, sentence, longest, buckets)
    kept = _survivors(sentence[starts], noise[: len(starts)], dropped)
    starts, lengths, rows = starts[kept], lengths[kept], rows[kept]
    # Place in the bag of the n-gram of each length that begins at each word, -1 for none.
    place = torch.full((longest + 1, count), -1, dtype=torch.int64, device=device)
    place[lengths, starts] = count + torch.arange(len(starts), device=device)
    columns = [torch.arange(count, device=device)]
    for length in range(2, longest + 1):
        for offset in range(length):
            # The n-gram that began so many words ago has this word in it.
            column = torch.full((count,), -1, dtype=torch.int64, device=device)
            column[offset:] = place[length, : count - offset]
            columns.append(column)
    owners = torch.cat([sentence, sentence[starts]])
    return Bags(torch.cat([words, first + rows]), owners, torch.bincount(owners), torch.stack(columns, dim=1))


def leave_one_out(table: Tensor, examples: Examples) -> Tensor:
    """The mean of what is left of its sentence without each target [T, dim]."""
    bags = examples.bags
    sums = torch.zeros(len(bags.sizes), table.shape[1], dtype=table.dtype, device=table.device)
    sums.index_add_(0, bags.sentence, table[bags.rows])
    contexts = sums[bags.sentence[examples.positions]]
    for places in bags.parts[examples.positions].unbind(1):
        there = (places >= 0)[:, None]
        contexts -= torch.where(there, table[bags.rows[places.clamp(min=0)]], 0.0)
    return contexts / _sizes(examples)[:, None]


def source_gradients_of(gradients: Tensor, examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradients of contexts [T, dim] to those of the rows that these are means of.

    Returns:
        The distinct rows [U], their gradients [U, dim], and how many contexts' gradients these add up, where
        one of n rows counts as 1 / n [U].
    """
    bags = examples.bags
    shares = torch.cat([gradients, torch.ones_like(gradients[:, :1])], dim=1) / _sizes(examples)[:, None]
    sums = torch.zeros(len(bags.sizes), shares.shape[1], dtype=shares.dtype, device=shares.device)
    sums.index_add_(0, bags.sentence[examples.positions], shares)
    distinct, place = torch.unique(bags.rows, return_inverse=True)
    merged = torch.zeros(len(distinct), shares.shape[1], dtype=shares.dtype, device=shares.device)
    merged.index_add_(0, place, sums[bags.sentence])
    for places in bags.parts[examples.positions].unbind(1):
        there = torch.nonzero(places >= 0).flatten()
        merged.index_add_(0, place[places[there]], shares[there], alpha=-1)
    return distinct, merged[:, :-1], merged[:, -1].clamp(min=torch.finfo(merged.dtype).tiny)


def _ngrams(words: Tensor, sentence: Tensor, longest: int, buckets: int) -> tuple[Tensor, Tensor, Tensor]:
    """First word, length and bucket of every n-gram inside a sentence."""
    count, device = len(words), words.device
    empty = torch.empty(0, dtype=torch.int64, device=device)
    starts, lengths, hashes = [empty], [empty], [empty]
    code = words + 1
    for length in range(2, longest + 1):
        left = max(0, count - length + 1)
        # Products beyond 64 bits wrap around, the same everywhere.
        code = code[:left] * HASH_FACTOR + words[length - 1 :] + 1
        inside = torch.nonzero(sentence[:left] == sentence[length - 1 :]).flatten()
        starts.append(inside)
        lengths.append(torch.full_like(inside, length))
        hashes.append(code[inside].remainder(buckets))
    return torch.cat(starts), torch.cat(lengths), torch.cat(hashes)


def _survivors(sentence: Tensor, noise: Tensor, dropped: int) -> Tensor:
    """Which n-grams stay, given the sentence of each."""
    if dropped == 0 or not len(sentence):
        return torch.ones(len(sentence), dtype=torch.bool, device=sentence.device)
    order = torch.argsort(noise)
    order = order[torch.argsort(sentence[order], stable=True)]
    counts = torch.bincount(sentence)
    starts = torch.cumsum(counts, dim=0) - counts
    rank = torch.arange(len(order), device=order.device) - starts[sentence[order]]
    kept = torch.empty(len(order), dtype=torch.bool, device=order.device)
    kept[order] = rank >= torch.clamp(counts - 1, max=dropped)[sentence[order]]
    return kept


def _sizes(examples: Examples) -> Tensor:
    """How many rows each context has [T]."""
    own = (examples.bags.parts[examples.positions] >= 0).sum(dim=1)
    return examples.bags.sizes[examples.bags.sentence[examples.positions]] - own
