from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from wordstill.corpus import PrepareConfig, Vocabulary, VocabularyConfig, prepare
from wordstill.corpus.segment import word_spans
from wordstill.errors import DataError, FormatError, TeacherError, UsageError
from wordstill.meaning import DistillerConfig, Distillers, MeaningEncoder, Occurrence, OccurrenceStore, static_table
from wordstill.meaning.distiller import CPU_ROWS
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors.search import unit_rows

TEXT = "The old still stands by the river, and the river turned grey."


@pytest.fixture(scope="module")
def teacher(tiny_teacher):
    return tiny_teacher("bert-uncased")


@pytest.fixture(scope="module")
def encoder(teacher):
    torch.manual_seed(0)
    distillers = Distillers(2, teacher.width, DistillerConfig(heads=4))
    return MeaningEncoder(teacher, distillers, provenance={"seed": 0})


def test_one_word_by_span_and_by_number(encoder):
    by_span = encoder.encode(TEXT, (28, 33))
    assert by_span.shape == (encoder.dim,)
    assert by_span.dtype == np.float32
    np.testing.assert_allclose(by_span, encoder.encode(TEXT, 6), rtol=1e-6)
    states, _ = encoder.reader.states([Occurrence(TEXT, 28, 33)])
    expected = encoder.distillers.meaning(states).detach().numpy()[0]
    np.testing.assert_allclose(by_span, expected, rtol=1e-4, atol=1e-5)


def test_the_raw_mean_beside_the_meaning(teacher, encoder):
    kinds = ("raw", "meaning-centred", "raw-and-meaning-centred")
    encoders = {kind: MeaningEncoder(teacher, encoder.distillers, kind=kind) for kind in kinds}
    vectors = {kind: one.encode_many([(TEXT, 0), (TEXT, (28, 33))]) for kind, one in encoders.items()}
    raw, meaning, both = (float(unit_rows(found)[0] @ unit_rows(found)[1]) for found in vectors.values())
    assert both == pytest.approx((raw + meaning) / 2, abs=1e-5)
    beside = encoders[kinds[2]]
    assert beside.dim == 2 * teacher.width == vectors[kinds[2]].shape[1]
    assert beside.encode_sentences([TEXT, ""]).shape == (2, beside.dim)
    assert [found.shape[1] for _, found in beside.encode_texts([""])] == [beside.dim]
    assert beside.fingerprint != encoder.fingerprint


def test_a_teacher_in_bfloat16_gives_nearly_the_same_meanings(tiny_model, tiny_tokenizer, encoder):
    config = TeacherConfig("tiny", "cpu", "bfloat16")
    teacher = Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), config)
    _, vectors = MeaningEncoder(teacher, encoder.distillers).encode_texts([TEXT])[0]
    assert vectors.dtype == np.float32
    cosines = (unit_rows(vectors) * unit_rows(encoder.encode_texts([TEXT])[0][1])).sum(axis=1)
    assert cosines.min() > 0.99


def test_the_place_counts_and_not_the_string(encoder):
    spans = [span for span in word_spans(TEXT) if TEXT[slice(*span)] == "river"]
    first, second = encoder.encode_many([(TEXT, span) for span in spans])
    assert not np.allclose(first, second)


def test_many_words_are_each_word_alone(encoder):
    places = [(TEXT, 0), ("river", 0), (TEXT, (28, 33))]
    together = encoder.encode_many(places)
    for row, place in zip(together, places):
        np.testing.assert_allclose(row, encoder.encode(*place), rtol=1e-3, atol=1e-4)


def test_every_word_of_texts(encoder):
    found = encoder.encode_texts([TEXT, "", "a \u200b river"])
    assert [len(occurrences) for occurrences, _ in found] == [len(word_spans(TEXT)), 0, 2]
    occurrences, vectors = encoder.encode_texts([TEXT])[0]
    assert occurrences[6].word == "river"
    np.testing.assert_allclose(vectors[6], encoder.encode(TEXT, 6), rtol=1e-3, atol=1e-4)


def test_only_texts_with_wanted_words_are_read(encoder, teacher, monkeypatch):
    texts = [TEXT, "nobody knows", "A River, a river", ""]
    everything = encoder.encode_texts(texts)
    read = []
    encode = teacher.encode

    def recorded(batch, layers):
        read.append((len(batch.lengths), len(batch.word_start)))
        return encode(batch, layers)

    monkeypatch.setattr(teacher, "encode", recorded)
    found = encoder.encode_texts(texts, words=["RIVER", "absent"])
    assert [[occurrence.word for occurrence in occurrences] for occurrences, _ in found] == [
        ["river"] * 2,
        [],
        ["River", "river"],
        [],
    ]
    assert read == [(2, 4)]
    for (occurrences, vectors), (all_uses, all_vectors) in zip(found, everything):
        expected = all_vectors[[all_uses.index(occurrence) for occurrence in occurrences]]
        np.testing.assert_allclose(vectors, expected, rtol=1e-3, atol=1e-4)
    assert [len(occurrences) for occurrences, _ in encoder.encode_texts(texts, words=[])] == [0] * 4


@pytest.mark.parametrize("scaling", ["none", "scaled", "standardised", "whitened"])
@pytest.mark.parametrize("layer_embeddings", [False, True])
def test_meanings_are_those_of_the_plain_layer_however_many_words_come(scaling, layer_embeddings):
    torch.manual_seed(0)
    config = DistillerConfig(heads=4, scaling=scaling, layer_embeddings=layer_embeddings)
    distillers = Distillers(2, 32, config).eval()
    states = 0.1 + 3.0 * torch.randn(CPU_ROWS + 5, 2, 32)
    if scaling != "none":
        distillers.find_scale(states)
    if layer_embeddings:
        torch.nn.init.normal_(distillers.meaning.layer_embeddings)
    # With gradients torch takes the layer apart.
    expected = distillers.meaning(distillers.scaled(states)).detach()
    torch.testing.assert_close(distillers.representation("meaning")(states), expected, rtol=0, atol=1e-5)


def test_sentence_vectors_are_means(encoder):
    _, vectors = encoder.encode_texts([TEXT])[0]
    sentences = encoder.encode_sentences([TEXT, ""])
    np.testing.assert_allclose(sentences[0], vectors.mean(axis=0), rtol=1e-3, atol=1e-4)
    assert not sentences[1].any()
    several = [f"{TEXT} Distillation unriverlike."]
    of_pieces = encoder.encode_sentences(several, unit="subwords")
    states = torch.cat([states for _, states in encoder.reader.read_units(several, "subwords")])
    np.testing.assert_allclose(of_pieces[0], encoder.represent(states).mean(dim=0).numpy(), rtol=1e-3, atol=1e-4)
    assert not np.allclose(of_pieces, encoder.encode_sentences(several), atol=1e-3)
    with pytest.raises(UsageError, match="Unknown unit 'letters'"):
        encoder.encode_sentences([TEXT], unit="letters")


def test_kinds_of_vectors(teacher, encoder):
    kinds = {kind: MeaningEncoder(teacher, encoder.distillers, kind=kind) for kind in ("meaning", "context", "raw")}
    vectors = {kind: other.encode(TEXT, 6) for kind, other in kinds.items()}
    states, _ = encoder.reader.states([Occurrence.at(TEXT, 6)])
    np.testing.assert_allclose(vectors["raw"], states[0].mean(dim=0).numpy(), rtol=1e-5)
    assert not np.allclose(vectors["meaning"], vectors["context"])
    assert len({other.fingerprint for other in kinds.values()}) == 3
    with pytest.raises(UsageError, match="Unknown kind of vector 'sense'"):
        MeaningEncoder(teacher, encoder.distillers, kind="sense")


def test_centred_vectors_do_not_depend_on_what_training_leaves_to_chance(teacher):
    torch.manual_seed(0)
    distillers = Distillers(2, teacher.width, DistillerConfig(heads=4))
    states = torch.randn(20, 2, teacher.width)

    def centred(kind):
        distillers.find_centers(states)
        return distillers.representation(f"{kind}-centred")(states)

    before = {kind: centred(kind) for kind in ("meaning", "context", "raw")}
    shift = torch.randn(teacher.width)
    with torch.no_grad():
        distillers.meaning.transformer.norm2.bias += shift
        distillers.context.transformer.norm2.bias -= shift
    for kind, vectors in before.items():
        torch.testing.assert_close(centred(kind), vectors, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(vectors.mean(dim=0), torch.zeros(teacher.width), rtol=0, atol=1e-5)


def test_bad_places(encoder):
    for text, span in ((TEXT, (100, 104)), (TEXT, 50), ("a party", (3, 6)), ("a \u200b b", (2, 3))):
        with pytest.raises(UsageError):
            encoder.encode(text, span)


def test_distillers_of_another_shape(teacher):
    with pytest.raises(UsageError, match="for 3 layers of width 32, but tiny-bert-uncased gives 2"):
        MeaningEncoder(teacher, Distillers(3, 32, DistillerConfig(heads=4)))


def test_saving_and_loading(encoder, teacher, tmp_path):
    path = tmp_path / "meaning"
    encoder.save(path)
    again = MeaningEncoder.load(path, teacher=teacher)
    assert again.fingerprint == encoder.fingerprint
    assert again.provenance == encoder.provenance
    np.testing.assert_array_equal(again.encode(TEXT, 6), encoder.encode(TEXT, 6))
    with pytest.raises(UsageError, match="exists already"):
        encoder.save(path)
    encoder.save(path, overwrite=True)
    (path / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match="holds other files"):
        encoder.save(path, overwrite=True)


def test_another_teacher_is_refused(encoder, tiny_teacher, tmp_path):
    encoder.save(tmp_path / "meaning")
    with pytest.raises(TeacherError, match="fingerprint"):
        MeaningEncoder.load(tmp_path / "meaning", teacher=tiny_teacher("bert-cased"))


def test_damaged_artifacts(encoder, teacher, tmp_path):
    path = tmp_path / "meaning"
    with pytest.raises(FormatError, match="not a saved encoder"):
        MeaningEncoder.load(path, teacher=teacher)
    encoder.save(path)
    weights = (path / "distillers.safetensors").read_bytes()
    (path / "distillers.safetensors").write_bytes(weights[:-4] + b"oops")
    with pytest.raises(FormatError, match="damaged or was changed"):
        MeaningEncoder.load(path, teacher=teacher)
    config = json.loads((path / "config.json").read_bytes())
    for change, message in (({"schema": 9}, "schema 9"), ({"format": "x"}, "does not say")):
        (path / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(FormatError, match=message):
            MeaningEncoder.load(path, teacher=teacher)
    encoder.save(path, overwrite=True)
    # As before settings had a checksum.
    old = {key: value for key, value in config.items() if key != "checksum"}
    (path / "config.json").write_text(json.dumps(old | {"teacher": {"fingerprint": teacher.identity}}))
    with pytest.raises(FormatError, match=r"(?s)meaning is damaged.*name.*Train it again"):
        MeaningEncoder.load(path)
    (path / "config.json").write_text("{")
    with pytest.raises(FormatError, match="not a saved encoder"):
        MeaningEncoder.load(path, teacher=teacher)


def test_a_store_of_uses(encoder, tmp_path):
    texts = [TEXT, "nobody knows the river", "a still stands"]
    store = OccurrenceStore.from_texts(encoder, texts, words=["River", "still"])
    assert [occurrence.word for occurrence in store.occurrences] == ["still", "river", "river", "river", "still"]
    (best, cosine), *_ = encoder.most_similar(TEXT, 6, store, topn=2)
    assert (best.text, best.start) == (TEXT, 28)
    assert cosine == pytest.approx(1.0, abs=1e-4)
    store.save(tmp_path / "uses")
    again = OccurrenceStore.load(tmp_path / "uses")
    assert again.occurrences == store.occurrences
    assert encoder.most_similar(TEXT, 6, again) == encoder.most_similar(TEXT, 6, store)
    other = MeaningEncoder(encoder.teacher, encoder.distillers, kind="raw")
    with pytest.raises(UsageError, match="another encoder"):
        other.most_similar(TEXT, 6, store)
    (tmp_path / "uses" / "uses.jsonl").write_text('["a", 0, 1]\n')
    with pytest.raises(DataError, match="not a whole store"):
        OccurrenceStore.load(tmp_path / "uses")
    assert len(OccurrenceStore.build(encoder, store.occurrences)) == 5


def test_a_static_table_is_the_mean_of_meanings(encoder, tmp_path):
    lines = [TEXT, "The river knows nobody.", "Nobody stands by the old house."]
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    corpus = prepare([tmp_path / "text.txt"], tmp_path / "store", PrepareConfig(), workers=1)
    vocabulary = Vocabulary.build(corpus, VocabularyConfig(min_count=1))
    table = static_table(encoder, corpus, vocabulary)
    meanings = [
        vector
        for occurrences, vectors in encoder.encode_texts(lines)
        for occurrence, vector in zip(occurrences, vectors)
        if occurrence.word.lower() == "river"
    ]
    assert len(meanings) == 3
    np.testing.assert_allclose(table["river"], np.mean(meanings, axis=0), rtol=1e-3, atol=1e-4)
    assert table.counts[table.index("river")] == 3
