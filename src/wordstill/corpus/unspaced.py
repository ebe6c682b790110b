"""Text without spaces between words: found, and reported with the segmenter that it needs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping

import numpy as np

from wordstill.corpus.segment import WordSegmenter
from wordstill.corpus.segmenters import SEGMENTERS, PossessiveSegmenter
from wordstill.corpus.store import Corpus

CUT_AT_SPACES = (WordSegmenter.name, PossessiveSegmenter.name)
SAMPLE_FORMS = 2_000
WORTH_WARNING = 0.3
KANA_OF_JAPANESE = 0.1
"""From so many kana among its Han characters on, a text is Japanese."""
RANGES: Mapping[str, tuple[tuple[int, int], ...]] = {
    "chinese": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x3FFFF)),
    "japanese": ((0x3041, 0x30FF), (0xFF66, 0xFF9D)),
    "thai": ((0x0E01, 0x0E5B),),
    "lao": ((0x0E81, 0x0EDF),),
    "burmese": ((0x1000, 0x109F),),
    "khmer": ((0x1780, 0x17FF),),
}
"""Characters of languages that write no spaces; those of kana stand for Japanese."""


def warn_if_unspaced(corpus: Corpus) -> None:
    """Warn if much of a text is in a script without spaces, but was cut at spaces."""
    if corpus.meta["settings"]["segmenter"] not in CUT_AT_SPACES:
        return
    language, share = unspaced_share(corpus)
    if share < WORTH_WARNING:
        return
    advice = (
        f"Prepare it with --segmenter {language} (segmenter={language!r})."
        if language in SEGMENTERS
        else "Give prepare() a segmenter for it."
    )
    warnings.warn(
        f"{share:.0%} of the text is in a script without spaces, probably {language.capitalize()}: single "
        f"characters or whole phrases are taken for words. {advice}",
        stacklevel=3,
    )


def unspaced_share(corpus: Corpus) -> tuple[str, float]:
    """The most frequent language without spaces, by its script, and its share of a sample of the text."""
    forms = corpus.forms
    sample = np.linspace(0, len(forms) - 1, min(SAMPLE_FORMS, len(forms)), dtype=np.int64)
    found: Counter[str] = Counter()
    total = 0
    for number in sample.tolist():
        letters = np.frombuffer(forms[number].strip().encode("utf-32-le"), dtype=np.uint32)
        count = int(forms.counts[number])
        total += count * len(letters)
        for language, ranges in RANGES.items():
            found[language] += count * sum(int(((low <= letters) & (letters <= high)).sum()) for low, high in ranges)
    if found["japanese"] > KANA_OF_JAPANESE * found["chinese"]:
        found["japanese"] += found.pop("chinese")
    language, number = found.most_common(1)[0]
    return language, number / max(total, 1)


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces."""
    code = ord(character)
    return any(low <= code <= high for ranges in RANGES.values() for low, high in ranges)
