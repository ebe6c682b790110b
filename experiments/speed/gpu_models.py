"""Teachers of known shapes for benchmarks on a GPU, and what their products would take at best."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import torch

from wordstill.teacher import Teacher, TeacherConfig, TextBatches
from wordstill.teacher.blocks import blocks_of
from wordstill.teacher.embedded import embedded_teacher

SHAPES: dict[str, tuple[str, dict[str, int]]] = {
    "BERT-base": ("bert", {}),
    "BERT-large": (
        "bert",
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
    ),
    "RoBERTa-base": ("roberta", {"max_position_embeddings": 514}),
    "GPT-2": ("gpt2", {}),
    "MiniLM": (
        "bert",
        {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    ),
}
PRODUCT = 8192


def random_teacher(shape: str, tokenizer: Path | None, *, compiled: bool) -> Teacher:
    """A teacher of a known shape on the GPU."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    kind, sizes = SHAPES[shape]
    torch.manual_seed(0)
    # transformers does not type it.
    model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes))  # type: ignore[no-untyped-call]
    known = AutoTokenizer.from_pretrained(str(tokenizer or embedded_teacher()))
    teacher = Teacher(model, known, TeacherConfig(shape, "cuda", max_length=512, compiled=compiled))
    teacher.compile_if_worth(0, (teacher.depth,))
    return teacher


def product_rate() -> float:
    """Operations per second of a large product in bfloat16."""
    left, right = (torch.randn(PRODUCT, PRODUCT, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = []
    for _ in range(8):
        # torch does not type its events.
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        for _ in range(5):
            left @ right
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 5e3)
    return float(2 * PRODUCT**3 / sorted(times)[len(times) // 2])


def flops_per_subword(teacher: Teacher, batches: TextBatches) -> float:
    """Products of linear layers and of attention for one sub-word, on average over some texts."""
    blocks = blocks_of(teacher.model, teacher.depth) or []
    linear = sum(2 * weight.numel() for block in blocks for weight in block.parameters() if weight.dim() == 2)
    lengths = np.concatenate([batch.lengths for _, batch in itertools.islice(batches.since((0, 0)), 8)])
    seen = float((lengths.astype(float) ** 2).sum() / lengths.sum())
    return float(linear + 4 * seen * teacher.width * teacher.depth)
