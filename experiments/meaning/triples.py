"""The first phase of measuring meanings: targets, from a text or from a file, and their triples."""

from __future__ import annotations

import argparse
import json
import lzma
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from experiments.record import TimedRecord
from wordstill.corpus import Corpus
from wordstill.errors import UsageError
from wordstill.meaning import Occurrence, Triples
from wordstill.meaning.make_triples import Mode, PairConfig, make_triples
from wordstill.meaning.masked import MaskedModel
from wordstill.meaning.targets import Sources, TargetConfig
from wordstill.meaning.translation import Paraphraser, RoundTrip, open_translator
from wordstill.meaning.triple_builder import BuildConfig
from wordstill.meaning.triples import write_triples
from wordstill.vectors import WordVectors

SHOWN = 5
"""Triples that are printed."""
COUNTS = ("positives", "dropped")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this phase."""
    group = parser.add_argument_group("triples")
    group.add_argument("--masked", required=True, help="masked language model")
    group.add_argument("--vectors", required=True, type=Path, help="static vectors for the tests of similarity")
    group.add_argument("--there", help="translator from the language of the text; without it, words are substituted")
    group.add_argument("--back", help="translator back into it")
    group.add_argument("--count", type=int, default=PairConfig.count, help="targets to choose")
    group.add_argument("--similarity", type=float, default=BuildConfig.similarity)
    group.add_argument("--probability", type=float, default=BuildConfig.probability)
    group.add_argument("--enough", type=int, help="stop at this number of triples")
    group.add_argument("--triples-seconds", type=float, help="time limit for targets")
    group.add_argument(
        "--fill-seconds",
        type=float,
        help="time limit for filling up to --enough by substitution; without it, none are made",
    )
    group.add_argument("--only-targets", type=Path, metavar="FILE", help="choose targets, write them, and stop")
    group.add_argument("--stop-after-triples", action="store_true", help="stop before training")


def triples_of(options: argparse.Namespace, vectors: WordVectors, record: TimedRecord) -> Triples:
    """Triples from the working folder, or new ones."""
    path = options.work / "triples.jsonl"
    record.facts["translators"] = [{"name": Path(name).name} for name in (options.there, options.back) if name]
    if not path.exists():
        make(options, vectors, path, record)
    triples = Triples.read(path)
    header = triples.header
    print(f"{len(triples):,} triples of {header['targets']:,} targets; dropped: {header['dropped']}")
    for triple in triples[:: max(1, len(triples) // SHOWN)][:SHOWN]:
        print(triple.shown(), end="\n\n")
    if header["mode"] == Mode.SUBSTITUTED and options.there:
        record.facts |= {"translators": [], "translators refused": record.facts["translators"]}
    record.facts["triples"] = {name: value for name, value in header.items() if name != "format"}
    return triples


def make(options: argparse.Namespace, vectors: WordVectors, path: Path, record: TimedRecord) -> None:
    """Make triples by round trips where there are translators, and by substitution what they lack."""
    masked = MaskedModel.from_pretrained(options.masked, device=options.device, dtype=options.dtype)
    with record.timed("choosing targets"):
        sources = sources_of(options)
    making = Making(options, masked, vectors, record)
    parts = []
    if options.there is not None:
        try:
            parts.append(making.part(sources, round_trip(options), options.enough, options.triples_seconds))
        except UsageError as refused:
            print(refused, flush=True)
    if not parts:
        seconds = options.triples_seconds and options.triples_seconds + (options.fill_seconds or 0.0)
        parts.append(making.part(sources, None, options.enough, seconds))
    elif options.fill_seconds and options.enough and len(parts[0]) < options.enough:
        rest = replace(sources, targets=sources.targets[parts[0].header["targets"] :])
        parts.append(making.part(rest, None, options.enough - len(parts[0]), options.fill_seconds))
    write_triples(path, chain(*parts), joined_header(parts))


@dataclass(frozen=True)
class Making:
    """Makes triples in the working folder, and records the speed."""

    options: argparse.Namespace
    masked: MaskedModel
    vectors: WordVectors
    record: TimedRecord

    def part(self, sources: Sources, trip: Paraphraser | None, enough: int | None, seconds: float | None) -> Triples:
        """Triples of one mode from the working folder, or new ones."""
        mode = Mode.SUBSTITUTED if trip is None else Mode.ROUND_TRIP
        path = self.options.work / f"{mode}.jsonl"
        if path.exists():
            return Triples.read(path)
        with self.record.timed(f"triples, {mode}"):
            triples = make_triples(
                sources,
                self.masked,
                self.vectors,
                path,
                config_of(self.options),
                paraphraser=trip,
                progress=True,
                enough=enough,
                seconds=seconds,
            )
        rate = len(triples) / self.record.seconds[f"triples, {mode}"]
        self.record.seconds[f"triples per second, {mode}"] = rate
        self.record.write()
        return triples


def joined_header(parts: Sequence[Triples]) -> dict[str, Any]:
    """The header of a file of all parts: sums, and the counts of each part."""
    headers = [part.header for part in parts]
    if len(headers) == 1:
        return dict(headers[0])
    return {
        **headers[0],
        "mode": " and ".join(header["mode"] for header in headers),
        **{name: sum(header[name] for header in headers) for name in ("triples", "targets")},
        **{name: dict(sum((Counter(header[name]) for header in headers), Counter())) for name in COUNTS},
        "parts": [{name: header[name] for name in ("mode", "triples", "targets", *COUNTS)} for header in headers],
    }


def config_of(options: argparse.Namespace) -> PairConfig:
    """Settings for making triples."""
    build = BuildConfig(options.similarity, options.probability)
    return PairConfig(options.count, TargetConfig(seed=options.seed), build)


def sources_of(options: argparse.Namespace) -> Sources:
    """Targets of a prepared text, or those of a file."""
    if options.store.is_dir():
        config = config_of(options)
        return Sources.of_corpus(Corpus.open(options.store), config.count, config.targets)
    with opened(options.store) as handle:
        header = json.loads(next(handle))
        occurrences = [Occurrence(*json.loads(line)) for line in islice(handle, options.count)]
    return Sources(occurrences, None, header["text"])


def write_sources(sources: Sources, path: Path) -> None:
    """Write targets to a compressed file that can replace the text they come from."""
    with lzma.open(path, "wt", encoding="utf-8", preset=1) as handle:
        for line in (
            {"text": sources.hash},
            *([occurrence.text, occurrence.start, occurrence.end] for occurrence in sources.targets),
        ):
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{len(sources.targets):,} targets, {path.stat().st_size:,} bytes: {path}")


def sentences_of(options: argparse.Namespace) -> Iterator[str]:
    """Sentences of a prepared text, or of a file of targets, from the start."""
    if options.store.is_dir():
        for paragraph in Corpus.open(options.store):
            yield from (sentence.text for sentence in paragraph.sentences)
        return
    with opened(options.store) as handle:
        next(handle)
        for line in handle:
            yield json.loads(line)[0]


def opened(path: Path) -> TextIO:
    """A file of targets, compressed or not, since decompressing one takes longer than reading it."""
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def round_trip(options: argparse.Namespace) -> RoundTrip:
    """The translators."""
    names = (options.there, options.back)
    return RoundTrip(*(open_translator(name, device=options.device, dtype=options.dtype) for name in names))
