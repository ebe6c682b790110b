"""Analogies and relational similarity."""

from __future__ import annotations

from wordstill.evaluate.readers.questions import read_sections, read_tabbed, read_typed
from wordstill.evaluate.readers.relations import read_relations
from wordstill.evaluate.registry import Copy, Dataset, Holder

_GOOGLE = "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36"

ANALOGY: tuple[Dataset, ...] = (
    Dataset(
        "google",
        "Google analogies",
        19_544,
        "Mikolov et al. 2013, arXiv 1301.3781",
        "not stated",
        "piskvorky/gensim@37f90ec1",
        (
            Copy(
                "analogy/google/questions-words.txt",
                read_sections,
                "gensim/test/test_data/questions-words.txt",
            ),
            Copy(
                "test/test_data/questions-words.txt",
                read_sections,
                holder=Holder.GENSIM,
                checksums={"test/test_data/questions-words.txt": _GOOGLE},
            ),
        ),
        task="analogy",
        home="https://code.google.com/archive/p/word2vec/",
        caveat="Sections 1 to 5 are semantic (8,869 questions), 6 to 14 syntactic (10,675).",
    ),
    Dataset(
        "msr",
        "MSR analogies",
        8_000,
        "Mikolov, Yih & Zweig 2013, NAACL",
        "not stated",
        "vecto-ai/word-benchmarks@9b61d0e0",
        (
            Copy("analogy/MSR/msr.csv", read_typed, "word-analogy/monolingual/en/msr.csv"),
            Copy("analogy/MSR/msr.txt", read_tabbed),
        ),
        task="analogy",
        home="https://aclanthology.org/N13-1090/",
        caveat="Possessives (dog's) are words of their own; msr.txt has the same questions without types.",
    ),
    Dataset(
        "semeval2012",
        "SemEval-2012 task 2",
        79,
        "Jurgens et al. 2012, SemEval",
        "not stated",
        "commonsense/conceptnet5@fda1b396",
        (
            Copy(
                "analogy/SemEval-2012-task2",
                read_relations,
                "conceptnet5/support_data/semeval12-2",
            ),
        ),
        task="relation",
        home="https://sites.google.com/site/semeval2012task2/",
        caveat="10 sub-categories are the official Training part, 69 the test; figures are over all 79.",
    ),
)
