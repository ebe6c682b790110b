"""Tiny teachers of every kind, made on the spot: trained tokenizers, and models of random weights."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from wordstill.teacher import Teacher, TeacherConfig
from wordstill.teacher.device import bfloat16_is_safe
from wordstill.teacher.elmo.bilm import ElmoConfig, ElmoModel
from wordstill.teacher.elmo.bilm import make_tokenizer as elmo_tokenizer

# Tiny products gain nothing from threads, and wait for each other where other work goes on.
torch.set_num_threads(1)
if bfloat16_is_safe():
    # Where matrix tiles are broken, oneDNN is told so just before; it listens only at its first product.
    torch.nn.functional.linear(*torch.ones(2, 64, 64, dtype=torch.bfloat16))

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
POSITIONS = 128
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@cache
def make_teacher(kind: str, **settings: Any) -> Teacher:
    config = TeacherConfig(**{"name": f"tiny-{kind}", "device": "cpu", "dtype": "float32"} | settings)
    return Teacher(make_model(kind), make_tokenizer(kind), config)


@cache
def make_tokenizer(kind: str) -> Any:
    backend, specials = TOKENIZERS[kind]()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **specials)


def make_model(kind: str) -> Any:
    torch.manual_seed(0)
    tokenizer = make_tokenizer(kind)
    return MODELS[kind](len(tokenizer), tokenizer.pad_token_id).eval()


def _trained(backend: Tokenizer, trainer: Any) -> Tokenizer:
    backend.train_from_iterator(LINES, trainer)
    return backend


def _pieces(backend: Tokenizer, inside: str = "") -> dict[str, int]:
    """Parts of the words of the lines and how often they occur: characters, short words, then what covers most text.

    The trainers of WordPiece and Unigram break ties by chance, another way in every process.
    """
    counts: Counter[str] = Counter()
    short = set()
    for line in LINES:
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(line)):
            short |= {word} if len(word) <= 6 else set()
            for start, end in itertools.combinations(range(len(word) + 1), 2):
                counts[(inside if start else "") + word[start:end]] += 1

    def rank(piece: str) -> tuple[bool, bool, int, str]:
        length = len(piece.removeprefix(inside))
        return length > 1, piece not in short, (1 - counts[piece]) * length, piece

    return {piece: counts[piece] for piece in sorted(counts, key=rank)}


def _around(backend: Tokenizer, template: str) -> processors.TemplateProcessing:
    names = [name for name in template.split() if name != "$A"]
    return processors.TemplateProcessing(
        single=template, special_tokens=[(name, backend.token_to_id(name)) for name in names]
    )


def _bert(lowercase: bool) -> tuple[Tokenizer, dict[str, str]]:
    specials = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    vocabulary = [*specials.values(), *_pieces(backend, "##")][:500]
    backend.model = models.WordPiece({piece: number for number, piece in enumerate(vocabulary)}, unk_token="[UNK]")
    backend.add_special_tokens([*specials.values()])
    backend.post_processor = _around(backend, "[CLS] $A [SEP]")
    return backend, specials


def _bytes(specials: dict[str, str], *steps: Any, **options: bool) -> Tokenizer:
    backend = Tokenizer(models.BPE())
    bytes_ = pre_tokenizers.ByteLevel(**{"add_prefix_space": False} | options)
    backend.pre_tokenizer = pre_tokenizers.Sequence([*steps, bytes_])
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=[*specials.values()],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _trained(backend, trainer)


def _roberta(prefix: bool, trim: bool) -> tuple[Tokenizer, dict[str, str]]:
    specials = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    backend = _bytes(specials, add_prefix_space=prefix, trim_offsets=trim)
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=trim, add_prefix_space=prefix
    )
    return backend, specials


def _gpt2() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"eos_token": "<|endoftext|>"}
    backend = _bytes(specials)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    return backend, specials


def _modernbert() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    backend = _bytes(specials, trim_offsets=True)
    backend.normalizer = normalizers.NFC()
    backend.post_processor = _around(backend, "[CLS] $A [SEP]")
    return backend, specials


def _llama3() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
    backend = _bytes(specials, pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"), use_regex=False)
    backend.model.ignore_merges = True
    backend.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), _around(backend, "<|begin_of_text|> $A")]
    )
    return backend, specials


def _llama2() -> tuple[Tokenizer, dict[str, str]]:
    """As converted from SentencePiece: no pre-tokenizer, so merges may cross spaces, and single bytes."""
    specials = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=[*specials.values()], show_progress=False)
    definition = json.loads(_trained(backend, trainer).to_str())
    vocabulary = definition["model"]["vocab"]
    bytes_ = {f"<0x{number:02X}>": len(vocabulary) + number for number in range(256)}
    definition["model"] |= {"byte_fallback": True, "fuse_unk": True, "vocab": vocabulary | bytes_}
    backend = Tokenizer.from_str(json.dumps(definition))
    backend.post_processor = _around(backend, "<s> $A")
    return backend, specials


def _swallowing() -> tuple[Tokenizer, dict[str, str]]:
    """Byte-level, but the space goes to the word before it; only the experiment can tell."""
    specials = {"eos_token": "<|endoftext|>"}
    spaces = pre_tokenizers.Split(" ", "merged_with_previous")
    return _bytes(specials, spaces, use_regex=False), specials


def _unigram(specials: list[str], normalizer: Any, pre_tokenizer: Any, template: str) -> Tokenizer:
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizer
    backend.pre_tokenizer = pre_tokenizer
    pieces = _pieces(backend)
    total = sum(pieces.values())
    scored = [(piece, math.log(count / total)) for piece, count in pieces.items()]
    vocabulary = [*((name, 0.0) for name in specials), *scored][:400]
    backend.model = models.Unigram(vocabulary, specials.index("<unk>"), False)
    backend.add_special_tokens(specials)
    backend.post_processor = _around(backend, template)
    return backend


def _xlmr() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    spaces = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return _unigram([*specials.values()], normalizer, spaces, "<s> $A </s>"), specials


def _t5() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    return _unigram([*specials.values()], normalizer, pre_tokenizers.Metaspace(), "$A </s>"), specials


def _albert() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    steps = [
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
        normalizers.StripAccents(), normalizers.Lowercase(),
    ]  # fmt: skip
    spaces = pre_tokenizers.Metaspace()
    return _unigram([*specials.values()], normalizers.Sequence(steps), spaces, "[CLS] $A [SEP]"), specials


def _xlnet() -> tuple[Tokenizer, dict[str, str]]:
    specials = {"unk_token": "<unk>", "sep_token": "<sep>", "cls_token": "<cls>", "pad_token": "<pad>"}
    return _unigram([*specials.values()], normalizers.NFKC(), pre_tokenizers.Metaspace(), "$A <sep> <cls>"), specials


def _elmo() -> tuple[Tokenizer, dict[str, str]]:
    return elmo_tokenizer().backend_tokenizer, {"bos_token": "<S>", "eos_token": "</S>", "pad_token": "<pad>"}


TOKENIZERS: dict[str, Callable[[], tuple[Tokenizer, dict[str, str]]]] = {
    "bert-uncased": lambda: _bert(lowercase=True),
    "bert-cased": lambda: _bert(lowercase=False),
    "roberta": lambda: _roberta(prefix=False, trim=True),
    "roberta-prefix": lambda: _roberta(prefix=True, trim=True),
    "roberta-untrimmed": lambda: _roberta(prefix=False, trim=False),
    "gpt2": _gpt2,
    "modernbert": _modernbert,
    "llama3": _llama3,
    "llama2": _llama2,
    "swallowing": _swallowing,
    "xlmr": _xlmr,
    "t5": _t5,
    "albert": _albert,
    "xlnet": _xlnet,
    "longformer": lambda: _roberta(prefix=False, trim=True),
    "elmo": _elmo,
}

SIZES = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": POSITIONS, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip


def _bert_model(size: int, pad: int) -> Any:
    config = transformers.BertConfig(vocab_size=size, pad_token_id=pad, **SIZES)
    return transformers.BertModel(config)


def _roberta_model(size: int, pad: int) -> Any:
    # Positions are counted from the padding id on.
    sizes = SIZES | {"max_position_embeddings": POSITIONS + pad + 1}
    return transformers.RobertaModel(transformers.RobertaConfig(vocab_size=size, pad_token_id=pad, **sizes))


def _gpt2_model(size: int, pad: int | None) -> Any:
    sizes = SIZES | {"n_inner": SIZES["intermediate_size"]}
    config = transformers.GPT2Config(vocab_size=size, **sizes)
    return transformers.GPT2Model(config)


def _modernbert_model(size: int, pad: int) -> Any:
    config = transformers.ModernBertConfig(
        vocab_size=size, pad_token_id=pad, cls_token_id=1, sep_token_id=2, local_attention=16,
        global_attn_every_n_layers=2, reference_compile=False, **SIZES,
    )  # fmt: skip
    return transformers.ModernBertModel(config)


def _llama_model(size: int, pad: int | None) -> Any:
    return transformers.LlamaModel(transformers.LlamaConfig(vocab_size=size, num_key_value_heads=2, **SIZES))


def _t5_model(size: int, pad: int) -> Any:
    config = transformers.T5Config(
        vocab_size=size, pad_token_id=pad, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4
    )
    return transformers.T5EncoderModel(config)


def _albert_model(size: int, pad: int) -> Any:
    config = transformers.AlbertConfig(vocab_size=size, pad_token_id=pad, embedding_size=16, **SIZES)
    return transformers.AlbertModel(config)


def _xlnet_model(size: int, pad: int) -> Any:
    config = transformers.XLNetConfig(
        vocab_size=size,
        pad_token_id=pad,
        d_model=32,
        n_layer=3,
        n_head=4,
        d_inner=48,
        bos_token_id=None,
        eos_token_id=None,
    )
    return transformers.XLNetModel(config)


def _longformer_model(size: int, pad: int) -> Any:
    sizes = SIZES | {"max_position_embeddings": POSITIONS + pad + 1}
    config = transformers.LongformerConfig(vocab_size=size, pad_token_id=pad, attention_window=8, **sizes)
    return transformers.LongformerModel(config)


def _elmo_model(size: int, pad: int) -> Any:
    config = ElmoConfig(
        ((1, 4), (2, 8), (3, 8)), character_dim=5, max_characters=12, projection_dim=16, cell_dim=24, layers=3
    )
    return ElmoModel(config)


MODELS: dict[str, Callable[[int, Any], Any]] = {
    "bert-uncased": _bert_model,
    "bert-cased": _bert_model,
    "roberta": _roberta_model,
    "roberta-prefix": _roberta_model,
    "roberta-untrimmed": _roberta_model,
    "gpt2": _gpt2_model,
    "modernbert": _modernbert_model,
    "llama3": _llama_model,
    "llama2": _llama_model,
    "swallowing": _gpt2_model,
    "xlmr": _roberta_model,
    "t5": _t5_model,
    "albert": _albert_model,
    "xlnet": _xlnet_model,
    "longformer": _longformer_model,
    "elmo": _elmo_model,
}
