"""The page as one offline file: the script, tables as int8, a map, and some sentences."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordstill.analysis.concordance import Concordance
from wordstill.core.files import write_file
from wordstill.errors import DataError, WordstillError
from wordstill.explore.answers import Answers
from wordstill.explore.layout import WordMap
from wordstill.explore.library import Library, LoadedTable
from wordstill.explore.meanings import Meanings
from wordstill.explore.score_answers import ScoreAnswers
from wordstill.vectors.compressed import quantize
from wordstill.vectors.folds import with_folds
from wordstill.vectors.table import WordVectors

MOST_BYTES = 20_000_000
SENTENCE_PART = 0.3
"""Total characters of sentences per byte of the file; compressed, they are about a third."""
OTHER_BYTES_PER_WORD = 24
"""Approximate size of a word without its vector: spelling, count, coordinates."""
SPARE_BYTES = 400_000
LINES_PER_WORD = 8
BLOCKS = 64
FEWEST_WORDS = 100
ITEM_ERRORS = 12
MEANING_WORDS = 1_500
"""Number of words per table with senses and groups in the file: those that changed most, and the most frequent."""


@dataclass(frozen=True)
class Written:
    """What the file contains."""

    words: int
    """Words of the largest table."""
    notes: list[str]
    """What was left out."""


def write_page(library: Library, path: Path) -> Written:
    """Write the page; of a table that does not fit, it has the most frequent words."""
    page, written = make_page(library)
    write_file(path, page)
    return written


def make_page(
    library: Library, most_bytes: int = MOST_BYTES, meaning_words: int = MEANING_WORDS
) -> tuple[bytes, Written]:
    """The page as bytes."""
    maps = {name: table.maps.compute(library.method) for name, table in library.tables.items()}
    lines = _sentences(library, int(SENTENCE_PART * most_bytes))
    meanings = {name: _meanings(library, table, meaning_words) for name, table in library.tables.items()}
    room = most_bytes - SPARE_BYTES - len(_packed(lines)) - len(_packed(meanings))
    per_word = sum(4 * (table.vectors.dim + 4) / 3 + OTHER_BYTES_PER_WORD for table in library.tables.values())
    kept = max(FEWEST_WORDS, int(room / per_word))
    while True:
        page = _page(library, maps, {"lines": lines, "meanings": meanings}, kept, _notes(library, kept, most_bytes))
        if len(page) <= most_bytes:
            break
        if kept <= FEWEST_WORDS:
            raise DataError(f"A page of {kept} words has {len(page):,} bytes, expected at most {most_bytes:,}.")
        kept = max(FEWEST_WORDS, int(kept * 0.95 * most_bytes / len(page)))
    largest = max(len(table.vectors) for table in library.tables.values())
    return page, Written(min(kept, largest), _notes(library, kept, most_bytes))


def _notes(library: Library, kept: int, most_bytes: int) -> list[str]:
    notes = []
    for table in library.tables.values():
        held, mapped = len(_rows(table, kept)), len(table.maps.rows)
        why = f"to stay under {most_bytes / 1_000_000:g} MB" if held < mapped else "as many as a map shows"
        if held < len(table.vectors):
            most = f"the {held:,} most frequent of the {len(table.vectors):,} words of {table.name}"
            notes.append(f"The file holds {most}, {why}.")
    return notes


def _rows(table: LoadedTable, kept: int) -> NDArray[np.int64]:
    """The rows in the file: the most frequent words on the map, in the order of the table."""
    return np.sort(table.frequent[:kept])


def _page(library: Library, maps: dict[str, WordMap], texts: dict[str, Any], kept: int, notes: list[str]) -> bytes:
    answers = Answers(library)
    contents = answers.tables()
    cards = [
        replace(card, words=len(rows), on_map=len(rows), has_folds=False)
        for card, rows in zip(contents.tables, (_rows(table, kept) for table in library.tables.values()))
    ]
    about = asdict(replace(contents, tables=cards, layouts=[library.method])) | {"note": " ".join(notes)}
    content = {
        "contents": about,
        "loaded": [_words(answers, table, maps[table.name], _rows(table, kept)) for table in library.tables.values()],
        **texts,
        "sentences_note": sentences_note(library),
        "comparisons": [asdict(Answers(library).compare(*pair)) for pair in permutations(library.tables, 2)],
        "score_reply": asdict(ScoreAnswers(library).scores()),
        "item_errors": dict(_item_errors(library)),
    }
    vectors = [_vectors(table, _rows(table, kept)) for table in library.tables.values()]
    return _assembled(json.dumps({"content": _packed(content), "vectors": vectors}))


def sentences_note(library: Library) -> str | None:
    """A note on the sentences that are not in the file."""
    if library.corpus is None:
        return "Sentences need the prepared text: wordstill explore TABLE --text STORE --html FILE."
    return "This file holds a few sentences for each word; wordstill explore shows all of them."


def _words(answers: Answers, table: LoadedTable, made: WordMap, rows: NDArray[np.int64]) -> dict[str, Any]:
    vectors = table.vectors
    places = np.searchsorted(made.rows, rows)
    typical = answers.groups(table.name).words
    xy = np.round(made.places[places].astype(np.float64), 4)
    return {
        "name": table.name,
        "dim": vectors.dim,
        "words": [vectors.words[row] for row in rows.tolist()],
        "counts": None if vectors.counts is None else vectors.counts[rows].tolist(),
        "ranks": (rows + 1).tolist(),
        "groups": [typical[place] for place in places.tolist()],
        "map": {
            "method": made.method,
            "x": xy[:, 0].tolist(),
            "y": xy[:, 1].tolist(),
            "clusters": None if made.clusters is None else made.clusters[places].tolist(),
            "cluster_names": list(made.cluster_names),
        },
    }


def _vectors(table: LoadedTable, rows: NDArray[np.int64]) -> dict[str, str]:
    words = [table.vectors.words[row] for row in rows.tolist()]
    made = quantize(WordVectors(words, table.vectors.unit[rows], distinct=True))
    return {"numbers": _text(made.vectors.tobytes()), "scales": _text(made.scales.astype("<f4").tobytes())}


def _item_errors(library: Library) -> Iterator[tuple[str, Any]]:
    evaluation = library.scores
    if evaluation is None:
        return
    for name in library.tables:
        scored = evaluation["tables"].get(name, {"scores": []})["scores"]
        for dataset in [score["dataset"] for score in scored if score.get("task") in ("similarity", "analogy")]:
            try:
                yield f"{dataset}|{name}", asdict(ScoreAnswers(library).errors(dataset, name, ITEM_ERRORS))
            except WordstillError:
                continue


def _meanings(library: Library, table: LoadedTable, most: int) -> dict[str, Any]:
    """Senses and groups of at most ``most`` words, and the words that changed most."""
    asked, vectors = Meanings(library), table.vectors
    replies: dict[str, Any] = {"senses": {}, "timelines": {}, "changed": None}
    words = [word for word in (vectors.words[row] for row in table.frequent.tolist()) if any(map(str.isalpha, word))]
    if len(vectors.groups) > 1:
        changed = asked.changed(table=table.name)
        replies["changed"] = asdict(changed)
        words = list(dict.fromkeys([*(one.word for one in changed.words), *words]))
        tracked = [word for word in words if vectors.index(word) in with_folds(vectors)][:most]
        replies["timelines"] = {word: asdict(asked.timeline(word, table.name)) for word in tracked}
    if table.senses is not None:
        known = [word for word in words if table.senses.find(word) is not None][:most]
        replies["senses"] = {word: asdict(asked.senses(word, table.name)) for word in known}
    return replies


def _sentences(library: Library, most: int) -> dict[str, Any] | None:
    """Sentences with the spans of words in them: at least one for each word, as far as they fit."""
    first = next(iter(library.tables.values()))
    concordance = library.concordance(first.name)
    if concordance is None:
        return None
    texts: list[str] = []
    places: dict[str, list[tuple[int, int, int]]] = {}
    size = 0
    for sentence in _chosen(concordance):
        text, spans = concordance.words_of_sentence(sentence)
        size += len(text)
        if size > most:
            break
        for row, start, end in spans:
            own = places.setdefault(first.vectors.words[row], [])
            if len(own) < LINES_PER_WORD and (not own or own[-1][0] != len(texts)):
                own.append((len(texts), start, end - start))
        texts.append(text)
    totals = concordance.totals()
    return {
        "texts": texts,
        "places": places,
        "totals": {word: int(totals[first.vectors.index(word)]) for word in places},
    }


def _chosen(concordance: Concordance) -> Iterator[int]:
    """Sentences in an order that covers many words early: one for each word of a block of the text."""
    corpus = concordance.corpus
    bounds = np.linspace(0, len(corpus.sentences) - 1, min(BLOCKS, len(corpus.sentences) - 1) + 1).astype(int)
    seen: set[int] = set()
    shown = np.zeros(len(concordance.vectors), dtype=np.int64)
    for turn in range(1, LINES_PER_WORD):
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            rows, sentences = concordance.words_between(start, end)
            words, firsts = np.unique(rows, return_index=True)
            lacking = firsts[shown[words] < turn]
            for sentence in np.unique(sentences[lacking]).tolist():
                if sentence not in seen:
                    seen.add(sentence)
                    inside = rows[sentences == sentence]
                    if (shown[inside] < turn).any():
                        shown[np.unique(inside)] += 1
                        yield sentence


def _packed(content: Any) -> str:
    # With a zero time, so that the same library gives the same file.
    return _text(gzip.compress(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"), 6, mtime=0))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _assembled(data: str) -> bytes:
    """The page with its style, script and data inline; its content security policy allows only these."""
    folder = files("wordstill.explore") / "static"
    page, style, script, icon, notices = (
        folder.joinpath(name).read_text(encoding="utf-8")
        for name in ("index.html", "page.css", "page.js", "icon.svg", "notices.txt")
    )
    # An end tag inside the script would end it early.
    script = script.replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    icon_text = _text(icon.encode())
    changes = (
        (r'<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}'),
        (r'<link rel="icon"[^>]*>', f'<link rel="icon" href="data:image/svg+xml;base64,{icon_text}">'),
        (r'<link rel="stylesheet"[^>]*>', f"<style>{style}</style>"),
        (
            r'<script type="module"[^>]*></script>',
            f'<script id="data" type="application/json">{data}</script>\n<script type="module">{script}</script>',
        ),
        (r"</html>\s*$", f"</html>\n<!--\n{notices.replace('--', '- -')}\n-->\n"),
    )
    for pattern, put in changes:
        page, count = re.subn(pattern, lambda _, put=put: put, page, count=1)  # type: ignore[misc]
        assert count == 1, pattern
    return page.encode()


def _hash(text: str) -> str:
    return _text(hashlib.sha256(text.encode()).digest())
