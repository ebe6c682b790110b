"""Train a small translator on pairs of sentences, and measure it with BLEU on held-out lines.

Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --out en-de
Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --reverse --out de-en

A line has a sentence, a tab and its translation. The model is transformers' own Marian, from random weights,
trained with its own Seq2SeqTrainer; the vocabulary is learnt from the same lines.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sacrebleu
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from wordstill.meaning.translation import Translator

SPECIALS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
LONGEST = 128


def main() -> None:
    """Train, measure and save."""
    options = arguments()
    transformers.set_seed(options.seed)
    pairs = read_pairs(options)
    held_out = pairs[: options.held_out]
    training = apart_from(held_out, pairs[options.held_out :])
    tokenizer = make_tokenizer(training, options.vocabulary)
    model = make_model(tokenizer, options)
    start = time.monotonic()
    trainer = make_trainer(model, tokenizer, training, options)
    trainer.train()
    seconds = time.monotonic() - start
    model.config.languages = list(reversed(options.languages) if options.reverse else options.languages)
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)
    facts = {
        "pairs": len(training),
        "held out": len(held_out),
        "parameters": model.num_parameters(),
        "seconds": round(seconds, 1),
        **measured(options, held_out),
    }
    (options.out / "measured.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(facts, indent=1, ensure_ascii=False))


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs", nargs="+", type=Path, help="files of pairs, also .xz")
    parser.add_argument(
        "--languages", nargs=2, required=True, metavar=("FIRST", "SECOND"), help="of the columns"
    )
    parser.add_argument("--reverse", action="store_true", help="translate the second column into the first")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="use only so many pairs")
    parser.add_argument("--held-out", type=int, default=2000, help="pairs to measure on")
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--epochs", type=float, default=4.0)
    parser.add_argument("--max-steps", type=int, default=-1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--learning-rate", type=float, default=7e-4)
    parser.add_argument("--warm-up", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def read_pairs(options: argparse.Namespace) -> list[tuple[str, str]]:
    """Pairs of all files, each once, shuffled, in the wanted direction."""
    pairs = sorted({pair for path in options.pairs for pair in lines_of(path)})
    random.Random(options.seed).shuffle(pairs)
    pairs = pairs[: options.limit]
    return [(second, first) for first, second in pairs] if options.reverse else pairs


def apart_from(held_out: list[tuple[str, str]], pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of which neither side is held out: a sentence often stands there with several translations."""
    sources, targets = ({pair[side] for pair in held_out} for side in (0, 1))
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Sentence and translation of every line that has both."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            columns = line.rstrip("\n").split("\t")
            if len(columns) >= 2 and columns[0].strip() and columns[1].strip():
                yield columns[0].strip(), columns[1].strip()


def make_tokenizer(pairs: list[tuple[str, str]], size: int) -> Any:
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
        vocab_size=size, special_tokens=[*SPECIALS.values()], show_progress=False, limit_alphabet=500
    )
    backend.train_from_iterator((text for pair in pairs for text in pair), trainer)
    end = backend.token_to_id("</s>")
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", end)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        **SPECIALS,
    )


def make_model(tokenizer: Any, options: argparse.Namespace) -> Any:
    """A Marian of random weights."""
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    heads = max(1, options.width // 64)
    config = transformers.MarianConfig(
        vocab_size=len(tokenizer),
        d_model=options.width,
        encoder_layers=options.layers,
        decoder_layers=options.layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * options.width,
        decoder_ffn_dim=4 * options.width,
        max_position_embeddings=LONGEST,
        activation_function="gelu",
        dropout=0.1,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=pad,
        eos_token_id=end,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
        bos_token_id=None,
    )
    return transformers.MarianMTModel(config)


def make_trainer(
    model: Any, tokenizer: Any, pairs: list[tuple[str, str]], options: argparse.Namespace
) -> Any:
    """The trainer of transformers, with batches of sentences of like length."""
    settings = transformers.Seq2SeqTrainingArguments(
        output_dir=str(options.out / "trainer"),
        per_device_train_batch_size=options.batch,
        learning_rate=options.learning_rate,
        warmup_steps=options.warm_up,
        lr_scheduler_type="inverse_sqrt",
        adam_beta2=0.98,
        label_smoothing_factor=0.1,
        num_train_epochs=options.epochs,
        max_steps=options.max_steps,
        bf16=torch.cuda.is_available(),
        train_sampling_strategy="group_by_length",
        save_strategy="no",
        report_to=[],
        logging_steps=200,
        seed=options.seed,
        dataloader_num_workers=4 if torch.cuda.is_available() else 0,
    )
    return transformers.Seq2SeqTrainer(
        model=model,
        args=settings,
        train_dataset=Pairs(tokenizer, pairs),
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model, pad_to_multiple_of=8),
    )


class Pairs(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Tokenised pairs."""

    def __init__(self, tokenizer: Any, pairs: list[tuple[str, str]]) -> None:
        sources, targets = (
            tokenizer([pair[side] for pair in pairs], truncation=True, max_length=LONGEST)["input_ids"]
            for side in (0, 1)
        )
        self.rows = [
            {"input_ids": source, "labels": target, "length": len(source)}
            for source, target in zip(sources, targets)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {key: self.rows[number][key] for key in ("input_ids", "labels")}


def measured(options: argparse.Namespace, held_out: list[tuple[str, str]]) -> dict[str, Any]:
    """BLEU of the saved model, as it will be used, with sacrebleu's signature and some translations."""
    translator = Translator.from_pretrained(options.out)
    start = time.monotonic()
    found = translator.translate([source for source, _ in held_out])
    seconds = time.monotonic() - start
    metric = sacrebleu.BLEU()
    score = metric.corpus_score(found, [[target for _, target in held_out]])
    return {
        "bleu": round(score.score, 2),
        "signature": str(metric.get_signature()),
        "sentences per second": round(len(held_out) / max(seconds, 1e-9), 1),
        "examples": [[*pair, translation] for pair, translation in zip(held_out[:5], found)],
    }


if __name__ == "__main__":
    main()
