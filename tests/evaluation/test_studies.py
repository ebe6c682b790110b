from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wordstill.errors import DataError
from wordstill.evaluation import Evaluation, Protocol, evaluate
from wordstill.evaluation.report.tables import layer_rows
from wordstill.evaluation.result import TableFacts
from wordstill.evaluation.studies import Curve, layer_study, learning_curves, over_seeds, training_curves
from wordstill.vectors import WordVectors

WORDS = [f"w{number}" for number in range(60)]


def table(
    noise: float,
    layer: int | None = None,
    words: int | None = None,
    seed: int = 0,
    teacher: str = "",
    unit: str = "",
    **settings: object,
) -> WordVectors:
    """The more noise, the worse."""
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 12))
    matrix += noise * np.random.default_rng(seed + 1).normal(size=matrix.shape)
    method = {"name": "ase.v1"} | ({} if layer is None else {"layer": layer})
    provenance = {"method": method | settings} | ({} if words is None else {"corpus": {"words": words}})
    provenance |= {"teacher": {"name": teacher}} if teacher else {}
    provenance |= {"batches": {"unit": unit}} if unit else {}
    return WordVectors(WORDS, matrix.astype(np.float32), provenance=provenance)


@pytest.fixture
def sets(tmp_path) -> list[str]:
    """Pairs with the cosines of the table without noise for gold."""
    clean = table(0)
    random = np.random.default_rng(3)
    names = []
    for number in range(2):
        pairs = random.choice(len(WORDS), size=(120, 2))
        path = tmp_path / f"pairs{number}.tsv"
        lines = (f"w{a}\tw{b}\t{clean.similarity(f'w{a}', f'w{b}'):.4f}" for a, b in pairs if a != b)
        path.write_text("\n".join(lines))
        names.append(str(path))
    return names


def test_the_layer_is_chosen_on_one_half_and_scored_on_the_other(sets):
    layers = {"zero": table(2.0, 0), "one": table(0.3, 1, seed=1), "two": table(1.0, 2, seed=2)}
    study = layer_study(evaluate(layers, sets))
    assert study.layers == {"zero": 0, "one": 1, "two": 2}
    assert study.overall == study.oracle_overall == "one"
    assert [choice.chosen for choice in study.choices] == ["one", "one"]
    for choice in study.choices:
        assert choice.oracle_value >= choice.chosen_value == choice.overall_value > 50


def test_the_study_is_in_the_files(sets):
    layers = {"zero": table(2.0, 0), "one": table(0.3, 1, seed=1)}
    evaluation = evaluate(layers, sets)
    saved = json.loads(evaluation.to_json())["layer_study"]
    assert saved["overall"] == "one" and saved["choices"][0]["chosen"] == "one"
    assert layer_rows(layer_study(evaluation))[1][1].endswith("(layer 1)")
    assert json.loads(evaluate(table(1.0), sets).to_json())["layer_study"] is None


def test_the_oracle_is_never_worse(sets):
    layers = {f"layer{number}": table(1.0, number, seed=number) for number in range(6)}
    study = layer_study(evaluate(layers, sets), seed=4)
    assert all(choice.oracle_value >= choice.chosen_value for choice in study.choices)
    again = layer_study(evaluate(layers, sets), seed=4)
    assert study == again != layer_study(evaluate(layers, sets), seed=5)


def without_keys(evaluation: Evaluation) -> Evaluation:
    scores = {
        table: {name: replace(score, items=replace(score.items, keys=None)) for name, score in by_set.items()}
        for table, by_set in evaluation.scores.items()
    }
    return replace(evaluation, scores=scores)


def test_a_pair_is_in_the_same_half_of_every_set(sets, tmp_path):
    lines = (line.split("\t") for line in Path(sets[0]).read_text().splitlines())
    turned = tmp_path / "turned.tsv"
    turned.write_text("".join(f"{b.upper()}\t{a}\t{score}\n" for a, b, score in reversed(list(lines))))
    layers = {"a": table(1.0, 0, seed=5), "b": table(1.0, 1, seed=6)}
    first, second = layer_study(evaluate(layers, [sets[0], turned])).choices
    assert first.chosen_value == pytest.approx(second.chosen_value)
    assert (first.chosen, first.oracle) == (second.chosen, second.oracle)


def test_halves_by_hand(sets):
    layers = {"a": table(1.0, 0, seed=5), "b": table(1.0, 1, seed=6)}
    evaluation = without_keys(evaluate(layers, sets[:1]))
    study = layer_study(evaluation, seed=0)
    items = evaluation.scores[study.choices[0].chosen][sets[0]].items
    size = len(items.predicted)
    second = np.ones(size, dtype=bool)
    second[np.random.default_rng(0).permutation(size)[: size // 2]] = False
    assert study.choices[0].chosen_value == pytest.approx(100 * items.only(second).value())


def test_too_few_layers(sets):
    with pytest.raises(DataError, match="at least 2 layers, but got 1"):
        layer_study(evaluate({"one": table(1, 0), "again": table(1, 0, 500), "none": table(1)}, sets))


def test_other_methods_are_no_layers(sets):
    still = WordVectors(WORDS, table(0.1).matrix, provenance={"method": {"name": "still.v1", "layer": 6}})
    study = layer_study(evaluate({"zero": table(2.0, 0), "still": still, "one": table(0.3, 1, seed=1)}, sets))
    assert set(study.layers) == {"zero", "one"}


def test_learning_curves(sets):
    tables = {
        "large": table(0.2, words=30_000, seed=1),
        "small": table(2.0, words=1_000, seed=2),
        "unknown": table(1.0),
        "layered": table(1.0, 3, 5_000),
    }
    evaluation = evaluate(tables, sets[:1])
    (line,) = learning_curves(evaluation, sets[0])
    assert line.label == "ase.v1"
    assert [size for size, _ in line.points] == [1_000, 30_000]
    assert line.points[0][1] < line.points[1][1]
    assert learning_curves(evaluation, "rg65") == []


@pytest.mark.parametrize(
    ("one", "other", "labels"),
    [
        ({"teacher": "bert"}, {"teacher": "roberta"}, {"ase.v1, bert", "ase.v1, roberta"}),
        ({"unit": "sentence"}, {"unit": "paragraph"}, {"ase.v1, sentence", "ase.v1, paragraph"}),
        ({"context": "max"}, {"context": "min"}, {"ase.v1, context max", "ase.v1, context min"}),
        ({"layer": 1}, {"layer": 2}, {"ase.v1, layer 1", "ase.v1, layer 2"}),
    ],
)
def test_tables_of_different_origin_are_different_curves(sets, one, other, labels):
    tables = {
        f"{name}-{words}": table(0.2, words=words, **facts)
        for name, facts in (("one", one), ("other", other))
        for words in (1_000, 2_000)
    }
    lines = learning_curves(evaluate(tables, sets[:1]), sets[0])
    assert {line.label for line in lines} == labels
    assert [[size for size, _ in line.points] for line in lines] == [[1_000, 2_000], [1_000, 2_000]]


def test_a_point_of_several_seeds_is_their_mean(sets):
    tables = {f"{words}-{seed}": table(1.0, words=words, seed=seed) for words in (1_000, 2_000) for seed in range(3)}
    evaluation = evaluate(tables, sets[:1])
    (line,) = learning_curves(evaluation, sets[0])
    (_, first), _ = line.points
    assert first == pytest.approx(np.mean([evaluation.scores[f"1000-{seed}"][sets[0]].value for seed in range(3)]))


def test_curves_over_a_setting(sets):
    tables = {
        f"{window}-{words}": table(1 / window, words=words, window=window, objective="pairwise", seed=window)
        for window in (1, 3, 8)
        for words in (1_000, 2_000)
    }
    evaluation = evaluate(tables, sets[:1])
    lines = learning_curves(evaluation, sets[0], "window")
    assert [line.label for line in lines] == ["ase.v1, words 1000", "ase.v1, words 2000"]
    assert [[place for place, _ in line.points] for line in lines] == [[1, 3, 8], [1, 3, 8]]
    assert learning_curves(evaluation, sets[0], "objective") == []
    assert learning_curves(evaluation, sets[0], "no such setting") == []


def test_curves_are_on_the_items_that_every_table_has(sets):
    small = table(0.5, words=1_000, seed=1).subset(WORDS[:40])
    large = table(0.5, words=2_000, seed=2)
    (line,) = learning_curves(evaluate({"small": small, "large": large}, sets[:1]), sets[0])
    (_, first), (_, second) = line.points
    alike = evaluate({"small": small, "large": large.subset(WORDS[:40])}, sets[:1])
    assert (first, second) == pytest.approx(tuple(alike.scores[name][sets[0]].value for name in ("small", "large")))
    assert second != pytest.approx(evaluate(large, sets[:1]).scores["vectors"][sets[0]].value)


def test_curves_of_trainings_are_those_that_tables_record():
    scored = WordVectors(
        ["a"], np.ones((1, 2), dtype=np.float32), provenance={"development": {"curve": [[100, 20.0], [200, 25.5]]}}
    )
    curve = Curve("scored", ((100.0, 20.0), (200.0, 25.5)))
    assert training_curves({"scored": scored, "plain": table(0)}) == [curve]


@pytest.mark.parametrize("facts", [{"teacher": "roberta"}, {"unit": "sentence"}, {"context": "max"}, {"words": 99}])
def test_layers_of_another_origin_are_not_studied_together(sets, facts):
    layers = {f"layer{number}": table(1.0, number, seed=number) for number in range(3)}
    others = {f"other{number}": table(1.0, number, seed=number, **facts) for number in (3, 4)}
    assert layer_study(evaluate(others | layers, sets)).layers == {"layer0": 0, "layer1": 1, "layer2": 2}


def test_facts_of_tables():
    assert TableFacts.of(table(0, 2, 99)) == (60, 12, "ase.v1", 2, 99, None, None, {}, None)
    full = table(0, 2, 99, teacher="bert", unit="sentence", context="max")
    assert TableFacts.of(full) == (60, 12, "ase.v1", 2, 99, "bert", "sentence", {"context": "max"}, None)
    plain = WordVectors(["a"], np.ones((1, 2), dtype=np.float32), provenance={"method": "made by hand"})
    assert TableFacts.of(plain) == (1, 2, None, None, None, None, None, {}, None)


def test_nothing_to_study():
    with pytest.raises(DataError, match="got 0"):
        layer_study(Evaluation({}, Protocol("p"), 0))


def test_tables_of_several_seeds_have_a_mean_and_a_spread(sets):
    def seeded(seed: int, **settings: object) -> WordVectors:
        made = table(1.0, words=1_000, seed=seed, **settings)
        return made.replace(provenance={**made.provenance, "seed": seed})

    tables = {f"x2static-seed-{seed}": seeded(seed) for seed in range(3)} | {"alone": seeded(0, rate=2.0)}
    evaluation = evaluate(tables, sets[:1])
    (found,) = over_seeds(evaluation)
    values = [evaluation.scores[name][sets[0]].value for name in list(tables)[:3]]
    assert (found.label, found.dataset, found.tables) == ("x2static", sets[0], 3)
    assert (found.mean, found.deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    # The 95 % point of Student's t with two degrees of freedom.
    assert found.interval.high - found.mean == pytest.approx(4.302653 * found.deviation / 3**0.5, rel=1e-5)
    assert over_seeds(evaluate({"same": seeded(1), "again": seeded(1)}, sets[:1])) == []
