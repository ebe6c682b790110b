"""Tiny masked and translating models of random weights."""

from __future__ import annotations

import copy

import torch
import transformers


def with_mask(tokenizer):
    """The same tokenizer with a mask token."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    return tokenizer


def masked_bert(tokenizer):
    """A BERT for masked language modelling over a tokenizer with a mask token."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return transformers.BertForMaskedLM(config).eval()


def translator(tokenizer, seed=0):
    """A Marian of random weights."""
    torch.manual_seed(seed)
    config = transformers.MarianConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.sep_token_id or tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id, forced_eos_token_id=None, init_std=1.0,
    )  # fmt: skip
    return transformers.MarianMTModel(config).eval()
