"""Distillers by matrix tiles give what those in float32 give, or are not taken."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity, scaled_dot_product_attention

from wordstill.meaning import DistillerConfig, Distillers, MeaningEncoder, encoder
from wordstill.meaning import amx_distiller as module
from wordstill.meaning.amx_distiller import ROWS, TileDistiller, attention, with_tiles
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.amx import NoTiles
from wordstill.teacher.amx.amx_library import kernel


def without_tiles():
    """Why there are none; asked before any product, since later can be too late."""
    try:
        kernel()
    except NoTiles as reason:
        return str(reason)
    return ""


REASON = without_tiles()
needs_tiles = pytest.mark.skipif(bool(REASON), reason=f"no matrix tiles: {REASON}")


def made(layers=3, width=64, **settings):
    torch.manual_seed(0)
    distillers = Distillers(layers, width, DistillerConfig(heads=4, **settings)).eval()
    states = 0.3 + 2.0 * torch.randn(2 * ROWS + 5, layers, width)
    if distillers.config.scaling != "none":
        distillers.find_scale(states)
    if distillers.config.layer_embeddings:
        torch.nn.init.normal_(distillers.meaning.layer_embeddings)
    distillers.find_centres(states)
    return distillers, states


@pytest.mark.parametrize("length", [1, 2, 3, 6])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_attention_is_that_of_torch(length, size):
    torch.manual_seed(0)
    given = [size * torch.randn(7, length, 4, 16) for _ in range(3)]
    expected = scaled_dot_product_attention(*(one.transpose(1, 2) for one in given)).transpose(1, 2)
    torch.testing.assert_close(attention(*given), expected.flatten(2), rtol=1e-4, atol=1e-4 * size)


@needs_tiles
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"scaling": "none", "feedforward": 4},
        {"layer_embeddings": True},
        {"layers": 1},
        {"layers": 6, "width": 96},
    ],
)
def test_vectors_are_those_in_float32(settings):
    distillers, states = made(**settings)
    changed = with_tiles(distillers, states)
    assert isinstance(changed.meaning, TileDistiller) and isinstance(changed.context, TileDistiller)
    assert not isinstance(distillers.meaning, TileDistiller)
    for kind in ("meaning", "context-centred"):
        before, after = (one.representation(kind)(states) for one in (distillers, changed))
        assert after.dtype is torch.float32
        assert float(cosine_similarity(before, after).min()) > 0.999
        torch.testing.assert_close(after, before, rtol=0, atol=0.05)
    torch.testing.assert_close(
        changed.representation("raw")(states), distillers.representation("raw")(states)
    )


@needs_tiles
def test_what_does_not_fit_or_changes_is_refused(monkeypatch):
    with pytest.raises(NoTiles, match="48, is not a multiple of 32"):
        with_tiles(*made(width=48))
    monkeypatch.setattr(module, "CLOSE_ENOUGH", 1.1)
    with pytest.raises(NoTiles, match="meanings have a mean cosine of only"):
        with_tiles(*made())


@needs_tiles
def test_encoders_of_teachers_in_bfloat16_take_them(tiny_model, tiny_tokenizer, monkeypatch):
    asked, encoders = [], {}
    monkeypatch.setattr(encoder, "with_tiles", lambda *given: asked.append(1) or with_tiles(*given))
    for dtype in ("bfloat16", "float32"):
        config = TeacherConfig("tiny", "cpu", dtype)
        teacher = Teacher(tiny_model("bert-uncased"), tiny_tokenizer("bert-uncased"), config)
        torch.manual_seed(0)
        encoders[dtype] = MeaningEncoder(teacher, Distillers(2, teacher.width, DistillerConfig(heads=4)))
    texts = ["The old still stands by the river."]
    found = {dtype: torch.from_numpy(one.encode_texts(texts)[0][1]) for dtype, one in encoders.items()}
    assert float(cosine_similarity(found["bfloat16"], found["float32"]).min()) > 0.99
    assert len(asked) == 1
