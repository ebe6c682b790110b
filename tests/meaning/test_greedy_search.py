from __future__ import annotations

import pytest
import torch
import transformers

from wordstill.meaning.greedy_search import GreedySearch

WORDS, END, PAD = 40, 1, 0
LENGTHS = [3, 9, 1, 7, 7, 2, 5]


@pytest.fixture(scope="module", params=[True, False])
def model(request):
    torch.manual_seed(3)
    config = transformers.MarianConfig(
        vocab_size=WORDS, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64,
        activation_function="swish", scale_embedding=request.param, pad_token_id=PAD, eos_token_id=END,
        decoder_start_token_id=PAD, forced_eos_token_id=None, init_std=0.6,
    )  # fmt: skip
    model = transformers.MarianMTModel(config).eval()
    model.generation_config.bad_words_ids = [[PAD]]
    model.generation_config.renormalize_logits = True
    with torch.no_grad():
        model.final_logits_bias[0, END] += 5.0
    return model


def by_generate(model, row, most):
    """Slow: one sentence alone, by transformers."""
    output = model.generate(
        input_ids=torch.tensor([row]), num_beams=1, do_sample=False, max_length=None, max_new_tokens=most
    )
    return output[0, 1:].tolist()


def test_a_batch_gives_what_transformers_gives_for_each_sentence_alone(model):
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(2, WORDS, (length,), generator=generator).tolist() for length in LENGTHS]
    most = [20, 1, 8, 30, 9, 17, 25]
    padded = torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=PAD)
    mask = torch.arange(padded.shape[1]) < torch.tensor(LENGTHS)[:, None]
    expected = [by_generate(model, row, limit) for row, limit in zip(rows, most)]
    ends = [row[-1] == END for row in expected]
    assert any(ends) and not all(ends)
    assert GreedySearch(model).search(padded, mask.long(), most) == expected
