"""Make triples, train distillers and their ablation, run every task, and keep the figures as JSON.

Example: python scripts/measure_meaning.py STORE --masked MODEL --vectors TABLE --work work --out meaning.json

What is in the working folder already, triples, states and encoders of the same settings, is not made again.
With --only-targets FILE the targets are chosen and written, nothing else; FILE can then stand for STORE, on a
machine with a GPU that has no room or time for the whole text.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from measure import commit, hardware

from wordstill.corpus import Corpus
from wordstill.meaning import DistillerConfig, MeaningEncoder, TrainConfig, Triples, Use, train_encoder
from wordstill.meaning.building import BuildConfig
from wordstill.meaning.liu import LiuTransform
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.pairs import PairConfig, Sources, make_triples
from wordstill.meaning.reading import StateReader
from wordstill.meaning.representation import Representation
from wordstill.meaning.targets import TargetConfig
from wordstill.meaning.tasks import evaluate
from wordstill.meaning.tasks.suite import EvaluationConfig
from wordstill.meaning.translation import RoundTrip, Translator
from wordstill.teacher import Teacher, TeacherConfig
from wordstill.vectors import WordVectors

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
    teacher = Teacher.from_config(
        TeacherConfig(options.teacher or options.masked, options.device, options.dtype)
    )
    encoders = {
        name: encoder_of(options, name, triples, teacher, negatives=negatives)
        for name, negatives in (("meaning", True), ("without-negatives", False))
        if negatives or not options.no_ablation
    }
    reader = next(iter(encoders.values())).reader
    kinds = encoders["meaning"].representations()
    representations = {
        "raw": kinds["raw"],
        "raw-centred": kinds["raw-centred"],
        **liu(options, reader, vectors),
    }
    for name, encoder in encoders.items():
        suffix = "" if name == "meaning" else ", without negatives"
        for kind, represent in encoder.representations().items():
            if not kind.startswith("raw"):
                representations[f"{kind}{suffix}"] = represent
    with timed("tasks"):
        figures = evaluate(
            reader, representations, options.task, EvaluationConfig(options.unit, options.limit)
        )
    print(figures.markdown())
    facts = {
        "command": shlex.join(["python", *sys.argv]),
        "commit": options.commit or commit(),
        "hardware": hardware(),
        "seconds": {name: round(seconds, 2) for name, seconds in SECONDS.items()},
        "triples": {name: value for name, value in triples.header.items() if name != "format"},
        "encoders": {name: dict(encoder.provenance)["result"] for name, encoder in encoders.items()},
        "encoding, beside reading the states": round(encoding_cost(encoders["meaning"], triples), 3),
        "figures": figures.as_dict(),
    }
    options.out.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(
        json.dumps(
            {key: facts[key] for key in ("seconds", "encoders", "encoding, beside reading the states")},
            indent=1,
        )
    )


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
    parser.add_argument("--commit", help="what is checked out, where git cannot say it")
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
            make_triples(sources, masked, vectors, path, config, paraphraser=trip, report=show)
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
        Translator.from_pretrained(name, device=options.device, dtype=options.dtype)
        for name in (options.there, options.back)
    )
    return RoundTrip(*pair)


def encoder_of(
    options: argparse.Namespace, name: str, triples: Triples, teacher: Teacher, *, negatives: bool
) -> MeaningEncoder:
    """An encoder from the working folder, or a newly trained one."""
    path = options.work / name
    if path.exists():
        return MeaningEncoder.load(path, teacher=teacher)
    config = TrainConfig(
        batch=options.batch,
        learning_rate=options.learning_rate,
        warm_up=options.warm_up,
        min_delta=options.min_delta,
        max_epochs=options.max_epochs,
        seed=options.seed,
        negatives=negatives,
        distiller=DistillerConfig(feedforward=options.feedforward, layer_embeddings=options.layer_embeddings),
    )
    with timed(f"states and training, {name}"):
        encoder, trained = train_encoder(
            triples,
            teacher,
            path,
            config,
            layers=options.layers,
            states=options.work / "states",
            other_teacher=True,
        )
    SECONDS[f"an epoch, {name}"] = trained.seconds_per_epoch
    print(name, trained.facts())
    return encoder


def liu(options: argparse.Namespace, reader: StateReader, vectors: WordVectors) -> dict[str, Representation]:
    """The transform of Liu et al. 2020, fitted on the first sentences of the text."""
    if not options.liu_sentences:
        return {}
    texts = sentences_of(options)
    with timed("Liu et al. 2020"):
        return {"Liu et al. 2020": LiuTransform.fit_texts(reader, texts, vectors)}


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


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


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
