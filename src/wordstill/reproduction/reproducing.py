"""Making a table of a paper again: prepare the text, distil and train its systems, and score them beside the print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wordstill.baselines import TrainConfig, Training, read_baselines, train
from wordstill.core.files import atomic_file
from wordstill.core.resume import keep_record
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig
from wordstill.corpus.conllu import read_trees, tree_files
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig, distill
from wordstill.distillation.estimate import dry_run
from wordstill.errors import UsageError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.locate import available, locate
from wordstill.formats.artifact import ARTIFACT
from wordstill.methods import METHODS
from wordstill.postprocess.pipeline import Pipeline
from wordstill.postprocess.retrofit import PRESETS, Lexicon, open_lexicon, retrofitter
from wordstill.reproduction.meaning_tables import MeaningMaker, MeaningPlan, reproduce_meaning
from wordstill.reproduction.plans import BEST_BY_F1, BEST_PER_SET, System, TablePlan
from wordstill.reproduction.results import ELSEWHERE, KeptScore, KeptScores, ReproduceConfig, Reproduction, Row
from wordstill.teacher.batch import Unit
from wordstill.teacher.device import choose_device
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.vectors import WordVectors

FILE_NAME = "reproduction.json"
Scores = Mapping[str, Mapping[str, KeptScore]]
"""By the label of a table, then by task."""


def reproduce(
    plan: TablePlan | MeaningPlan,
    text: Sequence[str | Path],
    out: str | Path,
    config: ReproduceConfig | None = None,
    *,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Reproduction:
    """Make a table again; the same call continues a run that was stopped.

    Args:
        plan: What the paper says.
        text: Text files, or a prepared store, which is taken as it is.
        out: Folder for the prepared text, the vectors of every system and ``reproduction.json``.
        config: What the paper does not say.
        progress: Show progress bars.
        say: Is told what begins.

    Raises:
        DataError: The folder has another table, or one of another teacher or text.
    """
    settings, folder = config or ReproduceConfig(), Path(out)
    corpus = open_text(plan, text, folder, progress=progress)
    if isinstance(plan, MeaningPlan):
        return _written(
            reproduce_meaning(plan, MeaningMaker(corpus, folder, settings, progress=progress, say=say)), folder
        )
    maker = _Maker(plan, corpus, folder, settings, progress, say)
    runs = [maker.tables(seed) for seed in range(settings.seeds)]
    there = set(available())
    sets = [name for name in plan.sets if name in there]
    say(f"scoring {sum(map(len, runs))} tables on {', '.join(sets)}")
    kept = KeptScores(folder / "scores.json", plan.protocol, progress=progress)
    tasks = {name: name if plan.task is None else f"{name}:{plan.task}" for name in sets}
    scores = [{label: kept.of(table, [*tasks.values()]) for label, table in tables.items()} for tables in runs]
    rows: list[Row] = []
    for system in maker.systems:
        if system.made != "model":
            rows += _rows(plan, system, settings, tasks, scores)
            continue
        say(f"scoring {settings.teacher.name} itself ({system.spec})")
        own = {name: f"{name}:{system.spec}" for name in sets}
        # Only the table's provenance is looked at.
        table = next(table for label, table in runs[0].items() if label.startswith("sentence "))
        rows += _rows(plan, system, settings, own, [{label_of(system): kept.of(table, [*own.values()])}])
    missing = tuple(name for name in plan.sets if name not in there)
    return _written(Reproduction(plan, tuple(rows), missing, settings.teacher.name, corpus.hash), folder)


def check(plan: TablePlan | MeaningPlan, folder: Path, config: ReproduceConfig) -> None:
    """Refuse models, trees, a lexicon or a folder that cannot be used, before a long text is prepared for them."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Name a folder.")
    choose_device(config.teacher.device)
    load_model_and_tokenizer(config.teacher.name)
    if isinstance(plan, MeaningPlan):
        load_model_and_tokenizer(config.masked or config.teacher.name, "masked language model")
        for name in filter(None, (config.there, config.back)):
            load_model_and_tokenizer(name, "translator")
        return
    for file in tree_files(config.trees) if config.trees else ():
        next(read_trees(file), None)
    if any(system.made == "retrofitted" for system in plan.systems):
        _open_lexicon(config.lexicon)


def _written(result: Reproduction, folder: Path) -> Reproduction:
    with atomic_file(folder / FILE_NAME) as handle:
        handle.write(result.to_json().encode())
    return result


def open_text(plan: TablePlan | MeaningPlan, text: Sequence[str | Path], folder: Path, *, progress: bool) -> Corpus:
    """The text as the paper prepares it, made once; a store of the user's own is taken as it is."""
    config, work = PrepareConfig(filter=plan.text), folder / "text"
    corpus = open_or_prepare(list(text), config, work, progress=progress, remedy=ELSEWHERE)
    folder.mkdir(parents=True, exist_ok=True)
    return corpus


def expected_seconds(
    plan: TablePlan | MeaningPlan, corpus: Corpus, config: ReproduceConfig, folder: Path | None = None
) -> float:
    """How long distilling takes, or making triples, as far as it is still to be done, by a probe.

    Training and scoring come on top.
    """
    if isinstance(plan, MeaningPlan):
        return MeaningMaker(corpus, folder or corpus.path.parent, config).seconds()
    total = 0.0
    for unit, specs in distilled_specs(plan).items():
        seeds = range(config.seeds if any(map(_draws, specs)) else 1)
        left = [seed for seed in seeds if folder is None or not place_of(folder, unit, seed).exists()]
        if left:
            _, estimate = dry_run([corpus.path], distill_config(plan, config, unit, specs, 0))
            total += estimate.seconds * len(left)
    return total


def place_of(folder: Path, made: str, seed: int) -> Path:
    """Where the tables of one unit or kind and seed are."""
    return folder / (made if seed == 0 else f"{made}-seed-{seed}")


def chosen_systems(plan: TablePlan, config: ReproduceConfig) -> list[System]:
    """The systems that can be made as the user wants it."""
    return [
        system
        for system in plan.systems
        if (config.baselines or system.made != "trained") and (config.trees or not system.needs_trees)
    ]


def distilled_specs(plan: TablePlan) -> dict[Unit, list[str]]:
    """What is distilled from sentences and from paragraphs, each once."""
    found: dict[Unit, list[str]] = {}
    for system in plan.systems:
        spec = system.source or (system.spec if system.made == "distilled" else None)
        if spec is not None and spec not in found.setdefault(system.unit, []):
            found[system.unit].append(spec)
    return {unit: specs for unit, specs in found.items() if specs}


def distill_config(
    plan: TablePlan, config: ReproduceConfig, unit: Unit, specs: Sequence[str], seed: int
) -> DistillConfig:
    """The settings of one distillation."""
    vocabulary = VocabularyConfig(min_count=plan.min_count, max_size=plan.max_size)
    return DistillConfig(methods=tuple(specs), teacher=config.teacher, vocabulary=vocabulary, read=unit, seed=seed)


class _Maker:
    """Makes the tables of a plan, each run into a folder of its own."""

    def __init__(
        self,
        plan: TablePlan,
        corpus: Corpus,
        folder: Path,
        config: ReproduceConfig,
        progress: bool,
        say: Callable[[str], None],
    ) -> None:
        self.plan, self.corpus, self.folder, self.config = plan, corpus, folder, config
        self.progress, self.say = progress, say
        self.systems = chosen_systems(plan, config)
        facts = {"table": plan.name, "text": corpus.hash, "teacher": config.teacher.name}
        keep_record(folder / "settings.json", facts, ELSEWHERE)

    def tables(self, seed: int) -> dict[str, WordVectors]:
        """Every table of one seed by the name that `label_of` gives its system; a layer has its number behind it."""
        made: dict[str, WordVectors] = {}
        for unit, specs in distilled_specs(self.plan).items():
            wanted = [spec for spec in specs if seed == 0 or _draws(spec)]
            made |= {f"{unit} {label}": table for label, table in self._distilled(unit, wanted, seed).items()}
        for folder, parsed in (("trained", False), ("trained-on-trees", True)):
            own = [system for system in self.systems if system.made == "trained" and system.needs_trees == parsed]
            made |= self._trained(folder, list(dict.fromkeys(system.spec for system in own)), seed)
        for system in self.systems:
            if system.made == "retrofitted" and system.source is not None:
                source = made.get(label_of(replace(system, spec=system.source, made="distilled")))
                if source is not None:
                    made[label_of(system)] = self._retrofitted(system.spec, source)
        return made

    def _distilled(self, unit: Unit, specs: list[str], seed: int) -> dict[str, WordVectors]:
        if not specs:
            return {}
        target, settings = place_of(self.folder, unit, seed), distill_config(self.plan, self.config, unit, specs, seed)
        if target.exists():
            return _found(target, settings.requests[0].label)
        self.say(f"distilling {', '.join(specs)} (reading {unit}s, seed {seed})")
        return distill([self.corpus.path], target, config=settings, progress=self.progress)

    def _trained(self, folder: str, specs: list[str], seed: int) -> dict[str, WordVectors]:
        if not specs:
            return {}
        target = place_of(self.folder, folder, seed)
        if target.exists():
            return _found(target, read_baselines(specs)[0].label)
        self.say(f"training {', '.join(specs)} (seed {seed})")
        training = Training(seed, self.config.workers, self.config.teacher.device, self.progress)
        vocabulary = VocabularyConfig(min_count=self.plan.min_count, max_size=self.plan.max_size)
        settings = TrainConfig(methods=tuple(specs), vocabulary=vocabulary, training=training, trees=self.config.trees)
        return train([self.corpus.path], target, config=settings)

    def _retrofitted(self, spec: str, source: WordVectors) -> WordVectors:
        if spec not in PRESETS:
            return Pipeline.from_spec(spec).fit_transform(source)
        return retrofitter(spec, _open_lexicon(self.config.lexicon)).fit_transform(source)


def _open_lexicon(name: str) -> Lexicon:
    """The lexicon of a name of the registry, or of a place."""
    return open_lexicon(locate(name).path if name in DATASETS else name)


def _found(target: Path, label: str) -> dict[str, WordVectors]:
    """The tables of a run that is finished; the label is that of a table that is alone there."""
    places = {label: target} if ARTIFACT.recognizes(target) else {path.name: path for path in target.iterdir()}
    return {name: WordVectors.load(path, ARTIFACT.name) for name, path in places.items()}


def label_of(system: System) -> str:
    """The name of a system's table."""
    if system.made == "trained":
        (found,) = read_baselines([system.spec])
        return found.label
    if system.made == "retrofitted":
        return f"{system.source} + {system.spec}"
    if system.made == "model":
        return f"the model itself, {system.spec}"
    (request,) = DistillConfig(methods=(system.spec,)).requests
    return f"{system.unit} {request.label}"


def _draws(spec: str) -> bool:
    """Whether a method's result depends on the seed."""
    return METHODS[spec.partition(":")[0]].learns


def _rows(
    plan: TablePlan, system: System, config: ReproduceConfig, tasks: Mapping[str, str], runs: Sequence[Scores]
) -> Iterator[Row]:
    model = None if system.row is None else system.row.format(parent=plan.parent(config.teacher.name))
    printed = None if model is None else plan.printed_row(model)
    label = label_of(system) if system.select is None else f"{label_of(system)} ({system.select})"
    for name, task in tasks.items():
        layer, scores = _chosen(system, task, list(tasks.values()), runs)
        values = [score.value for score in scores if score.value is not None]
        first = scores[0] if scores else None
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        yield Row(
            label,
            name,
            printed.model if printed else None,
            printed.scores.get(name) if printed else None,
            float(np.mean(values)) if values else None,
            deviation if first is None or len(scores) > 1 else first.deviation,
            None if first is None else first.interval,
            0 if first is None else first.used,
            0 if first is None else first.total,
            "no such table was made" if first is None else first.problem,
            layer,
        )


def _chosen(
    system: System, task: str, tasks: Sequence[str], runs: Sequence[Scores]
) -> tuple[int | None, list[KeptScore]]:
    """The scores of a system on a set, one for each seed; of several layers those of the best, with its number."""
    label = label_of(system)
    if system.select is None:
        return None, [scores[label][task] for scores in runs if label in scores]
    first, start = runs[0], label.removesuffix("all")
    numbers = (name.removeprefix(start) for name in first if name.startswith(start))
    layers = sorted(map(int, filter(str.isdigit, numbers)))
    measure = "macro_f1" if system.select == BEST_BY_F1 else "value"
    values = np.array(
        [[getattr(first[f"{start}{layer}"][each], measure) for each in tasks] for layer in layers], dtype=np.float64
    )
    # A set without a score for one of them says nothing about which is best.
    usable = ~np.isnan(values).any(axis=0) & ((np.array(tasks) == task) | (system.select != BEST_PER_SET))
    best = layers[int(values[:, usable].mean(axis=1).argmax())] if usable.any() else layers[-1]
    return best, [first[f"{start}{best}"][task]]
