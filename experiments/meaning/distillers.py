"""The second phase of measuring meanings: distillers of every variant, and their ablations."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any, get_args

from experiments.meaning.development import choose, development
from experiments.meaning.triples import sentences_of
from experiments.record import TimedRecord
from wordstill.errors import UsageError
from wordstill.meaning import PRESETS, DistillerConfig, MeaningEncoder, TrainConfig, Triples, train_encoder
from wordstill.meaning.distiller import RAW_SCALED, Representation, Scaling
from wordstill.teacher import Teacher

PAPER = "paper"
BASE = PRESETS[PAPER]
DEVELOPMENT_SENTENCES = 200_000
"""Sentences of the text that are searched for words of the development data."""
ABLATION = ", without negatives"
CANDIDATES = ("meaning", "meaning-centred")
KINDS = (*CANDIDATES, "context")
SCALED_RAW = tuple(f"raw-{scaling}" for scaling in get_args(Scaling) if scaling != "none")

Encoders = dict[str, MeaningEncoder]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this phase."""
    group = parser.add_argument_group("trainings")
    group.add_argument("--teacher", help="teacher to distill; by default the masked model")
    group.add_argument("--layers", default="top-half")
    group.add_argument(
        "--variant",
        action="append",
        metavar="NAME:FIELD=VALUE,...",
        help="train these settings too, such as standardised:scaling=standardised,learning_rate=2e-4",
    )
    group.add_argument("--max-epochs", type=int, default=BASE.max_epochs)
    group.add_argument("--batch", type=int, default=BASE.batch)
    group.add_argument("--learning-rate", type=float, default=BASE.learning_rate)
    group.add_argument("--warm-up", type=int, default=BASE.warm_up)
    group.add_argument("--min-delta", type=float, default=BASE.min_delta)
    group.add_argument("--feedforward", type=int, default=BASE.distiller.feedforward)
    group.add_argument("--layer-embeddings", action="store_true")
    group.add_argument("--train-seconds", type=float, help="time limit of each training")
    group.add_argument("--no-ablation", action="store_true", help="do not train without negatives")


def trained(options: argparse.Namespace, triples: Triples, teacher: Teacher, record: TimedRecord) -> Encoders:
    """Encoders of every variant, and the ablations of the paper's settings and of the best variant."""
    base = base_config(options)
    configs = dict([(PAPER, base), *(variant(base, text) for text in options.variant or ())])
    encoders = {name: encoder_of(options, name, triples, teacher, config, record) for name, config in configs.items()}
    chosen = chosen_variant(options, encoders, record)
    for name in dict.fromkeys((PAPER, chosen)) if not options.no_ablation else ():
        without = name + ABLATION
        configs[without] = replace(configs[name], negatives=False)
        encoders[without] = encoder_of(options, without, triples, teacher, configs[without], record)
    record.facts["encoders"] = {
        name: {"settings": asdict(configs[name]), **dict(encoder.provenance)["result"]}
        for name, encoder in encoders.items()
    }
    return encoders


def chosen_variant(options: argparse.Namespace, encoders: Encoders, record: TimedRecord) -> str:
    """The variant that is best on development data, with its mean vector or without."""
    candidates = {f"{kind} ({name})": (kind, name) for name in encoders for kind in CANDIDATES}
    with record.timed("development"):
        representations = {**raw(encoders), **distilled(encoders)}
        sentences = islice(sentences_of(options), DEVELOPMENT_SENTENCES)
        judged = development(encoders[PAPER].reader, representations, sentences)
        choice = choose(judged, list(candidates), seed=options.seed)
    record.facts["development"] = choice.facts()
    record.facts["chosen kind"], record.facts["chosen"] = candidates[choice.chosen]
    print("development", json.dumps(choice.facts(), indent=1))
    record.write()
    return str(record.facts["chosen"])


def raw(encoders: Mapping[str, MeaningEncoder]) -> dict[str, Representation]:
    """The mean of the layers: unchanged, without the mean vector, and after each scaling of the variants.

    The last ones separate the effect of scaling from the effect of distilling.
    """
    kinds = encoders[PAPER].representations()
    found = {kind: kinds[kind] for kind in ("raw", "raw-centred")}
    for encoder in encoders.values():
        scaling = encoder.distillers.config.scaling
        if scaling != "none" and f"raw-{scaling}" not in found:
            found[f"raw-{scaling}"] = encoder.representations()[RAW_SCALED]
    return found


def distilled(encoders: Mapping[str, MeaningEncoder]) -> dict[str, Representation]:
    """Meanings and contexts of all encoders, meanings also without their mean vectors."""
    return {
        f"{kind} ({name})": represent
        for name, encoder in encoders.items()
        for kind, represent in encoder.representations().items()
        if kind in KINDS
    }


def base_config(options: argparse.Namespace) -> TrainConfig:
    """The settings that variants start from."""
    return replace(
        BASE,
        batch=options.batch,
        learning_rate=options.learning_rate,
        warm_up=options.warm_up,
        min_delta=options.min_delta,
        max_epochs=options.max_epochs,
        seed=options.seed,
        distiller=replace(BASE.distiller, feedforward=options.feedforward, layer_embeddings=options.layer_embeddings),
    )


def encoder_of(
    options: argparse.Namespace, name: str, triples: Triples, teacher: Teacher, config: TrainConfig, record: TimedRecord
) -> MeaningEncoder:
    """An encoder from the working folder, or a newly trained one."""
    path = options.work / name.replace(", ", "-").replace(" ", "-")
    if path.exists():
        return MeaningEncoder.load(path, teacher=teacher)
    with record.timed(f"states and training, {name}"):
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
    record.seconds[f"an epoch, {name}"] = result.seconds_per_epoch
    print(name, result.facts(), flush=True)
    record.write()
    return encoder


def variant(base: TrainConfig, text: str) -> tuple[str, TrainConfig]:
    """Read ``NAME`` or ``NAME:field=value,field=value``, with fields of the training or of the distillers."""
    name, _, settings = text.partition(":")
    values = dict(part.split("=", 1) for part in settings.split(",") if part)
    shape = {field.name for field in fields(DistillerConfig)}
    known = shape | {field.name for field in fields(TrainConfig)}
    if unknown := values.keys() - known:
        raise UsageError(f"{text!r}: there is no setting {sorted(unknown)[0]!r}; there are {sorted(known)}.")
    of_shape = {key: _value(value) for key, value in values.items() if key in shape}
    of_training = {key: _value(value) for key, value in values.items() if key not in shape}
    return name, replace(base, distiller=replace(base.distiller, **of_shape), **of_training)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
