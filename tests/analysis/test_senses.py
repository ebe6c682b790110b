"""Senses of planted uses, and of a real pass with a tiny teacher."""

from __future__ import annotations

import numpy as np
import pytest

from wordstill import distill
from wordstill.analysis.senses import SenseConfig, Senses, same_word, use_in_text
from wordstill.analysis.senses_in_context import SenseReader, WithSenses, sense_vectors
from wordstill.analysis.state_projection import StateProjection
from wordstill.corpus import Corpus, prepare
from wordstill.errors import UsageError
from wordstill.meaning.context_encoder import StateEncoder
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import Teacher
from wordstill.vectors import WordVectors
from wordstill.vectors.occurrences import Occurrences

WIDTH, DIM, USES = 30, 26, 30
TOPICS = {"water": ["river", "shore", "stream", "boat"], "money": ["loan", "cash", "credit", "fee"]}


def planted(topics: dict[str, list[str]] = TOPICS) -> WordVectors:
    """Words of two topics, and ``bank``, a third of whose uses are about water and the rest about money."""
    generator = np.random.default_rng(0)
    turn = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0][:, :DIM]
    water, money, own = np.linalg.qr(generator.normal(size=(WIDTH, WIDTH)))[0][:, :3].T
    others = [f"other{number}" for number in range(60)]
    centers = dict.fromkeys(topics["water"], water) | dict.fromkeys(topics["money"], money)
    means = {word: 2 * center + generator.normal(size=WIDTH) / 5 for word, center in centers.items()}
    means |= {word: generator.normal(size=WIDTH) for word in others}
    states = {word: mean + generator.normal(size=(USES, WIDTH)) / 6 for word, mean in means.items()}
    is_water = np.arange(USES) % 3 == 0
    about = np.where(is_water[:, None], water, money)
    states["bank"] = 2 * own + 1.5 * about + generator.normal(size=(USES, WIDTH)) / 6
    states["rare"] = generator.normal(size=(7, WIDTH))
    counts = np.array([len(some) for some in states.values()])
    kept = Occurrences(
        [*states],
        counts * 10,
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([*states.values()]).astype(np.float16),
        np.arange(counts.sum()),
        np.zeros(counts.sum(), dtype=np.int32),
        np.ones(counts.sum(), dtype=np.uint8),
        layer=3,
    )
    rows = np.stack([some.mean(axis=0) for some in states.values()]) @ turn
    lengths = generator.uniform(0.5, 2, size=(len(rows), 1))
    matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True) * lengths).astype(np.float32)
    table = WordVectors([*states], matrix, counts=counts * 10, provenance={"seed": 0})
    table.occurrences = kept
    return table


@pytest.fixture(scope="module")
def table() -> WordVectors:
    return planted()


@pytest.fixture(scope="module")
def senses(table) -> Senses:
    return Senses(table)


def test_a_sense_is_not_named_by_punctuation():
    found = Senses(planted({**TOPICS, "water": [";", "(", "--", "shore"]})).of("bank")
    assert {sense.label.split("|")[1] for sense in found.senses} < {"shore", *TOPICS["money"]}
    assert {name for sense in found.senses for name, _ in sense.neighbors} >= {";", "("}


def test_planted_senses_are_found_and_named(senses):
    found = senses.of("Bank")
    assert (found.word, found.enough, len(found)) == ("bank", True, 2)
    assert found.strength > 0.9
    assert [round(sense.share, 2) for sense in found.senses] == [0.67, 0.33]
    assert found.senses[0].label.removeprefix("bank|") in TOPICS["money"]
    assert found.senses[1].label.removeprefix("bank|") in TOPICS["water"]
    assert {word for word, _ in found.senses[1].neighbors[:3]} <= set(TOPICS["water"])
    assert sorted(found.senses[1].uses.tolist()) == [*range(0, USES, 3)]


def test_one_sense_unless_there_is_evidence(senses):
    several = [word for word in senses.occurrences.words if word.startswith("other") and len(senses.of(word)) > 1]
    assert len(several) <= 3
    assert senses.of("river").senses[0].label == "river"
    rare = senses.of("rare")
    assert not rare.enough and len(rare) == 1


def test_vectors_of_senses_average_to_the_row(senses, table):
    found = senses.of("bank")
    row = table["bank"]
    for sense in found.senses:
        assert np.linalg.norm(sense.vector) == pytest.approx(np.linalg.norm(row), rel=1e-5)
    uses = senses.map(found.kept.states)
    overall = uses.mean(axis=0)
    moves = [1.5 * (uses[sense.uses].mean(axis=0) - overall) / np.linalg.norm(overall) for sense in found.senses]
    mean = sum(sense.share * move for sense, move in zip(found.senses, moves))
    np.testing.assert_allclose(mean, 0, atol=1e-5)
    for sense, move in zip(found.senses, moves):
        expected = row / np.linalg.norm(row) + move
        expected *= np.linalg.norm(row) / np.linalg.norm(expected)
        np.testing.assert_allclose(sense.vector, expected, atol=1e-4)


def test_the_map_is_a_ridge_regression(table):
    fitted = StateProjection.fit(table, table.occurrences)
    often = [row for row in range(len(table)) if np.diff(table.occurrences.offsets)[row] >= 10]
    means = np.stack([table.occurrences.of_row(row).states.mean(axis=0) for row in often]).astype(np.float64)
    targets = np.stack([table.unit[row] for row in often]).astype(np.float64)
    inputs = means - means.mean(axis=0)
    penalty = 0.1 * (inputs**2).sum() / WIDTH
    stacked = np.concatenate([inputs, np.sqrt(penalty) * np.eye(WIDTH)])
    aims = np.concatenate([targets - targets.mean(axis=0), np.zeros((WIDTH, DIM))])
    np.testing.assert_allclose(fitted.weights, np.linalg.lstsq(stacked, aims, rcond=None)[0], atol=1e-4)
    assert 0.8 < fitted.cosine <= 1


def test_a_table_of_means_needs_no_map(table):
    method = {"name": "ase.v1", "layer": 3, "subword": "mean", "context": "mean"}
    means = table.occurrences.means
    plain = WordVectors(table.words, means, provenance={"method": method})
    fitted = StateProjection.fit(plain, table.occurrences)
    np.testing.assert_allclose(fitted(means), plain.unit, atol=1e-6)
    assert fitted.cosine == 1.0
    assert (
        StateProjection.fit(plain.replace(provenance={"method": method | {"layer": 2}}), table.occurrences).cosine < 1
    )


def test_more_uses_than_are_clustered_join_the_nearest_sense(table, monkeypatch):
    expected = Senses(table).of("bank")
    monkeypatch.setattr("wordstill.analysis.senses.MOST_USES", 21)
    found = Senses(table).of("bank")
    assert [sorted(sense.uses.tolist()) for sense in found.senses] == [
        sorted(sense.uses.tolist()) for sense in expected.senses
    ]


def test_a_table_with_senses_is_a_table(senses, table, tmp_path):
    made = senses.make_table()
    assert made.words[: len(table)] == table.words
    np.testing.assert_array_equal(made.matrix[: len(table)], table.matrix)
    labels = [sense.label for sense in senses.of("bank").senses]
    assert set(labels) <= set(made.words)
    assert [int(made.counts[made.index(label)]) for label in labels] == [200, 100]
    assert made.provenance["senses"]["rows"] == len(made) - len(table)
    assert senses.make_table(["bank"]).words[len(table) :] == tuple(labels)
    for name in ("vectors.txt", "vectors.bin", "artifact"):
        made.save(tmp_path / name)
        assert labels[0] in WordVectors.load(tmp_path / name)


def test_uses_are_looked_up(senses):
    kept = senses.of("bank").kept
    answers = senses.look_up("bank", kept.states)
    water = senses.of("bank").senses[1].label
    assert [answer.label == water for answer in answers] == [number % 3 == 0 for number in range(USES)]
    for answer in answers:
        assert sum(answer.probabilities) == pytest.approx(1)
        assert answer.label.partition("|")[0] == answer.word
    (single,) = senses.look_up("river", senses.occurrences.of("river").states[:1])
    assert single.probabilities == (1.0,)


def test_vectors_of_uses_give_average_and_maximum_similarity(senses, table):
    uses = senses.of("bank").kept.states[:4]
    words, seen = ["bank"] * 4 + ["nowhere", "bank"], np.array([True] * 5 + [False])
    rows = np.ones((6, DIM), dtype=np.float32)
    made = sense_vectors(senses, words, np.concatenate([uses, uses[:2]]), seen, rows)
    answers = senses.look_up("bank", uses)
    for first, one in enumerate(answers):
        for second, other in enumerate(answers):
            pairs = [
                p * q * float(u @ v)
                for p, u in zip(one.probabilities, one.vectors)
                for q, v in zip(other.probabilities, other.vectors)
            ]
            assert made["average"][first] @ made["average"][second] == pytest.approx(sum(pairs), abs=1e-5)
            best = one.vectors[one.best] @ other.vectors[other.best]
            assert made["maximum"][first] @ made["maximum"][second] == pytest.approx(best, abs=1e-5)
    for kind in ("average", "maximum"):
        np.testing.assert_array_equal(made[kind][4:], rows[4:])
    assert not made["deviation"][5].any()
    expected = (uses[0] - senses.occurrences.means.mean(axis=0)) @ senses.whitening
    np.testing.assert_allclose(made["deviation"][4], expected / np.linalg.norm(expected), atol=1e-5)
    kept = senses.of("bank").kept.states
    apart = (kept - kept.mean(axis=0)) @ senses.whitening
    np.testing.assert_allclose(made["deviation"][0], apart[0] / np.linalg.norm(apart[0]), atol=1e-4)
    fixed = np.array(answers[1].probabilities) @ np.stack([sense.vector for sense in senses.of("bank").senses])
    np.testing.assert_allclose(made["fixed"][1], fixed / np.linalg.norm(table["bank"]), atol=1e-5)


def test_senses_lie_near_those_of_their_uses_that_are_near(senses, table):
    found = senses.of("bank")
    kept = senses.map(found.kept.states).astype(np.float64)
    mean = kept.mean(axis=0)

    def moved(members, use, belongs):
        weights = [np.exp(senses.config.sharpness * (kept[member] @ use)) for member in members]
        near = sum(weight * kept[member] for weight, member in zip(weights, members)) / sum(weights)
        center = (near + belongs * use) / (1 + belongs)
        vector = table.unit[table.index("bank")] + (center - mean) / np.linalg.norm(mean)
        return vector / np.linalg.norm(vector)

    states = found.kept.states[:3] + 0.1
    for answer, use in zip(senses.look_up("bank", states), senses.map(states).astype(np.float64)):
        np.testing.assert_allclose(answer.use, moved(range(len(kept)), use, 1), atol=1e-5)
        for vector, sense, p in zip(answer.vectors, found.senses, answer.probabilities):
            np.testing.assert_allclose(vector, moved(sense.uses, use, p), atol=1e-5)


def test_whitened_uses_differ_equally_in_every_direction(senses):
    kept = [senses.occurrences.of_row(row).states for row in range(len(senses.occurrences.words))]
    apart = np.concatenate([(states - states.mean(axis=0)) @ senses.whitening for states in kept if len(states) >= 10])
    spread = np.linalg.eigvalsh(np.cov(apart.T))
    assert spread.max() < 1.2
    assert spread.max() < 2 * np.median(spread)


def test_a_table_without_occurrences_is_refused():
    with pytest.raises(UsageError, match=r"keeps no occurrences.*--occurrences 50"):
        Senses(WordVectors(["a"], np.ones((1, 2), dtype=np.float32)))


@pytest.mark.parametrize(
    ("other", "same"), [("banks", True), ("banking", True), ("parties", False), ("bask", False), ("riverbank", False)]
)
def test_endings_name_no_sense(other, same):
    assert same_word(other, "bank") is same
    assert same_word("parties", "party") and same_word("charging", "charge")


@pytest.fixture(scope="module")
def read(tmp_path_factory, short_text, saved_teacher) -> tuple[WordVectors, Corpus, Teacher]:
    corpus = prepare(short_text, tmp_path_factory.mktemp("senses") / "store", workers=1)
    kept = OccurrenceConfig(25, min_count=5)
    (table,) = distill(corpus.path, teacher=saved_teacher, device="cpu", dtype="float32", occurrences=kept).values()
    return table, corpus, Teacher.from_pretrained(saved_teacher, device="cpu", dtype="float32")


def test_sentences_hold_the_word(read):
    table, corpus, _ = read
    senses = Senses(table, SenseConfig(strength=0.5))
    for word in ("river", "old"):
        found = senses.of(word)
        for sense, lines in zip(found.senses, senses.sentences(found, corpus, 2)):
            assert 1 <= len(lines) <= 2 and all(line.word.lower() == word for line in lines)
            assert lines[0].text in {use_in_text(corpus, found.kept, use).text for use in sense.uses.tolist()}


def test_another_text_is_refused(read, tmp_path):
    table, _, _ = read
    (tmp_path / "other.txt").write_text("The river is old. " * 9)
    other = prepare(tmp_path / "other.txt", tmp_path / "store", workers=1)
    senses = Senses(table)
    with pytest.raises(UsageError, match="not the text that the table was distilled from"):
        senses.sentences(senses.of("river"), other)


def test_a_kept_use_is_looked_up_in_its_own_sentence(read):
    table, corpus, teacher = read
    senses = Senses(table, SenseConfig(strength=0.4, sharpness=1000))
    found = senses.of("river")
    assert len(found) > 1
    reader = SenseReader(senses, teacher)
    uses = [use_in_text(corpus, found.kept, number) for number in range(len(found.kept))]
    states, seen = reader.states(uses)
    assert seen.all()
    np.testing.assert_allclose(states, found.kept.states, atol=5e-3)
    answers = reader.lookup_batch(uses)
    owner = {use: sense.label for sense in found.senses for use in sense.uses.tolist()}
    right = [answer.label == owner[number] for number, answer in enumerate(answers)]
    assert np.mean(right) > 0.8
    one = reader.lookup(uses[0].text, (uses[0].start, uses[0].end))
    assert one.probabilities == pytest.approx(answers[0].probabilities, abs=1e-3)


def test_rows_of_an_evaluation(read):
    table, corpus, teacher = read
    senses = Senses(table, SenseConfig(strength=0.4))
    reader = SenseReader(senses, teacher)
    encoder = StateEncoder(reader.reader, {"raw": lambda states: states.mean(dim=1)})
    rows = WithSenses(encoder, {"table": table}, reader, "table")
    kept = senses.of("river").kept
    uses = [use_in_text(corpus, kept, number) for number in range(3)]
    vectors, found = rows.occurrences(uses)
    assert [*vectors] == [*rows.names]
    assert rows.names[2:] == (
        "table senses, average",
        "table senses, maximum",
        "table senses, fixed",
        "table senses, use",
        "table senses, deviation",
    )
    assert found.all() and all(matrix.shape[0] == 3 for matrix in vectors.values())
    _, words, _ = rows.words(["the old river"])
    np.testing.assert_array_equal(words["table"], words["table senses, average"])


def test_another_teacher_is_refused(read, tiny_teacher):
    with pytest.raises(UsageError, match="kept from another model"):
        SenseReader(Senses(read[0]), tiny_teacher("gpt2"))
