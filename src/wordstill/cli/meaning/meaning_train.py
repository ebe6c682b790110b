"""``wordstill meaning`` make, pairs and train: how an encoder is made."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wordstill.cli import options
from wordstill.cli.failures import needs_models
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import argument, flag, option
from wordstill.cli.printing import count_text, show_facts, show_next, time_text
from wordstill.core.guard import printable
from wordstill.core.object_stores import local_copy
from wordstill.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from wordstill.meaning import Triples
    from wordstill.meaning.distiller import Scaling
    from wordstill.meaning.distiller_training import TrainConfig, Trained
    from wordstill.meaning.make_triples import PairConfig
    from wordstill.meaning.targets import Sources
    from wordstill.meaning.translation import RoundTrip
    from wordstill.teacher import Teacher

MAKE_EXAMPLES = """\
wordstill meaning make corpus.txt --masked distilbert/distilbert-base-uncased --out meaning
wordstill meaning make store --masked ./my-bert --triples 5000 --out meaning"""


def make(
    *,
    inputs: options.Inputs,
    masked: Annotated[str, option("NAME", "Masked language model: a name on the Hub, or a folder.")],
    out: options.NewFolder,
    triples: Annotated[
        int, option("N", "Number of words in sentences to learn from; fewer are faster.", min=20)
    ] = 20_000,
    min_words: Annotated[int, option("N", "Words of the shortest sentence that is used.", min=1)] = 8,
    epochs: Annotated[int, option("N", "Maximum number of epochs; training stops early if it can.", min=1)] = 50,
    seed: options.Seed = 0,
    workers: options.WorkerCount = None,
    ray: options.RayAddress = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
) -> None:
    """Make an encoder of meanings from text in one command.

    Runs prepare, distill, meaning pairs and meaning train with quick settings. Run the same command again to resume an
    interrupted run.
    """
    with needs_models("wordstill meaning make"):
        from wordstill.meaning.make_encoder import ReadyConfig, make_encoder
        from wordstill.meaning.work_blocks import Workers

    options.output_folder(out)
    start = time.monotonic()
    _, trained = make_encoder(
        cast("list[str | Path]", inputs),
        out,
        masked,
        ReadyConfig(triples, min_words, epochs, seed),
        workers=Workers(workers, ray),
        device=device,
        dtype=dtype,
        overwrite=overwrite,
        progress=options.wants_progress(progress),
    )
    _show_trained(trained, out, time.monotonic() - start)


PAIRS_EXAMPLES = """\
wordstill meaning pairs store --masked ./bert --vectors vectors --out triples.jsonl
wordstill meaning pairs store --masked ./bert --vectors glove.txt --there ./en-de --back ./de-en -o t
wordstill meaning pairs --paraphrases pairs.tsv --masked ./bert --vectors vectors -o t.jsonl"""

CHOICE = "Which words and sentences"
TESTS = "When words have the same meaning"


def pairs(
    masked: Annotated[str, option("NAME", "Masked language model: a name on the Hub, or a folder.")],
    vectors: Annotated[Path, option("TABLE", "Static vectors that measure how similar two words are.")],
    out: Annotated[Path, option("FILE", "Output file.", "--out", "-o")],
    store: Annotated[Path | None, argument("STORE", "A prepared text.")] = None,
    paraphrases: Annotated[
        Path | None, option("FILE", "Ready-made paraphrases: a sentence, a tab and its paraphrase per line.")
    ] = None,
    there: Annotated[str | None, option("NAME", "Translator from the language of the text.")] = None,
    back: Annotated[str | None, option("NAME", "Translator back into it.")] = None,
    count: Annotated[
        int, option("N", "Number of words in sentences to make triples from.", "--targets", "--count", min=1)
    ] = 100_000,
    sample: Annotated[int, option("N", "Triples to show at the end.", min=0)] = 3,
    workers: options.WorkerCount = None,
    ray: options.RayAddress = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    min_words: Annotated[int, option("N", "Words of the shortest sentence that is used.", panel=CHOICE, min=1)] = 15,
    max_words: Annotated[int, option("N", "Words of the longest sentence that is used.", panel=CHOICE, min=1)] = 50,
    vocabulary: Annotated[
        int, option("N", "Targets are among the N most frequent words.", panel=CHOICE, min=1)
    ] = 50_000,
    skipped: Annotated[
        float,
        option(
            "SHARE", "Share of these words to skip, the most frequent.", "--skip-frequent", "--skipped", panel=CHOICE
        ),
    ] = 0.001,
    seed: Annotated[int, option("N", "Random seed of the choice.", panel=CHOICE, min=0)] = 0,
    similarity: Annotated[
        float, option("COS", "Minimum cosine of words with the same meaning; 0.6 suits fastText.", panel=TESTS)
    ] = 0.6,
    probability: Annotated[float, option("P", "Minimum probability of a predicted word.", panel=TESTS)] = 0.003,
    guarded: Annotated[
        bool,
        flag(
            "Never replace names, nor any word with nearly the same word; the paper has no such rules.",
            "--guarded/--as-printed",
            panel=TESTS,
        ),
    ] = True,
) -> None:
    """Make training triples: a word in a sentence, the same meaning elsewhere, another word in its place.

    Positives come from a file of paraphrases, from round-trip translation, or, with neither, from replacing the
    word. Run the same command again to resume an interrupted run.
    """
    with needs_models("wordstill meaning pairs"):
        from wordstill.meaning.make_triples import PairConfig, TripleWorkers, make_triples
        from wordstill.meaning.masked import MaskedModel
        from wordstill.meaning.targets import TargetConfig
        from wordstill.meaning.triple_builder import BuildConfig
        from wordstill.meaning.work_blocks import Workers

    config = PairConfig(
        count,
        TargetConfig(min_words, max_words, vocabulary, skipped, seed),
        BuildConfig(similarity, probability, guarded=guarded),
    )
    all_workers = Workers(workers, ray)
    with all_workers.engaged():
        table, model = open_table(vectors), MaskedModel.from_pretrained(masked, device=device, dtype=dtype)
        trip = _round_trip(there, back, device, dtype)
        translators = None if there is None or back is None else (there, back)
        by = TripleWorkers(all_workers, str(local_copy(vectors).resolve()), translators) if all_workers else None
        start = time.monotonic()
        triples = make_triples(
            _sources(store, paraphrases, config),
            model,
            table,
            out,
            config,
            paraphraser=trip,
            by=by,
            overwrite=overwrite,
            progress=options.wants_progress(progress),
        )
    _show_triples(triples, out, time.monotonic() - start, sample)


def _sources(store: Path | None, paraphrases: Path | None, config: PairConfig) -> Sources:
    from wordstill.corpus import Corpus
    from wordstill.meaning.targets import Sources

    if (store is None) == (paraphrases is None):
        raise UsageError("Name either a prepared text (wordstill prepare) or --paraphrases FILE.")
    if paraphrases is not None:
        return Sources.of_file(paraphrases, config.count, config.targets)
    assert store is not None
    return Sources.of_corpus(Corpus.open(store, verify=True), config.count, config.targets)


def _round_trip(there: str | None, back: str | None, device: str, dtype: str) -> RoundTrip | None:
    from wordstill.meaning.translation import RoundTrip, open_translator

    if there is None and back is None:
        return None
    if there is None or back is None:
        raise UsageError("A round trip needs two translators: use --there and --back.")
    first, second = (open_translator(name, device=device, dtype=dtype) for name in (there, back))
    return RoundTrip(first, second)


def _show_triples(triples: Triples, out: Path, seconds: float, sample: int) -> None:
    header = triples.header
    typer.echo(f"Made {count_text(len(triples), 'triple')} in {time_text(seconds)}: {out}")
    facts = {"targets": f"{header['targets']:,}", "rate": f"{len(triples) / max(seconds, 1e-3):,.0f} triples/s"}
    facts |= {f"positives {how}": f"{number:,}" for how, number in header["positives"].items()}
    facts |= {f"dropped, {reason}": f"{number:,}" for reason, number in header["dropped"].items()}
    show_facts(facts)
    step = max(1, len(triples) // max(1, sample))
    for number in range(0, min(len(triples), step * sample), step):
        typer.echo(f"\n{printable(triples[number].shown())}")
    show_next(("meaning", "train", out, "--out", "meaning"))


TRAIN_EXAMPLES = """\
wordstill meaning train triples.jsonl --out meaning
wordstill meaning train triples.jsonl --no-negatives --states states --out ablation
wordstill meaning train triples.jsonl --preset paper --states states --out paper"""

TRAINING = "Training"


def train(
    triples: Annotated[Path, argument("TRIPLES", "A file written by meaning pairs.")],
    out: options.NewFolder,
    teacher: Annotated[
        str | None, option("NAME", "The teacher; by default the masked model that made the triples.")
    ] = None,
    other_teacher: Annotated[bool, flag("Allow another teacher than that masked model.", "--other-teacher")] = False,
    layers: Annotated[str, option("LAYERS", "Layers to read: top-half, all, or a range such as 4-6.")] = "top-half",
    states: Annotated[Path | None, option("DIR", "Keep the teacher's states for later training runs.")] = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    overwrite: options.Overwrite = False,
    progress: options.ShowProgress = None,
    preset: Annotated[
        str,
        option(
            "NAME",
            "default, chosen on development data, or paper: --scaling none --learning-rate 4e-5 --feedforward 4.",
            panel=TRAINING,
        ),
    ] = "default",
    negatives: Annotated[
        bool, flag("Train with negatives; the paper's ablation has none.", "--negatives/--no-negatives", panel=TRAINING)
    ] = True,
    layer_embeddings: Annotated[
        bool, flag("Tell the distillers which state is from which layer.", "--layer-embeddings", panel=TRAINING)
    ] = False,
    scaling: Annotated[
        str | None,
        option(
            "NAME",
            "How each layer's states are scaled first: none, scaled, whitened or standardised, the default.",
            panel=TRAINING,
        ),
    ] = None,
    batch: Annotated[int, option("N", "Triples in a batch.", panel=TRAINING, min=1)] = 128,
    learning_rate: Annotated[
        float | None, option("X", "By default 2e-4, or that of the preset.", panel=TRAINING)
    ] = None,
    warm_up: Annotated[int, option("STEPS", "Warm-up steps of the learning rate.", panel=TRAINING, min=0)] = 1000,
    max_epochs: Annotated[int, option("N", "Maximum number of epochs.", panel=TRAINING, min=1)] = 100,
    patience: Annotated[
        int,
        option(
            "CHECKS", "Stop after N checks without improvement; there are ten checks per epoch.", panel=TRAINING, min=1
        ),
    ] = 15,
    min_delta: Annotated[
        float, option("X", "What counts as an improvement of the validation loss.", panel=TRAINING, min=0)
    ] = 1e-4,
    heads: Annotated[int, option("N", "Attention heads of a distiller.", panel=TRAINING, min=1)] = 8,
    feedforward: Annotated[
        int | None,
        option("N", "Inner layer width as a multiple of the state width; by default 1.", panel=TRAINING, min=1),
    ] = None,
    variational: Annotated[
        float,
        option(
            "X",
            "Train a variational autoencoder with this weight of the divergence; 0 turns it off.",
            panel=TRAINING,
            min=0,
        ),
    ] = 0.0,
    find_rate: Annotated[
        bool,
        flag(
            "Only run a learning-rate range test: raise the rate until the loss rises.", "--find-rate", panel=TRAINING
        ),
    ] = False,
    seed: Annotated[int, option("N", "Random seed.", panel=TRAINING, min=0)] = 0,
) -> None:
    """Train the two distillers, of meaning and of context, over a frozen teacher.

    Run the same command again to resume an interrupted run.
    """
    with needs_models("wordstill meaning train"):
        from wordstill.meaning import PRESETS, Triples, train_encoder
        from wordstill.teacher import Teacher, TeacherConfig

    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
    base = PRESETS[preset]
    config = replace(
        base,
        batch=batch,
        learning_rate=base.learning_rate if learning_rate is None else learning_rate,
        warm_up=warm_up,
        patience=patience,
        min_delta=min_delta,
        max_epochs=max_epochs,
        negatives=negatives,
        seed=seed,
        distiller=replace(
            base.distiller,
            heads=heads,
            feedforward=base.distiller.feedforward if feedforward is None else feedforward,
            layer_embeddings=layer_embeddings,
            variational=variational,
            scaling=base.distiller.scaling if scaling is None else cast("Scaling", scaling),
        ),
    )
    found = Triples.read(triples)
    name = teacher or str(found.header.get("masked_model", {}).get("name"))
    model = Teacher.from_config(TeacherConfig(name, device, dtype))
    if find_rate:
        _find_rate(found, model, layers, states, config)
        return
    start = time.monotonic()
    _, trained = train_encoder(
        found,
        model,
        options.output_folder(out),
        config,
        layers=layers,
        states=states,
        other_teacher=other_teacher,
        overwrite=overwrite,
        progress=options.wants_progress(progress),
    )
    _show_trained(trained, out, time.monotonic() - start)


def _find_rate(triples: Triples, teacher: Teacher, layers: str, states: Path | None, config: TrainConfig) -> None:
    from wordstill.core.resume import temporary_folder
    from wordstill.meaning.distiller_training import find_rate
    from wordstill.meaning.state_cache import StateCache
    from wordstill.teacher.spans import StateReader

    with temporary_folder() as work:
        cache = StateCache.build(states or work.path / "states", StateReader(teacher, layers), triples)
        found = find_rate(cache, config, device=teacher.device)
        del cache
    for rate, loss in list(zip(found.rates, found.losses))[:: max(1, len(found.rates) // 20)]:
        typer.echo(f"{rate:10.2e}  {loss:.4f}")
    typer.echo(f"The loss fell fastest at {found.best:.1e}. Nothing was trained; use --learning-rate {found.best:.1e}.")


def _show_trained(trained: Trained, out: Path, seconds: float) -> None:
    """Print how a training ended and what to do next."""
    typer.echo(f"Trained in {time_text(seconds)}: {out}")
    seen, steps = trained.diagnosis, trained.history[-1][0]
    show_facts(
        {
            "steps": f"{steps:,} ({time_text(trained.seconds_per_epoch)} for an epoch)",
            "validation loss": f"{trained.best:.4f} (first {trained.history[0][1]:.4f})",
            "cosine of meanings": _cosines(seen.meaning_positive, seen.meaning_negative, seen.meaning_others),
            "cosine of contexts": _cosines(seen.context_positive, seen.context_negative, seen.context_others),
        }
    )
    show_next(("meaning", "evaluate", out), ("meaning", "encode", out, "sentences.txt", "--out", "uses"))


def _cosines(positives: float, negatives: float, others: float) -> str:
    return f"{positives:.3f} positives, {negatives:.3f} negatives, {others:.3f} other words"
