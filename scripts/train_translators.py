"""Train a small translator on pairs of sentences, and measure it with BLEU on held-out lines.

Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --out en-de
Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --reverse --out de-en

A line has a sentence, a tab and its translation. The model is transformers' own Pegasus, from random weights,
trained with its own Seq2SeqTrainer; the vocabulary is learnt from the same lines. The encoder is deep and the
decoder shallow, which decodes fast. Sources, references and translations of the held-out lines are kept in
held-out.tsv, so that they can be scored elsewhere if sacrebleu is not installed.
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

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from wordstill.meaning.translation import Translator

SPECIALS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
LONGEST = 128
NO_LABEL = -100
DECAY = 0.5
"""Part of the training, its end, over which the learning rate falls to zero."""
VOCABULARY_PAIRS = 200_000

Pair = tuple[str, str]
Rows = list[list[int]]


def main() -> None:
    """Train, measure and save."""
    options = arguments()
    transformers.set_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    pairs = read_pairs(options)
    held_out = pairs[: options.held_out]
    training = apart_from(held_out, pairs[options.held_out :])
    tokenizer = make_tokenizer(training[:VOCABULARY_PAIRS], options.vocabulary)
    model = make_model(tokenizer, options)
    trainer = make_trainer(model, Tokenised(tokenizer, training), options)
    start = time.monotonic()
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
        "steps": trainer.state.global_step,
        "epochs": round(trainer.state.epoch or 0.0, 2),
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
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--encoder-layers", type=int, default=6)
    parser.add_argument("--decoder-layers", type=int, default=2)
    parser.add_argument("--epochs", type=float, default=4.0)
    parser.add_argument("--seconds", type=float, help="train no longer than this; without: all epochs")
    parser.add_argument("--tokens", type=int, default=24_576, help="sub-words of each side in a batch")
    parser.add_argument("--learning-rate", type=float, default=7e-4)
    parser.add_argument("--warm-up", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def read_pairs(options: argparse.Namespace) -> list[Pair]:
    """Pairs of all files, each once, shuffled, in the wanted direction."""
    pairs = sorted({pair for path in options.pairs for pair in lines_of(path)})
    random.Random(options.seed).shuffle(pairs)
    pairs = pairs[: options.limit]
    return [(second, first) for first, second in pairs] if options.reverse else pairs


def apart_from(held_out: list[Pair], pairs: list[Pair]) -> list[Pair]:
    """Pairs of which neither side is held out: a sentence often stands there with several translations."""
    sources, targets = ({pair[side] for pair in held_out} for side in (0, 1))
    return [pair for pair in pairs if pair[0] not in sources and pair[1] not in targets]


def lines_of(path: Path) -> Iterator[Pair]:
    """Sentence and translation of every line that has both."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            columns = line.rstrip("\n").split("\t")
            if len(columns) >= 2 and columns[0].strip() and columns[1].strip():
                yield columns[0].strip(), columns[1].strip()


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


class Tokenised(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Sub-words of pairs, without those over the limit: a cut translation would teach to end too early."""

    def __init__(self, tokenizer: Any, pairs: list[Pair]) -> None:
        backend = tokenizer.backend_tokenizer
        sources, targets = (
            [encoding.ids for encoding in backend.encode_batch([pair[side] for pair in pairs])]
            for side in (0, 1)
        )
        kept = [row for row in zip(sources, targets) if max(map(len, row)) < LONGEST]
        self.sources, self.targets = [row[0] for row in kept], [row[1] for row in kept]
        self.pad = int(tokenizer.pad_token_id)

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, number: int) -> tuple[list[int], list[int]]:
        return self.sources[number], self.targets[number]

    def batches(self, tokens: int, seed: int) -> Batches:
        """Batches of pairs of like length."""
        lengths = np.array(
            [max(len(source), len(target)) for source, target in zip(self.sources, self.targets)]
        )
        return Batches(lengths, tokens, seed)

    def collate(self, pairs: list[tuple[list[int], list[int]]]) -> dict[str, torch.Tensor]:
        """What the model takes; the decoder sees each target one place later."""
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        inputs = padded(sources, self.pad)
        started = [[self.pad, *target[:-1]] for target in targets]
        return {
            "input_ids": inputs,
            "attention_mask": (inputs != self.pad).long(),
            "decoder_input_ids": padded(started, self.pad),
            "labels": padded(targets, NO_LABEL),
        }


class Batches:
    """Numbers of the pairs of each batch: of like length, within a budget of sub-words, in random order."""

    def __init__(self, lengths: NDArray[np.int64], tokens: int, seed: int) -> None:
        self.lengths, self.tokens = lengths, tokens
        self.generator = np.random.default_rng(seed)
        self.count = len(self._made())

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[list[int]]:
        made = self._made()
        for number in self.generator.permutation(len(made)):
            yield made[number]

    def _made(self) -> list[list[int]]:
        # Equal lengths come in another order each time; long ones first, so that a batch fits its first one.
        order = np.lexsort((self.generator.random(len(self.lengths)), -self.lengths))
        made, start = [], 0
        while start < len(order):
            size = max(8, self.tokens // int(self.lengths[order[start]]))
            made.append(order[start : start + size].tolist())
            start += size
        return made


class TranslationTrainer(transformers.Seq2SeqTrainer):
    """The trainer of transformers with batches of a budget of sub-words instead of a number of pairs."""

    def __init__(self, data: Tokenised, tokens: int, **settings: Any) -> None:
        super().__init__(train_dataset=data, data_collator=data.collate, **settings)
        self.data, self.token_batches = data, data.batches(tokens, self.args.seed)

    def get_train_dataloader(self) -> Any:
        """Batches, made by other processes where there is a GPU to feed."""
        return torch.utils.data.DataLoader(
            self.data,
            batch_sampler=self.token_batches,
            collate_fn=self.data.collate,
            num_workers=3 if torch.cuda.is_available() else 0,
            pin_memory=torch.cuda.is_available(),
        )


class Clock(transformers.TrainerCallback):
    """Ends the training in time, and says how far it is, by the clock or by steps."""

    def __init__(self, seconds: float | None, warm_up: int) -> None:
        self.seconds, self.warm_up = seconds, warm_up
        self.started, self.steps = time.monotonic(), 1

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start the clock when everything is loaded."""
        self.started, self.steps = time.monotonic(), max(1, state.max_steps)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop when the time is over."""
        if self.seconds is not None and time.monotonic() - self.started >= self.seconds:
            control.should_training_stop = True

    def factor(self, step: int) -> float:
        """Of the learning rate: up over the warm-up, down to zero over the last part of the training."""
        done = step / self.steps
        if self.seconds is not None:
            done = max(done, (time.monotonic() - self.started) / self.seconds)
        return min(1.0, (step + 1) / self.warm_up) * max(0.0, min(1.0, (1.0 - done) / DECAY))


def make_trainer(model: Any, data: Tokenised, options: argparse.Namespace) -> TranslationTrainer:
    """The trainer with its optimiser."""
    gpu = torch.cuda.is_available()
    settings = transformers.Seq2SeqTrainingArguments(
        output_dir=str(options.out / "trainer"),
        num_train_epochs=options.epochs,
        label_smoothing_factor=0.1,
        bf16=gpu,
        save_strategy="no",
        report_to=[],
        logging_steps=200,
        # Looking at each loss would wait for the GPU at every step.
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        seed=options.seed,
    )
    model.to("cuda" if gpu else "cpu")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.learning_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=gpu
    )
    clock = Clock(options.seconds, options.warm_up)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, clock.factor)
    return TranslationTrainer(
        data,
        options.tokens,
        model=model,
        args=settings,
        optimizers=(optimizer, schedule),
        callbacks=[clock],
    )


def padded(rows: Rows, value: int) -> torch.Tensor:
    """[rows, longest] numbers, the shorter rows filled up."""
    matrix = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    return torch.from_numpy(matrix)


def measured(options: argparse.Namespace, held_out: list[Pair]) -> dict[str, Any]:
    """BLEU of the saved model, as it will be used, with sacrebleu's signature and some translations."""
    translator = Translator.from_pretrained(options.out)
    start = time.monotonic()
    found = translator.translate([source for source, _ in held_out])
    seconds = time.monotonic() - start
    lines = ("\t".join((*pair, translation)) for pair, translation in zip(held_out, found))
    (options.out / "held-out.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        **bleu(found, [target for _, target in held_out]),
        "sentences per second": round(len(held_out) / max(seconds, 1e-9), 1),
        "examples": [[*pair, translation] for pair, translation in zip(held_out[:5], found)],
    }


def bleu(found: list[str], references: list[str]) -> dict[str, Any]:
    """The score with its signature, or why there is none."""
    try:
        import sacrebleu
    except ImportError as error:
        return {"bleu": None, "signature": f"sacrebleu cannot be loaded ({error}); score held-out.tsv"}
    metric = sacrebleu.BLEU()
    score = metric.corpus_score(found, [references])
    return {"bleu": round(score.score, 2), "signature": str(metric.get_signature())}


if __name__ == "__main__":
    main()
