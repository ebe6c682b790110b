from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.methods.test_sentence import dense_prior
from wordstill.errors import UsageError
from wordstill.methods.still import Still, StillConfig

BUDGET = 100


def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    values, directions = np.linalg.eigh(matrix)
    return directions @ np.diag(np.maximum(values, 1e-8 * values.max()) ** exponent) @ directions.T


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Observed:
    """What stands at and around every occurrence of a word, found with plain loops."""

    def __init__(self, text, config: StillConfig) -> None:
        self.lower = 2 if config.lower is None else config.lower
        self.beside = config.layer if config.neighbor_layer is None else config.neighbor_layer
        layers = tuple(sorted({0, self.lower, self.beside, config.layer}))
        size, self.width = len(text.vocabulary), text.teacher.width
        names = ("state", "lower", "window", "left", "right", "left_embedding", "right_embedding")
        self.found: dict[str, list[list[np.ndarray]]] = {name: [[] for _ in range(size)] for name in names}
        self.bags: list[list[int]] = []
        self.targets: list[np.ndarray] = []
        for states in text.states(False, BUDGET, layers):
            self.read(states, config)
        self.alone = np.zeros((size, self.width))
        self.alone_lower = np.zeros((size, self.width))
        for states in text.states(True, BUDGET, layers):
            batch = states.batch
            for number, row in enumerate(batch.word_ids.tolist()):
                place = slice(int(batch.word_start[number]), int(batch.word_end[number]))
                if row >= 0:
                    self.alone[row] = states.hidden[config.layer][place].double().mean(dim=0)
                    self.alone_lower[row] = states.hidden[self.lower][place].double().mean(dim=0)
        self.prompted = np.zeros((size, self.width))
        for states in text.states(True, BUDGET, layers, config.prompt):
            batch = states.batch
            for sentence, row in zip(batch.word_sentence.tolist(), batch.word_ids.tolist()):
                place = slice(int(batch.sentence_start[sentence]), int(batch.sentence_end[sentence]))
                self.prompted[row] = states.hidden[config.layer][place].double().mean(dim=0)
        self.counts = np.array([len(each) for each in self.found["state"]])

    def read(self, states, config: StillConfig) -> None:
        batch = states.batch
        hidden = {layer: values.double().numpy() for layer, values in states.hidden.items()}
        starts, ends = batch.word_start.tolist(), batch.word_end.tolist()
        sentence_of, n_words = batch.word_sentence.tolist(), batch.n_words
        first_words = [*range(n_words), *batch.phrase_start.tolist()]
        last_words = [*range(1, n_words + 1), *batch.phrase_end.tolist()]

        def word(layer: int, number: int) -> np.ndarray:
            return hidden[layer][starts[number] : ends[number]].mean(axis=0)

        def mean(layer: int, numbers: list[int], sentence: int) -> np.ndarray:
            inside = [each for each in numbers if 0 <= each < n_words and sentence_of[each] == sentence]
            return np.mean([word(layer, each) for each in inside], axis=0) if inside else np.zeros(self.width)

        bounds = list(zip(batch.sentence_start.tolist(), batch.sentence_end.tolist()))
        means = [hidden[config.layer][low:high].mean(axis=0) for low, high in bounds]
        bags: list[list[int]] = [[] for _ in means]
        for number, row in enumerate(batch.word_ids.tolist()):
            if row < 0:
                continue
            sentence, low, high = sentence_of[number], first_words[number], last_words[number]
            around = [*range(low - config.window, low), *range(high, high + config.window)]
            for name, value in {
                "state": word(config.layer, number),
                "lower": word(self.lower, number),
                "window": mean(config.layer, around, sentence),
                "left": mean(self.beside, [low - 1], sentence),
                "right": mean(self.beside, [high], sentence),
                "left_embedding": mean(0, [low - 1], sentence),
                "right_embedding": mean(0, [high], sentence),
            }.items():
                self.found[name][row].append(value)
            bags[sentence].append(row)
        self.bags += bags
        self.targets += means


def slow_still(text, config: StillConfig) -> tuple[np.ndarray, np.ndarray]:
    """The equations of the docstring in float64: vectors, and the rows of the sentence regression."""
    seen = Observed(text, config)
    counts = seen.counts
    frequent = counts >= 5
    if frequent.sum() <= seen.width:
        frequent = counts > 0
    column = counts[:, None]

    def observed(name: str) -> np.ndarray:
        return np.array([np.mean(each, axis=0) if each else np.zeros(seen.width) for each in seen.found[name]])

    def shrunk(rows: np.ndarray, alone: np.ndarray, prior: float) -> np.ndarray:
        inputs, mean = alone[frequent] - alone[frequent].mean(axis=0), rows[frequent].mean(axis=0)
        gram = inputs.T @ inputs + 0.01 * inputs.var(axis=0).mean() * len(inputs) * np.eye(seen.width)
        weights = np.linalg.solve(gram, inputs.T @ (rows[frequent] - mean))
        expected = mean + (alone - alone[frequent].mean(axis=0)) @ weights
        return (column * rows + prior * expected) / (column + prior)

    def block(name: str, alone: np.ndarray, prior: float, exponent: float, weight: float) -> np.ndarray:
        rows = observed(name)
        spread = rows[frequent]
        deviations = shrunk(rows, alone, prior) - spread.mean(axis=0)
        around = name not in ("state", "lower")
        share = counts / (counts + prior) if around else np.ones(len(counts))
        return weight * share[:, None] * unit(deviations @ power(np.cov(spread.T, bias=True), -exponent))

    design = np.zeros((len(seen.bags), len(counts)))
    for row, bag in enumerate(seen.bags):
        for word in bag:
            design[row, word] += 1 / len(bag)
    targets = unit(np.array(seen.targets))
    prior = shrunk(observed("state"), seen.alone, config.state_prior)
    if config.sentence_prior == "fitted":
        tables = [prior, seen.alone, *([seen.prompted] if config.prompt_weight else [])]
        prior = dense_prior(tables, counts, design, targets)
    prior *= np.sum((design @ prior) * targets) / np.sum((design @ prior) ** 2)
    gram = design.T @ design + config.strength * np.eye(len(counts))
    regressed = prior + np.linalg.solve(gram, design.T @ (targets - design @ prior))
    deviations = regressed - regressed[frequent].mean(axis=0)

    def apart(rows: np.ndarray, exponent: float) -> np.ndarray:
        return unit((rows - rows[frequent].mean(axis=0)) @ power(np.cov(rows[frequent].T, bias=True), -exponent))

    around, low = config.context_prior, seen.alone_lower
    beside = seen.alone if seen.beside == config.layer else low
    blocks = [
        block("state", seen.alone, config.state_prior, config.state_exponent, config.state_weight),
        config.isolated_weight * apart(seen.alone, config.isolated_exponent),
        config.prompt_weight * apart(seen.prompted, config.prompt_exponent),
        block("lower", low, config.state_prior, config.lower_exponent, config.lower_weight),
        block("window", seen.alone, around, config.window_exponent, config.window_weight),
        block("left", beside, around, config.neighbor_exponent, config.neighbor_weight),
        block("right", beside, around, config.neighbor_exponent, config.neighbor_weight),
        block("left_embedding", low, around, config.embedding_exponent, config.embedding_weight),
        block("right_embedding", low, around, config.embedding_exponent, config.embedding_weight),
        config.sentence_weight * unit(deviations),
    ]
    joint = np.hstack(blocks)
    joint -= joint[frequent].mean(axis=0)
    values, directions = np.linalg.eigh(joint[frequent].T @ joint[frequent] / frequent.sum())
    values, directions = values[::-1][: config.dim], directions[:, ::-1][:, : config.dim]
    return joint @ directions * values**-config.exponent, regressed


SETTINGS = {
    "defaults": {"dim": 30},
    "a fitted prior": {"dim": 30, "sentence_prior": "fitted"},
    "a fitted prior without a prompt": {"dim": 30, "sentence_prior": "fitted", "prompt_weight": 0.0},
    "everything else": {
        "layer": 2, "dim": 20, "state_weight": 1.1, "state_exponent": 0.3, "state_prior": 2.0, "lower": 0,
        "isolated_weight": 0.8, "isolated_exponent": 0.35, "prompt": "{} is an isthmus",
        "prompt_weight": 0.9, "prompt_exponent": 0.3, "embedding_weight": 0.6, "embedding_exponent": 0.25,
        "lower_weight": 0.3,
        "lower_exponent": 0.4, "context_prior": 0.5,
        "window": 1, "window_weight": 0.9, "window_exponent": 0.2,
        "neighbor_layer": 0, "neighbor_weight": 0.7, "neighbor_exponent": 0.35,
        "sentence_weight": 1.5, "strength": 2.0, "exponent": 0.2,
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("rows_at_once", [1 << 15, 7])
def test_it_is_the_equation(text, settings, rows_at_once):
    config = StillConfig(**{"layer": 3} | settings)
    method = text.run("still:" + ",".join(f"{name}={value}" for name, value in settings.items()), BUDGET)
    table = method.finish(rows_at_once=rows_at_once)
    expected, _ = slow_still(text, config)
    # Directions of nearly the same variance may be turned; inner products are what they all have in common.
    np.testing.assert_allclose(table.matrix @ table.matrix.T, expected @ expected.T, atol=2e-3)
    leading = slice(0, 4)
    signs = np.sign((table.matrix * expected).sum(axis=0))[leading]
    np.testing.assert_allclose(table.matrix[:, leading] * signs, expected[:, leading], atol=2e-3)


def test_lengths_are_those_of_the_sentence_regression(text):
    method = text.build("still:dim=30")
    method.run = replace(method.run, length="sentence")
    for step in text.steps(method, BUDGET):
        step(method)
    _, regressed = slow_still(text, StillConfig(layer=3, dim=30))
    lengths = np.linalg.norm(method.finish().matrix, axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(regressed, axis=1), rtol=2e-3)


@pytest.mark.parametrize(
    ("left_out", "layers", "most"),
    [
        ({}, (0, 2, 3), 10),
        ({"lower_weight": 0.0}, (0, 3), 9),
        ({"prompt_weight": 0.0}, (0, 2, 3), 9),
        ({"neighbor_weight": 0.0}, (0, 2, 3), 8),
        ({"embedding_weight": 0.0}, (2, 3), 8),
        ({"sentence_weight": 0.0, "window_weight": 0.0, "state_weight": 0.0}, (0, 2, 3), 7),
    ],
)
def test_a_block_without_weight_costs_nothing(hand_made_run, left_out, layers, most):
    context = hand_made_run([5, 5], width=3)
    method = Still(StillConfig(layer=3, **left_out), context)
    assert method.layers == layers
    assert method.memory() < Still(StillConfig(layer=3), context).memory() or not left_out
    with pytest.raises(UsageError, match=f"dim must be from 1 to {3 * most}, {most} times .*got {3 * most + 1}"):
        Still(StillConfig(layer=3, dim=3 * most + 1, **left_out), context)


def test_only_states_are_left_if_nothing_else_has_weight(text):
    others = ("isolated", "prompt", "lower", "window", "neighbor", "embedding", "sentence")
    nothing = ",".join([*(f"{name}_weight=0" for name in others), "exponent=0", "state_weight=1"])
    alone = text.run(f"still:{nothing},state_exponent=0.15,dim=32").finish()
    first = text.run("still.v1:context_weight=0,dim=32").finish()
    np.testing.assert_allclose(alone.matrix, first.matrix, atol=1e-5)


@pytest.mark.parametrize("prompt", ["the word", "{} or {}", ""])
def test_a_prompt_has_one_place_for_the_word(hand_made_run, prompt):
    with pytest.raises(UsageError, match=r"still:prompt must have {} once.*prompt_weight=0"):
        Still(StillConfig(layer=3, prompt=prompt), hand_made_run([1], width=3))
    assert Still(StillConfig(layer=3, prompt=prompt, prompt_weight=0.0), hand_made_run([1], width=3)).prompt is None


@pytest.mark.parametrize(("layer", "lower"), [(2, 2), (2, 5), (1, 3)])
def test_a_lower_layer_must_be_lower(hand_made_run, layer, lower):
    with pytest.raises(UsageError, match=f"lower must be below the layer, {layer}; got {lower}.*lower_weight=0"):
        Still(StillConfig(layer=layer, lower=lower), hand_made_run([1], width=3))


@pytest.mark.parametrize(
    ("layer", "layers"), [(0, (0,)), (1, (0, 1)), (2, (0, 1, 2)), (3, (0, 2, 3)), (12, (0, 2, 12))]
)
def test_the_lower_layer_is_the_second_or_what_is_there(hand_made_run, layer, layers):
    assert Still(StillConfig(layer=layer), hand_made_run([1], width=3)).layers == layers


def test_neighbors_are_of_a_layer_that_the_teacher_has(hand_made_run):
    assert Still(StillConfig(layer=3, neighbor_layer=1), hand_made_run([1], width=3)).layers == (0, 1, 2, 3)
    with pytest.raises(UsageError, match="neighbor_layer must be from 0 to the layer, 3; got 4"):
        Still(StillConfig(layer=3, neighbor_layer=4), hand_made_run([1], width=3))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("state_prior", 0.0), ("context_prior", -1.0), ("lower", -1), ("lower_weight", -0.5), ("window", 0),
        ("window_weight", float("nan")), ("neighbor_exponent", 1.5), ("sentence_weight", -1.0), ("strength", 0.0),
        ("exponent", float("inf")), ("isolated_exponent", 1.01),
    ],
)  # fmt: skip
def test_settings_out_of_range(setting, value):
    with pytest.raises(UsageError, match=f"{setting} must be .*got {value}"):
        StillConfig(layer=3, **{setting: value})


def test_something_must_have_weight(hand_made_run):
    names = ("state", "isolated", "prompt", "embedding", "lower", "window", "neighbor", "sentence")
    with pytest.raises(UsageError, match="every weight is 0"):
        Still(StillConfig(layer=3, **{f"{name}_weight": 0.0 for name in names}), hand_made_run([1], width=3))


def test_text_without_any_word_of_the_vocabulary_is_refused(hand_made_run):
    with pytest.raises(UsageError, match=r"none of the 2 words .* use decontextual"):
        Still(StillConfig(layer=0), hand_made_run([0, 0], width=3))


def test_nothing_read_yet(hand_made_run):
    assert len(Still(StillConfig(layer=0), hand_made_run([5, 5], width=3)).finish()) == 0
