"""``deps`` against plain loops and autograd."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from wordstill.baselines import TrainConfig, Training, read_baselines, train, train_on_corpus
from wordstill.baselines.deps import Contexts, Deps, DepsConfig, DepsModel, dependency_pairs
from wordstill.baselines.tree_text import TreeText
from wordstill.corpus import VocabularyConfig, prepare
from wordstill.corpus.conllu import collapse, read_trees
from wordstill.errors import UsageError

PARSED = """\
1\tOld\t_\t_\t_\t_\t2\tamod\t_\t_
2\tships\t_\t_\t_\t_\t3\tnsubj\t_\t_
3\tsail\t_\t_\t_\t_\t0\troot\t_\t_
4\ton\t_\t_\t_\t_\t5\tcase\t_\t_
5\trivers\t_\t_\t_\t_\t3\tobl\t_\t_

1\tNew\t_\t_\t_\t_\t2\tamod\t_\t_
2\tships\t_\t_\t_\t_\t3\tnsubj\t_\t_
3\tsank\t_\t_\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def parsed(tmp_path):
    path = tmp_path / "parsed.conllu"
    path.write_text(PARSED)
    return path


@pytest.fixture
def text(make_text):
    # "sank" is outside the vocabulary.
    return make_text(["Old ships sail on rivers.", "New ships."])


def slow_pairs(path, vocabulary) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for tree in map(collapse, read_trees(path)):
        for word, head, relation in zip(tree.words, tree.heads, tree.relations):
            if head >= 0 and word in vocabulary and tree.words[head] in vocabulary:
                found[tree.words[head].lower(), f"{word.lower()}/{relation}"] += 1
                found[word.lower(), f"{tree.words[head].lower()}/{relation}^-1"] += 1
    return found


def test_pairs_are_those_of_plain_loops(text, parsed, tmp_path):
    trees = TreeText([parsed, parsed], text.vocabulary, tmp_path, collapse)
    keys, size = text.vocabulary.keys, len(text.vocabulary)
    found: Counter[tuple[str, str]] = Counter()
    for arcs in trees.read():
        for word, code in zip(*dependency_pairs(arcs, size)):
            relation, direction = divmod(int(code) // size, 2)
            found[keys[word], f"{keys[code % size]}/{trees.relations[relation]}{'^-1' if direction else ''}"] += 1
    expected = slow_pairs(parsed, text.vocabulary)
    assert found == Counter({pair: 2 * count for pair, count in expected.items()})
    assert found["sail", "rivers/prep_on"] == 2 and found["rivers", "sail/prep_on^-1"] == 2
    assert not any("sank" in part or part.startswith("on/") for pair in found for part in pair)
    assert {keys[row] for row in np.flatnonzero(trees.occurring)} == {"old", "ships", "sail", "rivers", "new"}


def test_rare_contexts_are_dropped(text, parsed, tmp_path):
    trees = TreeText([parsed], text.vocabulary, tmp_path, collapse)
    size = len(text.vocabulary)
    assert len(Contexts.count(trees, size, 1).codes) == 7
    frequent = Contexts.count(trees, size, 2)
    # Only ships/amod^-1 occurs twice, with "old" and "new".
    assert frequent.counts.tolist() == [2]
    assert {text.vocabulary.keys[row] for row in np.flatnonzero(frequent.having)} == {"old", "new"}


def test_a_step_is_the_gradient_of_the_objective():
    torch.manual_seed(0)
    config = DepsConfig(dim=6, negatives=3, row_limit=1e6)
    contexts = Contexts(np.arange(5), np.arange(1, 6), np.ones(4, dtype=bool))
    model = DepsModel(config, 4, contexts, torch.device("cpu"), seed=0)
    model.contexts.table.weights.normal_()
    model.words.weights.normal_()
    words, around = torch.tensor([0, 1, 1, 3]), torch.tensor([2, 0, 2, 4])
    negatives = torch.tensor([[1, 2, 3], [4, 4, 0], [0, 1, 1], [2, 3, 0]])
    before = [table.weights.clone().requires_grad_() for table in (model.words, model.contexts.table)]
    loss = torch.zeros(())
    for word, context, drawn in zip(words, around, negatives):
        loss = loss + softplus(-before[0][word] @ before[1][context])
        for other in drawn:
            if other != context:
                loss = loss + softplus(before[0][word] @ before[1][other])
    loss.backward()
    found = model.step(words, around, negatives, 0.1)
    assert float(found) == pytest.approx(loss.item(), rel=1e-5)
    for table, old in zip((model.words, model.contexts.table), before):
        torch.testing.assert_close(table.weights, (old - 0.1 * old.grad).detach())


def test_substitutes_are_near_each_other(make_text, tmp_path):
    """Words with the same heads and relations, never in one sentence, come out alike; their company does not."""
    rng = np.random.default_rng(0)
    rows, lines = [], []
    for _ in range(600):
        kind = int(rng.integers(2))
        noun = rng.choice((("cat", "dog"), ("car", "train"))[kind])
        verb = rng.choice((("barks", "eats"), ("brakes", "rolls"))[kind])
        lines.append(f"{noun} {verb}")
        rows.append(f"1\t{noun}\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\t{verb}\t_\t_\t_\t_\t0\troot\t_\t_\n")
    path = tmp_path / "parsed.conllu"
    path.write_text("\n".join(rows))
    text = make_text(lines)
    (spec,) = read_baselines(["deps:dim=8,epochs=20,rate=0.2,negatives=5"])
    table = train_on_corpus(text.corpus, text.vocabulary, spec, Training(device="cpu"), [path])
    assert table.similarity("cat", "dog") > 0.9
    assert table.similarity("cat", "dog") > table.similarity("cat", "eats") + 0.3
    assert table.similarity("cat", "dog") > table.similarity("cat", "car") + 0.5


def test_a_conllu_file_is_text_and_trees_at_once(parsed, tmp_path):
    config = TrainConfig(
        ("deps:dim=4,epochs=1,min_context_count=1", "cbow:dim=4,epochs=1"),
        vocabulary=VocabularyConfig(min_count=1),
        training=Training(device="cpu"),
    )
    deps, cbow = train(parsed, tmp_path / "out", config=config).values()
    assert set(deps.words) == {"old", "new", "ships", "sail", "sank", "rivers"} == set(cbow.words) - {"on"}
    # The same trees for a text that was prepared before.
    store = prepare(parsed, tmp_path / "store", workers=1)
    again = train(store.path, config=replace(config, methods=config.methods[:1], trees=(str(parsed),)))
    assert again["deps-dim-4-epochs-1-min_context_count-1"].matrix.tobytes() == deps.matrix.tobytes()


def test_a_text_without_trees_is_refused_before_any_work(planted, tmp_path):
    (tmp_path / "text.txt").write_text("A text without trees.")
    with pytest.raises(UsageError, match=r"No file named \*\.conllu in .*text\.txt"):
        train(tmp_path / "text.txt", methods="deps")
    with pytest.raises(UsageError, match=r"deps needs dependency trees, which the prepared text .* --trees"):
        train(planted.corpus.path, methods="deps")


def test_provenance_names_the_trees(planted):
    (spec,) = read_baselines(["deps:dim=4,epochs=1"])
    table = train_on_corpus(planted.corpus, planted.vocabulary, spec, Training(device="cpu"), planted.trees)
    assert list(table.provenance["trees"]) == ["text.conllu"]
    assert Deps.needs_trees
