"""Rows of parts of a text: those of a separate run over the part, with the map of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from wordstill.corpus.dealing import Cells, FoldPlan
from wordstill.errors import UsageError
from wordstill.methods import METHODS, Method
from wordstill.methods.blocks import Mixture
from wordstill.methods.sums import RowSums
from wordstill.teacher import WordStates

SPECS = ["still:dim=12", "still.v1", "still.v1:lower=1", "ase", "still:sentence_weight=0,neighbor_weight=0"]
GROUPS, FOLDS = 2, 4


@pytest.fixture(scope="module")
def cells(text) -> Cells:
    generator = np.random.default_rng(3)
    folds = generator.integers(-1, FOLDS, size=len(text.corpus)).astype(np.int32)
    words = np.bincount(folds + 1, text.corpus.words_of_paragraphs(), minlength=FOLDS + 1)[1:].astype(np.int64)
    plan = FoldPlan(folds, np.array([0, 0, 1, 1], np.int32), words, ("a", "b"), ("documents",) * GROUPS)
    return Cells.count(text.corpus, text.vocabulary, plan, enough=3)


def run(text, spec: str, cells: Cells | None, length: str = "sentence") -> Method:
    method = text.build(spec)
    method = type(method)(method.config, replace(method.run, cells=cells, length=length))
    for step in text.steps(method):
        step(method)
    return method


def only(states: WordStates, wanted: np.ndarray) -> WordStates:
    """The states of a batch, in which only some paragraphs have known words."""
    batch = states.batch
    paragraph = torch.from_numpy(batch.source_ids)[batch.sentence_text[states.word_sentence]]
    inside = torch.from_numpy(wanted)[paragraph]
    ids = torch.where(inside, states.word_ids, -1)
    known = torch.nonzero(ids >= 0).flatten()
    return WordStates(replace(batch, word_ids=ids, known=known), states.hidden)


@pytest.mark.parametrize("spec", SPECS)
def test_the_whole_table_is_the_same_to_the_bit(text, cells, spec):
    plain, folded = run(text, spec, None).finish(), run(text, spec, cells).finish()
    assert plain.words == folded.words
    assert plain.matrix.tobytes() == folded.matrix.tobytes()
    assert plain.folds is None
    assert folded.folds is not None


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("length", ["sentence", "unit", "raw"])
def test_a_part_has_the_row_of_a_run_over_it_with_the_map_of_the_whole(text, cells, spec, length, monkeypatch):
    whole = run(text, spec, cells, length)
    fitted: list[Mixture] = []
    monkeypatch.setattr(Mixture, "table", lambda self, table=Mixture.table: fitted.append(self) or table(self))
    table = whole.finish()
    assert table.folds is not None
    for name in ("a", "b"):
        group = table.group(name)
        number = table.folds.group(name)
        wanted = np.isin(cells.plan.of_paragraph, np.flatnonzero(cells.plan.group_of_fold == number))
        part = text.build(spec)
        for states in text.states(False, 100, part.layers):
            part.observe(only(states, wanted))
        for word in group.words:
            row = text.vocabulary.id(word)
            assert group.counts[group.index(word)] == part.states.counts[row]
            expected = by_hand(whole, part, fitted[0] if fitted else None, row)
            scale = (
                1.0 if length == "raw" else np.linalg.norm(table[word]) / np.linalg.norm(unscaled(whole, fitted, row))
            )
            np.testing.assert_allclose(group[word], expected * scale, atol=1e-5, rtol=1e-5)


def unscaled(whole: Method, fitted: list[Mixture], row: int) -> np.ndarray:
    if not fitted:
        return whole.states.pooled()[row].numpy()
    return fitted[0].table()[row].numpy()


def by_hand(whole: Method, part: Method, mixture: Mixture | None, row: int) -> np.ndarray:
    """The row of a word over a part of the text, block by block, as the docstrings say."""
    if mixture is None:
        return part.states.pooled()[row].numpy()
    blocks = []
    names = {id(sums): name for name, sums in whole.parts.items()}
    at = slice(row, row + 1)
    for fit in mixture.parts:
        block, own = fit.block, fit(at)
        name = names.get(id(block.sums))
        # The isolated word, the prompt and the sentence regression are those of the whole text.
        if name not in (None, "alone", "prompted"):
            kappa, n = block.prior, float(block.sums.counts[row])
            of_part = part.parts[name].pooled()[row].double()
            expected = (fit.rows(at)[0] * (n + kappa) - n * block.sums.pooled()[row].double()) / kappa
            shrunk = (n * of_part + kappa * expected) / (n + kappa) - fit.mean
            of_whole = fit.rows(at)[0] - fit.mean
            if fit.whitening is not None:
                shrunk, of_whole = shrunk @ fit.whitening, of_whole @ fit.whitening
            weight = block.weight * (n / (n + kappa) if block.by_count else 1.0)
            own = weight * shrunk[None] / torch.linalg.vector_norm(of_whole)
        blocks.append(own)
    return ((torch.cat(blocks, dim=1) - mixture.center) @ mixture.directions)[0].numpy()


@pytest.mark.parametrize("spec", SPECS)
def test_rows_of_all_parts_add_up_to_the_word(text, spec):
    folds = np.arange(len(text.corpus), dtype=np.int32) % FOLDS
    plan = FoldPlan(folds, np.zeros(FOLDS, np.int32), np.ones(FOLDS, np.int64), ("all",), ("documents",))
    table = run(text, spec, Cells.count(text.corpus, text.vocabulary, plan, enough=3)).finish()
    assert table.folds is not None
    tracked, _ = table.folds.counts_by_group()
    assert len(tracked) > 20
    assert any(" " in table.words[row] for row in tracked)
    for row in tracked.tolist():
        counts, sums = table.folds.of_word(row)
        assert counts.sum() == table.counts[row]
        np.testing.assert_allclose(sums.sum(axis=0) / counts.sum(), table.matrix[row], atol=1e-5)
    assert np.allclose(table.group("all").matrix, table.matrix[tracked], atol=1e-5)


def test_cells_are_saved_and_merged_like_all_sums(text, cells):
    whole, first, second = run(text, "ase", cells), text.build("ase"), text.build("ase")
    first, second = (type(first)(each.config, replace(each.run, cells=cells)) for each in (first, second))
    for number, step in enumerate(text.steps(whole)):
        step((first, second)[number % 2])
    first.merge(second)
    restored = type(first)(first.config, first.run)
    restored.load_state_dict({key: tensor.clone() for key, tensor in first.state_dict().items()})
    assert torch.allclose(restored.cells.parts["states"].sums, whole.cells.parts["states"].sums, atol=1e-4)
    with pytest.raises(UsageError, match="other folds or groups"):
        first.merge(text.build("ase"))


def test_tables_can_be_made_elsewhere(text, cells):
    made = []

    def make(rows: int, columns: int) -> torch.Tensor:
        made.append((rows, columns))
        return torch.zeros(rows, columns)

    method = text.build("ase")
    method = type(method)(method.config, replace(method.run, cells=cells, make_cells=make))
    for step in text.steps(method):
        step(method)
    assert made == [(len(cells), text.teacher.width)]
    assert torch.equal(method.cells.parts["states"].sums, run(text, "ase", cells).cells.parts["states"].sums)


def test_a_device_with_a_number_is_the_same_device(text, cells, monkeypatch):
    method = text.build("ase")
    method = type(method)(method.config, replace(method.run, cells=cells, device=torch.device("cpu", 0)))
    added = []
    monkeypatch.setattr(RowSums, "add", lambda self, rows, values, places=None: added.append(values))
    states = next(iter(text.states(False, 100, method.layers)))
    method.observe(states)
    assert len(added) == 2
    assert added[0] is added[1]


def test_methods_that_cannot_say_so():
    able = {
        name
        for name, kind in METHODS.items()
        if kind.has_folds(kind.config_type(layer=1) if name in ("ase",) else None)
    }
    assert able == {"still", "still.v1", "ase"}
    assert not METHODS["ase"].has_folds(METHODS["ase"].config_type(layer=1, context="max"))
