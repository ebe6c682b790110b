"""Sections of experiments/meaning.md: the origin of a measurement, its scores, and gains over the raw mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from experiments.record import RESULTS, current_command

RAW = "raw"
KINDS = ("meaning", "meaning-centred")
COSTS = "encoding, beside reading the states"
TARGETS = {"usim": "USim", "wic": "WiC", "scws": "SCWS", "sts-mean": "mean STS"}
"""Tasks on which the paper's meanings are above the raw mean."""
DEVELOPMENT = {"wic": "WiC, development", "men-dev": "MEN", "simverb3500-dev": "SimVerb"}
TASKS = {
    "usim": "USim", "wic": "WiC", "cosimlex-1": "CoSimLex I", "cosimlex-2": "CoSimLex II", "scws": "SCWS",
    **{f"sts{year}": f"STS{year}" for year in range(12, 17)}, "sts-mean": "mean STS", "paws-wiki": "PAWS",
}  # fmt: skip
COSINES = {f"cosine-{words}-{pairs}": f"{words}, {pairs}" for words in ("common", "different") for pairs in "PN"}
DIFFERENCES = (
    "Difference from the raw mean of the layers, in points; on development data in standard deviations (σ) of the "
    "difference, with the share of resamples in which each would have been chosen:"
)
TRAININGS = (
    "Training runs; the time to encode every word of a text relative to reading its states; and cosines on "
    "held-out triples:"
)

Content = Mapping[str, Any]


def page() -> str:
    """A section for each measurement."""
    files = [json.loads(path.read_text()) for path in sorted((RESULTS / "meaning").glob("*.json"))]
    return "\n".join(map(section, files)).rstrip()


def section(content: Content) -> str:
    """One measurement."""
    lines = [f"### {content['title']}", "", made(content), "", f"    {current_command(content['command'])}", ""]
    header = content["triples"]
    lines += [
        *(f"- {condition}" for condition in content["conditions"]),
        *translators(content),
        *(triples(part, content["seconds"]) for part in header.get("parts", [header])),
    ]
    lines += [""]
    scores = content["figures"]
    lines += ["Points out of 100:", "", *table(scores, TASKS, "{:.1f}", 100.0), ""]
    lines += [DIFFERENCES, "", *differences(content), ""]
    lines += [TRAININGS, "", *trainings(content), ""]
    lines += ["Mean cosines of words in PAWS-Wiki, in paraphrases (P) and other pairs (N):", ""]
    lines += [*table(scores, COSINES, "{:.3f}", 1.0), ""]
    return "\n".join(lines)


def made(content: Content) -> str:
    """Hardware, seed, commit and teacher."""
    seed = content["triples"]["config"]["targets"]["seed"]
    facts = [content["hardware"], f"seed {seed}", f"commit {content['commit']}"]
    return f"{'; '.join(facts)}; the teacher is {content['triples']['masked_model']['name']}."


def translators(content: Content) -> list[str]:
    """One line for each translator, used or not."""
    used = {one["name"] for one in content["translators"]}
    lines = []
    for one in (*content["translators"], *content.get("translators refused", ())):
        suffix = "" if one["name"] in used else "; rejected, because too few words of a sentence came back"
        lines.append(f"- Translator {one['name']}{training(one)}{suffix}.")
    return lines


def training(translator: Content) -> str:
    """How a translator was trained, if that is recorded."""
    if "bleu" not in translator:
        return ""
    return (
        f": {translator['pairs']:,} pairs, {translator['steps']:,} steps in {translator['seconds']:.0f} s, "
        f"BLEU {translator['bleu']:.2f} on {translator['held out']:,} held-out lines "
        f"(`{translator['signature']}`)"
    )


def triples(header: Content, seconds: Content) -> str:
    """The number of triples and targets, the speed, and why other targets gave no triple."""
    mode = header["mode"]
    dropped = "; ".join(f"{count:,} {reason!r}" for reason, count in header["dropped"].items())
    speed = seconds.get(f"triples per second, {mode}", seconds.get("triples per second"))
    rate = "" if speed is None else f", {speed:.0f} per second"
    kinds = "; ".join(f"{count:,} {kind}" for kind, count in header.get("positives", {}).items() if kind != mode)
    made = f" ({kinds})" if kinds else ""
    return (
        f"- Triples ({mode}): {header['triples']:,}{made} of {header['targets']:,} targets{rate}; "
        f"targets without one: {dropped}."
    )


def table(scores: Content, columns: Mapping[str, str], shape: str, scale: float) -> list[str]:
    """A row for each representation that has any of the scores."""
    lines = [f"| vectors | {' | '.join(columns.values())} |", "|---|" + "---:|" * len(columns)]
    for name, values in scores.items():
        if any(key in values for key in columns):
            cells = [shape.format(scale * values[key]) if key in values else "–" for key in columns]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def differences(content: Content) -> list[str]:
    """The gains of each variant's meanings over the raw mean, and on how many of the four tasks they are positive."""
    scores, judged = content["figures"], development(content)
    columns = [*judged, *TARGETS.values(), "above raw"]
    lines = [f"| vectors | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    chosen = f"{content['chosen kind']} ({content['chosen']})"
    for name in (f"{kind} ({variant})" for variant in content["encoders"] for kind in KINDS):
        if name not in scores:
            continue
        more = [100 * (scores[name][task] - scores[RAW][task]) for task in TARGETS]
        cells = [known.get(name, "–") for known in judged.values()]
        cells += [*(f"{value:+.1f}" for value in more), f"{sum(value > 0 for value in more)} of {len(more)}"]
        lines.append(f"| {name}{', chosen' if name == chosen else ''} | {' | '.join(cells)} |")
    return lines


def development(content: Content) -> dict[str, dict[str, str]]:
    """The basis of the choice: the gain of each candidate on each development set."""
    found = content["development"]
    columns = {
        DEVELOPMENT.get(data, data): {name: f"{gains[data]:+.1f} σ" for name, gains in found["gains"].items()}
        for data in found["correlations"]
    }
    return columns | {"chosen in": {name: f"{share:.0%}" for name, share in found["shares"].items()}}


def trainings(content: Content) -> list[str]:
    """The training run of each variant, with its diagnosis."""
    lines = [
        "| variant | steps | s per epoch | encoding | meanings of positives | of negatives | of other words "
        "| separated | degenerate |",
        "|---|" + "---:|" * 7 + "---|",
    ]
    for name, encoder in content["encoders"].items():
        found, epoch = encoder["diagnosis"], content["seconds"].get(f"an epoch, {name}")
        cost = content.get(COSTS, {}).get(name)
        cosines = [f"{found[f'meaning_{key}']:.2f}" for key in ("positive", "negative", "others")]
        cells = [
            f"{encoder['steps']:,}",
            "–" if epoch is None else f"{epoch:.1f}",
            "–" if cost is None else f"{cost:.2f}",
            *cosines,
            f"{100 * found['told_apart']:.1f} %",
            "yes" if found["degenerate"] else "no",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines
