r"""Synonym rules for Lucene, Solr and Elasticsearch: comma lists in the format of Lucene's ``SolrSynonymParser``.

A line ``a, b, c`` makes each word match the others. Engines do not merge lines that share a word transitively, so pairs
are written as cliques: a line has three words only if all three pairs are synonyms. The parser splits at ``=>`` and
commas, takes the character after a backslash literally, and skips lines that begin with ``#``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wordstill.analysis.synonyms import Pair, spoken
from wordstill.core.files import write_file

ELASTICSEARCH = ".json"
"""File name suffix for a synonym set of Elasticsearch's API."""


class Rule(NamedTuple):
    """Words that are all synonyms of each other."""

    words: tuple[str, ...]
    cosine: float
    """The smallest cosine of its pairs."""


def rules(pairs: Sequence[Pair]) -> list[Rule]:
    """Cliques that cover exactly these pairs, the nearest pairs first."""
    cosines: dict[str, dict[str, float]] = defaultdict(dict)
    for pair in pairs:
        cosines[pair.word][pair.other] = cosines[pair.other][pair.word] = pair.cosine
    done: set[frozenset[str]] = set()
    found = []
    for pair in sorted(pairs, key=lambda pair: (-pair.cosine, pair.word, pair.other)):
        if frozenset((pair.word, pair.other)) in done:
            continue
        clique = _grown(cosines, [pair.word, pair.other])
        inside = [(one, other) for place, one in enumerate(clique) for other in clique[place + 1 :]]
        done.update(frozenset(ends) for ends in inside)
        found.append(Rule(tuple(clique), min(cosines[one][other] for one, other in inside)))
    return found


def escape(word: str) -> str:
    r"""A word escaped for the parser.

    >>> escape("a,b => #c\\d")
    'a\\,b \\=> #c\\\\d'
    """
    escaped = word.replace("\\", "\\\\").replace(",", "\\,").replace("=>", "\\=>")
    return f"\\{escaped}" if escaped.startswith("#") else escaped


def write_rules(path: Path, found: Sequence[Rule], title: str) -> None:
    """Write rules atomically: as a JSON synonym set if the name ends in ``.json``, else as lines."""
    texts = [", ".join(escape(spoken(word)) for word in rule.words) for rule in found]
    if path.suffix.lower() == ELASTICSEARCH:
        entries = [{"id": f"rule-{number}", "synonyms": text} for number, text in enumerate(texts, 1)]
        content = json.dumps({"synonyms_set": entries}, ensure_ascii=False, indent=1) + "\n"
    else:
        lines = [f"# cosine {rule.cosine:.4f}\n{text}\n" for rule, text in zip(found, texts)]
        content = "".join([f"# {' '.join(title.split())}\n", *lines])
    write_file(path, content)


def _grown(cosines: Mapping[str, Mapping[str, float]], clique: list[str]) -> list[str]:
    """The clique, extended greedily by words linked to all its members, those nearest to its first word first."""
    start = cosines[clique[0]]
    for word in sorted(start, key=lambda other: (-start[other], other)):
        if word not in clique and all(word in cosines[member] for member in clique):
            clique.append(word)
    return clique
