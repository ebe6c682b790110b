"""Reproducing a table: prepare the text, make the systems, and compare their scores with the published ones."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from wordstill.baselines import TrainConfig, Training, train
from wordstill.core.files import write_file
from wordstill.core.resume import keep_record
from wordstill.corpus import Corpus, PrepareConfig, VocabularyConfig
from wordstill.corpus.conllu import read_trees, tree_files
from wordstill.corpus.preparation import open_or_prepare
from wordstill.distillation import DistillConfig, distill
from wordstill.distillation.estimate import dry_run
from wordstill.errors import UsageError, unknown_name
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.data.locate import available, locate
from wordstill.formats.artifact import ARTIFACT
from wordstill.methods import METHODS
from wordstill.postprocess.pipeline import Pipeline
from wordstill.postprocess.retrofit import PRESETS, Lexicon, open_lexicon, retrofitter
from wordstill.reproduction.meaning_tables import MeaningMaker, MeaningPlan, reproduce_meaning
from wordstill.reproduction.plans import System, TablePlan
from wordstill.reproduction.results import ELSEWHERE, KeptScores, ReproduceConfig, Reproduction, Row
from wordstill.reproduction.table_rows import label_of, rows_of, trained_label
from wordstill.teacher.batch import Unit
from wordstill.teacher.device import choose_device
from wordstill.teacher.loading import load_model_and_tokenizer
from wordstill.vectors import WordVectors

TRAINED, EVERY_LAYER, SEEDED = "trained", "-layer-all", re.compile(r"-seed-\d+$")


def reproduce(
    plan: TablePlan | MeaningPlan,
    text: Sequence[str | Path],
    out: str | Path,
    config: ReproduceConfig | None = None,
    *,
    progress: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> Reproduction:
    """Reproduce a table; an interrupted run resumes with the same call.

    Args:
        plan: The plan of the table.
        text: Text files, or a prepared store, which is used unchanged.
        out: Folder for the prepared text, the vectors of every system and ``tableN.json``. Tables of one paper can
            share it, so that nothing is made twice.
        config: Settings that the paper leaves open.
        progress: Show progress bars.
        say: Called with a message at the start of each step.

    Raises:
        DataError: The folder was made with another paper, teacher or text.
    """
    settings, folder = config or ReproduceConfig(), Path(out)
    corpus = open_text(plan, text, folder, progress=progress)
    if isinstance(plan, MeaningPlan):
        return _written(
            reproduce_meaning(plan, MeaningMaker(corpus, folder, settings, progress=progress, say=say)), folder
        )
    maker = _Maker(plan, corpus, folder, settings, progress, say)
    runs = maker.tables()
    if all(system.made in ("model", "own") for system in maker.systems):
        raise UsageError("The model itself is scored beside the tables: name another system too.")
    there = set(available())
    sets = [name for name in plan.sets if name in there]
    say(f"scoring {sum(map(len, runs))} tables on {', '.join(sets)}")
    kept = KeptScores(folder / "scores.json", plan.protocol, progress=progress)
    tasks = {name: name if plan.task is None else f"{name}:{plan.task}" for name in sets}
    scores = [{label: kept.of(table, [*tasks.values()]) for label, table in tables.items()} for tables in runs]
    rows: list[Row] = []
    for system in maker.systems:
        if system.made != "model":
            rows += rows_of(plan, system, settings, tasks, scores)
            continue
        say(f"scoring {settings.teacher.name} itself ({system.spec})")
        own = {name: f"{name}:{system.spec}" for name in sets}
        # Only the table's provenance is used.
        table = next(iter(runs[0].values()))
        rows += rows_of(plan, system, settings, own, [{label_of(system): kept.of(table, [*own.values()])}])
    missing = tuple(name for name in plan.sets if name not in there)
    return _written(Reproduction(plan, tuple(rows), missing, settings.teacher.name, corpus.hash), folder)


def check(plan: TablePlan | MeaningPlan, folder: Path, config: ReproduceConfig) -> None:
    """Refuse unusable models, trees, lexicons or folders before a long text is prepared."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Name a folder.")
    choose_device(config.teacher.device)
    load_model_and_tokenizer(config.teacher.name)
    if isinstance(plan, MeaningPlan):
        if config.own:
            raise UsageError(f"{plan.name} has no rows of static tables but one: name your vectors with --vectors.")
        load_model_and_tokenizer(config.masked or config.teacher.name, "masked language model")
        for name in filter(None, (config.there, config.back)):
            load_model_and_tokenizer(name, "translator")
        return
    for _, path in config.own:
        if not Path(path).exists():
            raise UsageError(f"{path} does not exist. --own needs a row of the paper and a table: ROW=TABLE.")
    for file in tree_files(config.trees) if config.trees else ():
        next(read_trees(file), None)
    if any(system.made == "retrofitted" for system in plan.systems):
        _open_lexicon(config.lexicon)


def _written(result: Reproduction, folder: Path) -> Reproduction:
    write_file(folder / f"table{result.plan.number}.json", result.to_json())
    return result


def open_text(plan: TablePlan | MeaningPlan, text: Sequence[str | Path], folder: Path, *, progress: bool) -> Corpus:
    """The text prepared as in the paper, made once; a store given by the user is used unchanged."""
    config, work = PrepareConfig(filter=plan.text), folder / "text"
    corpus = open_or_prepare(list(text), config, work, progress=progress, remedy=ELSEWHERE)
    folder.mkdir(parents=True, exist_ok=True)
    return corpus


def expected_seconds(
    plan: TablePlan | MeaningPlan, corpus: Corpus, config: ReproduceConfig, folder: Path | None = None
) -> float:
    """The estimated time for the distillation, or the triples, that still has to be done, from a short probe.

    Training and scoring are not included.
    """
    if isinstance(plan, MeaningPlan):
        return MeaningMaker(corpus, folder or corpus.path.parent, config).seconds()
    total = 0.0
    for unit, specs in distilled_specs(plan, config).items():
        left = _unmade(folder / unit if folder else None, specs, config.seeds)
        if left:
            _, estimate = dry_run([corpus.path], distill_config(plan, config, unit, left))
            total += estimate.seconds
    return total


def chosen_systems(plan: TablePlan, config: ReproduceConfig) -> list[System]:
    """The systems to make with the user's settings."""
    if unknown := set(config.systems) - {system.spec for system in plan.systems}:
        raise unknown_name(f"system of {plan.name}", min(unknown), dict.fromkeys(each.spec for each in plan.systems))
    if unknown := {row for row, _ in config.own} - plan.printed.keys():
        raise unknown_name(f"row of {plan.name}", min(unknown), plan.printed)
    if len(rows := [row for row, _ in config.own]) > len(set(rows)):
        raise UsageError(f"--own names a row twice ({', '.join(rows)}). Name a single table for each row.")
    chosen = [
        system
        for system in plan.systems
        if (config.baselines or system.made != "trained")
        and (config.trees or not system.needs_trees)
        and (not config.systems or system.spec in config.systems)
    ]
    return chosen + [System(row, path, "own") for row, path in config.own]


def distilled_specs(plan: TablePlan, config: ReproduceConfig) -> dict[Unit, list[str]]:
    """The distinct methods to distill from sentences and from paragraphs."""
    found: dict[Unit, list[str]] = {}
    for system in chosen_systems(plan, config):
        spec = system.source or (system.spec if system.made == "distilled" else None)
        if spec is not None and spec not in found.setdefault(system.unit, []):
            found[system.unit].append(spec)
    return {unit: specs for unit, specs in found.items() if specs}


def distill_config(plan: TablePlan, config: ReproduceConfig, unit: Unit, unmade: Unmade) -> DistillConfig:
    """The settings of one distillation."""
    return DistillConfig(
        methods=unmade.specs,
        teacher=config.teacher,
        vocabulary=_vocabulary(plan),
        read=unit,
        seed=unmade.seed,
        seeds=unmade.seeds,
    )


def _vocabulary(plan: TablePlan) -> VocabularyConfig:
    return VocabularyConfig(min_count=plan.min_count, max_size=plan.max_size)


class Unmade(NamedTuple):
    """The methods and seeds of one pass."""

    specs: tuple[str, ...]
    seed: int
    """The first seed."""
    seeds: int


class _Maker:
    """Makes the tables of a plan, each run in its own folder."""

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
        facts = {"paper": plan.paper, "text": corpus.hash, "teacher": config.teacher.name}
        keep_record(folder / "settings.json", facts, ELSEWHERE)

    def tables(self) -> list[dict[str, WordVectors]]:
        """For each seed, every table by the name from `label_of`, followed by the layer if there are several."""
        for unit, specs in distilled_specs(self.plan, self.config).items():
            while unmade := _unmade(self.folder / unit, specs, self.config.seeds):
                self._distill(unit, unmade)
        trained = [system for system in self.systems if system.made == "trained"]
        for seed, parsed in itertools.product(range(self.config.seeds), (False, True)):
            specs = [system.spec for system in trained if system.needs_trees == parsed]
            missing = [
                spec for spec in specs if not (self.folder / TRAINED / _named(trained_label(spec), seed)).exists()
            ]
            if missing:
                self._train(tuple(dict.fromkeys(missing)), seed)
        return [self._made(seed) for seed in range(self.config.seeds)]

    def _made(self, seed: int) -> dict[str, WordVectors]:
        """The tables of one seed."""
        made: dict[str, WordVectors] = {}
        for system in self.systems:
            label = label_of(system)
            if system.made == "trained":
                made[label] = self._load(TRAINED, _named(trained_label(system.spec), seed))
            elif system.made == "own" and seed == 0:
                made[label] = WordVectors.load(system.spec)
            elif system.made == "distilled" and (seed == 0 or _draws(system.spec)):
                made |= self._distilled(system.unit, system.spec, seed)
            elif system.made == "retrofitted" and system.source is not None and (seed == 0 or _draws(system.source)):
                (source,) = self._distilled(system.unit, system.source, seed).values()
                made[label] = self._retrofitted(system.spec, source)
        return made

    def _distilled(self, unit: Unit, spec: str, seed: int) -> dict[str, WordVectors]:
        """The tables of a method: one, or one for each layer."""
        places = _places(self.folder / unit, spec, seed)
        return {f"{unit} {place.name.removesuffix(f'-seed-{seed}')}": self._load(unit, place.name) for place in places}

    def _load(self, kind: str, name: str) -> WordVectors:
        return WordVectors.load(self.folder / kind / name, ARTIFACT.name)

    def _distill(self, unit: Unit, unmade: Unmade) -> None:
        settings = distill_config(self.plan, self.config, unit, unmade)
        every = range(unmade.seed, unmade.seed + unmade.seeds)
        self.say(f"distilling {', '.join(unmade.specs)} (reading {unit}s, {_seeds(every)})")
        with self._pass(unit, settings.requests[0].label, unmade.seed) as target:
            distill([self.corpus.path], target, config=settings, progress=self.progress)

    def _train(self, specs: tuple[str, ...], seed: int) -> None:
        self.say(f"training {', '.join(specs)} ({_seeds(range(seed, seed + 1))})")
        training = Training(seed, self.config.workers, self.config.teacher.device, self.progress)
        settings = TrainConfig(
            methods=specs, vocabulary=_vocabulary(self.plan), training=training, trees=self.config.trees
        )
        with self._pass(TRAINED, trained_label(specs[0]), seed) as target:
            train([self.corpus.path], target, config=settings)

    @contextmanager
    def _pass(self, kind: str, label: str, seed: int) -> Iterator[Path]:
        """A temporary folder for the tables of one run, which are then moved to the others.

        ``label`` names a single table, and ``seed`` tables whose names do not have one.
        """
        target = self.folder / f"{kind}-from-seed-{seed}"
        if not target.exists():
            yield target
        (self.folder / kind).mkdir(exist_ok=True)
        places = {label: target} if ARTIFACT.recognizes(target) else {path.name: path for path in target.iterdir()}
        for name, place in places.items():
            named = name if SEEDED.search(name) else _named(name, seed)
            place.rename(self.folder / kind / named.removesuffix("-seed-0"))
        if target.exists():
            target.rmdir()

    def _retrofitted(self, spec: str, source: WordVectors) -> WordVectors:
        if spec not in PRESETS:
            return Pipeline.from_spec(spec).fit_transform(source)
        return retrofitter(spec, _open_lexicon(self.config.lexicon)).fit_transform(source)


def _open_lexicon(name: str) -> Lexicon:
    """The lexicon of the registry or at a path."""
    return open_lexicon(locate(name).path if name in DATASETS else name)


def _unmade(folder: Path | None, specs: Sequence[str], seeds: int) -> Unmade | None:
    """The next pass for tables that are still missing: as many seeds of the same methods as can share it."""
    missing = {
        seed: tuple(
            spec for spec in specs if (seed == 0 or _draws(spec)) and not (folder and _places(folder, spec, seed))
        )
        for seed in range(seeds)
    }
    first = next((seed for seed in missing if missing[seed]), None)
    if first is None:
        return None
    learners = [spec for spec in missing[first] if _draws(spec)]
    same = itertools.takewhile(lambda seed: learners and [*missing[seed]] == learners, range(first + 1, seeds))
    return Unmade(missing[first], first, 1 + len([*same]))


def _places(folder: Path, spec: str, seed: int) -> list[Path]:
    """The tables of a method and seed in a folder: one, or one for each layer."""
    (request,) = DistillConfig(methods=(spec,)).requests
    if not request.label.endswith(EVERY_LAYER):
        place = folder / _named(request.label, seed)
        return [place] if place.exists() else []
    start = request.label.removesuffix(EVERY_LAYER.removeprefix("-layer-"))
    return [path for path in folder.glob(f"{start}*") if path.name.removeprefix(start).isdigit()]


def _named(label: str, seed: int) -> str:
    return f"{label}-seed-{seed}" if seed else label


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _draws(spec: str) -> bool:
    """Whether a method's result depends on the seed."""
    return METHODS[spec.partition(":")[0]].learns
