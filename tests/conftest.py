"""Tiny teachers of every kind, made on the spot: a tokenizer trained on a few lines, a model of random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from wordstill.teacher import Teacher, TeacherConfig

LINES = (
    "The old still stands in the small house by the river, and nobody has moved it since 1923.",
    "Distilling words isn't hard: heat the text, cool the vapour, and keep what drips out!",
    "She said, “It’s 3.5 degrees colder than in 1,000 other towns (about 99.9% of them).”",
    "Nobody knows why the well-known river turned grey; the newspapers wrote about it for weeks...",
    "Der Fluss fließt über die Brücke, und die Mädchen schauen zu. Le garçon déjà vu était naïf.",
    "Река течёт мимо старого дома. Ο ποταμός κυλάει. 河水流过老房子。 川は静かに流れる。",
    "النهر يجري بجانب البيت. הנהר זורם ליד הבית. แม่น้ำไหลผ่านบ้าน",
    "Write to someone@example.org or read https://example.org/a/page?with=query before Monday 😀 👍🏽.",
)
SPECIALS = {
    "bert": {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    "roberta": {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    "gpt2": {"eos_token": "<|endoftext|>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"},
    "llama2": {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"},
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    "albert": {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"},
}
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SIZE = 600
