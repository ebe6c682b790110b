from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.baselines.negative_sampling import row_shares
from wordstill.baselines.sent2vec import (
    Examples,
    Sent2vecConfig,
    Sent2vecModel,
    leave_one_out,
    make_bags,
    source_gradients_of,
)

CPU = torch.device("cpu")
SENTENCES = [[3, 1, 4, 1], [5], [2, 6, 5, 3, 5], [1, 1], [0, 2, 0]]
WORDS, BUCKETS = 8, 50


def flat(sentences):
    words = torch.tensor([word for sentence in sentences for word in sentence])
    owner = torch.repeat_interleave(torch.arange(len(sentences)), torch.tensor([len(each) for each in sentences]))
    return words, owner


def bags_of(sentences, longest=2, dropped=0, seed=0):
    words, owner = flat(sentences)
    noise = torch.rand(longest * len(words), generator=torch.Generator().manual_seed(seed))
    config = Sent2vecConfig(ngrams=longest, buckets=BUCKETS, dropped=dropped)
    return make_bags(words, owner, WORDS, config, noise)


def ngrams(sentence, longest):
    """All n-grams as tuples, with the place of the first word."""
    return [
        (start, tuple(sentence[start : start + length]))
        for length in range(2, longest + 1)
        for start in range(len(sentence) - length + 1)
    ]


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_bags_are_words_and_ngrams(longest):
    bags = bags_of(SENTENCES, longest)
    rows_of: dict[tuple[int, ...], set[int]] = {}
    for number, sentence in enumerate(SENTENCES):
        mine = bags.rows[bags.sentence == number].tolist()
        assert [row for row in mine if row < WORDS] == sentence
        grams = [gram for _, gram in ngrams(sentence, longest)]
        hashed = [row for row in mine if row >= WORDS]
        assert len(hashed) == len(grams) and all(row < WORDS + BUCKETS for row in hashed)
        assert bags.sizes[number] == len(sentence) + len(grams)
        for gram, row in zip(grams, hashed):
            rows_of.setdefault(gram, set()).add(row)
    # The same n-gram has the same row wherever it stands, and the order of its words matters.
    assert all(len(rows) == 1 for rows in rows_of.values())
    if longest > 1:
        assert rows_of[(1, 4)] != rows_of[(4, 1)]


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_the_parts_of_a_word_are_itself_and_the_ngrams_with_it(longest):
    bags = bags_of(SENTENCES, longest)
    position = 0
    for sentence in SENTENCES:
        for place, word in enumerate(sentence):
            parts = [int(part) for part in bags.parts[position] if part >= 0]
            inside = [gram for start, gram in ngrams(sentence, longest) if start <= place < start + len(gram)]
            assert bags.rows[parts[0]] == word
            assert len(parts) == 1 + len(inside)
            assert (bags.sentence[parts] == bags.sentence[parts[0]]).all()
            position += 1


def test_dropping_leaves_one_ngram_and_all_words():
    long = [list(range(8)) * 3, [1, 2], [3], [4, 5, 6]]
    words = [len(sentence) for sentence in long]
    kept = {}
    for seed in range(20):
        bags = bags_of(long, dropped=4, seed=seed)
        assert (bags.sizes - torch.tensor(words)).tolist() == [23 - 4, 1, 0, 1]
        parts = bags.parts[bags.parts >= 0]
        assert set(parts.tolist()) == set(range(len(bags.rows)))
        kept[seed] = tuple(bags.rows.tolist())
    assert len(set(kept.values())) > 10


def slow_contexts(table, sentences, examples):
    """Means over what is left, one by one."""
    bags, contexts = examples.bags, []
    for position in examples.positions.tolist():
        own = {int(part) for part in bags.parts[position] if part >= 0}
        mine = torch.nonzero(bags.sentence == bags.sentence[position]).flatten().tolist()
        contexts.append(table[bags.rows[[place for place in mine if place not in own]]].mean(dim=0))
    return torch.stack(contexts)


def examples_of(longest, dropped=1):
    words, owner = flat(SENTENCES)
    bags = bags_of(SENTENCES, longest, dropped)
    positions = torch.tensor([place for place in range(len(words)) if owner[place] != 1])
    negatives = torch.randint(0, WORDS, (len(positions), 6), generator=torch.Generator().manual_seed(3))
    return Examples(bags, positions, words[positions], negatives)


@pytest.fixture
def tables():
    generator = torch.Generator().manual_seed(1)
    sources = torch.randn(WORDS + BUCKETS, 5, dtype=torch.float64, generator=generator)
    return sources, torch.randn(WORDS, 5, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_a_context_is_the_sentence_without_the_target(tables, longest):
    examples = examples_of(longest)
    expected = slow_contexts(tables[0], SENTENCES, examples)
    torch.testing.assert_close(leave_one_out(tables[0], examples), expected, atol=1e-12, rtol=0)


@pytest.fixture
def model(make_text):
    text = make_text(["a b c d e f g h."] * 3)
    config = Sent2vecConfig(dim=5, ngrams=2, buckets=BUCKETS, negatives=6, row_limit=1e9)
    return Sent2vecModel(config, text, CPU, seed=0)


def test_in_the_order_of_targets_each_has_a_step_and_a_draw_of_its_own(make_text):
    text = make_text(["a b c d e f g h."] * 3)
    config = Sent2vecConfig(dim=5, buckets=BUCKETS, subsample=0, min_target_count=0, order="targets")
    model = Sent2vecModel(config, text, CPU, seed=0)
    sentences = [list(range(8)), [3], [2, 1, 0, 5, 4]]
    words, owner = flat(sentences)
    turns = list(model.turns(words, owner))
    assert [turn.targets.tolist() for turn in turns] == [[word] for word in sentences[0] + sentences[2]]
    # Words in the order of their sentence, and those n-grams that this draw has left.
    assert all(turn.bags.rows[:8].tolist() == sentences[0] for turn in turns[:8])
    assert len({tuple(turn.bags.rows.tolist()) for turn in turns[:8]}) > 1
    for turn in turns:
        assert model.step(turn, 0.5) > 0
    # What a step has learnt is there in the next one.
    assert model.step(turns[0], 0.5) < 11 * np.log(2)


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_gradients_are_those_of_autograd(tables, model, longest):
    examples = examples_of(longest)
    # Two targets are among their own negatives, which must not count.
    examples.negatives[0, 2], examples.negatives[5, 0] = examples.targets[0], examples.targets[5]
    sources, targets = (table.clone().requires_grad_() for table in tables)
    contexts = slow_contexts(sources, SENTENCES, examples)
    expected = torch.zeros((), dtype=torch.float64)
    for context, target, negatives in zip(contexts, examples.targets, examples.negatives):
        expected = expected - torch.nn.functional.logsigmoid(context @ targets[target])
        for negative in negatives:
            if negative != target:
                expected = expected - torch.nn.functional.logsigmoid(-context @ targets[negative])
    expected.backward()

    before = [table.clone() for table in tables]
    model.sources.weights, model.targets.weights = tables
    loss = model.step(examples, learning_rate=0.5)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-10)
    torch.testing.assert_close((before[0] - tables[0]) / 0.5, sources.grad, atol=1e-8, rtol=0)
    torch.testing.assert_close((before[1] - tables[1]) / 0.5, targets.grad, atol=1e-8, rtol=0)


def test_rows_named_often_take_shorter_steps():
    slots = torch.tensor([[0, 1, 1], [1, 1, 2]])
    shares = row_shares(slots, limit=2)
    assert shares.tolist() == [[1, 0.5, 0.5], [0.5, 0.5, 1]]


def test_how_often_a_row_is_named_counts_shares_of_contexts():
    examples = examples_of(longest=1)
    rows, _, named = source_gradients_of(torch.zeros(len(examples.positions), 5), examples)
    # Sentence 3 is the word 1 twice: two contexts of one row each; sentence 0 has it in contexts of three.
    assert float(named[rows == 1]) == pytest.approx(2 + (2 * 2 + 2) / 3)


def test_targets_and_negatives_are_frequent_words(make_text):
    text = make_text(["often often often rare once."] * 30 + ["seldom rare."], words=("unheard",))
    config = Sent2vecConfig(dim=4, buckets=10, subsample=0, min_target_count=31)
    model = Sent2vecModel(config, text, CPU, seed=0)
    often, seldom = text.vocabulary.id("often"), text.vocabulary.id("seldom")
    words = torch.tensor([often, seldom, often, seldom, often])
    examples = model.examples(words, torch.zeros(5, dtype=torch.int64))
    assert examples.targets.tolist() == [often] * 3
    drawn = set(examples.negatives.flatten().tolist())
    assert drawn <= {text.vocabulary.id(word) for word in ("often", "rare", ".")}


def test_negatives_follow_the_root_of_counts(make_text):
    text = make_text(["a a a a b."] * 100)
    config = Sent2vecConfig(dim=4, buckets=10, subsample=0, negatives=2000)
    model = Sent2vecModel(config, text, CPU, seed=0)
    examples = model.examples(torch.tensor([0, 1, 0, 1]), torch.zeros(4, dtype=torch.int64))
    shares = np.bincount(examples.negatives.flatten().numpy(), minlength=3) / examples.negatives.numel()
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.25], atol=0.03)


def test_frequent_targets_are_thinned_out(make_text):
    text = make_text(["a a a a a a a b c d e f."] * 200)
    config = Sent2vecConfig(dim=4, buckets=10, subsample=0.05)
    model = Sent2vecModel(config, text, CPU, seed=0)
    words = torch.zeros(4000, dtype=torch.int64)
    kept = len(model.examples(words, torch.zeros(4000, dtype=torch.int64)).targets) / 4000
    assert kept == pytest.approx(float(text.vocabulary.keep_probability(0.05)[0]), abs=0.03)
