"""Training translators: the decoder comes to look at the source, which a wrong mask or start prevents."""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
SCRIPTS = Path(__file__).parents[2] / "scripts"
SYLLABLES = ("ba", "de", "gi", "lo", "mu", "na", "pe", "ri", "so", "tu")


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("train_translators")
    finally:
        sys.path.remove(str(SCRIPTS))


def sentence_pairs(count):
    """Sentences of words in no order; their translations have other words, in the opposite order."""
    generator = random.Random(0)
    words = [first + second for first in SYLLABLES[:4] for second in SYLLABLES]
    others = {word: f"{word[::-1]}k" for word in words}
    pairs = []
    for _ in range(count):
        sentence = generator.sample(words, generator.randint(2, 5))
        pairs.append((" ".join(sentence), " ".join(others[word] for word in reversed(sentence))))
    return pairs


@pytest.mark.slow
def test_what_was_shown_often_is_translated_by_its_source(script, tmp_path, monkeypatch):
    shown = sentence_pairs(40)
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{first}\t{second}\n" for first, second in shown))
    prepared = importlib.import_module("translator_prepared")
    monkeypatch.setattr(prepared, "apart_from", lambda held_out, _: held_out)
    settings = {
        "languages": ["en", "de"], "out": tmp_path / "model", "held-out": len(shown), "vocabulary": 150,
        "width": 64, "epochs": 110, "tokens": 240, "learning-rate": 3e-3, "warm-up": 60,
    }  # fmt: skip
    arguments = [str(path)]
    for name, value in settings.items():
        arguments += [f"--{name}", *(value if isinstance(value, list) else [str(value)])]
    monkeypatch.setattr(sys, "argv", ["train_translators.py", *arguments])
    script.main()
    measured = json.loads((tmp_path / "model" / "measured.json").read_text())
    rows = [line.split("\t") for line in (tmp_path / "model" / "held-out.tsv").read_text().splitlines()]
    right = sum(reference == translation for _, reference, translation in rows)
    assert measured["held out"] == len(rows) == len(shown)
    assert right >= 0.8 * len(rows), measured["examples"]


def test_pairs_are_prepared_once_for_both_directions(script, tmp_path, monkeypatch):
    pairs = sentence_pairs(60)
    path, folder = tmp_path / "pairs.tsv", tmp_path / "prepared"
    path.write_text("".join(f"{first}\t{second}\n" for first, second in pairs))
    common = ["--languages", "en", "de", "--prepared", str(folder), "--held-out", "10"]
    monkeypatch.setattr(sys, "argv", ["train_translators.py", str(path), *common, "--vocabulary", "150"])
    script.main()
    monkeypatch.setattr(sys, "argv", ["train_translators.py", *common])
    options = script.arguments()
    there = script.prepared(options)
    options.reverse = True
    back = script.prepared(options)
    assert len(there.training) == len(back.training) == 50
    assert len(there.held_out) == 10 and set(there.held_out) <= set(pairs)
    assert back.held_out == [(second, first) for first, second in there.held_out]
    rest = {pair for pair in pairs if pair not in there.held_out}
    shown = [tuple(there.tokenizer.decode(ids[:-1]) for ids in there.training[row]) for row in range(50)]
    assert set(shown) == rest
    assert [back.tokenizer.decode(ids[:-1]) for ids in back.training[7]] == list(shown[7][::-1])


def test_a_batch_starts_each_target_one_place_later(script):
    tokens = importlib.import_module("translator_tokens")
    data = tokens.Tokenised(9, tokens.Rows.of([[1, 2], [3]]), tokens.Rows.of([[4, 5], [6, 7, 8]]))
    batch = data.collate([data[0], data[1]])
    assert batch["input_ids"].tolist() == [[1, 2], [3, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1], [1, 0]]
    assert batch["decoder_input_ids"].tolist() == [[9, 4, 5], [9, 6, 7]]
    assert batch["labels"].tolist() == [[4, 5, -100], [6, 7, 8]]
