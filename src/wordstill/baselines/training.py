"""Training baselines on text: the library call behind ``wordstill train``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from wordstill import __version__
from wordstill.baselines.base import Baseline, Training, WordText
from wordstill.baselines.context2vec import Context2vec
from wordstill.baselines.deps import Deps
from wordstill.baselines.glove import Glove
from wordstill.baselines.sent2vec import Sent2vec
from wordstill.baselines.syngcn import SynGcn
from wordstill.baselines.word2vec import Cbow, Fasttext, Skipgram
from wordstill.core.files import refuse_foreign, sha256_of
from wordstill.core.plugins import Registry
from wordstill.core.resume import SETTINGS, keep_record, temporary_folder, working_folder
from wordstill.core.settings import Config, Configured, Range, Spec, configure, configure_all, each_of_grid
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig
from wordstill.corpus.conllu import tree_files
from wordstill.corpus.preparation import as_list, check_inputs, is_one_store, open_or_prepare
from wordstill.distillation.recipe import package_version, vocabulary_facts
from wordstill.errors import DataError, MissingExtra, UsageError
from wordstill.formats.artifact import ARTIFACT, REPLACEABLE, write_artifacts
from wordstill.teacher.device import choose_device
from wordstill.vectors import WordVectors

TABLES = "tables"

BASELINES: Registry[type[Baseline]] = Registry(
    "method",
    "wordstill.baselines",
    {
        "skipgram": Skipgram,
        "cbow": Cbow,
        "fasttext": Fasttext,
        "sent2vec": Sent2vec,
        "glove": Glove,
        "context2vec": Context2vec,
        "deps": Deps,
        "syngcn": SynGcn,
    },
    Baseline,
)


@dataclass(frozen=True)
class TrainConfig(Config):
    """Settings of `train`: baselines, vocabulary, and how text is prepared."""

    methods: tuple[str, ...] = ("skipgram",)
    """Baselines with settings, for example ``skipgram`` or ``glove:window=5,dim=100``."""
    dim: Annotated[int | None, Range(1)] = None
    """Size of the vectors for all methods; None takes each method's default."""
    epochs: Annotated[int | None, Range(1)] = None
    """Passes over the text for all methods; None takes each method's default."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How to prepare text that is not a store."""
    training: Training = field(default_factory=Training)
    trees: tuple[str, ...] = ()
    """CoNLL-U files with the text's dependency trees (``deps``, ``syngcn``); by default the inputs'."""

    def __post_init__(self) -> None:
        super().__post_init__()
        read_baselines(self.methods, dim=self.dim, epochs=self.epochs)


def train(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    methods: str | Sequence[str] | None = None,
    config: TrainConfig | None = None,
    overwrite: bool = False,
) -> dict[str, WordVectors]:
    """Train word vectors from scratch on text, one table for each method.

    Args:
        inputs: A prepared store, or text files, folders and globs of them, which are prepared first.
        out: Folder for the result; None keeps it in memory. With one method, it is the table; with several, it has a
            folder for each. Until it is complete, the prepared text and the tables of finished methods are in
            ``OUT.partial``, and a stopped run resumes from there.
        methods: Baselines with settings, by default ``skipgram``.
        config: All settings, including the methods.
        overwrite: Replace an existing result, and discard a stopped run.

    Returns:
        The tables by label: the method's name, with the given settings.

    Raises:
        UsageError: A setting is invalid or given twice, there are no trees for a method that needs them, the output
            exists, or another run is writing it.
        DataError: The text or a store cannot be read, a stopped run had other settings, or the disk is full.
        TrainingError: Training diverged.

    Example:
        >>> from wordstill.baselines import train
        >>> vectors = train("corpus.txt", "vectors")["skipgram"]  # doctest: +SKIP
    """
    if config is None:
        names = (methods,) if isinstance(methods, str) else methods
        config = TrainConfig() if names is None else TrainConfig(methods=tuple(names))
    elif methods is not None:
        raise UsageError(
            "methods= cannot be combined with config=, which has its own. Set it in the TrainConfig, or omit config=."
        )
    # A device or package that cannot be used is reported before the text is prepared.
    choose_device(config.training.device)
    specs = read_baselines(config.methods, dim=config.dim, epochs=config.epochs)
    _refuse_missing(specs)
    trees = _trees(inputs, config, specs)
    if out is None:
        with temporary_folder() as work:
            return _train_all(inputs, config, specs, trees, work.path, keep=False)
    target = Path(out)
    refuse_foreign(target, REPLACEABLE)
    with working_folder(target, "train", overwrite=overwrite, worth=f"{TABLES}/*") as work:
        tables = _train_all(inputs, config, specs, trees, work.path, keep=True)
        write_artifacts(tables, target, overwrite=work.overwrite)
    return tables


def _train_all(
    inputs: str | Path | Sequence[str | Path],
    config: TrainConfig,
    specs: Sequence[Configured[Baseline]],
    trees: Sequence[Path],
    work: Path,
    *,
    keep: bool,
) -> dict[str, WordVectors]:
    """The tables by label; a resumed run loads those that are finished."""
    training = config.training
    check_inputs(inputs, config.prepare)
    corpus = open_or_prepare(inputs, config.prepare, work, progress=training.progress)
    vocabulary = Vocabulary.build(corpus, config.vocabulary)
    settings = {
        "corpus": corpus.hash,
        "vocabulary": vocabulary_facts(vocabulary),
        "methods": {spec.label: spec.facts() for spec in specs},
        "training": asdict(replace(training, progress=False)),
        **_tree_facts(trees),
    }
    keep_record(work / SETTINGS, settings)
    tables = {}
    for spec in specs:
        place = work / TABLES / spec.label
        if place.exists():
            tables[spec.label] = WordVectors.load(place, ARTIFACT.name)
            continue
        tables[spec.label] = train_on_corpus(corpus, vocabulary, spec, training, trees)
        if keep:
            tables[spec.label].save(place, ARTIFACT.name)
    return tables


def train_on_corpus(
    corpus: Corpus, vocabulary: Vocabulary, spec: Configured[Baseline], training: Training, trees: Sequence[Path] = ()
) -> WordVectors:
    """Train one baseline (from `read_baselines`) on a prepared text, with its trees if needed."""
    text = WordText(corpus, vocabulary, trees=trees)
    if not text.words:
        raise DataError(
            f"{corpus.path} has no running word of the vocabulary, so there is nothing to train on. Lower "
            "min_count, or use more text."
        )
    baseline = spec.build(training)
    trained = baseline.fit(text)
    if not trained.seen.any():
        raise DataError(
            f"{spec.label}: no word of {corpus.path} got a vector, because none has a neighbor. Use text "
            "with longer paragraphs."
        )
    words = [key for key, seen in zip(vocabulary.keys, trained.seen) if seen]
    counts = vocabulary.counts[trained.seen]
    provenance = _provenance(corpus, vocabulary, spec, training, baseline.package)
    if spec.kind.needs_trees:
        provenance |= _tree_facts(trees)
    return WordVectors(words, trained.vectors[trained.seen], counts=counts, provenance=provenance)


def read_baselines(
    texts: Sequence[str], *, dim: int | None = None, epochs: int | None = None
) -> list[Configured[Baseline]]:
    """Parse specs such as ``glove``, ``skipgram:window=10,dim=100`` or ``skipgram:window=5|10``.

    ``dim`` and ``epochs`` are for all of them; None takes each method's default.

    Raises:
        UsageError: A name, setting or value is unknown, or a method is given twice.
    """
    common = {"dim": dim, "epochs": epochs}
    parts = [f"{key}={value}" for key, value in common.items() if value is not None]

    def read(text: str) -> list[Configured[Baseline]]:
        specs = [Spec.parse(each).adding(parts) for each in each_of_grid(text)]
        return [configure(spec, BASELINES.find(spec.name)) for spec in specs]

    return configure_all(texts, BASELINES, read)


def _trees(
    inputs: str | Path | Sequence[str | Path], config: TrainConfig, specs: Sequence[Configured[Baseline]]
) -> list[Path]:
    """The files with trees, if a method needs them.

    Raises:
        UsageError: There are none.
    """
    needing = [spec.label for spec in specs if spec.kind.needs_trees]
    if not needing:
        return []
    given = as_list(inputs)
    if not config.trees and is_one_store(given):
        raise UsageError(
            f"{needing[0]} needs dependency trees, which the prepared text {given[0]} does not have. Name its "
            "CoNLL-U files with --trees (trees=)."
        )
    return tree_files(config.trees or given)


def _tree_facts(trees: Sequence[Path]) -> dict[str, Any]:
    """The hashes of the tree files, to record and to compare when resuming."""
    return {"trees": {path.name: sha256_of(path) for path in trees}} if trees else {}


def _refuse_missing(specs: Sequence[Configured[Baseline]]) -> None:
    for spec in specs:
        if find_spec(spec.kind.package) is None:
            raise MissingExtra(spec.kind.package, "eval", f"The baseline {spec.kind.name}")


def _provenance(
    corpus: Corpus, vocabulary: Vocabulary, spec: Configured[Baseline], training: Training, package: str
) -> dict[str, Any]:
    device = choose_device(training.device).type if package == "torch" else "cpu"
    return {
        "corpus": {"hash": corpus.hash, "words": corpus.n_words, "settings": corpus.meta["settings"]},
        "method": spec.facts(),
        "vocabulary": vocabulary_facts(vocabulary),
        "training": {"workers": training.workers, "device": device},
        "seed": training.seed,
        "versions": {"wordstill": __version__, **{name: package_version(name) for name in (package, "numpy")}},
    }
