from __future__ import annotations

import numpy as np
import pytest
import torch

# Tiny products gain nothing from threads, and wait for each other where other work goes on.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def toy_states():
    """Triples of states [n, 3, layers, width] in which meaning and context are known.

    A state is a random but fixed map of the word's meaning plus one of its context, with some noise: original
    and positive share the meaning, original and negative the context.
    """

    def make(count: int, layers: int = 2, width: int = 16, seed: int = 0) -> torch.Tensor:
        generator = np.random.default_rng(seed)
        meanings = generator.normal(size=(12, width // 2))
        contexts = generator.normal(size=(12, width // 2))
        word = generator.integers(0, 12, size=count)
        other = (word + generator.integers(1, 12, size=count)) % 12
        here, there = generator.integers(0, 12, size=(2, count))
        halves = [(word, here), (word, there), (other, here)]
        plain = np.stack([np.concatenate([meanings[m], contexts[c]], axis=1) for m, c in halves], axis=1)
        maps = np.random.default_rng(99).normal(size=(layers, width, width)) / width**0.5
        states = np.einsum("nrw,lwv->nrlv", plain, maps)
        return torch.from_numpy(states + 0.01 * generator.normal(size=states.shape)).float()

    return make


@pytest.fixture(scope="session")
def masked(tiny_models, tiny_tokenizer):
    from wordstill.meaning.masked import MaskedModel

    tokenizer = tiny_models.with_mask(tiny_tokenizer("bert-uncased"))
    model = tiny_models.masked_bert(tokenizer)
    return MaskedModel(model, tokenizer, "tiny-masked", device="cpu", dtype="float32")
