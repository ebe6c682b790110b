"""A small translator before its training: one vocabulary for both languages, and random weights."""

from __future__ import annotations

import argparse
from typing import Any

import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from translator_pairs import Pair
from translator_tokens import LONGEST

SPECIALS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


def make_tokenizer(pairs: list[Pair], size: int) -> Any:
    """One vocabulary for both languages."""
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    backend.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=size - 1, special_tokens=["</s>", "<unk>"], show_progress=False, limit_alphabet=500
    )
    backend.train_from_iterator((text for pair in pairs for text in pair), trainer)
    backend.add_special_tokens(["<pad>"])
    end = backend.token_to_id("</s>")
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])
    return transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        **SPECIALS,
    )


def make_model(tokenizer: Any, options: argparse.Namespace) -> Any:
    """A Pegasus of random weights.

    It normalises what goes into each part of a layer, not what comes out, and so takes a short warm-up. With
    the usual spread of 0.02 small models learn the target language alone for hundreds of steps, and do not
    look at the source.
    """
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    heads = max(1, options.width // 64)
    config = transformers.PegasusConfig(
        vocab_size=len(tokenizer),
        d_model=options.width,
        encoder_layers=options.encoder_layers,
        decoder_layers=options.decoder_layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * options.width,
        decoder_ffn_dim=4 * options.width,
        max_position_embeddings=LONGEST,
        activation_function="gelu",
        dropout=0.1,
        scale_embedding=True,
        init_std=options.width**-0.5,
        # Not read by transformers; the published models say it, and the converter of CTranslate2 asks.
        normalize_before=True,
        normalize_embedding=False,
        pad_token_id=pad,
        eos_token_id=end,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
        bos_token_id=None,
    )
    return transformers.PegasusForConditionalGeneration(config)
