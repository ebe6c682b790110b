from __future__ import annotations

import numpy as np
import pytest
import torch

from wordstill.errors import UsageError
from wordstill.meaning.distiller import (
    Distiller,
    DistillerConfig,
    Distillers,
    Parts,
    attended,
    diagnose,
    distill_triples,
    loss,
)


def slow_loss(roles: list[Parts], negatives: bool) -> float:
    """Eq. 2 and 3 word by word and number by number."""
    h, p, n = ([np.asarray(part.detach().numpy(), dtype=np.float64) for part in role] for role in roles)
    meaning, context, target = 0, 1, 2
    terms = [(h, h, h), (p, p, p), (p, h, p), (h, p, h)]
    if negatives:
        terms += [(n, n, n), (n, n, h), (h, h, n)]
    total = 0.0
    rows, width = h[target].shape
    for row in range(rows):
        for wanted, of_meaning, of_context in terms:
            squares = 0.0
            for column in range(width):
                pool = (of_meaning[meaning][row, column] + of_context[context][row, column]) / 2
                squares += (wanted[target][row, column] - pool) ** 2
            total += squares / width
    return total / rows


@pytest.fixture
def distillers():
    torch.manual_seed(1)
    return Distillers(3, 16, DistillerConfig(heads=4, dropout=0.0))


@pytest.mark.parametrize("negatives", [True, False])
def test_the_loss_is_that_of_the_slow_reference(distillers, negatives):
    roles = distill_triples(distillers, torch.randn(5, 3, 3, 16))
    got = loss(*(roles if negatives else roles[:2]))
    assert float(got.detach()) == pytest.approx(slow_loss(roles, negatives), rel=1e-5)


def test_distilling_a_triple_is_distilling_each_word_alone(distillers):
    states = torch.randn(4, 3, 3, 16)
    for role, parts in enumerate(distill_triples(distillers, states)):
        for row in range(4):
            alone = states[row, role][None]
            torch.testing.assert_close(parts.meaning[row], distillers.meaning(alone)[0])
            torch.testing.assert_close(parts.context[row], distillers.context(alone)[0])
            torch.testing.assert_close(parts.target[row], alone[0].mean(dim=0))


def slow_distiller(distiller: Distiller, states: torch.Tensor, heads: int) -> torch.Tensor:
    """Self-attention over layers, residuals, norms and inner layer, written out for one word."""
    layer = distiller.transformer
    query, key, value = (states @ layer.self_attn.in_proj_weight.T + layer.self_attn.in_proj_bias).chunk(3, -1)
    size = states.shape[1] // heads
    mixed = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        weights = torch.softmax(query[:, part] @ key[:, part].T / size**0.5, dim=-1)
        mixed.append(weights @ value[:, part])
    attended = layer.norm1(states + layer.self_attn.out_proj(torch.cat(mixed, dim=-1)))
    inner = layer.linear2(torch.nn.functional.gelu(layer.linear1(attended)))
    return layer.norm2(attended + inner).mean(dim=0)


def test_a_distiller_is_attention_over_layers_and_a_mean(distillers):
    states = torch.randn(3, 16)
    torch.testing.assert_close(
        distillers.meaning(states[None])[0], slow_distiller(distillers.meaning, states, 4), rtol=1e-4, atol=1e-5
    )


def test_the_way_for_gpus_gives_the_same(distillers):
    states, layer = torch.randn(50, 3, 16), distillers.eval().meaning.transformer
    torch.testing.assert_close(attended(layer, states), layer(states), rtol=0, atol=1e-5)


def test_gradients_agree_with_differences():
    torch.manual_seed(0)
    distillers = Distillers(2, 4, DistillerConfig(heads=2, dropout=0.0)).double()
    states = torch.randn(3, 3, 2, 4, dtype=torch.float64)

    def value(weight: torch.Tensor) -> torch.Tensor:
        state = {"meaning.transformer.linear1.weight": weight}
        return torch.func.functional_call(_Loss(distillers), {f"inner.{k}": v for k, v in state.items()}, states)

    weight = distillers.meaning.transformer.linear1.weight.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(value, (weight,), eps=1e-6, atol=1e-7)


class _Loss(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, states):
        return loss(*distill_triples(self.inner, states))


def test_a_constant_meaning_is_free_without_negatives_and_not_with_them():
    target = torch.randn(3, 6, 8)
    constant = torch.ones(6, 8)
    roles = [Parts(constant, 2 * target[role] - constant, target[role]) for role in range(3)]
    assert float(loss(*roles[:2])) == pytest.approx(0.0, abs=1e-10)
    assert float(loss(*roles)) > 0.5


def test_without_layer_embeddings_the_order_of_layers_is_not_seen():
    states = torch.randn(2, 3, 16)
    for embeddings, same in ((False, True), (True, False)):
        torch.manual_seed(0)
        distiller = Distiller(3, 16, DistillerConfig(heads=4, dropout=0.0, layer_embeddings=embeddings))
        if embeddings:
            torch.nn.init.normal_(distiller.layer_embeddings)
        got = torch.allclose(distiller(states), distiller(states.flip(1)), atol=1e-6)
        assert got is same


def test_heads_must_divide_the_width():
    with pytest.raises(UsageError, match="width 10 cannot be divided among 4 heads"):
        Distiller(2, 10, DistillerConfig(heads=4))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 0}, "heads must be 1 or more; got 0"),
        ({"feedforward": 0}, "feedforward must be 1 or more; got 0"),
        ({"dropout": 1.0}, "dropout must be 0 or more and below 1; got 1.0"),
    ],
)
def test_impossible_shapes_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        DistillerConfig(**settings)


def test_a_distiller_of_one_vector_is_degenerate(distillers):
    with torch.no_grad():
        for weight in distillers.meaning.parameters():
            weight.zero_()
        distillers.meaning.transformer.norm2.bias.fill_(1.0)
    found = diagnose(distillers, torch.randn(8, 3, 3, 16))
    assert found.degenerate
    assert found.meaning_others == pytest.approx(1.0)
    assert found.context_others < 0.95
    with pytest.warns(UserWarning, match="degenerate solution"):
        found.warn()


def test_scaled_states_are_what_is_reconstructed():
    torch.manual_seed(1)
    distillers = Distillers(3, 16, DistillerConfig(heads=4, dropout=0.0, scaling="standardised")).eval()
    states = torch.randn(6, 3, 3, 16) * torch.tensor([1.0, 5.0, 0.01])[:, None] + 3.0
    distillers.find_scale(states[:, 0])
    scaled = (states[:, 0] - distillers.shift) * distillers.scale
    original = distill_triples(distillers, states)[0]
    torch.testing.assert_close(original.target, scaled.mean(dim=1))
    torch.testing.assert_close(original.meaning, distillers.meaning(scaled))
    torch.testing.assert_close(distillers.representation("meaning")(states[:, 0]), original.meaning)
    torch.testing.assert_close(distillers.representation("raw")(states[:, 0]), states[:, 0].mean(dim=1))
    torch.testing.assert_close(distillers.representation("raw-scaled")(states[:, 0]), original.target)


def test_whitening_brings_spreads_nearer_and_keeps_their_sum():
    torch.manual_seed(0)
    states = torch.randn(400, 3, 8) @ (torch.randn(8, 8) + 3 * torch.eye(8)) + 5.0
    distillers = Distillers(3, 8, DistillerConfig(heads=4, scaling="whitened"))
    distillers.find_scale(states)
    standardised = ((states - states.mean(dim=0)) / states.std(dim=0, correction=0)).mean(dim=1).double().numpy()
    # In the directions of the principal components, one after the other.
    _, sizes, directions = np.linalg.svd(standardised / np.sqrt(len(states)), full_matrices=False)
    components = [standardised @ direction for direction in directions]
    # As if eight more vectors, as many as there are dimensions, had the same spread in all directions.
    shrunk = (400 * sizes**2 + 8 * np.mean(sizes**2)) / 408
    halved = np.stack([one / size**0.25 for one, size in zip(components, shrunk)], axis=1)
    expected = halved @ directions * np.linalg.norm(standardised) / np.linalg.norm(halved)
    got = distillers.representation("raw-scaled")(states)
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-4)


def test_an_unknown_scaling_is_refused():
    with pytest.raises(UsageError, match="scaling"):
        DistillerConfig(scaling="bleached")  # type: ignore[arg-type]


def test_how_many_negatives_are_told_from_positives(distillers):
    states = torch.randn(8, 3, 3, 16)
    states[:6, 1] = states[:6, 0]
    states[6:, 2] = states[6:, 0]
    assert diagnose(distillers, states).told_apart == pytest.approx(0.75)
