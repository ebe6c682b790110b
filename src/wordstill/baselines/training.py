"""From text to baselines' word vectors: the library call behind ``wordstill train``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from wordstill import __version__
from wordstill.baselines.base import Baseline, Training
from wordstill.baselines.glove import Glove
from wordstill.baselines.sent2vec import Sent2vec
from wordstill.baselines.word2vec import Cbow, Fasttext, Skipgram
from wordstill.baselines.word_stream import WordText
from wordstill.core.files import refuse_existing, refuse_foreign
from wordstill.core.plugins import Registry
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary, VocabularyConfig
from wordstill.corpus.input_text import open_or_prepare
from wordstill.distillation.distilling import REPLACEABLE, write_artefacts
from wordstill.distillation.recipe import package_version, vocabulary_facts
from wordstill.errors import DataError, MissingExtra
from wordstill.methods.specification import MethodSpec, check_specs, read_specs, settings_of
from wordstill.teacher.device import choose_device
from wordstill.vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wordstill.methods import Method

BASELINES: Registry[type[Baseline]] = Registry(
    "method",
    "wordstill.baselines",
    {
        "skipgram": Skipgram,
        "cbow": Cbow,
        "fasttext": Fasttext,
        "sent2vec": Sent2vec,
        "glove": Glove,
    },
    Baseline,
)


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a whole training; each part has the defaults of its room."""

    methods: tuple[str, ...] = ("skipgram",)
    """What to train, for example ``skipgram`` or ``glove:window=5,dim=100``."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    prepare: PrepareConfig = field(default_factory=PrepareConfig)
    """How text that is not a store yet is prepared."""
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        check_specs(self.methods, _table())


def train(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    methods: str | Sequence[str] = ("skipgram",),
    config: TrainConfig | None = None,
    overwrite: bool = False,
) -> dict[str, WordVectors]:
    """Train word vectors from scratch on text, one table for each method.

    Args:
        inputs: A prepared store, or text files, folders and globs of them, which are prepared first.
        out: Folder for the result; None keeps it in memory. With one method it is the artefact itself, with
            several it has a folder for each.
        methods: What to train; ignored if ``config`` is given.
        config: All settings.
        overwrite: Replace an existing result.

    Returns:
        The tables by label: the method's name, with the settings that were given.

    Raises:
        UsageError: A setting is wrong, or the output exists.
        DataError: The text or a store cannot be read, or the disk is full.
        TrainingError: A training has diverged.

    Example:
        >>> from wordstill.baselines import train
        >>> vectors = train("corpus.txt", "vectors")["skipgram"]  # doctest: +SKIP
    """
    names = (methods,) if isinstance(methods, str) else tuple(methods)
    config = config or TrainConfig(methods=names)
    # A device or a package that cannot be used is refused before the text is prepared.
    choose_device(config.training.device)
    specs = read_baselines(config.methods)
    _refuse_missing(specs)
    if out is not None:
        refuse_existing(Path(out), overwrite=overwrite)
        refuse_foreign(Path(out), REPLACEABLE)
    with TemporaryDirectory(prefix="wordstill-") as folder:
        progress = config.training.progress
        corpus = open_or_prepare(inputs, config.prepare, Path(folder), progress=progress)
        vocabulary = Vocabulary.build(corpus, config.vocabulary)
        tables = {spec.label: train_on_corpus(corpus, vocabulary, spec, config.training) for spec in specs}
        if out is not None:
            write_artefacts(tables, Path(out), overwrite=overwrite)
    return tables


def train_on_corpus(
    corpus: Corpus, vocabulary: Vocabulary, spec: MethodSpec, training: Training
) -> WordVectors:
    """Train one baseline on a prepared text.

    Args:
        corpus: The text.
        vocabulary: Which words get a vector.
        spec: Of `read_baselines`.
        training: Seed, workers and device.
    """
    text = WordText(corpus, vocabulary)
    if not text.words:
        raise DataError(
            f"{corpus.path} has no running word of the vocabulary, so there is nothing to train on. "
            "Lower min_count, or give more text."
        )
    baseline = cast("type[Baseline]", spec.method)(spec.config, training)
    trained = baseline.fit(text)
    if not trained.seen.any():
        raise DataError(
            f"{spec.label}: no word of {corpus.path} got a vector, because none stands near another. Give "
            "text with longer paragraphs."
        )
    words = [key for key, seen in zip(vocabulary.keys, trained.seen) if seen]
    counts = vocabulary.counts[trained.seen]
    provenance = _provenance(corpus, vocabulary, spec, training, baseline.package)
    return WordVectors(words, trained.vectors[trained.seen], counts=counts, provenance=provenance)


def read_baselines(texts: Sequence[str]) -> list[MethodSpec]:
    """What the user asked for, in the grammar of methods: ``glove``, ``skipgram:window=10,dim=100``.

    Raises:
        UsageError: A name, setting or value is unknown, or the same is asked for twice.
    """
    return read_specs(texts, _table(), depth=0)


def _table() -> Mapping[str, type[Method]]:
    """The table as the grammar sees it, which looks at settings only."""
    return cast("Mapping[str, type[Method]]", BASELINES)


def _refuse_missing(specs: Sequence[MethodSpec]) -> None:
    for spec in specs:
        package = cast("type[Baseline]", spec.method).package
        if find_spec(package) is None:
            raise MissingExtra(package, "eval", f"The baseline {spec.method.name}")


def _provenance(
    corpus: Corpus, vocabulary: Vocabulary, spec: MethodSpec, training: Training, package: str
) -> dict[str, Any]:
    device = choose_device(training.device).type if package == "torch" else "cpu"
    return {
        "corpus": {"hash": corpus.hash, "words": corpus.n_words, "settings": corpus.meta["settings"]},
        "method": settings_of(spec),
        "vocabulary": vocabulary_facts(vocabulary),
        "training": {"workers": training.workers, "device": device},
        "seed": training.seed,
        "versions": {
            "wordstill": __version__,
            **{name: package_version(name) for name in (package, "numpy")},
        },
    }
