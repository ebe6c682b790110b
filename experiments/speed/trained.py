"""Sentences per second of training the classifier and the tagger's CRF, against plain implementations.

The classifier multiplies each distinct word of a batch by its filters once; the plain way is torch's own
convolution over all words. The CRF computes its gradient by a second sweep over scaled probabilities; the
plain way is automatic differentiation through the recursion in logarithms. Both take the same steps on the
same batches, of sentences drawn from Zipf's law, and take turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.speed.common import Row, met, save, show, use_cores
from wordstill.evaluation.trained.cnn import ConvolutionalClassifier
from wordstill.evaluation.trained.config import CnnConfig
from wordstill.evaluation.trained.crf import Crf
from wordstill.evaluation.trained.word_table import Sentences, length_sorted
from wordstill.teacher.device import choose_device

BENCHMARK = "trained"
TITLE = "Training classifiers and taggers"
WORDS, DIM, CLASSES = 20_000, 384, 2
TAGS, TAGGED_BATCH = 45, 32
TARGETS = {"classifier": 1.5, "field": 2.0}
"""On a CPU; on a GPU both ways wait for kernel launches."""


def main() -> None:
    """Measure, print and save."""
    options = _options()
    use_cores(options.cores)
    result = measure(options)
    show(rows(result), remarks(result))
    save(BENCHMARK, result)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Sentences per second of both ways, for the classifier and the CRF."""
    device = choose_device(options.device)
    torch.manual_seed(0)
    sample = Sample.draw(options.sentences)
    ways = {
        "classifier": (classifier_steps(sample, device, plain=False), classifier_steps(sample, device, plain=True)),
        "field": (field_steps(sample, device, plain=False), field_steps(sample, device, plain=True)),
    }
    speeds = {
        name: [options.sentences / seconds for seconds in _in_turns(pair, options.repeats, device)]
        for name, pair in ways.items()
    }
    return {"device": str(device), "sentences": options.sentences, "speeds": speeds}


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    head = ("", "wordstill, sentences/s", "plain, sentences/s", "ratio")
    return [head] + [
        (name, f"{ours:,.0f}", f"{plain:,.0f}", f"{ours / plain:.2f}")
        for name, (ours, plain) in result["speeds"].items()
    ]


def remarks(result: dict[str, Any]) -> list[str]:
    """Conditions, and whether the targets are met."""
    lines = [f"{result['sentences']:,} sentences on {result['device']}."]
    for name, (ours, plain) in result["speeds"].items():
        target = TARGETS[name]
        lines.append(f"{name}: ratio {ours / plain:.2f}, target {target}: {met(ours / plain >= target)}.")
    return lines


@dataclass(frozen=True)
class Sample:
    """Sentences of 5 to 40 words, and batches of them."""

    sentences: Sentences

    @classmethod
    def draw(cls, count: int) -> Sample:
        """Draw words by Zipf's law."""
        random = np.random.default_rng(0)
        chance = 1 / np.arange(2, WORDS + 1)
        lengths = random.integers(5, 41, size=count)
        drawn = random.choice(np.arange(1, WORDS), size=lengths.sum(), p=chance / chance.sum())
        return cls(Sentences(drawn, np.concatenate([[0], np.cumsum(lengths)])))

    def batches(self, size: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
        """Batches of one epoch, always the same."""
        return list(length_sorted(self.sentences.lengths, size, np.random.default_rng(0)))


class PlainClassifier(ConvolutionalClassifier):
    """The same model through torch's own convolution."""

    def forward(self, rows: Tensor) -> Tensor:
        """Scores of the classes."""
        windows = torch.conv1d(self.vectors[rows].transpose(1, 2), self.filters.permute(2, 1, 0), self.bias)
        inside = rows[:, self.margin : rows.shape[1] - self.margin] != 0
        scores: Tensor = self.output(self.dropout((torch.relu(windows) * inside[:, None]).amax(dim=2)))
        return scores


def classifier_steps(sample: Sample, device: torch.device, *, plain: bool) -> Callable[[], None]:
    """One epoch of training the classifier."""
    config = CnnConfig()
    make = PlainClassifier if plain else ConvolutionalClassifier
    model = make(torch.randn(WORDS, DIM), CLASSES, config).to(device)
    optimiser = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=1e-3)

    def run() -> None:
        for places in sample.batches(config.batch):
            ids = torch.from_numpy(sample.sentences.padded(places, model.margin)).to(device)
            loss = nn.functional.cross_entropy(model(ids), torch.zeros(len(ids), dtype=torch.long, device=device))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()

    return run


def field_steps(sample: Sample, device: torch.device, *, plain: bool) -> Callable[[], None]:
    """Losses and gradients of the CRF over one epoch."""
    field = Crf(TAGS).to(device)

    def run() -> None:
        for places in sample.batches(TAGGED_BATCH):
            lengths = torch.from_numpy(sample.sentences.lengths[places]).to(device)
            shape = (len(places), int(lengths.max()), TAGS)
            emissions = torch.randn(shape, device=device, requires_grad=True)
            if plain:
                loss = plain_partition(field, emissions, lengths).sum()
            else:
                tags = torch.zeros(shape[:2], dtype=torch.long, device=device)
                loss = field.loss(emissions, tags, lengths).sum()
            loss.backward()  # type: ignore[no-untyped-call]

    return run


def plain_partition(field: Crf, emissions: Tensor, lengths: Tensor) -> Tensor:
    """The log partition function, by the recursion in logarithms."""
    reached = field.start + emissions[:, 0]
    for step in range(1, emissions.shape[1]):
        further = (reached[:, :, None] + field.transitions).logsumexp(dim=1) + emissions[:, step]
        reached = torch.where((step < lengths)[:, None], further, reached)
    return (reached + field.end).logsumexp(dim=1)


def _in_turns(ways: tuple[Callable[[], None], ...], repeats: int, device: torch.device) -> list[float]:
    """Median seconds of each way over several runs, after a warm-up."""
    seconds: list[list[float]] = [[] for _ in ways]
    for number in range(repeats + 1):
        for place, way in enumerate(ways):
            start = time.perf_counter()
            way()
            if device.type == "cuda":
                torch.cuda.synchronize()
            if number:
                seconds[place].append(time.perf_counter() - start)
    return [median(times) for times in seconds]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.speed.{BENCHMARK}", description=__doc__)
    parser.add_argument("--sentences", type=int, default=6_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


if __name__ == "__main__":
    main()
