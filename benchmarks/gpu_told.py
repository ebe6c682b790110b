"""What was measured on a GPU, in words: the table, and how each target ended."""

from __future__ import annotations

from typing import Any

from benchmarks.common import Row, met

FULL = "BERT-base"
"""The shape that everything is measured with, over the whole text."""
SCALED = "still, ase"
"""The mix that is also measured over parts of the text."""
TARGETS = {"still, ase": 0.90, "x2static": 0.85, "x2static, own negatives": 0.85, "all five": 0.65}
LEAST_RATES = {"BERT-base": 2.4e6, "MiniLM": 6e6}
WIKIPEDIA = 1.28e9
"""Words of the dump that X2Static was trained on."""
AUTHORS_RATE = 15_000.0
"""Words/s of the authors' script on an H200."""
LONG_RUN = 180.0
"""Seconds of a run that the whole Wikipedia is estimated from."""


def rows(result: dict[str, Any]) -> list[Row]:
    """The table."""
    table: list[Row] = [("", "sub-words/s", "of the teacher alone", "of the product rate", "peak memory")]
    alone = _rate(result["mixes"]["teacher alone"])
    for name, mix in result["mixes"].items():
        share = _rate(mix) * result["flops_per_subword"] / (result["product_tflops"] * 1e12)
        table.append(
            (
                f"{result['shape']}, {name}",
                f"{_rate(mix):,.0f}",
                f"{_rate(mix) / alone:.0%}",
                f"{share:.0%}" if name == "teacher alone" else "",
                f"{mix['peak_gb']:.1f} GB",
            )
        )
    return table


def remarks(result: dict[str, Any]) -> list[str]:
    """What was read, and how each target ended."""
    shape, mixes = result["shape"], result["mixes"]
    alone = _rate(mixes["teacher alone"])
    said = [
        f"{result['gpu']}; {result['words']:,} words and punctuation marks; a product runs at "
        f"{result['product_tflops']:.0f} TFLOP/s."
    ]
    if shape in LEAST_RATES:
        least = LEAST_RATES[shape]
        said.append(
            f"{shape} alone {alone / 1e6:.2f} million/s, target {least / 1e6:g}: {met(alone >= least)}."
        )
    if shape != FULL:
        return said
    said += [
        f"{shape} with {mix}: {_rate(mixes[mix]) / alone:.1%} of the teacher alone, target "
        f"{target:.0%}: {met(_rate(mixes[mix]) >= target * alone)}."
        for mix, target in TARGETS.items()
        if mix in mixes
    ]
    return [*said, *_five_in_one(mixes), *_whole_wikipedia(mixes, result["words"]), *_scaling(result)]


def _five_in_one(mixes: dict[str, Any]) -> list[str]:
    single = ["x2static", "bert-skipgram", "context-to-vec"]
    if any(name not in mixes for name in [*single, "still, ase", "all five"]):
        return []
    # A run of `still` or of `ase` alone takes no less than one teacher pass.
    apart = sum(_seconds(mixes[name]) for name in single) + 2 * _seconds(mixes["teacher alone"])
    ratio = _seconds(mixes["all five"]) / apart
    return [
        f"Five methods in one pass take {ratio:.2f} of the time of five passes, each with one method "
        f"(`still` and `ase` counted as a teacher pass each); limit 0.5: {met(ratio <= 0.5)}."
    ]


def _whole_wikipedia(mixes: dict[str, Any], words: int) -> list[str]:
    """How long the text of X2Static's authors would take, if a run was long enough to tell."""
    mix = mixes.get(SCALED)
    if mix is None or mix["seconds"] < LONG_RUN:
        return []
    rate = words * mix["passes"] / mix["seconds"]
    minutes = WIKIPEDIA / rate / 60
    return [
        f"{SCALED}: {rate / 1e6:.2f} million words and punctuation marks/s over a run of "
        f"{mix['seconds']:.0f} s, so 1.28 billion in {minutes:.1f} minutes, target 15: {met(minutes <= 15)}; "
        f"{rate / AUTHORS_RATE:.0f} times the {AUTHORS_RATE:,.0f} words/s of X2Static's script on such a GPU."
    ]


def _scaling(result: dict[str, Any]) -> list[str]:
    whole = result["mixes"].get(SCALED)
    if whole is None or not result["scaling"]:
        return []
    sizes = [*result["scaling"].values(), whole]
    told = [
        f"{mix['subwords'] / mix['passes'] / 1e6:.1f} million sub-words at {_rate(mix) / 1e6:.2f} million/s "
        f"with {mix['peak_gb']:.1f} GB"
        for mix in sizes
    ]
    return [f"{result['shape']} with {SCALED} over more and more text: {'; '.join(told)}."]


def _rate(mix: dict[str, Any]) -> float:
    return float(mix["subwords"] / mix["seconds"])


def _seconds(mix: dict[str, Any]) -> float:
    return float(mix["seconds"] / mix["passes"])
