"""Ready-made paraphrases: a file with a sentence, a tab and the sentence in other words on each line."""

from __future__ import annotations

from pathlib import Path

from wordstill.errors import DataError


def read_paraphrases(path: str | Path) -> tuple[list[str], list[str]]:
    """Sentences and their paraphrases; further columns are not read, blank lines are left out.

    Raises:
        DataError: The file cannot be read, or a line has no two sentences.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The paraphrases {path} cannot be read: {error}.") from error
    sentences: list[str] = []
    others: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        columns = [" ".join(column.split()) for column in line.split("\t")]
        if len(columns) < 2 or not all(columns[:2]):
            raise DataError(
                f"{path}:{number}: expected a sentence, a tab and its paraphrase, got {line.rstrip()[:60]!r}."
            )
        sentences.append(columns[0])
        others.append(columns[1])
    if not sentences:
        raise DataError(f"{path} has no paraphrases.")
    return sentences, others
