"""Training a translator with the trainer of transformers, by steps or by the clock."""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
import transformers
from translator_tokens import Tokenised

DECAY = 0.5
"""Part of the training, its end, over which the learning rate falls to zero."""


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
            num_workers=4 if torch.cuda.is_available() else 0,
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
