"""What every method promises. A new method is covered by its row in the table of methods."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from wordstill.core.settings import ADDED
from wordstill.distillation import DistillConfig, distill_from_teacher
from wordstill.errors import DataError, TrainingError, UsageError
from wordstill.methods import METHODS, Method
from wordstill.methods.learning.learner import STEPS
from wordstill.teacher.layers import INPUT_EMBEDDINGS
from wordstill.vectors import WordVectors

VARIANTS = {
    "ase:context=max,subword=min,layer=1": "ase-subword-min-context-max-layer-1",
    "ase:context=min,layer=0": "ase-context-min-layer-0",
    "still:dim=60,layer=1": "still-dim-60-layer-1",
    "still:dim=60,sentence_prior=fitted": "still-dim-60-sentence_prior-fitted",
    "sentence:prior=fitted": "sentence-prior-fitted",
    "principal:rank=32": "principal-rank-32",
}
"""More settings to try, with their labels."""
LEARNERS = {
    f"{name}:preset={preset},subsample=0": f"{name}-{preset}-subsample-0.0"
    for name, method in METHODS.items()
    for preset in method.presets
}
"""Learners in all presets. In so little text every word is frequent, so none is thinned out."""
SUMS = [name for name, method in METHODS.items() if not method.learns and name != "principal"]
"""Methods that keep sums. Principal is one of them only if it keeps every direction of the states."""
BUDGET = 100
TOLERANCE = 2e-5


@pytest.fixture(params=[*SUMS, *VARIANTS, *LEARNERS])
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[*SUMS, *VARIANTS])
def sums(request: pytest.FixtureRequest) -> str:
    """A method that keeps sums, so that neither order nor batches matter."""
    return str(request.param)


@pytest.fixture(params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> str:
    """A method that takes steps."""
    return str(request.param)


def cosines(table: WordVectors) -> np.ndarray:
    """All similarities, which do not depend on the signs and order of principal directions."""
    unit = table.unit.astype(np.float64)
    return unit @ unit.T


def assert_same(first: WordVectors, second: WordVectors) -> None:
    """Same words with bit-identical vectors."""
    assert first.words == second.words
    assert first.matrix.tobytes() == second.matrix.tobytes()
    assert np.array_equal(first.counts, second.counts)


def assert_close(first: WordVectors, second: WordVectors) -> None:
    """Same words with the same geometry up to rounding."""
    assert first.words == second.words
    lengths = [np.linalg.norm(table.matrix, axis=1) for table in (first, second)]
    np.testing.assert_allclose(*lengths, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(cosines(first), cosines(second), atol=TOLERANCE)


def test_the_result_is_worth_comparing(text, spec):
    """The other tests would pass on tables of zeros or of equal vectors."""
    table = text.run(spec).finish()
    assert len(table) > 0.7 * len(text.vocabulary)
    assert np.linalg.norm(table.matrix, axis=1).min() > 1e-6
    # A few words in capitals are all the same to the tiny tokenizer.
    assert len(np.unique(table.matrix.round(5), axis=0)) > 0.9 * len(table)


@pytest.mark.parametrize("budget", [30, 5000])
def test_batches_do_not_matter(text, sums, budget):
    assert_close(text.run(sums, budget).finish(), text.run(sums).finish())


def test_order_does_not_matter(text, sums):
    forward, shuffled = text.build(sums), text.build(sums)
    steps = text.steps(forward)
    for step in steps:
        step(forward)
    for number in np.random.default_rng(1).permutation(len(steps)):
        steps[number](shuffled)
    assert_close(forward.finish(), shuffled.finish())


def test_a_restored_method_goes_on_bit_for_bit(text, spec):
    whole, first, second = (text.build(spec) for _ in range(3))
    steps = text.steps(whole)
    half = len(steps) // 2
    assert half > 0
    for step in steps:
        step(whole)
    for step in steps[:half]:
        step(first)
    saved = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    for step in steps[half:]:
        step(first)
    second.load_state_dict(saved)
    for step in steps[half:]:
        step(second)
    assert_same(whole.finish(), first.finish())
    assert_same(whole.finish(), second.finish())


def test_merged_halves_are_the_whole(text, sums):
    whole, first, second = (text.build(sums) for _ in range(3))
    steps = text.steps(whole)
    for number, step in enumerate(steps):
        step(whole)
        step(first if number % 2 else second)
    unmerged = first.finish()
    first.merge(second)
    assert_close(first.finish(), whole.finish())
    assert unmerged.words != whole.finish().words or not np.allclose(unmerged.matrix, whole.finish().matrix)


def test_finishing_changes_nothing(text, spec):
    method = text.build(spec)
    steps = text.steps(method)
    for number, step in enumerate(steps):
        step(method)
        if number == len(steps) // 2:
            method.finish()
    assert_same(method.finish(), method.finish())
    assert_same(method.finish(), text.run(spec).finish())


def test_every_wanted_word_has_a_vector(text, sums):
    table = text.run(sums).finish()
    for word in ("vapourless", "grey monday river", "new york", "isthmus", "the"):
        assert word in table
        assert np.linalg.norm(table[word]) > 0
    assert text.vocabulary.counts[text.vocabulary.id("new york")] > 5


def test_counts_are_those_of_the_vocabulary(text, sums):
    table = text.run(sums).finish()
    assert list(table.words) == text.vocabulary.keys
    assert table.counts.tolist() == text.vocabulary.counts.tolist()
    assert table.matrix.dtype == np.float32


def test_words_without_evidence_are_left_out(text, spec):
    method = text.build(spec)
    for step in text.steps(method)[-1:]:
        step(method)
    table = method.finish()
    assert 0 < len(table) < len(text.vocabulary)
    assert [text.vocabulary.counts[text.vocabulary.id(word)] for word in table] == table.counts.tolist()


def test_learners_leave_out_words_that_never_were_positives(text, learner):
    method = text.run(learner)
    words = set(method.finish().words)
    assert words == {key for key, n in zip(text.vocabulary.keys, method.positives.counts.tolist()) if n}
    assert "the" in words and "vapourless" not in words


def test_learners_are_not_merged(text, learner):
    first, second = text.run(learner), text.run(learner)
    with pytest.raises(UsageError, match="cannot be merged"):
        first.merge(second)


def test_another_seed_gives_another_table(text, learner):
    first, second = text.build(learner), text.build(learner, seed=1)
    for step in text.steps(first)[:3]:
        step(first)
        step(second)
    assert not np.array_equal(first.vectors().numpy(), second.vectors().numpy())


def test_a_table_that_runs_away_is_refused(text, learner):
    method = text.run(learner)
    method.rows.weights[0, 0] = torch.inf
    with pytest.raises(TrainingError, match=r"diverged.*at step [\d,]+.*lower rate, for example rate="):
        method.finish()


def test_a_loss_that_runs_away_is_told_at_once_with_its_step(text, learner):
    method = text.build(learner)
    first, second, *_ = text.steps(method)
    first(method)
    done = int(method.clock.counts[STEPS])
    method.rows.weights.fill_(torch.nan)
    with pytest.raises(TrainingError, match=r"diverged.*at step [\d,]+, after [\d,]+ words") as caught:
        second(method)
    (step,) = re.findall(r"at step ([\d,]+)", str(caught.value))
    assert int(step.replace(",", "")) == int(method.clock.counts[STEPS]) > done


def test_layers_are_the_only_ones_looked_at(text, spec):
    method = text.build(spec)
    assert set(method.layers) <= {INPUT_EMBEDDINGS, *range(text.teacher.depth + 1)}
    # Text.steps asks the teacher for these layers alone, so another one would raise.
    text.run(spec).finish()


def test_memory_is_that_of_the_state(text, spec):
    method = text.build(spec)
    assert method.memory() == sum(tensor.nbytes for tensor in method.state_dict().values())
    assert method.memory() > len(text.vocabulary) * text.teacher.width * 4


def test_foreign_states_are_refused(text, spec):
    method = text.build(spec)
    state = dict(method.state_dict())
    name, tensor = next((name, tensor) for name, tensor in state.items() if tensor.dim() == 2)
    for wrong in ({}, state | {name: tensor[:1]}, state | {"more": tensor}):
        with pytest.raises(DataError, match=f"does not fit {method.name}: got .*--overwrite"):
            method.load_state_dict(wrong)


def test_other_methods_are_not_merged(text, spec):
    method = text.build(spec)
    other = text.build("ase:layer=2" if spec != "ase:layer=2" else "still")
    with pytest.raises(UsageError, match="Cannot merge ase"):
        method.merge(other)


@pytest.fixture(scope="module")
def runs(text) -> list[dict[str, WordVectors]]:
    """The tables of all methods, from two runs of one pass each."""
    config = DistillConfig((*SUMS, *VARIANTS, *LEARNERS), vocabulary=text.vocabulary.config, budget=BUDGET)
    return [distill_from_teacher(text.teacher, text.corpus, config=config) for _ in range(2)]


def label(spec: str) -> str:
    return (VARIANTS | LEARNERS).get(spec, spec)


def test_two_runs_give_the_same_bits(runs, spec):
    assert_same(runs[0][label(spec)], runs[1][label(spec)])


def test_the_company_of_other_methods_does_not_matter(runs, text, spec):
    config = DistillConfig((spec,), vocabulary=text.vocabulary.config, budget=BUDGET)
    (single,) = distill_from_teacher(text.teacher, text.corpus, config=config).values()
    assert_close(runs[0][label(spec)], single)


def test_provenance_is_complete(runs, text, spec):
    table = runs[0][label(spec)]
    facts = json.loads(json.dumps(dict(table.provenance), allow_nan=False))
    assert facts == table.provenance
    assert facts["method"]["name"].partition(".v")[0] == spec.partition(":")[0].partition(".v")[0]
    settings = dataclasses.fields(METHODS[spec.partition(":")[0]].config_type)
    # So that tables and sums that were made before there was such a setting are still the same.
    later = {field.name for field in settings if field.metadata == ADDED and f"{field.name}=" not in spec}
    assert facts["method"].keys() == {"name", *(field.name for field in settings)} - later
    assert facts["corpus"]["hash"] == text.corpus.hash
    assert facts["corpus"]["words"] == text.corpus.n_words
    assert facts["teacher"]["fingerprint"] == text.teacher.fingerprint
    assert facts["teacher"].keys() >= {"name", "dtype", "device", "max_length", "layers", "width"}
    assert facts["vocabulary"]["size"] == len(text.vocabulary)
    assert facts["vocabulary"]["wanted_words"] == len(text.vocabulary.config.words)
    assert len(facts["vocabulary"]["wanted_words_sha256"]) == 64
    assert facts["batches"] == {
        "budget": BUDGET,
        "limit": text.teacher.limit,
        "unit": "sentence",
        "packed": text.teacher.packs,
    }
    assert facts["versions"].keys() >= {"wordstill", "torch", "transformers", "tokenizers", "numpy"}
    assert "not installed" not in facts["versions"].values()
    assert facts["seed"] == 0 and facts["epochs"] == 1
    assert facts["cut_sentences"] == 0


def test_the_artifact_is_the_table(runs, spec, tmp_path):
    table = runs[0][label(spec)]
    table.save(tmp_path / "vectors")
    again = WordVectors.load(tmp_path / "vectors")
    assert_same(table, again)
    assert again.provenance == table.provenance


def test_methods_have_names_with_versions():
    names = [method.name for method in METHODS.values()]
    assert len(set(names)) == len(names)
    for key, method in METHODS.items():
        assert method.name == key or method.name.startswith(f"{key}.v")
        assert issubclass(method, Method)


def assert_documented(lines: Sequence[str]) -> None:
    for head in (".. math::", "Paper:", "Inputs:", "Cost:", "Relations:", "Example:"):
        assert any(line.strip().startswith(head) for line in lines), head


@pytest.mark.parametrize("name", METHODS)
def test_methods_explain_themselves(name):
    assert_documented((METHODS[name].__doc__ or "").splitlines())


class _Silent(Method):
    """Says that it reads text and has isolated words, but observes neither."""

    name = "silent.v1"
    config_type = type(None)
    layers = ()

    def finish(self):
        raise AssertionError


def test_a_method_that_forgot_to_observe_says_so(text):
    method = _Silent(None, text.context)
    assert method.isolated_words().tolist() == [] and method.state_dict() == {}
    with pytest.raises(NotImplementedError, match="_Silent reads text"):
        method.observe(None)
    with pytest.raises(NotImplementedError, match="_Silent has isolated words"):
        method.observe_isolated(None)


def test_the_device_of_the_run_is_used(text):
    for name in METHODS:
        assert all(tensor.device == torch.device("cpu") for tensor in text.build(name).state_dict().values())
