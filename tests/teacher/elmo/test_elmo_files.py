"""ELMo's files, written here in the published layout, against a plain forward pass in numpy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from wordstill import distill
from wordstill.corpus import VocabularyConfig
from wordstill.distillation import DistillConfig
from wordstill.errors import DataError, MissingExtra, TeacherError
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.elmo import elmo_files

h5py = pytest.importorskip("h5py")

FILTERS = ((1, 3), (2, 4), (4, 5))
DIM, LONGEST, PROJECTION, CELLS, LAYERS = 4, 9, 6, 7, 2
OPTIONS = {
    "lstm": {
        "use_skip_connections": True, "projection_dim": PROJECTION, "cell_clip": 0.5, "proj_clip": 0.4, "dim": CELLS,
        "n_layers": LAYERS,
    },
    "char_cnn": {
        "activation": "relu", "filters": [list(pair) for pair in FILTERS], "n_highway": 2, "embedding": {"dim": DIM},
        "n_characters": 262, "max_characters_per_token": LONGEST,
    },
}  # fmt: skip
TEXT = "The well-known river turned grey. Nobody in the U.S. doesn't know déjà vu, at 3.5 degrees."
TOKENS = (
    ["<S>", "The", "well-known", "river", "turned", "grey", ".", "</S>"],
    [
        "<S>",
        "Nobody",
        "in",
        "the",
        "U.S.",
        "does",
        "n't",
        "know",
        "déjà",
        "vu",
        ",",
        "at",
        "3.5",
        "degrees",
        ".",
        "</S>",
    ],
)


def make_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    size = sum(count for _, count in FILTERS)
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, DIM)}
    for number, (width, count) in enumerate(FILTERS):
        shapes |= {f"CNN/W_cnn_{number}": (1, width, DIM, count), f"CNN/b_cnn_{number}": (count,)}
    for number in range(2):
        for name in ("carry", "transform"):
            shapes |= {f"CNN_high_{number}/W_{name}": (size, size), f"CNN_high_{number}/b_{name}": (size,)}
    shapes |= {"CNN_proj/W_proj": (size, PROJECTION), "CNN_proj/b_proj": (PROJECTION,)}
    for direction in range(2):
        for layer in range(LAYERS):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * PROJECTION, 4 * CELLS), f"{cell}/B": (4 * CELLS,)}
            shapes |= {f"{cell}/W_P_0": (CELLS, PROJECTION)}
    return {name: rng.normal(0, 0.6, shape).astype(np.float32) for name, shape in shapes.items()}


WEIGHTS = make_weights()


def write(folder, options=OPTIONS, weights=WEIGHTS, prefix="elmo_tiny_"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}options.json").write_text(json.dumps(options))
    with h5py.File(folder / f"{prefix}weights.hdf5", "w") as file:
        for name, values in weights.items():
            file[name] = values
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("elmo") / "model")


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def token_vector(token: str) -> np.ndarray:
    """The equations, written out: characters, convolutions, highways, projection."""
    marks = {"<S>": [256], "</S>": [257]}
    characters = [258, *marks.get(token, list(token.encode()))[: LONGEST - 2], 259]
    characters += [260] * (LONGEST - len(characters))
    rows = WEIGHTS["char_embed"][characters].astype(np.float64)
    found: list[float] = []
    for number, (width, count) in enumerate(FILTERS):
        kernel, bias = WEIGHTS[f"CNN/W_cnn_{number}"][0], WEIGHTS[f"CNN/b_cnn_{number}"]
        for filter in range(count):
            places = [np.sum(rows[at : at + width] * kernel[:, :, filter]) for at in range(LONGEST - width + 1)]
            found.append(max(0.0, max(places) + bias[filter]))
    state = np.array(found)
    for number in range(2):
        layer = {
            name: WEIGHTS[f"CNN_high_{number}/{name}"] for name in ("W_carry", "b_carry", "W_transform", "b_transform")
        }
        gate = sigmoid(state @ layer["W_carry"] + layer["b_carry"])
        state = gate * np.maximum(0, state @ layer["W_transform"] + layer["b_transform"]) + (1 - gate) * state
    return state @ WEIGHTS["CNN_proj/W_proj"] + WEIGHTS["CNN_proj/b_proj"]


def run_lstm(inputs: list[np.ndarray], direction: int, layer: int) -> list[np.ndarray]:
    cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    weights, bias, project = (WEIGHTS[f"{cell}/{name}"] for name in ("W_0", "B", "W_P_0"))
    state, cells, outputs = np.zeros(PROJECTION), np.zeros(CELLS), []
    for given in inputs if direction == 0 else inputs[::-1]:
        i, j, f, o = np.split(np.concatenate([given, state]) @ weights + bias, 4)
        cells = np.clip(sigmoid(f + 1) * cells + sigmoid(i) * np.tanh(j), -0.5, 0.5)
        state = np.clip((sigmoid(o) * np.tanh(cells)) @ project, -0.4, 0.4)
        outputs.append(state)
    return outputs if direction == 0 else outputs[::-1]


def plain_layers(tokens: list[str]) -> list[np.ndarray]:
    """States of all layers [W, 2 projections]."""
    vectors = [token_vector(token) for token in tokens]
    sides, layers = [vectors, vectors], [np.hstack([vectors, vectors])]
    for layer in range(LAYERS):
        new = [run_lstm(side, direction, layer) for direction, side in enumerate(sides)]
        if layer:
            new = [[out + given for out, given in zip(outs, side)] for outs, side in zip(new, sides)]
        sides = new
        layers.append(np.hstack(sides))
    return layers


def test_every_layer_is_that_of_a_plain_forward_pass(folder):
    teacher = Teacher.from_config(TeacherConfig(str(folder), "cpu", "float32"))
    assert (teacher.depth, teacher.width) == (LAYERS, 2 * PROJECTION)
    ids = [teacher.tokenizer.backend.encode(" ".join(tokens[1:-1])).ids for tokens in TOKENS]
    longest = max(map(len, ids))
    padded = torch.tensor([row + [teacher.tokenizer.pad_id] * (longest - len(row)) for row in ids])
    mask = torch.tensor([[place < len(row) for place in range(longest)] for row in ids]).long()
    with torch.inference_mode():
        found = teacher.model(padded, mask, output_hidden_states=True).hidden_states
    for number, tokens in enumerate(TOKENS):
        lengths = [1 if token in ("<S>", "</S>") else len(token.encode()) for token in tokens]
        for layer, expected in enumerate(plain_layers(tokens)):
            spread = np.repeat(expected, lengths, axis=0)
            np.testing.assert_allclose(found[layer][number, : len(spread)], spread, rtol=1e-4, atol=1e-5)
    clipped = np.abs(np.concatenate([run_lstm([token_vector(t) for t in TOKENS[1]], 0, 0)])) == 0.4
    assert clipped.any() and not clipped.all()


def test_distilled_words_are_the_means_of_their_states(folder, tmp_path):
    """Sentences are what is read; all layers come from one pass."""
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    config = DistillConfig(
        methods=("ase:layer=all", "token-table"),
        teacher=TeacherConfig(str(folder), "cpu", "float32"),
        vocabulary=VocabularyConfig(min_count=1),
        length="raw",
    )
    tables = distill(path, config=config)
    both = [plain_layers(tokens) for tokens in TOKENS]
    for layer in range(LAYERS + 1):
        table = tables[f"ase-layer-{layer}"]
        the = (both[0][layer][1] + both[1][layer][3]) / 2
        np.testing.assert_allclose(table["the"], the, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(table["river"], both[0][layer][3], rtol=1e-4, atol=1e-5)
        # One word of ours is two tokens of ELMo's; states of letters are averaged, as with any subwords.
        doesnt = (4 * both[1][layer][5] + 3 * both[1][layer][6]) / 7
        np.testing.assert_allclose(table["doesn't"], doesnt, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tables["token-table"]["river"], both[0][0][3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("char_embed", r"char_embed has the shape \(5, 5\); elmo_tiny_options\.json asks for \(261, 4\)"),
        ("CNN/W_cnn_1", r"CNN/W_cnn_1 has the shape \(5, 5\).* asks for \(1, 2, 4, 4\)"),
        ("RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0", r"W_P_0 has the shape \(5, 5\).* asks for \(7, 6\)"),
    ],
)
def test_other_shapes_are_refused_in_one_line(tmp_path, name, message):
    write(tmp_path / "other", weights=WEIGHTS | {name: np.zeros((5, 5))})
    with pytest.raises(TeacherError, match=message) as caught:
        Teacher.from_pretrained(tmp_path / "other")
    assert "\n" not in str(caught.value) and "do not belong together" in str(caught.value)


def test_files_that_cannot_be_used(tmp_path, monkeypatch):
    def refused(name, message, **content):
        write(tmp_path / name, **content)
        with pytest.raises(TeacherError, match=message):
            Teacher.from_pretrained(tmp_path / name)

    few = {name: values for name, values in WEIGHTS.items() if name != "CNN_proj/b_proj"}
    refused("missing", r"CNN_proj/b_proj is missing", weights=few)
    refused("section", r"has no part 'char_cnn'", options={"lstm": OPTIONS["lstm"]})
    short = {"lstm": {"dim": 3}, "char_cnn": OPTIONS["char_cnn"]}
    refused("short", r"lstm lacks projection_dim, n_layers", options=short)
    gelu = OPTIONS | {"char_cnn": OPTIONS["char_cnn"] | {"activation": "gelu"}}
    refused("activation", r"activation 'gelu' is unknown\. Expected relu or tanh", options=gelu)
    for number, wrong in enumerate(({"max_characters_per_token": 2}, {"filters": [[0, 3]]}, {"filters": [[12, 3]]})):
        broken = OPTIONS | {"char_cnn": OPTIONS["char_cnn"] | wrong}
        refused(f"size{number}", r"the smallest size is \d+, and tokens have \d characters", options=broken)
    write(tmp_path / "two", prefix="a_")
    refused("two", r"holds 2 files named \*options\.json \(a_options\.json, b_options\.json\)", prefix="b_")
    broken = write(tmp_path / "broken")
    (broken / "elmo_tiny_weights.hdf5").write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=r"Cannot read .*elmo_tiny_weights\.hdf5: .*signature not found"):
        Teacher.from_pretrained(broken)
    monkeypatch.setattr(elmo_files, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"wordstill\[elmo\]"):
        Teacher.from_pretrained(write(tmp_path / "model"))


def test_vocabulary_is_open(folder):
    """Every spelling has subwords, and the unknown token is never needed."""
    teacher = Teacher.from_config(TeacherConfig(str(folder), "cpu", "float32"))
    found = teacher.tokenizer.encode(["河水 👍🏽 \x07 x" * 3])
    assert len(found.ids) and teacher.tokenizer.unknown_id == -1 and teacher.tokenizer.splits_at_spaces()
