"""Planted change: words are swapped in a share of the documents of one group, to test how well this is detected.

Example: python -m experiments.analysis.planted enwiki-a.txt.xz --name enwiki-a --title "English Wikipedia"

Documents are divided at random into two groups. Pairs of words with similar frequencies are drawn; in the second group
they are swapped in a share of their occurrences, from 0 to 1 by pair, so that the true ranking of changes is known.
`still` ranks words by `wordstill change` on one table; word2vec is trained on each group, and the two tables are
aligned by orthogonal Procrustes (Hamilton et al. 2016). The result is results/analysis/planted-NAME.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np

from experiments.analysis.documents import documents, study_parser
from experiments.record import command_line, current_commit, machine, write_json
from wordstill import distill
from wordstill.analysis.change import Measure, change
from wordstill.baselines import train
from wordstill.corpus import PrepareConfig
from wordstill.distillation import DistillConfig
from wordstill.evaluation.statistics import spearman
from wordstill.vectors import WordVectors

MODULE = "experiments.analysis.planted"
SHARES = tuple(number / 10 for number in range(11))
MOST_TIMES = 20
"""Maximum ratio between the frequencies of swapped words."""
WORD = re.compile(r"[a-z]{4,}")
BASELINES = ("skipgram:dim=100,epochs=20", "cbow:dim=100,epochs=20")
GROUPS = ("before", "after")


def main() -> None:
    """Plant change, measure it, and write the result."""
    options = arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    texts = documents(options.text, options.words, options.skip)
    group: list[int] = rng.integers(0, 2, size=len(texts)).tolist()
    pairs = choose_pairs(texts, group, options.pairs, options.least, rng)
    changed = [plant(text, pairs, rng) if late else text for text, late in zip(texts, group)]
    planted = {word: share for share, *pair in pairs for word in pair}
    for number, name in enumerate(GROUPS):
        own = [text for text, late in zip(changed, group) if late == number]
        (options.work / f"{name}.txt").write_text("\n".join(own), encoding="utf-8")
    rows = [json.dumps({"text": text, "group": GROUPS[late]}) for text, late in zip(changed, group)]
    (options.work / "text.jsonl").write_text("\n".join(rows), encoding="utf-8")
    facts: dict[str, Any] = {
        "title": options.title,
        "command": command_line(MODULE, sys.argv[1:]),
        "commit": options.commit or current_commit(),
        "seed": options.seed,
        "machine": machine(),
        "words": sum(len(text.split()) for text in texts),
        "documents": len(texts),
        "planted": len(planted),
        "systems": {},
    }
    for system, found in chain(ours(options.work, options.method, planted), baselines(options.work, planted)):
        both = sorted(set(found) & set(planted))
        apart = {word: found[word]["distance"] for word in both}
        facts["systems"][system] = {
            "words": len(both),
            "spearman": spearman(*(np.array([values[word] for word in both]) for values in (planted, apart))),
            "found": {word: {"planted": planted[word], **found[word]} for word in both},
        }
        print(system, len(both), facts["systems"][system]["spearman"], flush=True)
        write_json(options.out / f"planted-{options.name}.json", facts)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = study_parser(MODULE, __doc__, "planted")
    parser.add_argument("--skip", type=int, default=0, help="documents of the text that are skipped")
    parser.add_argument("--method", action="append", default=[], help="methods with folds; by default still")
    parser.add_argument("--least", type=int, default=150, help="occurrences of the words that trade places")
    parser.add_argument("--pairs", type=int, default=55, help="pairs of words that trade places")
    options = parser.parse_args()
    options.method = options.method or ["still"]
    return options


def choose_pairs(
    texts: Sequence[str], group: Sequence[int], pairs: int, least: int, rng: np.random.Generator
) -> list[tuple[float, str, str]]:
    """Shares and pairs of words with about the same frequency; only how often they occur is looked at."""
    counts: list[Counter[str]] = [Counter(), Counter()]
    for text, number in zip(texts, group):
        counts[number].update(text.split())
    both = {word: counts[0][word] + counts[1][word] for word in counts[0] if WORD.fullmatch(word)}
    fewest = {word: min(counts[0][word], counts[1][word]) for word in both}
    known = sorted(
        word for word, count in both.items() if least <= count <= MOST_TIMES * least and fewest[word] >= least // 3
    )
    drawn = sorted(rng.choice(known, 2 * pairs, replace=False), key=lambda word: both[word])
    shares = rng.permutation([SHARES[number % len(SHARES)] for number in range(pairs)])
    return [(float(share), str(drawn[2 * at]), str(drawn[2 * at + 1])) for at, share in enumerate(shares)]


def plant(text: str, pairs: Sequence[tuple[float, str, str]], rng: np.random.Generator) -> str:
    """Let words trade places, each occurrence with the probability of its pair."""
    other = {word: (partner, share) for share, *pair in pairs for word, partner in (pair, pair[::-1])}

    def traded(match: re.Match[str]) -> str:
        word = match[0]
        partner, share = other.get(word.lower(), (word, 0.0))
        if rng.random() >= share:
            return word
        return partner.capitalize() if word[0].isupper() else partner

    return re.sub(r"[A-Za-z]+", traded, text)


Found = Iterator[tuple[str, dict[str, dict[str, float]]]]


def ours(work: Path, methods: Sequence[str], planted: dict[str, float]) -> Found:
    """Change of the planted words by methods with folds, from one pass, with intervals."""
    config = DistillConfig(tuple(methods), prepare=PrepareConfig(group="group"), track=tuple(planted))
    for label, table in distill(work / "text.jsonl", config=config, progress=True).items():
        found = change(table, *GROUPS)
        for measure in get_args(Measure):
            yield (
                f"{label}, {measure}",
                {
                    each.word: {
                        "distance": each.by(measure).value,
                        "low": each.by(measure).low,
                        "high": each.by(measure).high,
                        "p": float(each.p or 0.0),
                        "q": float(each.q or 0.0),
                    }
                    for each in found.words
                },
            )


def baselines(work: Path, planted: dict[str, float]) -> Found:
    """Cosine distances of the planted words between two tables of word2vec, one rotated onto the other."""
    for spec in BASELINES:
        before, after = (next(iter(train(work / f"{name}.txt", methods=[spec]).values())) for name in GROUPS)
        apart = aligned(before, after, list(planted))
        yield f"{spec}, Procrustes", {word: {"distance": distance} for word, distance in apart.items()}


def aligned(before: WordVectors, after: WordVectors, words: Sequence[str]) -> dict[str, float]:
    """Cosine distances of words after an orthogonal rotation over all common words of unit length."""
    common = [word for word in before.words if word in after]
    one, two = (table.unit[[table.index(word) for word in common]].astype(np.float64) for table in (before, after))
    left, _, right = np.linalg.svd(two.T @ one)
    turned = two @ left @ right
    place = {word: number for number, word in enumerate(common)}
    return {word: float(1 - one[place[word]] @ turned[place[word]]) for word in words if word in place}


if __name__ == "__main__":
    main()
