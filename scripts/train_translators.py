"""Train a small translator on pairs of sentences, and measure it with BLEU on held-out lines.

Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --out en-de
Example: python scripts/train_translators.py PAIRS.tsv.xz --languages en de --reverse --out de-en

With --prepared FOLDER the pairs are read, and their vocabulary learnt, once for both directions; where the
folder is there already, the files are not needed.

A line has a sentence, a tab and its translation. The model is transformers' own Pegasus, from random weights,
trained with its own Seq2SeqTrainer; the vocabulary is learnt from the same lines. The encoder is deep and the
decoder shallow, which decodes fast. Sources, references and translations of the held-out lines are kept in
held-out.tsv, so that they can be scored elsewhere if sacrebleu is not installed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
import transformers
from translator_model import make_model
from translator_pairs import Pair
from translator_prepared import prepared
from translator_training import make_trainer

from wordstill.meaning.translation import Translator


def main() -> None:
    """Train, measure and save."""
    options = arguments()
    transformers.set_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    data = prepared(options)
    if options.out is None:
        return
    model = make_model(data.tokenizer, options)
    trainer = make_trainer(model, data.training, options)
    start = time.monotonic()
    trainer.train()
    seconds = time.monotonic() - start
    model.config.languages = list(reversed(options.languages) if options.reverse else options.languages)
    model.save_pretrained(options.out)
    data.tokenizer.save_pretrained(options.out)
    facts = {
        "pairs": len(data.training),
        "held out": len(data.held_out),
        "parameters": model.num_parameters(),
        "seconds": round(seconds, 1),
        "steps": trainer.state.global_step,
        "epochs": round(trainer.state.epoch or 0.0, 2),
        **measured(options, data.held_out),
    }
    (options.out / "measured.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(facts, indent=1, ensure_ascii=False))


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs", nargs="*", type=Path, help="files of pairs, also .xz")
    parser.add_argument(
        "--languages", nargs=2, required=True, metavar=("FIRST", "SECOND"), help="of the columns"
    )
    parser.add_argument("--reverse", action="store_true", help="translate the second column into the first")
    parser.add_argument("--out", type=Path, help="folder to make; without: only what --prepared names")
    parser.add_argument("--prepared", type=Path, metavar="FOLDER", help="what is made of the pairs, once")
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
