"""Senses compared with single vectors on words in context, and the cost of keeping occurrences.

Example: python -m experiments.quality.senses pick enwiki-a.txt.xz enwiki-b.txt.xz --to picked.txt --list words.txt
         (again with --enough 30 and picked.txt as the text, for half as many sentences)
         wordstill prepare picked.txt --out store
         wordstill distill store --words words.txt --occurrences 100 --occurrences-of words.txt --out layer5
         (the same with --occurrences-layer 4 --out layer4, and with 6)
         python -m experiments.quality.senses measure layer4 layer5 layer6 --name enwiki --title "Sentences" --work work
         python -m experiments.quality.senses cost store --name enwiki --title "Sentences of enwiki"

`pick` selects sentences with words of SCWS and of WiC's development and test parts, so that all of them have
occurrences; it uses no scores. `measure` chooses layer and prediction strength, then sharpness, on a development half
of SCWS by the mean of average and maximum similarity. The position of a sense in a sentence (`Senses.look_up`) was
chosen on the same half. Layer, kind of score and thresholds for WiC are chosen on its development part and those pairs
of its training part whose words have occurrences; the rest is reported. For WiC, thresholds are from a logistic
regression; the raw states get the better of two thresholds. `combined` is a regression on three cosines: of the raw
states, of deviations, and of deviations stretched along the directions in which the word's own uses differ. `cost`
compares a plain distillation with one that keeps occurrences, by CPU time and peak memory.
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
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from experiments.record import add_result_options, origin, write_json
from wordstill.analysis.senses import SenseConfig, Senses
from wordstill.analysis.senses_in_context import KINDS, numbers_of, sense_vectors
from wordstill.core.text_io import numbered_lines
from wordstill.evaluation.data.context_sets import ContextPair
from wordstill.evaluation.data.locate import locate
from wordstill.evaluation.statistics import spearman
from wordstill.evaluation.tasks.in_context import PairCosines, best_threshold, correct
from wordstill.methods.occurrence_states import OccurrenceConfig
from wordstill.teacher import Teacher
from wordstill.teacher.spans import StateReader
from wordstill.vectors import WordVectors
from wordstill.vectors.search import unit_rows

MODULE = "experiments.quality.senses"
SEED = 0
STRENGTHS, SHARPNESSES = (0.5, 0.55, 0.6, 0.7), (20.0, 100.0)
"""Tried on the development half, beside the defaults."""
SCWS_KINDS = ("average", "maximum")
OF_USES = ("use", "deviation", "combined")
"""Kinds of scores that depend on no setting but the layer."""
COMBINED = ("raw", "deviation", "stretched")
"""Cosines that make up the combined score."""
RESAMPLES = 2000
WEAK = 1e6
"""Regularization that changes nothing."""
PARTS = 32
"""Parts of the words of a set, for several processes."""
ENOUGH, SHORTEST, LONGEST, RATES = 50, 8, 40, (16, 41)
"""Occurrences after which a word is not looked for; words of a sentence; words to each one that is looked for."""
WORD = re.compile(r"\w[\w'-]*")
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Cosines = dict[str, PairCosines]
"""By the name of the set."""


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
    first.add_argument("--enough", type=int, default=ENOUGH, help="occurrences after which a word is not looked for")
    first.add_argument("--list", type=Path, required=True, help="the list of words to write")
    for name, what in (("measure", "tables with occurrences, of one layer each"), ("cost", "a prepared text")):
        step = steps.add_parser(name)
        step.add_argument("input", type=Path, help=what, nargs="+" if name == "measure" else None)
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
                missing = [word for word in words if word in wanted and seen[word] < options.enough]
                if SHORTEST <= len(words) <= LONGEST and missing and len(words) / len(missing) < rate:
                    out.write(f"{sentence}\n")
                    seen.update(word for word in words if word in wanted)
    often = sum(seen[word] >= options.enough for word in wanted)
    print(f"{len(wanted)} words, {often} of them {options.enough} times or more")


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
    table = opened(options.input[0])
    read = {name: Pairs.read(table, name, pairs, options.work) for name, pairs in known_sets(table).items()}
    half = np.zeros(len(read["scws"].pairs), dtype=np.bool_)
    half[np.random.default_rng(SEED).permutation(len(half))[: len(half) // 2]] = True
    plain = {name: single_cosines(table, pairs) for name, pairs in read.items()}
    scored: dict[Setting, Cosines] = {}
    on_half: dict[Setting, float] = {}
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:

        def cosines_of(setting: Setting, name: str) -> PairCosines:
            found = sense_cosines(pool, setting, name, read[name], options.work)
            return found._replace(cosines=plain[name].cosines | found.cosines)

        def tried(settings: Sequence[Setting]) -> Setting:
            """Score settings on SCWS; the best of all so far."""
            for setting in settings:
                scored[setting] = {"scws": cosines_of(setting, "scws")}
                found = [correlation(scored[setting]["scws"], kind, half) for kind in SCWS_KINDS]
                on_half[setting] = float(np.mean(found))
                print(f"{setting.label}: {', '.join(f'{each:.2f}' for each in found)}", flush=True)
            return max(on_half, key=lambda setting: on_half[setting])

        best = tried([Setting(path, SenseConfig(strength)) for path in options.input for strength in STRENGTHS])
        for_scws = tried([best.replaced(sharpness=sharpness) for sharpness in SHARPNESSES])
        by_layer = [setting for setting in scored if setting.config == SenseConfig()]
        for setting in dict.fromkeys((*by_layer, for_scws)):
            scored[setting] |= {name: cosines_of(setting, name) for name in read if name != "scws"}
    on_dev = {(kind, each): development_accuracy(scored[each], kind) for each in by_layer for kind in OF_USES}
    kind, for_wic = max(on_dev, key=lambda pair: on_dev[pair])
    default = next((each for each in by_layer if each.is_default), by_layer[0])
    facts = {
        **origin(MODULE, options),
        "seed": SEED,
        "words": len(table),
        "occurrences": len(table.occurrences or ()),
        "development": {setting.label: round(value, 2) for setting, value in on_half.items()},
        "chosen": for_scws.label,
        "development_wic": {
            "raw": round(development_accuracy(plain, "raw"), 2),
            **{f"{kind}, {setting.label}": round(value, 2) for (kind, setting), value in on_dev.items()},
        },
        "chosen_wic": f"{kind}, {for_wic.label}",
        "rule_wic": "Thresholds are of logistic regressions on other pairs; the raw states get the better of two.",
        "combined_wic": "Combined scores are of logistic regressions on the cosines of raw states, deviations and "
        "deviations stretched in the directions in which the word's own uses differ.",
        "pairs_wic": int(read["wic-dev"].found.reshape(2, -1).all(axis=0).sum()),
        "rows": [
            *(row(plain, name, name, half) for name in ("raw", "table")),
            *(
                row(scored[setting], kind, f"{kind}, {setting.label}", half)
                for setting in dict.fromkeys((default, for_scws, for_wic))
                for kind in (*KINDS, "combined")
            ),
        ],
    }
    write_json(options.out / f"{options.name}.json", facts)
    for each in facts["rows"]:
        print(each)


def known_sets(table: WordVectors) -> dict[str, tuple[ContextPair, ...]]:
    """The pairs; WiC's development part with those pairs of its training part whose words have occurrences."""
    senses = Senses(table)
    train = (pair for pair in _parts("wic")["train"] if senses.find(pair.first.word) and senses.find(pair.second.word))
    found = sets()
    return found | {"wic-dev": (*found["wic-dev"], *train)}


@dataclass(frozen=True)
class Setting:
    """Where senses come from."""

    path: Path
    """Of the table."""
    config: SenseConfig

    def replaced(self, **changes: Any) -> Setting:
        """The same with another configuration."""
        return replace(self, config=replace(self.config, **changes))

    @property
    def layer(self) -> int:
        """Whose states were kept."""
        return Senses(opened(self.path)).occurrences.layer

    @property
    def is_default(self) -> bool:
        """Whether the states are of the layer that is kept by default."""
        depth = int(opened(self.path).provenance["teacher"]["layers"])
        return self.layer == OccurrenceConfig().at_depth(depth).layer

    @property
    def label(self) -> str:
        """In a few words."""
        usual = SenseConfig()
        more = "" if self.config.sharpness == usual.sharpness else f", sharpness {self.config.sharpness:g}"
        return f"layer {self.layer}, strength {self.config.strength:g}{more}"


@cache
def opened(path: Path) -> WordVectors:
    """A table, opened once by every process."""
    return WordVectors.load(path)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of words in sentences, and the states of both words of each in the top half of layers."""

    pairs: tuple[ContextPair, ...]
    states: Floats32
    """[2 n, layers, width]"""
    layers: tuple[int, ...]
    found: NDArray[np.bool_]
    """[2 n]"""

    @classmethod
    def read(cls, table: WordVectors, name: str, pairs: tuple[ContextPair, ...], work: Path) -> Pairs:
        """Read by the table's teacher, or by an earlier run."""
        path = states_file(work, name)
        if not path.exists():
            reader = StateReader(Teacher.from_pretrained(table.provenance["teacher"]["name"]), "top-half")
            states, found = reader.states([*(pair.first for pair in pairs), *(pair.second for pair in pairs)])
            work.mkdir(parents=True, exist_ok=True)
            np.savez(path, states=states.cpu().numpy(), layers=np.array(reader.layers), found=found)
            print(f"{name}: read", flush=True)
        kept = np.load(path)
        return cls(pairs, kept["states"], tuple(kept["layers"].tolist()), kept["found"])

    @property
    def words(self) -> list[str]:
        """Of every state."""
        return [one.word for one in (*(pair.first for pair in self.pairs), *(pair.second for pair in self.pairs))]

    def cosines(self, vectors: dict[str, Floats32]) -> PairCosines:
        """Of vectors of every word by kind."""
        return PairCosines.of(vectors, self.found, np.array([pair.gold for pair in self.pairs]))


def single_cosines(table: WordVectors, pairs: Pairs) -> PairCosines:
    """Similarities by the teacher's states, averaged over layers, and by the words' rows."""
    return pairs.cosines({"raw": unit_rows(pairs.states.mean(axis=1)), "table": single_rows(table, pairs.words)})


def sense_cosines(pool: Executor, setting: Setting, name: str, pairs: Pairs, work: Path) -> PairCosines:
    """Similarities by senses and uses; each process has words of its own."""
    _, word = np.unique(pairs.words, return_inverse=True)
    parts = [np.flatnonzero(word % PARTS == part) for part in range(PARTS)]
    words = [[pairs.words[number] for number in part] for part in parts]
    layer = pairs.layers.index(setting.layer)
    files, settings = [states_file(work, name)] * PARTS, [setting] * PARTS
    made = list(pool.map(vectors_of_uses, settings, files, [layer] * PARTS, parts, words))
    order = np.argsort(np.concatenate(parts))
    return pairs.cosines({kind: np.concatenate([each[kind] for each in made])[order] for kind in (*KINDS, "stretched")})


def vectors_of_uses(
    setting: Setting, path: Path, layer: int, numbers: NDArray[np.int64], words: Sequence[str]
) -> dict[str, Floats32]:
    """Vectors of some uses by kind."""
    kept, senses = np.load(path), senses_of(setting)
    rows, states, seen = single_rows(senses.table, words), kept["states"][numbers, layer], kept["found"][numbers]
    made = sense_vectors(senses, words, states, seen, rows)
    return {**made, "stretched": stretched(senses, words, made["deviation"])}


def stretched(senses: Senses, words: Sequence[str], deviations: Floats32) -> Floats32:
    """[n, width] deviations of uses, times how far the uses of the word differ from their mean in each direction."""
    found = deviations.copy()
    for word, numbers in numbers_of(words).items():
        if (known := senses.find(word)) is not None:
            kept = senses.occurrences.of(known).states
            apart = unit_rows((kept - kept.mean(axis=0)) @ senses.whitening)
            _, sizes, directions = np.linalg.svd(apart, full_matrices=False)
            found[numbers] = deviations[numbers] @ directions.T * sizes @ directions
    return unit_rows(found)


@cache
def senses_of(setting: Setting) -> Senses:
    """The senses of a setting, fitted once by every process."""
    return Senses(opened(setting.path), setting.config)


def states_file(work: Path, name: str) -> Path:
    """Where the states of a set are kept."""
    return work / f"{name}.npz"


def single_rows(table: WordVectors, words: Sequence[str]) -> Floats32:
    """[n, dim] rows of words, as they are or in lower case; zeros for unknown ones."""
    keys = [word if word in table else word.lower() for word in words]
    return unit_rows(np.stack([table[key] if key in table else np.zeros(table.dim, dtype=np.float32) for key in keys]))


def development_accuracy(cosines: Cosines, kind: str) -> float:
    """Accuracy on WiC's development pairs, as many of one sense as of two, with thresholds learned from them."""
    found, same = right(cosines, kind, "wic-dev"), cosines["wic-dev"].gold > 0
    return 50 * float(found[same].mean() + found[~same].mean())


def correlation(pairs: PairCosines, name: str, chosen: NDArray[np.bool_]) -> float:
    """Spearman's correlation on some pairs, in points."""
    kept = chosen & pairs.found
    return 100 * spearman(pairs.gold[kept], pairs.cosines[name][kept])


def row(cosines: Cosines, kind: str, title: str, half: NDArray[np.bool_]) -> dict[str, Any]:
    """Scores of one kind; differences with the single vector on SCWS and with the raw mean on WiC."""
    scws, test = cosines["scws"], right(cosines, kind)
    other = np.flatnonzero(~half & scws.found)
    generator = np.random.default_rng(SEED)
    samples = other[generator.integers(0, len(other), (RESAMPLES, len(other)))]

    def gain(rows: NDArray[np.int64]) -> float:
        own, single = scws.cosines[kind][rows], scws.cosines["table"][rows]
        return 100 * (spearman(scws.gold[rows], own) - spearman(scws.gold[rows], single))

    raw = right(cosines, "raw")
    draws = generator.integers(0, len(raw), (RESAMPLES, len(raw)))
    on_scws = (
        {}
        if kind not in scws.cosines
        else {
            "scws_development": round(correlation(scws, kind, half), 2),
            "scws": round(correlation(scws, kind, ~half), 2),
            "scws_gain": round(gain(other), 2),
            "scws_interval": interval(np.array([gain(rows) for rows in samples])),
        }
    )
    return {
        "label": title,
        **on_scws,
        "wic": round(100 * float(test.mean()), 2),
        "wic_gain": round(100 * float((test - raw).mean()), 2),
        "wic_interval": interval(100 * (test - raw)[draws].mean(axis=1)),
        "pairs": {"scws": len(other), "wic": len(test)},
    }


def right(cosines: Cosines, kind: str, name: str = "wic-test") -> Floats:
    """1 for each pair of WiC that a threshold puts on the right side, else 0.

    Logistic regression on the development pairs gives the threshold: on halves of them, it is steadier than the
    threshold with most of them right. The raw states get whichever of the two is better on the pairs that are scored.
    """
    dev, scored = cosines["wic-dev"], cosines[name]
    names = COMBINED if kind == "combined" else (kind,)
    known, asked = (np.stack([pairs.kept(each, -1.0) for each in names], axis=1) for pairs in (dev, scored))
    model = LogisticRegression(C=WEAK, class_weight="balanced").fit(known, dev.gold)
    found = [(model.predict(asked) == scored.gold).astype(np.float64)]
    if kind == "raw":
        found.append(correct(asked[:, 0], scored.gold, best_threshold(known[:, 0], dev.gold)))
    return max(found, key=lambda one: float(one.sum()))


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
