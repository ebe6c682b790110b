"""Make triples, train distillers and their ablation, run every task, and keep the figures as JSON.

Example: python scripts/measure_meaning.py STORE --masked MODEL --vectors TABLE --work work --out meaning.json

What is in the working folder already, triples, states and encoders of the same settings, is not made again.
With --only-targets FILE the targets are chosen and written, nothing else; FILE can then stand for STORE, on a
machine with a GPU that has no room or time for the whole text. With several --variant the one that tells the
senses of WiC best apart, on its training and development pairs, is marked as chosen. The JSON file is written
after every step, so that a run that is cut off leaves what it has.
"""

from __future__ import annotations

import argparse
import json
import lzma
import platform
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from meaning_variants import variant, wic_development

from wordstill.corpus import Corpus
from wordstill.files import atomic_file
from wordstill.meaning import DistillerConfig, MeaningEncoder, TrainConfig, Triples, Use, train_encoder
from wordstill.meaning.building import BuildConfig
from wordstill.meaning.ctranslate import load_translator
from wordstill.meaning.distiller import RAW_SCALED, SCALINGS
from wordstill.meaning.liu import LiuTransform
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.pairs import PairConfig, Sources, make_triples
from wordstill.meaning.reading import StateReader
from wordstill.meaning.representation import Representation
from wordstill.meaning.targets import TargetConfig
from wordstill.meaning.tasks import evaluate
from wordstill.meaning.tasks.suite import TASKS, Evaluation, EvaluationConfig
from wordstill.meaning.translation import RoundTrip
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

PAPER = "paper"
DEVELOPMENT = "development, area under the curve of WiC"
ABLATION = ", without negatives"
LIU = "Liu et al. 2020"
KINDS = ("meaning", "meaning-centred", "context")
SCALED_RAW = tuple(f"raw-{scaling}" for scaling in SCALINGS if scaling != "none")
WORDS = "paws-words"
SECONDS: dict[str, float] = {}


def main() -> None:
    """Measure, print the table and write the result."""
    options = arguments()
    if options.only_targets is not None:
        write_sources(sources_of(options, config_of(options)), options.only_targets)
        return
    options.work.mkdir(parents=True, exist_ok=True)
    vectors = WordVectors.load(options.vectors)
    triples = triples_of(options, vectors)
    facts: dict[str, Any] = {
        "command": shlex.join(["python", *sys.argv]),
        "commit": options.commit,
        "hardware": hardware(),
        "translators": [facts_of(name) for name in (options.there, options.back) if name],
        "triples": {name: value for name, value in triples.header.items() if name != "format"},
    }
    write(options, facts)
    if options.stop_after_triples:
        return
    teacher = Teacher.from_config(
        TeacherConfig(options.teacher or options.masked, options.device, options.dtype)
    )
    encoders = trained(options, triples, teacher, facts)
    reader = next(iter(encoders.values())).reader
    representations = {**raw(encoders), **liu(options, reader, vectors), **distilled(encoders)}
    facts["encoding, beside reading the states"] = {
        name: round(encoding_cost(encoder, triples), 3)
        for name, encoder in encoders.items()
        if not name.endswith(ABLATION)
    }
    write(options, facts)
    with timed("tasks"):
        result = evaluated(options, reader, representations, facts["chosen"])
    print(result.markdown())
    write(options, {**facts, "figures": result.as_dict()})


def evaluated(
    options: argparse.Namespace,
    reader: StateReader,
    representations: dict[str, Representation],
    chosen: str,
) -> Evaluation:
    """All tasks; cosines of words, which take long, only for what the paper's table has, and the chosen."""
    config = EvaluationConfig(options.unit, options.limit)
    tasks = options.task or TASKS
    main = [task for task in tasks if task != WORDS]
    figures = evaluate(reader, representations, main, config).as_dict() if main else {}
    if WORDS in tasks:
        names = (PAPER, PAPER + ABLATION, chosen, chosen + ABLATION)
        shown = {
            "raw",
            *SCALED_RAW,
            LIU,
            *(f"{kind} ({name})" for kind in ("meaning", "context") for name in names),
        }
        few = {name: represent for name, represent in representations.items() if name in shown}
        for name, values in evaluate(reader, few, [WORDS], config).as_dict().items():
            figures.setdefault(name, {}).update(values)
    return Evaluation(figures)


def trained(
    options: argparse.Namespace, triples: Triples, teacher: Teacher, facts: dict[str, Any]
) -> dict[str, MeaningEncoder]:
    """Encoders of every variant, and the ablations of the paper's settings and of the best variant."""
    base = base_config(options)
    configs = dict([(PAPER, base), *(variant(base, text) for text in options.variant or ())])
    encoders: dict[str, MeaningEncoder] = {}
    for name, config in configs.items():
        encoders[name] = encoder_of(options, name, triples, teacher, config)
    with timed("development"):
        reader = encoders[PAPER].reader
        areas = wic_development(reader, {**raw(encoders), **distilled(encoders)})
    facts[DEVELOPMENT] = {name: round(area, 4) for name, area in areas.items()}
    chosen = max(encoders, key=lambda name: areas[f"meaning ({name})"])
    facts["chosen"] = chosen
    print(DEVELOPMENT, facts[DEVELOPMENT])
    print(f"chosen: {chosen}")
    for name in dict.fromkeys((PAPER, chosen)) if not options.no_ablation else ():
        configs[name + ABLATION] = config = replace(configs[name], negatives=False)
        encoders[name + ABLATION] = encoder_of(options, name + ABLATION, triples, teacher, config)
    facts["encoders"] = {
        name: {"settings": asdict(configs[name]), **dict(encoder.provenance)["result"]}
        for name, encoder in encoders.items()
    }
    return encoders


def raw(encoders: dict[str, MeaningEncoder]) -> dict[str, Representation]:
    """The mean of the layers: as it is, without the mean vector, and after each scaling that was trained.

    The last tell what scaling does from what distilling does.
    """
    kinds = encoders[PAPER].representations()
    found = {kind: kinds[kind] for kind in ("raw", "raw-centred")}
    for encoder in encoders.values():
        scaling = encoder.distillers.config.scaling
        if scaling != "none" and f"raw-{scaling}" not in found:
            found[f"raw-{scaling}"] = encoder.representations()[RAW_SCALED]
    return found


def distilled(encoders: dict[str, MeaningEncoder]) -> dict[str, Representation]:
    """Meanings and contexts of all encoders, meanings also without their mean vectors."""
    return {
        f"{kind} ({name})": represent
        for name, encoder in encoders.items()
        for kind, represent in encoder.representations().items()
        if kind in KINDS
    }


def arguments() -> argparse.Namespace:
    """What the user asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path, help="a prepared text, or a file of chosen targets")
    parser.add_argument(
        "--only-targets", type=Path, metavar="FILE", help="choose targets, write them, and stop"
    )
    parser.add_argument("--masked", required=True, help="masked language model")
    parser.add_argument("--teacher", help="teacher to distil; by default the masked model")
    parser.add_argument(
        "--vectors", required=True, type=Path, help="static vectors for the tests of similarity"
    )
    parser.add_argument("--there", help="translator from the language of the text; without: substitution")
    parser.add_argument("--back", help="translator back into it")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", required=True, type=Path, help="JSON file to make")
    parser.add_argument("--stop-after-triples", action="store_true", help="train nothing yet")
    parser.add_argument("--enough", type=int, help="triples after which no more targets are taken")
    parser.add_argument("--triples-seconds", type=float, help="time after which none are taken")
    parser.add_argument("--train-seconds", type=float, help="time of each training at the most")
    parser.add_argument(
        "--variant",
        action="append",
        metavar="NAME:FIELD=VALUE,...",
        help="train these settings too, such as standardised:scaling=standardised,learning_rate=2e-4",
    )
    parser.add_argument("--count", type=int, default=PairConfig.count, help="targets to choose")
    parser.add_argument("--similarity", type=float, default=BuildConfig.similarity)
    parser.add_argument("--probability", type=float, default=BuildConfig.probability)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-epochs", type=int, default=TrainConfig.max_epochs)
    parser.add_argument("--batch", type=int, default=TrainConfig.batch)
    parser.add_argument("--learning-rate", type=float, default=TrainConfig.learning_rate)
    parser.add_argument("--warm-up", type=int, default=TrainConfig.warm_up)
    parser.add_argument("--min-delta", type=float, default=TrainConfig.min_delta)
    parser.add_argument("--layers", default="top-half")
    parser.add_argument("--feedforward", type=int, default=DistillerConfig.feedforward)
    parser.add_argument("--layer-embeddings", action="store_true")
    parser.add_argument("--no-ablation", action="store_true", help="do not train without negatives")
    parser.add_argument(
        "--liu-sentences", type=int, default=20_000, help="sentences for Liu et al. 2020; 0 for none"
    )
    parser.add_argument("--task", action="append", help="run only these tasks")
    parser.add_argument("--limit", type=int, help="pairs of each sentence task")
    parser.add_argument("--unit", default=EvaluationConfig.unit)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--commit", default="unknown", help="what is checked out")
    return parser.parse_args()


def triples_of(options: argparse.Namespace, vectors: WordVectors) -> Triples:
    """Triples from the working folder, or new ones."""
    path = options.work / "triples.jsonl"
    if not path.exists():
        config = config_of(options)
        masked = MaskedModel.from_pretrained(options.masked, device=options.device, dtype=options.dtype)
        trip = round_trip(options)
        with timed("choosing targets"):
            sources = sources_of(options, config)
        with timed("triples"):
            triples = make_triples(
                sources,
                masked,
                vectors,
                path,
                config,
                paraphraser=trip,
                report=show,
                enough=options.enough,
                seconds=options.triples_seconds,
            )
        SECONDS["triples per second"] = len(triples) / SECONDS["triples"]
    triples = Triples.read(path)
    header = triples.header
    print(f"{len(triples):,} triples of {header['targets']:,} targets; dropped: {header['dropped']}")
    for triple in triples[:: max(1, len(triples) // 5)][:5]:
        print(triple.shown(), end="\n\n")
    return triples


def config_of(options: argparse.Namespace) -> PairConfig:
    """The settings of making triples."""
    build = BuildConfig(options.similarity, options.probability)
    return PairConfig(options.count, TargetConfig(seed=options.seed), build)


def sources_of(options: argparse.Namespace, config: PairConfig) -> Sources:
    """Targets of a prepared text, or those of a file."""
    if options.store.is_dir():
        return Sources.of_corpus(Corpus.open(options.store), config)
    with lzma.open(options.store, "rt", encoding="utf-8") as handle:
        header, *uses = map(json.loads, handle)
    return Sources([Use(*use) for use in uses[: options.count]], None, header["text"])


def write_sources(sources: Sources, path: Path) -> None:
    """Write targets to a compressed file that stands for the text they come from."""
    with lzma.open(path, "wt", encoding="utf-8", preset=1) as handle:
        for line in ({"text": sources.hash}, *([use.text, use.start, use.end] for use in sources.uses)):
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{len(sources.uses):,} targets, {path.stat().st_size:,} bytes: {path}")


def round_trip(options: argparse.Namespace) -> RoundTrip | None:
    """The translators, if they were given."""
    if options.there is None:
        return None
    pair = (
        load_translator(name, device=options.device, dtype=options.dtype)
        for name in (options.there, options.back)
    )
    return RoundTrip(*pair)


def base_config(options: argparse.Namespace) -> TrainConfig:
    """The settings that variants change."""
    return TrainConfig(
        batch=options.batch,
        learning_rate=options.learning_rate,
        warm_up=options.warm_up,
        min_delta=options.min_delta,
        max_epochs=options.max_epochs,
        seed=options.seed,
        distiller=DistillerConfig(feedforward=options.feedforward, layer_embeddings=options.layer_embeddings),
    )


def encoder_of(
    options: argparse.Namespace, name: str, triples: Triples, teacher: Teacher, config: TrainConfig
) -> MeaningEncoder:
    """An encoder from the working folder, or a newly trained one."""
    path = options.work / name.replace(", ", "-").replace(" ", "-")
    if path.exists():
        return MeaningEncoder.load(path, teacher=teacher)
    with timed(f"states and training, {name}"):
        encoder, result = train_encoder(
            triples,
            teacher,
            path,
            config,
            layers=options.layers,
            states=options.work / "states",
            other_teacher=True,
            seconds=options.train_seconds,
        )
    SECONDS[f"an epoch, {name}"] = result.seconds_per_epoch
    print(name, result.facts(), flush=True)
    return encoder


def liu(options: argparse.Namespace, reader: StateReader, vectors: WordVectors) -> dict[str, Representation]:
    """The transform of Liu et al. 2020, fitted on the first sentences of the text."""
    if not options.liu_sentences:
        return {}
    texts = sentences_of(options)
    with timed(LIU):
        return {LIU: LiuTransform.fit_texts(reader, texts, vectors)}


def sentences_of(options: argparse.Namespace) -> list[str]:
    """The first sentences of a prepared text, or of a file of targets."""
    if not options.store.is_dir():
        return [use.text for use in sources_of(options, config_of(options)).uses[: options.liu_sentences]]
    texts: list[str] = []
    for paragraph in Corpus.open(options.store):
        texts += [sentence.text for sentence in paragraph.sentences]
        if len(texts) >= options.liu_sentences:
            break
    return texts[: options.liu_sentences]


def encoding_cost(encoder: MeaningEncoder, triples: Triples) -> float:
    """Seconds to encode every word of texts, in seconds that reading their states alone takes."""
    texts = [triple.original.text for triple in triples[:2000]]
    raw = MeaningEncoder(encoder.teacher, encoder.distillers, encoder.layers, kind="raw")
    best = {"raw": float("inf"), "meaning": float("inf")}
    for _ in range(3):
        for one in (raw, encoder):
            synchronise()
            start = time.perf_counter()
            one.encode_sentences(texts)
            synchronise()
            best[one.kind] = min(best[one.kind], time.perf_counter() - start)
    return best["meaning"] / best["raw"]


def hardware() -> str:
    """The device that did the work."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.machine()}, {torch.get_num_threads()} threads"


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def facts_of(translator: str) -> dict[str, Any]:
    """What was measured when a translator was trained, if it was trained here."""
    path = Path(translator) / "measured.json"
    measured = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {"name": translator, **{key: value for key, value in measured.items() if key != "examples"}}


def write(options: argparse.Namespace, facts: dict[str, Any]) -> None:
    """Write what is known so far."""
    seconds = {name: round(value, 2) for name, value in SECONDS.items()}
    print(json.dumps({"seconds": seconds}), flush=True)
    with atomic_file(options.out) as handle:
        handle.write(
            (json.dumps({"seconds": seconds, **facts}, indent=1, ensure_ascii=False) + "\n").encode()
        )


def show(done: int, total: int) -> None:
    """Say how far it is."""
    print(f"\r{done:,} of {total:,} targets", end="\n" if done == total else "", flush=True)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Note how long a step takes."""
    start = time.monotonic()
    yield
    SECONDS[name] = time.monotonic() - start


if __name__ == "__main__":
    main()
