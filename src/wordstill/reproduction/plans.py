"""Plans of the papers' tables: text, vocabulary, systems, protocol and data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from wordstill.baselines import BASELINES
from wordstill.errors import unknown_name
from wordstill.evaluation.report.published import PAPERS, PublishedRow, published_table
from wordstill.reproduction.meaning_tables import MEANING_PLANS, MeaningPlan
from wordstill.teacher.batch import Unit

Made = Literal["distilled", "trained", "retrofitted", "model", "own"]
BEST_PER_SET, BEST_OVERALL = "best layer per task", "best overall layer"
BEST_BY_F1 = "best overall layer by macro-F1"
MEASURES = {"": "value", ":macro-f1": "macro_f1", ":dev": "dev"}
"""The measure named by a suffix of a data set in the published rows."""


@dataclass(frozen=True)
class System:
    """A system, how it is made, and the published row to compare it with."""

    row: str | None
    """The model's name in the paper; ``{parent}`` is the teacher's family. None if the paper has no such row."""
    spec: str
    """As in ``wordstill distill --method``, ``train --method`` or ``transform``; of the model itself, the task; of a
    table of the user's own, its path."""
    made: Made = "distilled"
    unit: Unit = "sentence"
    select: str | None = None
    """For a spec with several layers, which of them is shown."""
    source: str | None = None
    """For a retrofitted system, the spec of the original vectors."""

    @property
    def needs_trees(self) -> bool:
        """Whether it needs a parsed text."""
        return self.made == "trained" and BASELINES[self.spec.partition(":")[0]].needs_trees


@dataclass(frozen=True)
class TablePlan:
    """One table of a paper."""

    paper: str
    number: int
    text: str
    """The filter of the text."""
    min_count: int
    max_size: int | None
    protocol: str
    sets: tuple[str, ...]
    systems: tuple[System, ...]
    teacher: str
    """The paper's teacher, which is the default."""
    parents: Mapping[str, str]
    """Families of teachers in published rows, by a part of the teacher's name; the first is the default."""
    task: str | None = None
    """A task that replaces the default one of the sets."""
    lacks: str = ""
    """What cannot be reproduced of the table."""

    @property
    def name(self) -> str:
        """As the user writes it."""
        return f"{self.paper}:table{self.number}"

    @property
    def printed(self) -> dict[str, PublishedRow]:
        """The published rows by model, with all measures on the sets."""
        found: dict[str, PublishedRow] = {}
        for row in published_table(self.paper, self.number):
            if {name.partition(":")[0] for name in row.scores} & set(self.sets):
                before = found.get(row.model, row)
                found[row.model] = replace(row, scores={**before.scores, **row.scores})
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rows: the sets, each with its other published measures."""
        return tuple(column for name in self.sets for column in self.columns_of(name))

    def columns_of(self, name: str) -> list[str]:
        """The columns of one set."""
        there = {column for row in self.printed.values() for column in row.scores}
        return [name + measure for measure in MEASURES if not measure or name + measure in there]

    def row_of(self, system: System, teacher: str) -> str | None:
        """The model of the published row to compare a system with, if there is one."""
        return system.row and system.row.format(parent=self.parent(teacher))

    def printed_row(self, model: str) -> PublishedRow | None:
        """The published row of a model, whose name may end in a layer."""
        found = (row for name, row in self.printed.items() if name == model or name.startswith(f"{model}, layer "))
        return next(found, None)

    def parent(self, teacher: str) -> str:
        """The family of a teacher."""
        # "roberta" contains "bert".
        found = [part for part in self.parents if part in teacher.lower()]
        return self.parents[max(found, key=len)] if found else next(iter(self.parents.values()))


X2STATIC_SETS = ("rg65", "wordsim353", "simlex999", "simverb3500", "rareword")
CLASSES = ("cr", "mr", "mpqa", "subj", "trec", "sst5")
WORDSIM = ("wordsim353", "wordsim353-similarity", "wordsim353-relatedness")
WANG_SETS = (*WORDSIM, "simlex999", "rareword", "men", "msr", "google", "semeval2012")
CONTEXT_SETS = (*WORDSIM, "simlex999", "rareword", "men", "rg65", "google", "semeval2012")
PARENTS_12 = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT2"}

_X2STATIC = (
    System("{parent}2Static sent", "x2static:preset=paper"),
    System("{parent}2Static para", "x2static:preset=paper", unit="paragraph"),
)
_X2STATIC_BASELINES = (
    System("skip-gram", "fasttext:dim=768,epochs=10,subsample=1e-5", "trained"),
    System("CBOW", "fasttext:objective=cbow,dim=768,subsample=1e-5", "trained"),
    System("Sent2vec", "sent2vec:dim=768,epochs=10,ngrams=3", "trained"),
)
"""Baselines with the settings chosen in Table 2, with n-grams of 3 to 6 characters for skip-gram and CBOW."""
_ASE_LAYERS = (
    System(f"ASE of {{parent}}-12, {BEST_PER_SET}", "ase:layer=all", select=BEST_PER_SET),
    System(f"ASE of {{parent}}-12, {BEST_OVERALL}", "ase:layer=all", select=BEST_OVERALL),
)
_ASE_LARGE = tuple(
    System(system.row and system.row.replace("-12", "-24"), system.spec, select=system.select) for system in _ASE_LAYERS
)
_X2STATIC_LARGE = tuple(
    System(system.row and system.row.replace("2Static", "-24 2Static"), system.spec, unit=system.unit)
    for system in _X2STATIC
)
_STATIC = (
    System("skip-gram", "skipgram", "trained"),
    System("CBOW", "cbow", "trained"),
    System("GloVe", "glove", "trained"),
    System("fastText", "fasttext", "trained"),
)
_STATIC_BOTH_SIDES = (
    _STATIC[0],
    System("skip-gram, context vectors", "skipgram:side=contexts", "trained"),
    *_STATIC[1:],
)
_DEPS = System("Deps", "deps", "trained")
_SYNGCN = System("SynGCN", "syngcn", "trained")
_CONTEXT_LSTM = System("ContextLSTM", "context2vec", "trained")
_WANG = (
    System("BERT + skip-gram", "bert-skipgram:preset=paper"),
    System("BERT + skip-gram", "bert-skipgram:preset=paper-held"),
)
_CONTEXT = "context-to-vec:preset=paper"
_RETROFITTED = (
    System("Context-to-Vec, retrofitted", "context-graph-printed", "retrofitted", source=_CONTEXT),
    System("Context-to-Vec, retrofitted", "context-graph-released", "retrofitted", source=_CONTEXT),
    System("Context-to-Vec, retrofitted", "context-graph", "retrofitted", source=_CONTEXT),
)


def _x2static(number: int, sets: tuple[str, ...], systems: tuple[System, ...], **more: str) -> TablePlan:
    return TablePlan(
        "x2static", number, "x2static-lower", 10, 750_000, more.pop("protocol", "muse"), sets, systems,
        more.pop("teacher", "bert-base-uncased"), PARENTS_12, **more,
    )  # fmt: skip


def _wang(number: int, sets: tuple[str, ...], systems: tuple[System, ...], **more: str) -> TablePlan:
    protocol = more.pop("protocol", "web")
    parents = {"bert": "BERT", "gpt2": "GPT-2", "elmo": "ELMo"}
    return TablePlan(
        "wang", number, "sentences-10-40-lower", 5, None, protocol, sets, systems, "bert-base-uncased", parents, **more
    )


def _context(number: int, sets: tuple[str, ...], systems: tuple[System, ...], **more: str) -> TablePlan:
    protocol = more.pop("protocol", "web")
    parents = {"bert": "BERT", "gpt2": "GPT2", "xlnet": "XLNet", "elmo": "ELMo"}
    return TablePlan(
        "context-to-vec", number, "sentences-10-40-lower", 1, 150_000, protocol, sets, systems, "bert-base-uncased",
        parents, **more,
    )  # fmt: skip


_NOT_PUBLIC = "WSJ and OntoNotes, which are not public: score your own copy with wordstill evaluate --set ncrfpp:FOLDER"
_PUBLISHED = "GloVe and fastText, which saw far more text, unless --own {0!r}=FILE and the like name your copies"
_PLANS = (
    _x2static(
        3,
        X2STATIC_SETS,
        (*_X2STATIC_BASELINES, *_ASE_LAYERS, *_X2STATIC),
        lacks=_PUBLISHED.format("GloVe, 650 times the text"),
    ),
    _x2static(
        4,
        CLASSES,
        (
            *_X2STATIC_BASELINES,
            System("ASE of {parent}-12", "ase:layer=all", select=BEST_BY_F1),
            *_X2STATIC,
            System("{parent}-12 itself, fine-tuned", "parent", "model"),
            System("S{parent}-base-NLI, frozen", "frozen", "model"),
        ),
        protocol="default",
        lacks=_PUBLISHED.format("GloVe"),
    ),
    _x2static(6, X2STATIC_SETS, (*_ASE_LARGE, *_X2STATIC_LARGE), teacher="bert-large-uncased"),
    _wang(1, ("wordsim353",), (System("{parent}", "bert-skipgram:preset=paper"),)),
    _wang(
        2,
        WANG_SETS,
        (
            *_STATIC,
            _DEPS,
            System("BERT-base, token table", "token-table"),
            System("BERT, averaged", "ase"),
            _SYNGCN,
            *_WANG,
        ),
    ),
    _wang(
        3,
        ("conll2000",),
        (*_STATIC[::2], _SYNGCN, *_WANG, System("{parent}-base itself", "states", "model")),
        protocol="default",
        task="ncrfpp",
        lacks=_NOT_PUBLIC,
    ),
    _context(
        1,
        CONTEXT_SETS,
        (
            *_STATIC_BOTH_SIDES,
            _DEPS,
            System("{parent}, token table", "token-table"),
            System("{parent}, isolated words", "decontextual"),
            System("{parent}, averaged", "ase"),
            _CONTEXT_LSTM,
            _SYNGCN,
            *_WANG,
            System("Context-to-Vec", _CONTEXT),
            *_RETROFITTED,
        ),
    ),
    _context(
        2,
        ("ap", "battig", "esslli-2c"),
        (
            *_STATIC_BOTH_SIDES,
            _DEPS,
            System("{parent}, averaged", "ase"),
            _SYNGCN,
            *_WANG,
            System("Context-to-Vec", _CONTEXT),
            *_RETROFITTED,
        ),
        lacks="ESSLLI-2b was not found",
    ),
    _context(
        3,
        ("conll2000",),
        (*_STATIC[::2], System("{parent}, averaged", "ase"), _SYNGCN, *_WANG, System("Context-to-Vec", _CONTEXT)),
        protocol="default",
        task="ncrfpp",
        lacks=_NOT_PUBLIC,
    ),
    _context(
        4,
        CONTEXT_SETS[:7],
        (
            System("Context-to-Vec", _CONTEXT),
            System("retrofitted by Faruqui et al. 2015", "faruqui", "retrofitted", source=_CONTEXT),
            System("Artetxe et al. 2018", "uncovec", "retrofitted", source=_CONTEXT),
            *_RETROFITTED,
        ),
    ),
)
PLANS: Mapping[str, TablePlan | MeaningPlan] = {plan.name: plan for plan in (*_PLANS, *MEANING_PLANS)}


def find_plan(name: str) -> TablePlan | MeaningPlan:
    """The plan of ``PAPER:tableN``, or of a paper's main table.

    Raises:
        UsageError: There is no such paper or table; the message lists those that exist.
    """
    paper, _, table = name.partition(":")
    own = [plan for plan in PLANS.values() if plan.paper == paper]
    if not own:
        raise unknown_name("paper", paper, PAPERS)
    if not table:
        return MAIN[paper]
    if name not in PLANS:
        raise unknown_name(f"table of {paper}", table, [f"table{plan.number}" for plan in own])
    return PLANS[name]


MAIN = {
    "x2static": PLANS["x2static:table3"],
    "wang": PLANS["wang:table2"],
    "context-to-vec": PLANS["context-to-vec:table1"],
    "meaning": PLANS["meaning:table3"],
}
"""The main table of each paper."""


def plan_names() -> list[str]:
    """All tables that can be reproduced."""
    return [*PLANS]
