"""Tables of scores: experiments/results.md, and the short table of README.md.

Files NAME.json and NAME.SOMETHING.json are for the same text. Rows with the same label are seeds of a method, shown as
mean and standard deviation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from statistics import mean, stdev
from typing import Any, NamedTuple

from experiments.quality.trained import PARENT
from experiments.record import RESULTS, current_command
from wordstill.distillation.config import DistillConfig
from wordstill.evaluation.report.plots import curves
from wordstill.evaluation.studies import Curve
from wordstill.methods import METHODS

TEACHERS = {"all-MiniLM-L6-v2": ("minilm-v5", "minilm-v4"), "all-mpnet-base-v2": ("mpnet-v5", "mpnet-v4")}
"""Teachers of the short table and the picture, and suffixes of their files; the first with a method's scores counts."""
SIZES = ("words-0500k", "words-05M", "words-27M", "words-54M")
"""Prefixes of the files of the texts of the picture."""
SUMMARIZED = "words-27M"
"""The text of the short table."""
PEERS = {
    "model2vec-MiniLM": ("model2vec-words", "model2vec-tables"),
    "model2vec-mpnet": ("model2vec-words", "model2vec-tables"),
    "potion-base-8M": ("released-words", "released-tables"),
    "wordllama-256": ("released-words", "released-tables"),
    "glove-6B-100d": ("released-tables", "released-tables"),
}
"""Released tables, with the files of their scores on words and on sentences."""
OLDER_VERSIONS = ("still.v1", "still.v4")
"""Older versions with recorded scores; their rows are labeled with the version."""
PICTURED = ("still", "sentence", "ase")
"""Methods of the short table and the picture."""
PANEL_WIDTH, PANEL_HEIGHT, TITLE_HEIGHT = 720, 250, 26
UNITS = "enwiki-a"
"""The text that was read by sentence and by paragraph."""


class Column(NamedTuple):
    """A set, or a part of its score."""

    title: str
    name: str
    part: str | None = None


class Block(NamedTuple):
    """A table of the page: a selection of scores."""

    title: str
    group: str
    """Key among the scores of a row."""
    columns: tuple[Column, ...]
    mean: str | None = None
    """Title of a last column with the mean of the others."""
    share: bool = False
    """Whether to show coverage as a share."""


EIGHT = (
    Column("RG-65", "rg65"),
    Column("WS-353", "wordsim353"),
    Column("WS-S", "wordsim353-similarity"),
    Column("WS-R", "wordsim353-relatedness"),
    Column("SimLex", "simlex999"),
    Column("SimVerb", "simverb3500"),
    Column("RareW", "rareword"),
    Column("MEN", "men"),
)
RELATIONS = (
    Column("Google", "google"),
    Column("semantic", "google", "semantic"),
    Column("syntactic", "google", "syntactic"),
    Column("MSR", "msr"),
    Column("SemEval-2012", "semeval2012"),
    Column("AP", "ap"),
    Column("Battig", "battig"),
    Column("ESSLLI-1a", "esslli-1a"),
    Column("ESSLLI-2c", "esslli-2c"),
)
STS = tuple(Column(f"STS{year}", f"sts{year}") for year in range(12, 17))
SENTENCES = tuple(Column(name.upper(), name) for name in ("cr", "mr", "mpqa", "subj", "trec", "sst5"))
PROBES = tuple(Column(title, f"{name}:probe") for title, name, _ in SENTENCES)
PARENTS = tuple(Column(title, f"{name}:parent") for title, name, _ in SENTENCES)
TAGS = (
    Column("CoNLL-2000", "conll2000"),
    Column("UD-EWT", "ud-ewt"),
    Column("PTB sample", "ptb-sample"),
    Column("WNUT-17", "wnut17"),
)
TAGGING_PARENTS = tuple(Column(title, f"{name}:parent") for title, name, _ in TAGS)
BLOCKS = (
    Block("Word similarity (Spearman's correlation), every pair, including unseen words", "all", EIGHT, "A8"),
    Block("Word similarity, only pairs whose words occur at least twice", "pairs seen in the text", EIGHT, "A8"),
    Block("Analogies (accuracy, 3CosAdd), relational similarity (Spearman), categories (purity)", "all", RELATIONS),
    Block("Sentence similarity (Pearson), mean of the words", "all", STS, "mean"),
    Block("Sentence similarity (Pearson), SIF", "sif", STS, "mean"),
    Block("Sentence classification (accuracy), linear probe", "all", PROBES, "mean", share=True),
    Block("Sentence classification (accuracy), CNN", "trained", SENTENCES, "mean", share=True),
    Block("Sentence classification (accuracy), the language model itself, fine-tuned", "trained", PARENTS, share=True),
    Block("Tagging (span F1; accuracy for parts of speech), BiLSTM-CRF", "trained", TAGS, share=True),
    Block("Tagging, the language model itself, fine-tuned", "trained", TAGGING_PARENTS, share=True),
)
SUMMARY_COLUMNS = (EIGHT[4], RELATIONS[0], RELATIONS[3])
GOOGLE = Block("Google analogies (accuracy, 3CosAdd)", "all", RELATIONS[:3])
RETROFIT_BLOCKS = (*(block for block in BLOCKS if block.mean == "A8"), GOOGLE)
RETROFIT_SETTINGS = ("alpha", "beta", "sigma", "margin")
WITHOUT_TEXT = ("decontextual", PARENT)
"""Rows that do not depend on the unit that the teacher reads."""

Row = Mapping[str, Any]
File = dict[str, Any]


def page() -> str:
    """A section for each text."""
    return "\n".join(section(files) for files in by_text().values()).rstrip()


def by_text() -> dict[str, list[File]]:
    """The results of each text, NAME before NAME.SOMETHING."""
    texts: dict[str, list[File]] = {}
    for path in sorted((RESULTS / "quality").glob("*.json"), key=lambda path: path.stem):
        texts.setdefault(path.stem.partition(".")[0], []).append(json.loads(path.read_text()))
    return texts


def retrofit_page() -> str:
    """A section for each retrofitted table."""
    files = [json.loads(path.read_text()) for path in sorted((RESULTS / "retrofit").glob("*.json"))]
    return "\n".join(map(retrofit_section, files)).rstrip()


def retrofit_section(content: File) -> str:
    """Scores with each lexicon, and the choice of settings."""
    return "\n".join([f"#{section([content], RETROFIT_BLOCKS)}", *choices(content), ""])


def summary() -> str:
    """The short table: the main methods with default settings over one text, for two teachers, and released tables."""
    lines = [
        "| teacher or released table | method | similarity | SimLex-999 | Google | MSR | sentences |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for teacher in TEACHERS:
        files = _files_of(teacher, SUMMARIZED)
        rows = {label: seeds for content in files for label, seeds in by_label([content]).items()}
        for label in filter(rows.__contains__, PICTURED):
            scored = _scored(rows[label], "all")
            lines.append(f"| {teacher} | `{label}` | {_summary_cells(scored, scored)} |")
    texts = by_text()
    for label, files_of_peer in PEERS.items():
        words, sentences = (_scored(by_label(texts[name])[label], "all") for name in files_of_peer)
        lines.append(f"| {label} | | {_summary_cells(words, sentences)} |")
    return "\n".join(lines)


def _summary_cells(words: list[Row], sentences: list[Row]) -> str:
    single = [cell(words, column, share=False).partition(" (")[0] for column in SUMMARY_COLUMNS]
    return " | ".join([mean_cell(words, EIGHT), *single, mean_cell(sentences, STS)])


def _files_of(teacher: str, size: str) -> list[dict[str, Any]]:
    """Files of scores over a text; later ones take precedence."""
    texts = by_text()
    return [content for end in reversed(TEACHERS[teacher]) for content in texts.get(f"{size}-{end}", [])]


def summary_page() -> str:
    """The short table with its origin."""
    files = [content for teacher in TEACHERS for content in _summarized(teacher)]
    texts = by_text()
    files += [content for name in dict.fromkeys(chain(*PEERS.values())) for content in texts[name]]
    origins = dict.fromkeys(f"{content['hardware']}, commit {content['commit']}" for content in files)
    return f"{summary()}\n\nMade by `python -m experiments.quality.measure` on {'; '.join(origins)}."


def _summarized(teacher: str) -> list[File]:
    """The files with the scores of the short table."""
    latest = {label: content for content in _files_of(teacher, SUMMARIZED) for label in by_label([content])}
    used = [latest[label] for label in PICTURED]
    return [content for number, content in enumerate(used) if content not in used[:number]]


def size_picture() -> str:
    """Scores by the size of the text as SVG: panels for words, analogies and sentences."""
    panels = (("word similarity, mean of eight sets", EIGHT), ("Google analogies", RELATIONS[:1]), ("STS12 to 16", STS))
    height, parts = PANEL_HEIGHT + TITLE_HEIGHT, []
    for number, (title, columns) in enumerate(panels):
        top = number * height
        parts.append(f'<text x="8" y="{top + 18}" font-weight="bold" fill="#202124">{title}</text>')
        panel = curves(_size_curves(columns), width=PANEL_WIDTH, height=PANEL_HEIGHT)
        place = f'<svg y="{top + TITLE_HEIGHT}" width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" '
        parts.append(panel.replace("<svg ", place, 1))
    size = f'viewBox="0 0 {PANEL_WIDTH} {len(panels) * height}" width="{PANEL_WIDTH}"'
    style = 'font-family="system-ui, sans-serif" font-size="13" role="img"'
    white = f'<rect width="{PANEL_WIDTH}" height="{len(panels) * height}" rx="8" fill="#fff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{white}{"".join(parts)}</svg>\n'


def _size_curves(columns: Iterable[Column]) -> list[Curve]:
    """A curve for each teacher and method."""
    columns, found = tuple(columns), dict[tuple[str, str], list[tuple[float, float]]]()
    for teacher in TEACHERS:
        for size in SIZES:
            rows = {label_of(row): row for content in _files_of(teacher, size) for row in content["rows"]}
            for label in filter(rows.__contains__, PICTURED):
                words = float(rows[label]["provenance"]["corpus"]["words"])
                score = mean(rows[label]["scores"]["all"][column.name]["value"] for column in columns)
                found.setdefault((teacher, label), []).append((words, score))
    return [Curve(f"{label}, {teacher.split('-')[1]}", tuple(points)) for (teacher, label), points in found.items()]


def choice_page() -> str:
    """How much each setting of `still` and `sentence` matters, on development halves."""
    files = [json.loads(path.read_text()) for path in sorted((RESULTS / "choice").glob("*.json"))]
    lines = []
    for content in files:
        about = f"{content.get('version', 'still.v2')}, {content['title']}"
        lines += [f"**{about}**, on {content['hardware']}, commit {content['commit']}:", ""]
        lines += [f"    {content['command']}", ""]
        lines += ["| settings | gain | similarity | Google | MSR | sentences |", "|---|---:|---:|---:|---:|---:|"]
        for row in content["rows"]:
            scores = (row[name] for name in ("gain", "similarity", "google", "msr", "sentences"))
            lines.append(f"| `{row['label']}` | {' | '.join(f'{score:.1f}' for score in scores)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def search_page() -> str:
    """The gain of prompts at the start, every step that was kept, and the loss at the end without each block."""
    lines: list[str] = []
    for path in sorted((RESULTS / "search").glob("*.json")):
        content = json.loads(path.read_text())
        lines += [f"**{content['title']}**, {content['tried']} mixtures, on {content['hardware']}, "]
        lines[-1] += f"commit {content['commit']}:"
        lines += ["", f"    {content['command']}", ""]
        runs = content["runs"]
        lines += [f"| change | gain | {' | '.join(runs)} |", "|---|---:|" + "---|" * len(runs)]
        prompts = ({"change": f"with {name}", **row} for name, row in content.get("prompts", {}).items())
        changed = ({"change": name, **row} for name, row in content.get("changed", {}).items())
        first, *others = content["steps"]
        steps = [first, *prompts, *others, *changed]
        for step in steps:
            cells = (_development(step["scores"][name]) for name in runs)
            lines.append(f"| `{step['change']}` | {step['gain']:.2f} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _development(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{scores[name]:.1f}" for name in ("similarity", "google", "msr", "sentences"))


def reading_units() -> str:
    """The mean of eight similarity sets when the teacher reads sentences, and when it reads paragraphs."""
    rows = by_label(by_text()[UNITS])
    names = [name for name in METHODS if f"{name}, paragraphs" in rows]
    lines = [f"| | {' | '.join(f'`{name}`' for name in names)} |", "|---|" + "---:|" * len(names)]
    for title, suffix in (("sentences", ""), ("paragraphs", ", paragraphs")):
        scored = [_scored(rows[name + suffix], "pairs seen in the text") for name in names]
        lines.append(f"| {title} | {' | '.join(mean_cell(seeds, EIGHT) for seeds in scored)} |")
    return "\n".join(lines)


def _scored(seeds: list[Row], group: str) -> list[Row]:
    return [seed["scores"][group] for seed in seeds if group in seed["scores"]]


def section(files: list[dict[str, Any]], blocks: Iterable[Block] = BLOCKS) -> str:
    """A text: the origin of its rows, and a table for each kind of task."""
    rows = by_label(files)
    older = [label for label in rows if label in OLDER_VERSIONS]
    lines = [f"## {files[0]['title']}{f' ({older[0]})' if older else ''}", ""]
    for content in files:
        lines += [made(content), "", f"    {current_command(content['command'])}", ""]
    for block in blocks:
        if shown := table(block, rows):
            lines += [f"{block.title}:", "", *shown, ""]
    return "\n".join(lines)


def made(content: dict[str, Any]) -> str:
    """The rows made by a command, with teacher, text, hardware and commit."""
    rows = content["rows"]
    alike: dict[tuple[str, ...], dict[str, list[int | None]]] = {}
    for row in rows:
        labels = alike.setdefault(tuple(facts_of(row["provenance"])), {})
        labels.setdefault(label_of(row), []).append(row["seed"])
    described = []
    for facts, labels in alike.items():
        named = ", ".join(f"`{label}`{named_seeds(seeds)}" for label, seeds in labels.items())
        described.append(": ".join([named, ", ".join(facts)]) if facts else named)
    seconds = dict.fromkeys(
        f"{row['seconds']:g} s for {' + '.join(row['beside'])}" for row in rows if row.get("seconds")
    )
    where = f"on {content['hardware']}" + (f": {', '.join(seconds)}" if seconds else "")
    return f"{'; '.join(described)}; {where}; commit {content['commit']}."


def named_seeds(seeds: list[int | None]) -> str:
    """The seeds of a label, if its rows depend on them."""
    drawn = [str(seed) for seed in seeds if seed is not None]
    return f" (seed{'s' if len(drawn) > 1 else ''} {', '.join(drawn)})" if drawn else ""


def facts_of(provenance: Mapping[str, Any]) -> list[str]:
    """The teacher, text and vocabulary of a table."""
    facts = []
    if teacher := provenance.get("teacher"):
        facts.append(f"teacher {teacher['name']} ({teacher['dtype']})")
    if corpus := provenance.get("corpus"):
        facts.append(f"{corpus['words']:,} words and punctuation marks")
    if vocabulary := provenance.get("vocabulary"):
        facts.append(f"vocabulary of {vocabulary['size']:,}")
    return facts


def by_label(files: Iterable[dict[str, Any]]) -> dict[str, list[Row]]:
    """The rows of every method, one per seed, in the order of the files."""
    rows: dict[str, dict[int | None, dict[str, Any]]] = {}
    for content in files:
        for row in content["rows"]:
            label = label_of(row)
            scores = rows.setdefault(label, {}).setdefault(row["seed"], {"scores": {}})["scores"]
            for kind, by_set in row["scores"].items():
                known = scores.setdefault(kind, {})
                if twice := ", ".join(sorted(known.keys() & by_set.keys())):
                    sys.exit(f"{label}, seed {row['seed']}: two files have {twice}; keep one.")
                known.update(by_set)
    return {label: list(seeds.values()) for label, seeds in rows.items()}


def label_of(row: Row) -> str:
    """The method, and the unit that the teacher read if it is not the default."""
    label, unit = str(row["label"]), row["provenance"].get("batches", {}).get("unit", DistillConfig.read)
    version = row["provenance"].get("method", {}).get("name")
    if version in OLDER_VERSIONS and not label.startswith(version):
        # Measured when this was the current version.
        label = label.replace(version.partition(".")[0], version, 1)
    return label if unit == DistillConfig.read or label in WITHOUT_TEXT else f"{label}, {unit}s"


def table(block: Block, rows: Mapping[str, list[Row]]) -> list[str]:
    """The lines of a table; none if no row has any of its scores."""
    lines = []
    for label, seeds in rows.items():
        scored = _scored(seeds, block.group)
        scored = [by_set for by_set in scored if any(column.name in by_set for column in block.columns)]
        if scored:
            cells = [cell(scored, column, share=block.share) for column in block.columns]
            if block.mean is not None:
                cells.append(f"**{mean_cell(scored, block.columns)}**")
            lines.append(f"| `{label}` | {' | '.join(cells)} |")
    titles = [column.title for column in block.columns] + ([block.mean] if block.mean else [])
    return [f"| vectors | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles), *lines] if lines else []


def cell(scored: list[Row], column: Column, *, share: bool) -> str:
    """The mean over seeds, the standard deviation, and the coverage."""
    scores = [by_set[column.name] for by_set in scored if column.name in by_set]
    values = [value for score in scores if (value := value_of(score, column.part)) is not None]
    if not values:
        return "–"
    shown = spread(values, scores[0].get("deviation") if column.part is None else None)
    if column.part is not None:
        return shown
    return f"{shown} ({coverage(scores, share=share)})"


def coverage(scores: list[Row], *, share: bool) -> str:
    """The number of items in the scores of all seeds; a range if seeds differ."""
    used, total = [score["used"] for score in scores], scores[0]["total"]
    ends = [f"{100 * end / total:.0f}" if share else str(end) for end in (min(used), max(used))]
    return "–".join(dict.fromkeys(ends)) + (" %" if share else "")


def mean_cell(scored: list[Row], columns: Iterable[Column]) -> str:
    """The mean of all columns over the seeds that have a score in each."""
    means = []
    for by_set in scored:
        values = [value_of(by_set.get(column.name, {}), column.part) for column in columns]
        numbers = [value for value in values if value is not None]
        if len(numbers) == len(values):
            means.append(mean(numbers))
    return spread(means, None) if means else "–"


def value_of(score: Row, part: str | None) -> float | None:
    """The score, or that of a part."""
    value: float | None = score.get("value") if part is None else score.get("parts", {}).get(part)
    return value


def spread(values: list[float], deviation: float | None) -> str:
    """The mean, with the standard deviation if there is one."""
    if len(values) > 1:
        deviation = stdev(values)
    return f"{mean(values):.1f}" + ("" if deviation is None else f" ± {deviation:.1f}")


def choices(content: Mapping[str, Any]) -> list[str]:
    """A table of the settings chosen for each row, the number of candidates, and the scores."""
    lines = [
        "Mean of the eight sets over every second pair (the development half, on which settings were chosen) "
        "and over the others:",
        "",
        "| vectors | settings | of | development half | other half |",
        "|---|---|---:|---:|---:|",
    ]
    for row in content["rows"]:
        halves = [f"{row['halves'][name]:.1f}" for name in ("development", "other")]
        cells = [chosen(row["tried"]), str(len(row["tried"]) or ""), *halves]
        lines.append(f"| `{row['label']}` | {' | '.join(cells)} |")
    return lines


def chosen(tried: list[Mapping[str, Any]]) -> str:
    """The settings with the best score on the development half, if there was a choice."""
    if not tried:
        return ""
    best = max(tried, key=lambda each: float(each["development"]))["settings"]
    return ", ".join(f"{name} {best[name]:g}" for name in RETROFIT_SETTINGS if best.get(name) is not None)
