"""Adding text to a table, removing text, and merging tables, all from kept sums."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from wordstill.core.files import refuse_foreign, sha256_of
from wordstill.core.files import remove as remove_folder
from wordstill.core.object_stores import Output, shown
from wordstill.core.resume import working_folder
from wordstill.corpus import Corpus, PrepareConfig, Vocabulary
from wordstill.corpus.preparation import STORE, Inputs
from wordstill.distillation import DistillConfig
from wordstill.distillation.distilling import load
from wordstill.distillation.plan import make_plan, with_tables
from wordstill.errors import DataError, UsageError, WordstillError
from wordstill.formats.artifact import REPLACEABLE, SUMS, write_artifacts
from wordstill.methods import METHODS, Method
from wordstill.methods.sentence import MOST_WORDS, Bags
from wordstill.scale.driver import Totals
from wordstill.scale.kept_sums import KeptSums, new_facts, refuse_different, sums_file
from wordstill.scale.running import LEDGER, ScaleConfig, run_shards
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

SHOWN_WORDS = 5


@dataclass(frozen=True)
class ChangedTable:
    """A table after text was added or removed."""

    table: WordVectors
    words: int
    """Number of words of the text that was read."""
    newcomers: tuple[str, ...] = ()
    """Frequent words of the new text without a vector, most frequent first."""


def add(table: str | Path, inputs: Inputs, out: str | Path | None = None, **settings: Any) -> ChangedTable:
    """Add text to a table with kept sums; only the new text is read.

    The vocabulary does not change: other words get no vector, however often they occur in the new text.

    Args:
        table: Folder or URL of the table.
        inputs: The new text, prepared or not.
        out: Folder or URL for the new table; None replaces the old one.
        **settings: ``prepare`` (a `PrepareConfig`), ``device``, ``dtype``, ``overwrite`` and ``progress``.

    Raises:
        UsageError: No sums were kept, the text is in the table already, or the output exists.
        DataError: The text was prepared with other settings, or the model differs.
    """
    return _change(Path(table), inputs, out, sign=1, **settings)


def remove(table: str | Path, inputs: Inputs, out: str | Path | None = None, **settings: Any) -> ChangedTable:
    """Remove text from a table with kept sums, exactly; arguments are those of `add`.

    Raises:
        UsageError: As for `add`, or the method keeps more than sums.
        DataError: As for `add`, or the text is not part of the table's text.
    """
    return _change(Path(table), inputs, out, sign=-1, **settings)


def merge(
    tables: Sequence[str | Path], out: str | Path, *, min_count: int | None = None, overwrite: bool = False
) -> WordVectors:
    """Merge the sums of tables that have the same words, method and model, exactly; no text is read.

    Args:
        tables: Folders or URLs of tables with kept sums, or the files with the sums.
        out: Folder or URL for the result, with its sums.
        min_count: Drop rarer words from each table before merging, so that the result reveals nothing about their
            few sentences.
        overwrite: Replace ``out`` if it exists.

    Raises:
        UsageError: The tables are incompatible.
    """
    output, paths = Output.at(out, overwrite=overwrite), [Path(table) for table in tables]
    refuse_foreign(output.path, REPLACEABLE)
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("The same table was given twice.")
    total: KeptSums | None = None
    texts: list[dict[str, Any]] = []
    isolated = _isolated_anywhere(paths)
    for path in paths:
        part = KeptSums.read(path, isolated)
        counts = _forget_rare(part, path, min_count)
        texts += _texts(part.facts["corpus"])
        if total is None:
            total = part.with_counts(counts - part.vocabulary.counts, part.facts, part.cut)
            continue
        total.method.merge(part.method)
        total = total.with_counts(counts, total.facts, total.cut + part.cut)
    if total is None:
        raise UsageError("Name at least one table with kept sums.")
    hashes = [text["hash"] for text in texts]
    if len(set(hashes)) < len(hashes):
        raise UsageError("Two of these tables were made from the same text, which would count twice.")
    facts = new_facts(total.facts, _corpus(texts, total.facts["corpus"]["settings"]))
    if min_count is not None:
        facts["merged_min_count"] = min_count
    return _write(KeptSums(facts, total.method, total.cut), output, overwrite=overwrite)


def _change(
    table: Path,
    inputs: Inputs,
    out: str | Path | None,
    *,
    sign: int,
    prepare: PrepareConfig | None = None,
    device: str = "auto",
    dtype: str = "auto",
    overwrite: bool = False,
    progress: bool = False,
) -> ChangedTable:
    kept = KeptSums.read(table)
    if sign < 0:
        _refuse_inseparable(kept)
    replaces = overwrite or out is None
    output = Output.at(table if out is None else out, overwrite=replaces)
    refuse_foreign(output.path, REPLACEABLE)
    config = _config(kept, prepare or PrepareConfig(), device, dtype)
    command = {"base": sha256_of(sums_file(table))[:16], "sign": sign}
    with working_folder(
        output.path,
        "add" if sign > 0 else "remove",
        command,
        overwrite=replaces,
        restart=overwrite,
        worth=f"{LEDGER}/done/*",
    ) as work:
        teacher, corpus = load(inputs, config, work.path, progress=progress)
        plan = make_plan(teacher, corpus, config, vocabulary=kept.vocabulary)
        (label,) = plan.recipe.methods
        plan = replace(plan, context=replace(plan.context, whole=kept.method.run.whole))
        refuse_different(kept.facts, shown(table), plan.recipe.provenance(label), "the new text")
        if sign > 0 and _text(corpus) in _texts(kept.facts["corpus"]):
            raise UsageError(
                f"{shown(table)} was made from this text already, which would count twice. Nothing was changed."
            )
        totals = run_shards(
            plan, config, ScaleConfig(keep_sums=True), work.path, ExitStack(), text_only=True, progress=progress
        )
        assert totals is not None
        try:
            result = _changed(kept, totals, corpus, sign)
        except DataError:
            for useless in (LEDGER, STORE):
                remove_folder(work.path / useless)
            raise
        newcomers = _newcomers(corpus, kept.vocabulary) if sign > 0 else ()
        return ChangedTable(_write(result, output, overwrite=work.overwrite), corpus.n_words, newcomers)


def _changed(kept: KeptSums, totals: Totals, corpus: Corpus, sign: int) -> KeptSums:
    (method,) = with_tables(totals.methods).values()
    text = _text(corpus)
    texts = _texts(kept.facts["corpus"])
    counts = kept.vocabulary.counts_in(corpus)
    try:
        if sign > 0:
            kept.method.merge(method)
            texts.append(text)
        else:
            kept.method.subtract(method)
            if text not in texts and not _has_bags(kept):
                warnings.warn(
                    f"Whether the table was made from this text cannot be seen from the sums of {kept.method.name}: "
                    "only the counts of its words were compared.",
                    stacklevel=4,
                )
            texts = _without(texts, text)
        facts = new_facts(kept.facts, _corpus(texts, kept.facts["corpus"]["settings"]))
        changed = kept.with_counts(sign * counts, facts, max(0, kept.cut + sign * totals.cut))
    except DataError as error:
        raise DataError(f"The text is not part of the table's: {error}. Nothing was changed.") from None
    if not changed.vocabulary.counts.any():
        raise DataError("Nothing would be left: the text is all that the table was made from. Nothing was changed.")
    return changed


def _config(kept: KeptSums, prepare: PrepareConfig, device: str, dtype: str) -> DistillConfig:
    """The settings of a run whose sums can be added to these."""
    facts = kept.facts
    teacher, batches = facts["teacher"], facts["batches"]
    return DistillConfig(
        (_spec(kept.method),),
        TeacherConfig(teacher["name"], device, dtype, max_length=teacher["max_length"]),
        kept.vocabulary.config,
        prepare,
        budget=batches["budget"] if teacher["device"] == "cpu" else None,
        read=batches["unit"],
        length=facts["lengths"],
        seed=facts["seed"],
        folds=0,
    )


def _spec(method: Method) -> str:
    """The method as the user would write it."""
    (name,) = [name for name, kind in METHODS.items() if kind is type(method)]
    usual = {field.name: field.default for field in fields(method.config)}
    given = {name: value for name, value in asdict(method.config).items() if value != usual[name]}
    return ":".join(filter(None, [name, ",".join(f"{key}={value}" for key, value in given.items())]))


def _refuse_inseparable(kept: KeptSums) -> None:
    kept.method.additive()
    sampled = any(text["words"] > MOST_WORDS for text in _texts(kept.facts["corpus"]))
    if sampled and _has_bags(kept):
        raise UsageError(
            f"{kept.method.name} used only every n-th paragraph of its text for the sentence regression, and a "
            "part of the text does not show which. No text can be removed."
        )


def _has_bags(kept: KeptSums) -> bool:
    """Whether the words of every sentence are kept, so that a text can be found again."""
    return any(isinstance(part, Bags) for part in kept.method.parts.values())


def _refuse_other_words(ours: Vocabulary, one: Path, theirs: Vocabulary, other: Path) -> None:
    if ours.keys == theirs.keys:
        return
    missing = [key for key in ours.keys if key not in theirs][:SHOWN_WORDS]
    more = [key for key in theirs.keys if key not in ours][:SHOWN_WORDS]
    lists = [f"{path} lacks {', '.join(map(repr, words))}" for path, words in ((other, missing), (one, more)) if words]
    raise UsageError(
        f"{one} ({len(ours):,} words) and {other} ({len(theirs):,} words) do not have the same words: "
        f"{'; '.join(lists) or 'their order differs'}. Make both with the same list: --words FILE --min-count "
        "1000000000000."
    )


def _isolated_anywhere(paths: Sequence[Path]) -> NDArray[np.int64]:
    """Words that any of the tables has read in isolation, after checking that the tables are compatible."""
    first: tuple[dict[str, Any], Vocabulary] | None = None
    found = [np.empty(0, dtype=np.int64)]
    for path in paths:
        sums = KeptSums.read(path)
        first = first or (sums.facts, sums.vocabulary)
        refuse_different(first[0], str(paths[0]), sums.facts, str(path))
        _refuse_other_words(first[1], paths[0], sums.vocabulary, path)
        found.append(sums.method.run.unseen)
    return np.unique(np.concatenate(found))


def _forget_rare(part: KeptSums, path: Path, min_count: int | None) -> NDArray[np.int64]:
    """Drop rare words from sums; returns the remaining counts."""
    counts = part.vocabulary.counts.copy()
    if min_count is None:
        return counts
    rare = np.flatnonzero((counts < min_count) & (counts > 0))
    for name, sums in part.method.additive().items():
        try:
            # The state of an isolated word reveals nothing about the text.
            if len(rare) and not name.startswith("alone"):
                sums.forget(torch.from_numpy(rare))
        except WordstillError as error:
            raise UsageError(
                f"{path}: a minimum count does not make {part.method.name} fit for sharing: {error}. "
                "Use ase, or still:sentence_weight=0."
            ) from None
    counts[rare] = 0
    return counts


def _text(corpus: Corpus) -> dict[str, Any]:
    """The record of a text in a table."""
    return {"hash": corpus.hash, "words": corpus.n_words}


def _texts(corpus: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(text) for text in corpus.get("parts", [{name: corpus[name] for name in ("hash", "words")}])]


def _without(texts: list[dict[str, Any]], text: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of texts without the last equal one; a text without its own record is recorded as removed."""
    if text not in texts:
        return [*texts, {"hash": text["hash"], "words": -text["words"]}]
    place = len(texts) - 1 - texts[::-1].index(text)
    return texts[:place] + texts[place + 1 :]


def _corpus(texts: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Any]:
    """The combined record of several texts."""
    words = sum(text["words"] for text in texts)
    if len(texts) == 1:
        return {"hash": texts[0]["hash"], "words": words, "settings": settings}
    joined = "\n".join(f"{text['hash']} {text['words']}" for text in texts)
    return {"hash": hashlib.sha256(joined.encode()).hexdigest(), "words": words, "settings": settings, "parts": texts}


def _newcomers(corpus: Corpus, vocabulary: Vocabulary) -> tuple[str, ...]:
    known = set(vocabulary.keys)
    try:
        own = Vocabulary.build(corpus, vocabulary.config)
    except DataError:
        return ()
    least = vocabulary.config.min_count
    return tuple(key for key, count in zip(own.keys, own.counts) if key not in known and count >= least)


def _write(sums: KeptSums, output: Output, *, overwrite: bool) -> WordVectors:
    def beside(label: str, place: Path) -> None:
        spare.rename(place / SUMS)

    target = output.path
    spare = target.with_name(f".{target.name}.{SUMS}.tmp-new")
    try:
        sums.write(spare)
        table = sums.finish()
        write_artifacts({sums.method.name: table}, target, overwrite=overwrite, beside=beside)
        output.publish()
    finally:
        spare.unlink(missing_ok=True)
    return table
