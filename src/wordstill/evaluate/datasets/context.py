"""Words in context, and lexicons: data that other rooms of the package work with."""

from __future__ import annotations

from functools import partial

from wordstill.evaluate.readers.context import read_cosimlex, read_scws, read_usim, read_wic
from wordstill.evaluate.readers.lexicon import read_lexicon
from wordstill.evaluate.registry import Copy, Dataset

_lexicon = partial(
    Dataset,
    licence="not stated (repo: GPL-2.0)",
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
        (Copy("context/WiC", read_wic, "HW2/WiC_dataset"),),
        task=None,
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
        (Copy("context/Usim/usim_en.txt", read_usim, "eval_data/usim/usim_en.txt"),),
        task=None,
        home="https://aclanthology.org/J13-3003/",
        caveat="Usim-2 only, tokenised, with the mean rating; two lines for each pair.",
    ),
    Dataset(
        "cosimlex",
        "CoSimLex (English)",
        680,
        "Armendariz et al. 2020, LREC and SemEval",
        "not stated in the files (repo: CC BY 4.0; upstream GPL-3.0)",
        "tim-lawson/graded-similarity@dc58c9fd",
        (
            Copy(
                "context/CoSimLex/cosimlex_en.csv",
                read_cosimlex,
                "data/cosimlex_dataset/cosimlex_en.csv",
            ),
        ),
        task=None,
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
        (
            Copy(
                "context/SCWS/ratings.txt", read_scws, "evaluation_data/ehuang_sim_wcontext/SCWS/ratings.txt"
            ),
        ),
        task=None,
        home="https://ai.stanford.edu/~ehhuang/",
    ),
    _lexicon(
        "ppdb-xl",
        "PPDB-XL",
        102_899,
        "Ganitkevitch et al. 2013, NAACL; form of Faruqui et al. 2015, NAACL",
        copies=(Copy("lexicons/ppdb-xl.txt", read_lexicon, "lexicons/ppdb-xl.txt"),),
        caveat="102,902 lines; a word that stands on several keeps the neighbours of all of them.",
    ),
    _lexicon(
        "framenet",
        "FrameNet",
        7_870,
        "Baker et al. 1998; form of Faruqui et al. 2015",
        copies=(Copy("lexicons/framenet.txt", read_lexicon, "lexicons/framenet.txt"),),
        caveat="10,822 lines, of which several are of one word; some entries have no neighbours.",
    ),
)
