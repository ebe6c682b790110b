"""Paraphrases by round-trip translation: into another language and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import torch

from wordstill.corpus.segment import word_spans
from wordstill.errors import MissingExtra, UsageError
from wordstill.meaning.greedy_search import GreedySearch
from wordstill.teacher import batches_by_length, load_model_and_tokenizer, quiet
from wordstill.teacher.device import choose_device, choose_precision

CPU_BUDGET, GPU_BUDGET = 1024, 131072
"""Subwords in a batch. On a GPU, a decoder step takes about as long for many sentences as for few."""
USUAL_LIMIT = 512
SURVIVING = 0.1
"""Minimum share of a sentence's words that a round trip preserves; proper pairs preserve more than half."""
PROBED = 200
SUBWORDS_FILE = "source.spm"
"""Marian's subword models, which transformers reads with sentencepiece."""
MARIAN = "marian"
"""The kind of model for which CTranslate2's translations were compared with those of transformers."""
TOKENS_AT_ONCE = 16384


class Paraphraser(Protocol):
    """Paraphrases sentences."""

    @property
    def name(self) -> str:
        """Name of the paraphraser in a file of triples."""
        ...

    def paraphrase(self, sentences: Sequence[str]) -> list[str]:
        """A paraphrase of each sentence; empty if there is none."""
        ...


class Translates(Protocol):
    """A translator from one language into another."""

    name: str
    languages: tuple[str, str] | None
    """Source and target language, if known."""

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Each sentence in the other language; empty for one that is empty or over the limit."""
        ...


def open_translator(name: str | Path, *, device: str = "auto", dtype: str = "auto") -> Translates:
    """Load a translator from a folder or the Hub; on a CPU with CTranslate2, if it is installed and knows the model.

    Raises:
        TeacherError: There is none.
        MissingExtra: Its tokenizer needs a package that is not installed.
    """
    translator = Translator.from_pretrained(name, device=device, dtype=dtype)
    if translator.device.type != "cpu" or translator.kind != MARIAN or find_spec("ctranslate2") is None:
        return translator
    return CompiledTranslator(name, translator)


class Translator:
    """Any sequence-to-sequence model of transformers; with one beam, the search is greedy and fastest.

    Attributes:
        languages: Source and target language, if the model declares them.
        kind: The model type in transformers.
    """

    def __init__(
        self, model: Any, tokenizer: Any, name: str, *, device: str = "auto", dtype: str = "auto", beams: int = 1
    ) -> None:
        self.name, self.tokenizer, self.beams = name, tokenizer, beams
        self.device = choose_device(device)
        self.model = model.eval().to(self.device, choose_precision(dtype, self.device))
        positions = getattr(model.config, "max_position_embeddings", None) or USUAL_LIMIT
        self.limit = min(int(tokenizer.model_max_length), int(positions), USUAL_LIMIT)
        self.languages = _languages(model, tokenizer)
        self.kind = str(getattr(model.config, "model_type", ""))
        self._pad = int(tokenizer.pad_token_id or 0)
        self._budget = CPU_BUDGET if self.device.type == "cpu" else GPU_BUDGET

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "auto", dtype: str = "auto", beams: int = 1
    ) -> Translator:
        """Load a translator by folder or by name on the Hub.

        Raises:
            TeacherError: There is none.
        """
        if find_spec("sentencepiece") is None and (Path(name).expanduser() / SUBWORDS_FILE).is_file():
            raise MissingExtra("sentencepiece", "translate", f"The translator {name}")
        model, tokenizer = load_model_and_tokenizer(name, "translator")
        return cls(model, tokenizer, str(name), device=device, dtype=dtype, beams=beams)

    @torch.inference_mode()
    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Each sentence in the other language; empty for one that is empty or over the limit."""
        ids = self.tokenizer(list(sentences), truncation=False, verbose=False)["input_ids"]
        lengths = np.array([len(row) for row in ids], dtype=np.int64)
        usable = np.array([bool(sentence.strip()) for sentence in sentences], dtype=np.bool_)
        result = [""] * len(sentences)
        for rows in batches_by_length(np.where(usable & (lengths <= self.limit), lengths, 0), self._budget):
            for row, text in zip(rows.tolist(), self._translated([ids[row] for row in rows])):
                result[row] = " ".join(text.split())
        return result

    def _translated(self, ids: list[list[int]]) -> list[str]:
        """Translations of one batch, in two halves if memory is short."""
        try:
            return self._generated(ids)
        except torch.OutOfMemoryError:
            if len(ids) == 1:
                raise
        torch.cuda.empty_cache()
        half = len(ids) // 2
        return self._translated(ids[:half]) + self._translated(ids[half:])

    def _generated(self, ids: list[list[int]]) -> list[str]:
        # The tokenizer's own padding would take a large part of the time.
        rows = [torch.tensor(row) for row in ids]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self._pad)
        mask = torch.arange(padded.shape[1]) < torch.tensor([len(row) for row in ids])[:, None]
        most = [_longest(len(row), self.limit) for row in ids]
        padded, mask = padded.to(self.device), mask.long().to(self.device)
        if self.kind == MARIAN and self.beams == 1:
            kept = self._search.search(padded, mask, most)
        else:
            output = self.model.generate(
                input_ids=padded,
                attention_mask=mask,
                num_beams=self.beams,
                do_sample=False,
                max_length=None,
                max_new_tokens=max(most),
            )
            # Endless translations are cut at the same length in any batch; the first one is the start token.
            kept = [row[: 1 + limit] for row, limit in zip(output.tolist(), most)]
        texts: list[str] = self.tokenizer.batch_decode(kept, skip_special_tokens=True)
        return texts

    @cached_property
    def _search(self) -> GreedySearch:
        return GreedySearch(self.model)


class CompiledTranslator:
    """A translator converted to CTranslate2, several times faster on a CPU; the search is greedy.

    Args:
        name: Folder or name of the model.
        translator: The same model loaded with transformers, whose weights are released.
    """

    def __init__(self, name: str | Path, translator: Translator) -> None:
        import ctranslate2

        self.name, self.languages = f"{translator.name} (CTranslate2)", translator.languages
        self.tokenizer, self.limit = translator.tokenizer, translator.limit
        del translator.model
        with TemporaryDirectory(prefix="wordstill-") as folder, quiet():
            ctranslate2.converters.TransformersConverter(str(Path(name).expanduser())).convert(f"{folder}/model")
            threads = torch.get_num_threads()
            self.model: Any = ctranslate2.Translator(f"{folder}/model", device="cpu", intra_threads=threads)

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Each sentence in the other language; empty for one that is empty or over the limit."""
        ids = self.tokenizer(list(sentences), truncation=False, verbose=False)["input_ids"]
        rows = [row for row, text in enumerate(sentences) if text.strip() and len(ids[row]) <= self.limit]
        found = [""] * len(sentences)
        if not rows:
            return found
        most = [_longest(len(ids[row]), self.limit) for row in rows]
        results = self.model.translate_batch(
            [self.tokenizer.convert_ids_to_tokens(ids[row]) for row in rows],
            beam_size=1,
            max_batch_size=TOKENS_AT_ONCE,
            batch_type="tokens",
            min_decoding_length=0,
            max_decoding_length=max(most),
        )
        tokens = [result.hypotheses[0][:limit] for limit, result in zip(most, results)]
        texts = self.tokenizer.batch_decode(
            [self.tokenizer.convert_tokens_to_ids(row) for row in tokens], skip_special_tokens=True
        )
        for row, text in zip(rows, texts):
            found[row] = " ".join(text.split())
        return found


class RoundTrip:
    """Translates from the language of the text into another one and back.

    Raises:
        UsageError: The two do not belong together.
    """

    def __init__(self, there: Translates, back: Translates) -> None:
        self.there, self.back = there, back
        self.name = f"{there.name} and {back.name}"
        self._probed = False
        if there.languages and back.languages and there.languages != back.languages[::-1]:
            raise UsageError(
                f"The translators do not belong together: {there.name} is from {there.languages[0]} into "
                f"{there.languages[1]}, {back.name} from {back.languages[0]} into {back.languages[1]}. "
                "The second must lead back."
            )

    def paraphrase(self, sentences: Sequence[str]) -> list[str]:
        """Translate each sentence there and back; empty if it is over a translator's limit.

        Raises:
            UsageError: Almost no word is preserved, so the languages are wrong.
        """
        found = self.back.translate(self.there.translate(sentences))
        if not self._probed:
            self._refuse_other_language(sentences[:PROBED], found[:PROBED])
            self._probed = True
        return found

    def _refuse_other_language(self, sentences: Sequence[str], found: Sequence[str]) -> None:
        shares = [_surviving(sentence, other) for sentence, other in zip(sentences, found) if other]
        share = sum(shares) / len(shares) if shares else 0.0
        if share < SURVIVING:
            raise UsageError(
                f"Of the words of a sentence only {share:.0%} come back from {self.name}: for "
                f"{sentences[0][:60]!r} came {found[0][:60]!r}. Is one of them for another language, or are "
                "they in the wrong order?"
            )


def _longest(subwords: int, limit: int) -> int:
    """Maximum length of a translation in subwords, since some never end."""
    return min(limit - 1, subwords * 3 // 2 + 10)


def _surviving(sentence: str, other: str) -> float:
    words = {sentence[start:end].casefold() for start, end in word_spans(sentence) if sentence[start:end].isalpha()}
    back = {other[start:end].casefold() for start, end in word_spans(other)}
    return len(words & back) / max(1, len(words))


def _languages(model: Any, tokenizer: Any) -> tuple[str, str] | None:
    declared = getattr(getattr(model, "config", None), "languages", None)
    if isinstance(declared, list | tuple) and len(declared) == 2:
        return str(declared[0]), str(declared[1])
    source, target = (getattr(tokenizer, name, None) for name in ("source_lang", "target_lang"))
    return (str(source), str(target)) if source and target else None
