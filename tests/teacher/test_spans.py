from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from wordstill.corpus.segment import word_spans
from wordstill.teacher.spans import Spans, StateReader, windows


class Occurrence(NamedTuple):
    text: str
    start: int
    end: int


TEXTS = [
    "The old still stands in the small house by the river.",
    "",
    "Nobody knows why the well-known river turned grey; the newspapers wrote about it...",
    "river",
]


def slow_states(model, tokenizer, layers, text, start, end):
    """One text through the model as transformers does it, pieces picked by overlapping characters."""
    pieces = tokenizer.encode([text])
    ids = [*tokenizer.prefix, *pieces.ids.tolist(), *tokenizer.suffix]
    with torch.inference_mode():
        hidden = model(
            input_ids=torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), output_hidden_states=True
        ).hidden_states
    chosen = [
        number + len(tokenizer.prefix)
        for number, (first, last) in enumerate(zip(pieces.starts, pieces.ends))
        if first < end and last > start and first < last
    ]
    return torch.stack([hidden[layer][0, chosen].mean(dim=0) for layer in layers])


@pytest.mark.parametrize("kind", ["bert-uncased", "roberta", "gpt2", "xlmr", "t5"])
def test_states_are_those_of_the_model_itself(tiny_teacher, tiny_model, kind):
    teacher, model = tiny_teacher(kind), tiny_model(kind)
    reader = StateReader(teacher, budget=64)
    occurrences = [Occurrence(text, *span) for text in TEXTS for span in word_spans(text)]
    states, found = reader.states(occurrences)
    assert found.all()
    assert states.shape == (len(occurrences), 2, teacher.width)
    for occurrence, got in zip(occurrences, states):
        expected = slow_states(
            model, teacher.tokenizer, reader.layers, occurrence.text, occurrence.start, occurrence.end
        )
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_places_come_from_any_batch_in_any_order(tiny_teacher):
    teacher = tiny_teacher("bert-uncased")
    places = Spans.of([word_spans(text) for text in TEXTS])
    whole = torch.zeros(len(places), 2, teacher.width)
    for budget in (16, 4096):
        states = torch.zeros_like(whole)
        seen = []
        for numbers, part in StateReader(teacher, budget=budget).read(TEXTS, places):
            states[numbers] = part
            seen += numbers.tolist()
        assert sorted(seen) == list(range(len(places)))
        if whole.any():
            torch.testing.assert_close(states, whole, rtol=1e-4, atol=1e-4)
        whole = states


def test_sub_words_without_special_tokens(tiny_teacher):
    teacher = tiny_teacher("bert-uncased")
    reader = StateReader(teacher, "last", budget=64)
    texts = np.concatenate([text for text, _ in reader.read_units(TEXTS, "subwords")])
    expected = np.diff(teacher.tokenizer.encode(TEXTS).offsets)
    assert np.bincount(texts, minlength=len(TEXTS)).tolist() == expected.tolist()


def test_a_long_text_is_read_inwindows_and_not_cut(tiny_teacher):
    teacher = tiny_teacher("bert-uncased", max_length=18)
    reader = StateReader(teacher)
    text = " ".join(["the old still stands in the small house by the river"] * 12)
    occurrences = [Occurrence(text, *span) for span in word_spans(text)]
    states, found = reader.states(occurrences)
    assert found.all()
    assert torch.isfinite(states).all()
    repeated = states[11:-11].reshape(10, 11, -1)
    assert not torch.allclose(repeated[0], torch.zeros_like(repeated[0]))


def test_a_place_in_a_long_text_is_read_in_its_best_window(tiny_teacher, tiny_model):
    teacher, model = tiny_teacher("bert-uncased", max_length=18), tiny_model("bert-uncased")
    reader = StateReader(teacher)
    text = " ".join(["the old still stands in the small house by the river"] * 4)
    pieces = teacher.tokenizer.encode([text])
    room = 16
    starts, lengths, owned = windows(pieces.offsets, room)
    assert lengths.tolist() == [room] * len(starts)
    for number in (0, 7, 11, 12, 20, len(pieces.ids) - 1):
        distances = [abs(2 * start + room - (2 * number + 1)) for start in starts]
        best = int(np.argmin(distances))
        window = int(np.searchsorted(owned, 2 * number + 1, side="right")) - 1
        assert distances[window] == distances[best]
        start, end = int(pieces.starts[number]), int(pieces.ends[number])
        first, last = int(starts[window]), int(starts[window]) + room - 1
        part = text[int(pieces.starts[first]) : int(pieces.ends[last])]
        shift = int(pieces.starts[first])
        if part[:1] != " " and teacher.tokenizer.encode([part]).ids.tolist() == pieces.ids[first : last + 1].tolist():
            place = (part, start - shift, end - shift)
            expected = slow_states(model, teacher.tokenizer, reader.layers, *place)
            torch.testing.assert_close(
                reader.states([Occurrence(text, start, end)])[0][0], expected, rtol=1e-4, atol=1e-4
            )


def test_a_very_long_word_keeps_its_middle(tiny_teacher):
    teacher = tiny_teacher("roberta", max_length=20)
    word = "abc" * 60
    states, found = StateReader(teacher).states([Occurrence(f"the {word} river", 4, 4 + len(word))])
    assert found.all()
    assert torch.isfinite(states).all()


def test_a_word_that_the_tokenizer_drops(tiny_teacher):
    reader = StateReader(tiny_teacher("bert-uncased"))
    occurrences = [Occurrence("the river", 4, 9), Occurrence("the \u200b river", 4, 5)]
    states, found = reader.states(occurrences)
    assert found.tolist() == [True, False]
    assert not states[1].any()
