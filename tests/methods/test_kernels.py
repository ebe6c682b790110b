"""The kernels for GPUs against plain steps; without a GPU they are interpreted, number by number."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from wordstill.corpus.dealing import Cells, deal_folds
from wordstill.methods import METHODS, read_specs
from wordstill.methods import sums as sums_module
from wordstill.methods.learning import rows as rows_module
from wordstill.methods.learning.rows import EVERY, RowOptimizer, RowTable
from wordstill.methods.sums import RowOrder
from wordstill.teacher import WordStates
from wordstill.teacher.batch import FIELDS

pytest.importorskip("triton", reason="needs triton")
from wordstill.methods.learning.row_kernels import KernelStep, add_rows

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
KINDS = ("sgd", "adagrad", "adam", "lazy-adam")


def tables(kind: str, rows: int = 9) -> tuple[RowTable, RowTable]:
    """The same table twice: with plain steps, and by kernels."""
    start = torch.randn(rows, 6, generator=torch.Generator().manual_seed(1))
    optimiser = RowOptimizer(kind)
    plain, fast = RowTable(start.clone(), optimiser), RowTable(start.to(DEVICE, copy=True), optimiser)
    plain.kernels, fast.kernels = None, KernelStep(fast)
    return plain, fast


def assert_alike(plain: RowTable, fast: RowTable) -> None:
    assert torch.equal(fast.steps.cpu(), plain.steps)
    assert torch.allclose(fast.weights.cpu(), plain.weights, atol=1e-5)
    for name, state in plain.state.items():
        assert torch.allclose(fast.state[name].cpu(), state, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_named_again_and_again(kind):
    plain, fast = tables(kind)
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        queries = torch.randn(5, 6, generator=generator)
        rows = torch.randint(0, 9, (5, 4), generator=generator)
        coefficients = torch.randn(5, 4, generator=generator)
        coefficients[0] = 0
        moved = [part.to(DEVICE) for part in (queries, rows, coefficients)]
        assert torch.allclose(fast.scores(*moved[:2]).cpu(), plain.scores(queries, rows), atol=1e-5)
        assert torch.allclose(
            fast.query_gradients(*moved[1:]).cpu(), plain.query_gradients(rows, coefficients), atol=1e-5
        )
        plain.step(queries, rows, coefficients, 0.1)
        fast.step(*moved, 0.1)
        assert_alike(plain, fast)


@pytest.mark.parametrize("kind", KINDS)
def test_all_rows_at_once(kind):
    plain, fast = tables(kind)
    for seed in range(3):
        gradients = torch.randn(9, 6, generator=torch.Generator().manual_seed(seed))
        plain.apply(EVERY, gradients, 0.1)
        fast.apply(EVERY, gradients.to(DEVICE), 0.1)
    assert_alike(plain, fast)


@pytest.mark.parametrize("width", [6, 1030])
@pytest.mark.parametrize("chosen", [True, False])
def test_vectors_are_added_to_their_rows(width, chosen):
    generator = torch.Generator().manual_seed(3)
    values = torch.randn(90, width, generator=generator)
    places = torch.randint(0, 90, (70,), generator=generator) if chosen else None
    taken = values if places is None else values[places]
    rows = torch.randint(-1, 4, (len(taken),), generator=generator)
    sums, counts = torch.zeros(5, width, device=DEVICE), torch.zeros(5, dtype=torch.int64, device=DEVICE)
    ordered, order = torch.sort(rows, stable=True)
    named = RowOrder(ordered.to(DEVICE), order.to(DEVICE))
    add_rows(sums, counts, named.rows, values.to(DEVICE), named.taken(None if places is None else places.to(DEVICE)))
    kept = rows >= 0
    assert counts.tolist() == rows[kept].bincount(minlength=5).tolist()
    assert torch.allclose(sums.cpu(), torch.zeros(5, width).index_add_(0, rows[kept], taken[kept]), atol=1e-4)


SPECS = (
    "x2static:shared=32",
    "x2static:optimiser=adam,mask_hits=false,whiten=none,shared=7",
    "x2static:corrected=false,shared=1100",
    "x2static:shared=0,batch=7",
    "x2static:preset=paper,subsample=0,batch=23,batch_of=targets",
    "x2static:shared=0,corrected=false,mask_hits=false,optimiser=adam",
    "bert-skipgram:dim=5,shared=32",
    "bert-skipgram:drawn_for=centre,self_weight=0,shared=3,optimiser=adagrad",
    "context-to-vec:semantic=0.5,contrastive=2,window=2,shared=32",
    "context-to-vec:tied=false,shared=32,batch=7",
    "context-to-vec:shared=0,dim=5",
    "bert-skipgram:shared=0,drawn_for=centre,batch=7",
    "bert-skipgram:preset=paper,dim=5,batch=7",
    "bert-skipgram:preset=paper-held,dim=5,batch=7,corrected=true,clip=0.5",
    "bert-skipgram:preset=paper,dim=5,batch=7,clip=none,optimiser=adagrad,window=3",
    "context-to-vec:preset=paper,dim=5,batch=7",
    "context-to-vec:preset=paper,dim=5,batch=2,objective=attended-held,semantic=0.5,contrastive=2",
)


def moved(states: WordStates) -> WordStates:
    there = {name: getattr(states.batch, name).to(DEVICE) for name in (*FIELDS, "known")}
    hidden = {layer: said.to(DEVICE) for layer, said in states.hidden.items()}
    return WordStates(replace(states.batch, **there), hidden)


@pytest.mark.parametrize("spec", SPECS)
def test_a_learner_learns_the_same_by_kernels(spec, text, monkeypatch):
    (found,) = read_specs([spec], METHODS, text.teacher.depth)
    plain = found.build(text.context)
    with monkeypatch.context() as patched:
        patched.setattr(rows_module, "gpu_step", KernelStep)
        fast = found.build(replace(text.context, device=DEVICE))
    assert plain.kernel_step is None
    assert fast.kernel_step is not None
    draw = plain.sampler.draw
    # The same draws everywhere: a GPU has a generator of its own.
    fast.sampler.draw = lambda shape, _: draw(shape, torch.Generator().manual_seed(5)).to(DEVICE)
    plain.sampler.draw = lambda shape, _: draw(shape, torch.Generator().manual_seed(5))
    for states in text.states(False, 60, plain.layers)[:3]:
        plain.observe(states)
        fast.observe(moved(states))
    assert torch.equal(fast.positives.counts.cpu(), plain.positives.counts)
    assert_alike(plain.rows, fast.rows)
    assert float(fast.loss) == pytest.approx(float(plain.loss), rel=1e-4)


@pytest.mark.parametrize("spec", ["still:dim=12", "ase"])
def test_a_method_adds_the_same_by_kernels_for_the_text_and_its_folds(spec, text, monkeypatch):
    (found,) = read_specs([spec], METHODS, text.teacher.depth)
    cells = Cells.count(text.corpus, text.vocabulary, deal_folds(text.corpus, 3), enough=3)
    plain = found.build(replace(text.context, cells=cells))
    with monkeypatch.context() as patched:
        patched.setattr(sums_module, "gpu_add", lambda device: add_rows)
        fast = found.build(replace(text.context, cells=cells, device=DEVICE))
    for states in text.states(False, 60, plain.layers)[:3]:
        plain.observe(states)
        fast.observe(moved(states))
    expected, sums = plain.state_dict(), fast.state_dict()
    assert any(name.startswith("cell_") for name in expected)
    for name, tensor in expected.items():
        assert torch.allclose(sums[name].cpu(), tensor, atol=1e-4), name
