"""Senses against single vectors on words in context, and what keeping occurrences costs; keeps JSON.

Example: python -m experiments.quality.senses pick enwiki-a.txt.xz enwiki-b.txt.xz --to picked.txt --list words.txt
         wordstill prepare picked.txt --out store
         wordstill distill store --words words.txt --occurrences 100 --occurrences-of words.txt --out vectors
         python -m experiments.quality.senses measure vectors --name enwiki --title "Sentences of enwiki" --work work
         python -m experiments.quality.senses cost store --name enwiki --title "Sentences of enwiki"

`pick` takes sentences with words of SCWS and of WiC's development and test parts, so that all of them have
occurrences; it looks at no score. `measure` chooses the prediction strength on a development half of SCWS, and
thresholds of WiC on its development part; the rest is reported. `cost` compares a plain distillation with one that
keeps occurrences, by CPU time and peak memory.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.record import add_result_options, origin, write_json
from wordstill.analysis.senses import SenseConfig, Senses
from wordstill.analysis.senses_in_context import KINDS, sense_vectors
from wordstill.core.text_io import numbered_lines
from wordstill.evaluation.data.context_sets import ContextPair
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.statistics import spearman
from wordstill.evaluation.tasks.in_context import PairCosines, best_threshold, correct
from wordstill.teacher import Teacher
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

MODULE = "experiments.quality.senses"
SEED = 0
SETTINGS = [SenseConfig(strength) for strength in (0.55, 0.6, 0.7)]
"""Tried on the development half; the default is one of them."""
RESAMPLES = 2000
ENOUGH, SHORTEST, LONGEST, RATES = 50, 8, 40, (16, 41)
"""Occurrences after which a word is not looked for; words of a sentence; words to each one that is looked for."""
WORD = re.compile(r"\w[\w'-]*")
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")

Floats = NDArray[np.float64]


def main() -> None:
    """Run one of the steps."""
    options = arguments()
    steps: dict[str, Callable[[argparse.Namespace], None]] = {"pick": pick, "measure": measure, "cost": cost}
    steps[options.step](options)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    first = steps.add_parser("pick")
    first.add_argument("texts", type=Path, nargs="+", help="texts with a paragraph on each line")
    first.add_argument("--to", type=Path, required=True, help="the text to write, with a sentence on each line")
    first.add_argument("--list", type=Path, required=True, help="the list of words to write")
    for name, what in (("measure", "a table with occurrences"), ("cost", "a prepared text")):
        step = steps.add_parser(name)
        step.add_argument("input", type=Path, help=what)
        add_result_options(step, "senses", "what text it is")
        if name == "measure":
            step.add_argument("--work", type=Path, required=True, help="folder that keeps states between runs")
        else:
            step.add_argument("--occurrences", default="50", help="how many are kept of each word")
    return parser.parse_args()


def pick(options: argparse.Namespace) -> None:
    """Write sentences with the words of the tests, until each has enough."""
    wanted = {one.word.lower() for pairs in sets().values() for pair in pairs for one in (pair.first, pair.second)}
    options.list.write_text("".join(f"{word}\n" for word in sorted(wanted)), encoding="utf-8")
    seen: Counter[str] = Counter()
    with options.to.open("w", encoding="utf-8") as out:
        for path, rate in zip(options.texts, [*RATES, *[RATES[-1]] * len(options.texts)]):
            for sentence in sentences(path):
                words = WORD.findall(sentence.lower())
                missing = [word for word in words if word in wanted and seen[word] < ENOUGH]
                if SHORTEST <= len(words) <= LONGEST and missing and len(words) / len(missing) < rate:
                    out.write(f"{sentence}\n")
                    seen.update(word for word in words if word in wanted)
    print(f"{len(wanted)} words, {sum(seen[word] >= ENOUGH for word in wanted)} of them {ENOUGH} times or more")


def sentences(path: Path) -> Iterator[str]:
    """Sentences of a text, by a plain rule."""
    for _, line in numbered_lines(path):
        yield from SENTENCE_END.split(line.strip())


def sets() -> dict[str, tuple[ContextPair, ...]]:
    """The pairs, by what they are for."""
    scws, wic = (_parts(name) for name in ("scws", "wic"))
    return {"scws": scws["all"], "wic-dev": wic["dev"], "wic-test": wic["test"]}


def _parts(name: str) -> dict[str, tuple[ContextPair, ...]]:
    found = locate(name)
    parts: dict[str, tuple[ContextPair, ...]] = found.reader(found.path).parts
    return parts


def measure(options: argparse.Namespace) -> None:
    """Score single vectors, the raw mean and senses."""
    table = WordVectors.load(options.input)
    found = {name: (pairs, *read(table, name, pairs, options.work)) for name, pairs in sets().items()}
    cosines = {"plain": {name: rows(table, None, *each) for name, each in found.items()}}
    for config in SETTINGS:
        senses = Senses(table, config)
        cosines[label(config)] = {name: rows(table, senses, *each) for name, each in found.items()}
        print(f"{label(config)}: done", flush=True)
    half = np.zeros(len(found["scws"][0]), dtype=np.bool_)
    half[np.random.default_rng(SEED).permutation(len(half))[: len(half) // 2]] = True
    development = {key: correlation(each["scws"], "average", half) for key, each in cosines.items() if key != "plain"}
    chosen = max(development, key=lambda key: development[key])
    default = label(SenseConfig())
    facts = {
        **origin(MODULE, options),
        "seed": SEED,
        "words": len(table),
        "occurrences": len(Senses(table).occurrences),
        "development": {key: round(value, 2) for key, value in development.items()},
        "chosen": chosen,
        "rows": [
            *(row(cosines["plain"], name, name, half) for name in ("raw", "table")),
            *(
                row({**cosines[key], "plain": cosines["plain"]}, kind, f"{kind}, {key}", half)
                for key in dict.fromkeys((default, chosen))
                for kind in KINDS
            ),
        ],
    }
    write_json(options.out / f"{options.name}.json", facts)
    for each in facts["rows"]:
        print(each)


def label(config: SenseConfig) -> str:
    """Settings in a few words."""
    return f"strength {config.strength:g}"


def read(
    table: WordVectors, name: str, pairs: Sequence[ContextPair], work: Path
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """States of both words of each pair [2 n, width], and which were found; written for the next run.

    The first are means over the top half of layers, the second of the layer whose occurrences are kept.
    """
    path, layer = work / f"{name}.npz", Senses(table).occurrences.layer
    if not path.exists():
        reader = StateReader(Teacher.from_pretrained(table.provenance["teacher"]["name"]), "top-half")
        states, found = reader.states([*(pair.first for pair in pairs), *(pair.second for pair in pairs)])
        work.mkdir(parents=True, exist_ok=True)
        kept_layer = states[:, reader.layers.index(layer)]
        np.savez(path, raw=states.mean(dim=1).cpu().numpy(), kept=kept_layer.cpu().numpy(), found=found)
        print(f"{name}: read", flush=True)
    kept = np.load(path)
    return kept["raw"], kept["kept"], kept["found"]


def rows(
    table: WordVectors,
    senses: Senses | None,
    pairs: Sequence[ContextPair],
    raw: NDArray[np.float32],
    states: NDArray[np.float32],
    found: NDArray[np.bool_],
) -> PairCosines:
    """Similarities of pairs by each kind of vector."""
    words = [one.word for one in (*(pair.first for pair in pairs), *(pair.second for pair in pairs))]
    keys = [word if word in table else word.lower() for word in words]
    single = np.stack([table[key] if key in table else np.zeros(table.dim, dtype=np.float32) for key in keys])
    single = unit_rows(single)
    if senses is None:
        vectors = {"raw": unit_rows(raw), "table": single}
    else:
        vectors = sense_vectors(senses, words, states, found, single)
    return PairCosines.of(vectors, found, np.array([pair.gold for pair in pairs]))


def correlation(pairs: PairCosines, name: str, chosen: NDArray[np.bool_]) -> float:
    """Spearman's correlation on some pairs, in points."""
    kept = chosen & pairs.found
    return 100 * spearman(pairs.gold[kept], pairs.cosines[name][kept])


def row(cosines: dict[str, Any], kind: str, title: str, half: NDArray[np.bool_]) -> dict[str, Any]:
    """Scores of one kind of vector; differences with the single vector on SCWS and with the raw mean on WiC."""
    plain = cosines.get("plain", cosines)
    scws, test = cosines["scws"], right(cosines, kind)
    other = np.flatnonzero(~half & scws.found)
    generator = np.random.default_rng(SEED)
    samples = other[generator.integers(0, len(other), (RESAMPLES, len(other)))]

    def gain(rows: NDArray[np.int64]) -> float:
        own, single = scws.cosines[kind][rows], plain["scws"].cosines["table"][rows]
        return 100 * (spearman(scws.gold[rows], own) - spearman(scws.gold[rows], single))

    raw = right(plain, "raw")
    draws = generator.integers(0, len(raw), (RESAMPLES, len(raw)))
    return {
        "label": title,
        "scws_development": round(correlation(scws, kind, half), 2),
        "scws": round(correlation(scws, kind, ~half), 2),
        "scws_gain": round(gain(other), 2),
        "scws_interval": interval(np.array([gain(rows) for rows in samples])),
        "wic": round(100 * float(test.mean()), 2),
        "wic_gain": round(100 * float((test - raw).mean()), 2),
        "wic_interval": interval(100 * (test - raw)[draws].mean(axis=1)),
        "pairs": {"scws": len(other), "wic": len(test)},
    }


def right(cosines: dict[str, Any], kind: str) -> Floats:
    """1 for each test pair of WiC that the development part's threshold puts on the right side, else 0."""
    dev, test = cosines["wic-dev"], cosines["wic-test"]
    return correct(test.kept(kind, -1.0), test.gold, best_threshold(dev.kept(kind, -1.0), dev.gold))


def interval(values: Floats) -> list[float]:
    """The middle 95 % of resampled values."""
    return [round(float(value), 2) for value in np.quantile(values, [0.025, 0.975])]


def cost(options: argparse.Namespace) -> None:
    """Compare a plain distillation with one that keeps occurrences."""
    measured = {
        "plain": distilled(options.input),
        "kept": distilled(options.input, "--occurrences", options.occurrences),
    }
    facts = {
        **origin(MODULE, options),
        **measured,
        "seconds_ratio": round(measured["kept"]["cpu_seconds"] / measured["plain"]["cpu_seconds"], 3),
        "memory_ratio": round(measured["kept"]["megabytes"] / measured["plain"]["megabytes"], 3),
    }
    write_json(options.out / f"{options.name}.cost.json", facts)
    print(facts)


def distilled(store: Path, *more: str) -> dict[str, float]:
    """CPU seconds and peak memory of a distillation in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "wordstill", "distill", str(store), "--out", f"{folder}/vectors", *more]
        process = subprocess.Popen([*command, "--no-progress"], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{' '.join(command)} failed")
    return {"cpu_seconds": round(used.ru_utime + used.ru_stime, 1), "megabytes": round(used.ru_maxrss / 1024)}


if __name__ == "__main__":
    main()
