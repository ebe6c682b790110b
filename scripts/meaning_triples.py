"""The first phase of measuring meanings: targets, from a text or from a file, and their triples."""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meaning_record import Record

from wordstill.corpus import Corpus
from wordstill.meaning import Triples, Use
from wordstill.meaning.building import BuildConfig
from wordstill.meaning.ctranslate import load_translator
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.pairs import PairConfig, make_triples
from wordstill.meaning.sources import Sources
from wordstill.meaning.targets import TargetConfig
from wordstill.meaning.translation import RoundTrip
from wordstill.vectors import WordVectors

SHOWN = 5
"""Triples that are printed."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What can be said about this phase."""
    group = parser.add_argument_group("triples")
    group.add_argument("--masked", required=True, help="masked language model")
    group.add_argument(
        "--vectors", required=True, type=Path, help="static vectors for the tests of similarity"
    )
    group.add_argument("--there", help="translator from the language of the text; without: substitution")
    group.add_argument("--back", help="translator back into it")
    group.add_argument("--count", type=int, default=PairConfig.count, help="targets to choose")
    group.add_argument("--similarity", type=float, default=BuildConfig.similarity)
    group.add_argument("--probability", type=float, default=BuildConfig.probability)
    group.add_argument("--enough", type=int, help="triples after which no more targets are taken")
    group.add_argument("--triples-seconds", type=float, help="time after which none are taken")
    group.add_argument(
        "--only-targets", type=Path, metavar="FILE", help="choose targets, write them, and stop"
    )
    group.add_argument("--stop-after-triples", action="store_true", help="train nothing yet")


def triples_of(options: argparse.Namespace, vectors: WordVectors, record: Record) -> Triples:
    """Triples from the working folder, or new ones."""
    path = options.work / "triples.jsonl"
    if not path.exists():
        make(options, vectors, path, record)
    triples = Triples.read(path)
    header = triples.header
    print(f"{len(triples):,} triples of {header['targets']:,} targets; dropped: {header['dropped']}")
    for triple in triples[:: max(1, len(triples) // SHOWN)][:SHOWN]:
        print(triple.shown(), end="\n\n")
    record.facts["translators"] = [facts_of(name) for name in (options.there, options.back) if name]
    record.facts["triples"] = {name: value for name, value in header.items() if name != "format"}
    return triples


def make(options: argparse.Namespace, vectors: WordVectors, path: Path, record: Record) -> None:
    """Make triples, and note how fast."""
    masked = MaskedModel.from_pretrained(options.masked, device=options.device, dtype=options.dtype)
    trip = round_trip(options)
    with record.timed("choosing targets"):
        sources = sources_of(options)
    with record.timed("triples"):
        triples = make_triples(
            sources,
            masked,
            vectors,
            path,
            config_of(options),
            paraphraser=trip,
            report=show,
            enough=options.enough,
            seconds=options.triples_seconds,
        )
    record.seconds["triples per second"] = len(triples) / record.seconds["triples"]


def config_of(options: argparse.Namespace) -> PairConfig:
    """The settings of making triples."""
    build = BuildConfig(options.similarity, options.probability)
    return PairConfig(options.count, TargetConfig(seed=options.seed), build)


def sources_of(options: argparse.Namespace) -> Sources:
    """Targets of a prepared text, or those of a file."""
    if options.store.is_dir():
        config = config_of(options)
        return Sources.of_corpus(Corpus.open(options.store), config.count, config.targets)
    with lzma.open(options.store, "rt", encoding="utf-8") as handle:
        header, *uses = map(json.loads, handle)
    return Sources([Use(*use) for use in uses[: options.count]], None, header["text"])


def write_sources(sources: Sources, path: Path) -> None:
    """Write targets to a compressed file that stands for the text they come from."""
    with lzma.open(path, "wt", encoding="utf-8", preset=1) as handle:
        for line in ({"text": sources.hash}, *([use.text, use.start, use.end] for use in sources.uses)):
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{len(sources.uses):,} targets, {path.stat().st_size:,} bytes: {path}")


def sentences_of(options: argparse.Namespace) -> Iterator[str]:
    """Sentences of a prepared text, or of a file of targets, from the first on."""
    if options.store.is_dir():
        for paragraph in Corpus.open(options.store):
            yield from (sentence.text for sentence in paragraph.sentences)
        return
    with lzma.open(options.store, "rt", encoding="utf-8") as handle:
        next(handle)
        for line in handle:
            yield json.loads(line)[0]


def round_trip(options: argparse.Namespace) -> RoundTrip | None:
    """The translators, if they were given."""
    if options.there is None:
        return None
    pair = (
        load_translator(name, device=options.device, dtype=options.dtype)
        for name in (options.there, options.back)
    )
    return RoundTrip(*pair)


def facts_of(translator: str) -> dict[str, Any]:
    """What was measured when a translator was trained, if it was trained here."""
    path = Path(translator) / "measured.json"
    measured = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {"name": translator, **{key: value for key, value in measured.items() if key != "examples"}}


def show(done: int, total: int) -> None:
    """Say how far it is."""
    print(f"\r{done:,} of {total:,} targets", end="\n" if done == total else "", flush=True)
