from __future__ import annotations

import pytest

from wordstill.corpus import PrepareConfig
from wordstill.errors import UsageError

WRONG = [
    ({"format": "jsnl"}, r"Unknown value of format 'jsnl'.*'jsonl'"),
    ({"errors": "ignore"}, r"'ignore'.*replace, strict"),
    ({"encoding": "utf-9"}, r"encoding 'utf-9'"),
    ({"filter": "non"}, r"filter 'non'.*'none'"),
    ({"segmenter": "chinse"}, r"Unknown segmenter 'chinse'. Did you mean 'chinese'"),
    ({"splitter_language": "klingon"}, r"splitter_language must be a code such as en"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG)
def test_wrong_settings(settings: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PrepareConfig(**settings)  # type: ignore[arg-type]
