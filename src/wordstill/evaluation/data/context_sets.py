"""Words in context: WiC, USim, CoSimLex and SCWS; and the lexicons of the registry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from wordstill.errors import DataError
from wordstill.evaluation.data.fields import exactly, filled_lines, required_number
from wordstill.evaluation.data.registry import Dataset, DatasetFile

RATING = "the rating"
STRONG = re.compile(r"<strong>(.*?)</strong>", re.DOTALL)
BOLD = re.compile(r"<b>\s*(.*?)\s*</b>", re.DOTALL)


@dataclass(frozen=True)
class WordInContext:
    """A word in a text."""

    text: str
    start: int
    """Character where the word begins."""
    end: int

    @property
    def word(self) -> str:
        """The word as written in the text."""
        return self.text[self.start : self.end]


@dataclass(frozen=True)
class ContextPair:
    """Two occurrences with the human rating of their similarity."""

    first: WordInContext
    second: WordInContext
    gold: float
    """Similarity, or 1 for the same sense and 0 for another."""
    target: str
    """The word, or the two words, that is asked about."""


Pairs = tuple[ContextPair, ...]


@dataclass(frozen=True)
class ContextParts:
    """Pairs by part: ``train``, ``dev`` and ``test``, ``context1`` and ``context2``, or ``all``."""

    holds: ClassVar[str] = "words in context"

    parts: dict[str, Pairs]

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))


def read_wic(folder: Path) -> ContextParts:
    """WiC: ``word POS i-j sentence1 sentence2``, words numbered from 0; ``T`` or ``F`` in another file."""
    parts = {}
    for part in ("train", "dev", "test"):
        data = list(filled_lines(folder / part / f"{part}.data.txt"))
        gold = [line.strip() for _, line in filled_lines(folder / part / f"{part}.gold.txt")]
        if len(data) != len(gold):
            raise DataError(f"{folder / part}: {len(data)} pairs but {len(gold)} answers.")
        parts[part] = tuple(_wic_pair(place, line, answer) for (place, line), answer in zip(data, gold))
    return ContextParts(parts)


def read_usim(path: Path) -> ContextParts:
    """USim: two lines for each pair, ``sentence TAB word number TAB rating TAB lemma and sentence``."""
    lines = list(filled_lines(path))
    if len(lines) % 2:
        raise DataError(f"{path}: expected two lines for each pair but got {len(lines)} lines.")
    pairs = []
    for (place, line), (next_place, next_line) in zip(lines[::2], lines[1::2]):
        first, second = (
            exactly(text.split("\t"), 4, "'sentence index rating lemma'", where)
            for where, text in ((place, line), (next_place, next_line))
        )
        if first[2] != second[2]:
            raise DataError(f"{place}: the two lines of a pair have the ratings {first[2]} and {second[2]}.")
        one, other = (_numbered(fields[0], fields[1], place) for fields in (first, second))
        pairs.append(ContextPair(one, other, required_number(first[2], RATING, place), first[3].split()[0]))
    return ContextParts({"all": tuple(pairs)})


def read_cosimlex(path: Path) -> ContextParts:
    """CoSimLex: separated by tabs despite its name; the two words of a pair are marked in each of two contexts."""
    parts: dict[str, list[ContextPair]] = {"context1": [], "context2": []}
    for number, (place, line) in enumerate(filled_lines(path)):
        if not number:
            continue
        fields = exactly(line.split("\t"), 13, "13 fields", place)
        for part, context, score, forms in (
            ("context1", fields[2], fields[4], fields[9:11]),
            ("context2", fields[3], fields[5], fields[11:13]),
        ):
            first, second = _both(context, forms, place)
            target = f"{fields[0]} {fields[1]}"
            parts[part].append(ContextPair(first, second, required_number(score, RATING, place), target))
    return ContextParts({name: tuple(pairs) for name, pairs in parts.items()})


def read_scws(path: Path) -> ContextParts:
    """SCWS: ``id w1 pos1 w2 pos2 context1 context2 mean ratings``, each word marked in its own context."""
    pairs = []
    for place, line in filled_lines(path):
        fields = exactly(line.split("\t"), 18, "18 fields", place)
        first, second = (_marked(fields[column], BOLD, place)[0] for column in (5, 6))
        pairs.append(ContextPair(first, second, required_number(fields[7], RATING, place), f"{fields[1]} {fields[3]}"))
    return ContextParts({"all": tuple(pairs)})


def _wic_pair(place: str, line: str, answer: str) -> ContextPair:
    word, _, numbers, *sentences = exactly(line.split("\t"), 5, "five fields between tabs", place)
    if answer not in ("T", "F"):
        raise DataError(f"{place}: expected the answer T or F but got {answer!r}.")
    first, second = (_numbered(sentence, number, place) for sentence, number in zip(sentences, numbers.split("-")))
    return ContextPair(first, second, float(answer == "T"), word)


def _numbered(sentence: str, number: str, place: str) -> WordInContext:
    """The word with that number, from 0, in a tokenized sentence."""
    words = list(re.finditer(r"\S+", sentence))
    if not number.isdigit() or int(number) >= len(words):
        raise DataError(f"{place}: there is no word {number!r} among the {len(words)} of {sentence!r}.")
    found = words[int(number)]
    return WordInContext(sentence, found.start(), found.end())


def _both(context: str, forms: list[str], place: str) -> tuple[WordInContext, WordInContext]:
    """The two marked words of a context, in the order in which the file names them."""
    marked = _marked(context, STRONG, place)
    found = [next((item for item in marked if item.word == form), None) for form in forms]
    if found[0] is None or found[1] is None:
        raise DataError(f"{place}: {forms!r} are not both marked in the context.")
    return found[0], found[1]


def _marked(context: str, mark: re.Pattern[str], place: str) -> list[WordInContext]:
    """Every marked word, with its span in the text without the marks."""
    text, spans, rest = "", [], 0
    for found in mark.finditer(context):
        text += context[rest : found.start()]
        spans.append((len(text), len(text) + len(found[1])))
        text += found[1]
        rest = found.end()
    text += context[rest:]
    if not spans:
        raise DataError(f"{place}: no word is marked in {context[:60]!r}.")
    return [WordInContext(text, start, end) for start, end in spans]


Entries = dict[str, tuple[str, ...]]


def read_entries(path: Path) -> Entries:
    """``word neighbour neighbour …`` on each line; an entry may have no neighbors.

    A word on several lines keeps the neighbors of all of them.
    """
    entries: Entries = {}
    for _, line in filled_lines(path):
        word, *neighbors = line.split()
        entries[word] = tuple(dict.fromkeys((*entries.get(word, ()), *neighbors)))
    if not entries:
        raise DataError(f"{path} holds no entries. Expected lines of 'word neighbour …'.")
    return entries


_lexicon = partial(
    Dataset,
    license="not stated (repo: GPL-2.0)",
    upstream="mfaruqui/retrofitting@6f465374",
    task=None,
    home="https://aclanthology.org/N15-1184/",
)

CONTEXT: tuple[Dataset, ...] = (
    Dataset(
        "wic",
        "WiC",
        7_466,
        "Pilehvar & Camacho-Collados 2019, NAACL",
        "CC BY-NC 4.0 (from the project page; not in the files)",
        "Wenxin-Jiang/CS577-NLP@17fb8ca9",
        (DatasetFile("context/WiC", read_wic, "HW2/WiC_dataset"),),
        task="context-senses",
        home="https://pilehvar.github.io/wic/",
        caveat="The answers of the test part are there.",
    ),
    Dataset(
        "usim",
        "USim",
        1_133,
        "Erk, McCarthy & Gaylord 2013, CL",
        "not stated",
        "qianchu/adjust_cwe@5ec4d09b",
        (DatasetFile("context/Usim/usim_en.txt", read_usim, "eval_data/usim/usim_en.txt"),),
        task="context-pairs",
        home="https://aclanthology.org/J13-3003/",
        caveat="Usim-2 only, tokenized, with the mean rating; two lines for each pair.",
    ),
    Dataset(
        "cosimlex",
        "CoSimLex (English)",
        680,
        "Armendariz et al. 2020, LREC and SemEval",
        "not stated in the files (repo: CC BY 4.0; upstream GPL-3.0)",
        "tim-lawson/graded-similarity@dc58c9fd",
        (DatasetFile("context/CoSimLex/cosimlex_en.csv", read_cosimlex, "data/cosimlex_dataset/cosimlex_en.csv"),),
        task="context-change",
        home="https://competitions.codalab.org/competitions/20905",
        caveat="340 pairs in two contexts each; tabs in spite of the name .csv.",
    ),
    Dataset(
        "scws",
        "SCWS",
        2_003,
        "Huang et al. 2012, ACL",
        "not stated",
        "benathi/word2gm@56bda7d9",
        (DatasetFile("context/SCWS/ratings.txt", read_scws, "evaluation_data/ehuang_sim_wcontext/SCWS/ratings.txt"),),
        task="context-pairs",
        home="https://ai.stanford.edu/~ehhuang/",
    ),
    _lexicon(
        "ppdb-xl",
        "PPDB-XL",
        102_899,
        "Ganitkevitch et al. 2013, NAACL; form of Faruqui et al. 2015, NAACL",
        copies=(DatasetFile("lexicons/ppdb-xl.txt", read_entries, "lexicons/ppdb-xl.txt"),),
        caveat="102,902 lines; a word on several lines keeps the neighbors of all of them.",
    ),
    _lexicon(
        "framenet",
        "FrameNet",
        7_870,
        "Baker et al. 1998; form of Faruqui et al. 2015",
        copies=(DatasetFile("lexicons/framenet.txt", read_entries, "lexicons/framenet.txt"),),
        caveat="10,822 lines, several of them for one word; some entries have no neighbors.",
    ),
)
