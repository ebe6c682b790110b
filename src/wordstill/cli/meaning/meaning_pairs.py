"""``wordstill meaning pairs``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordstill.cli.failures import needs_models
from wordstill.cli.open_tables import open_table
from wordstill.cli.options import Device, Dtype, Overwrite, ShowProgress, argument, option, wants_progress
from wordstill.cli.printing import count_text, show_facts, show_next, time_text
from wordstill.core.guard import printable
from wordstill.errors import UsageError

if TYPE_CHECKING:
    from wordstill.meaning import Triples
    from wordstill.meaning.make_triples import PairConfig
    from wordstill.meaning.targets import Sources
    from wordstill.meaning.translation import RoundTrip

EXAMPLES = """\
wordstill meaning pairs store --masked ./bert --vectors vectors --out triples.jsonl
wordstill meaning pairs store --masked ./bert --vectors glove.txt --there ./en-de --back ./de-en -o t
wordstill meaning pairs --paraphrases pairs.tsv --masked ./bert --vectors vectors -o t.jsonl"""

CHOICE = "Which words and sentences"
TESTS = "When words have the same meaning"


def command(
    masked: Annotated[str, option("NAME", "Masked language model, a name or a folder.")],
    vectors: Annotated[Path, option("TABLE", "Static vectors for the tests of similarity.")],
    out: Annotated[Path, option("FILE", "File to make.", "--out", "-o")],
    store: Annotated[Path | None, argument("[STORE]", "A prepared text.")] = None,
    paraphrases: Annotated[
        Path | None, option("FILE", "Ready-made: a sentence, a tab and its paraphrase per line.")
    ] = None,
    there: Annotated[str | None, option("NAME", "Translator from the language of the text.")] = None,
    back: Annotated[str | None, option("NAME", "Translator back into it.")] = None,
    count: Annotated[int, option("N", "How many words in sentences to choose.", min=1)] = 100_000,
    sample: Annotated[int, option("N", "Triples to show at the end.", min=0)] = 3,
    device: Device = "auto",
    dtype: Dtype = "auto",
    overwrite: Overwrite = False,
    progress: ShowProgress = None,
    min_words: Annotated[int, option("N", "Words of the shortest sentence that is used.", panel=CHOICE, min=1)] = 15,
    max_words: Annotated[int, option("N", "Words of the longest.", panel=CHOICE, min=1)] = 50,
    vocabulary: Annotated[
        int, option("N", "Targets are among the N most frequent words.", panel=CHOICE, min=1)
    ] = 50_000,
    skipped: Annotated[float, option("PART", "Fraction of these, the most frequent, to skip.", panel=CHOICE)] = 0.001,
    seed: Annotated[int, option("N", "Random seed of the choice.", panel=CHOICE, min=0)] = 0,
    similarity: Annotated[float, option("COS", "Least cosine; 0.6 is for fastText.", panel=TESTS)] = 0.6,
    probability: Annotated[float, option("P", "Least probability of a prediction.", panel=TESTS)] = 0.003,
) -> None:
    """Make training triples: a word, the same meaning in other words, another word in its place.

    Positives come from ready-made paraphrases, from translating there and back, or, with neither, from
    replacing the word alone. The same command resumes a run that was stopped.
    """
    with needs_models("wordstill meaning pairs"):
        from wordstill.meaning.make_triples import PairConfig, make_triples
        from wordstill.meaning.masked import MaskedModel
        from wordstill.meaning.targets import TargetConfig
        from wordstill.meaning.triple_builder import BuildConfig

    config = PairConfig(
        count, TargetConfig(min_words, max_words, vocabulary, skipped, seed), BuildConfig(similarity, probability)
    )
    table, model = open_table(vectors), MaskedModel.from_pretrained(masked, device=device, dtype=dtype)
    trip = _round_trip(there, back, device, dtype)
    start = time.monotonic()
    sources = _sources(store, paraphrases, config)
    triples = make_triples(
        sources, model, table, out, config, paraphraser=trip, overwrite=overwrite, progress=wants_progress(progress)
    )
    _report(triples, out, time.monotonic() - start, sample)


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


def _report(triples: Triples, out: Path, seconds: float, sample: int) -> None:
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
