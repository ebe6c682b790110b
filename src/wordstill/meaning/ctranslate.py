"""Translators that were converted for CTranslate2, which decodes several times faster on CPUs.

ct2-transformers-converter --model MODEL --output_dir FOLDER --copy_files tokenizer.json tokenizer_config.json
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordstill.errors import TeacherError, in_one_line
from wordstill.meaning.translation import Translates, Translator, longest_translation
from wordstill.teacher.device import choose_device

WEIGHTS = "model.bin"
TOKENS_AT_ONCE = 16384
LIMIT = 512


def load_translator(name: str | Path, *, device: str = "auto", dtype: str = "auto") -> Translates:
    """A translator from a folder of CTranslate2, or any sequence-to-sequence model of transformers.

    Raises:
        TeacherError: There is none, or the folder needs CTranslate2 and that is not installed.
    """
    folder = Path(name).expanduser()
    if (folder / WEIGHTS).is_file():
        return CompiledTranslator.from_folder(folder, device=device)
    return Translator.from_pretrained(name, device=device, dtype=dtype)


class CompiledTranslator:
    """A model of CTranslate2; its tokenizer is that of the model it was converted from.

    Args:
        model: A ``ctranslate2.Translator``.
        tokenizer: Of transformers.
        name: For messages.

    Attributes:
        languages: Not known: such a folder does not say them.
    """

    languages: tuple[str, str] | None = None

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.limit = min(int(tokenizer.model_max_length), LIMIT)

    @classmethod
    def from_folder(cls, folder: Path, *, device: str = "auto") -> CompiledTranslator:
        """Open a folder.

        Raises:
            TeacherError: CTranslate2 is not installed, or the folder is not whole.
        """
        try:
            ctranslate2: Any = importlib.import_module("ctranslate2")
        except ImportError:
            raise TeacherError(
                f"{folder} holds a translator for CTranslate2, which is not installed. Install it with "
                "pip install ctranslate2, or give the model of transformers that it was converted from."
            ) from None
        import transformers

        try:
            model = ctranslate2.Translator(str(folder), device=choose_device(device).type)
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        except Exception as error:  # Broken files come as nearly every kind of error.
            reason = in_one_line(error)
            raise TeacherError(
                f"Cannot load the translator {str(folder)!r} ({reason}). Convert it again, with --copy_files "
                "for the files of its tokenizer."
            ) from error
        return cls(model, tokenizer, str(folder))

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Each sentence in the other language; empty for one that is empty or over the limit."""
        ids = self.tokenizer(list(sentences), truncation=False, verbose=False)["input_ids"]
        rows = [row for row, text in enumerate(sentences) if text.strip() and len(ids[row]) <= self.limit]
        found = [""] * len(sentences)
        if not rows:
            return found
        most = [longest_translation(len(ids[row]), self.limit) for row in rows]
        results = self.model.translate_batch(
            [self.tokenizer.convert_ids_to_tokens(ids[row]) for row in rows],
            beam_size=1,
            max_batch_size=TOKENS_AT_ONCE,
            batch_type="tokens",
            max_decoding_length=max(most),
        )
        for row, limit, result in zip(rows, most, results):
            tokens = self.tokenizer.convert_tokens_to_ids(result.hypotheses[0][:limit])
            text = self.tokenizer.decode(tokens, skip_special_tokens=True)
            found[row] = " ".join(text.split())
        return found
