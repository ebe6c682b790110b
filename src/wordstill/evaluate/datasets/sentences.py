"""Pairs of sentences: semantic textual similarity, paraphrases."""

from __future__ import annotations

from wordstill.evaluate.readers.sentences import StsReader, read_paraphrases
from wordstill.evaluate.registry import Copy, Dataset

_BLANK = "A blank line of a gold file is a pair that was never scored; such pairs are left out."
_YEARS = {
    "sts12": (
        3108,
        "Agirre et al. 2012, SemEval",
        ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
        "MSRpar is under Microsoft's terms.",
    ),
    "sts13": (
        1500,
        "Agirre et al. 2013, *SEM",
        ("FNWN", "OnWN", "headlines"),
        "Without SMT, whose sentences only LDC gives out.",
    ),
    "sts14": (
        3750,
        "Agirre et al. 2014, SemEval",
        ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"),
        None,
    ),
    "sts15": (
        3000,
        "Agirre et al. 2015, SemEval",
        ("answers-forums", "answers-students", "belief", "headlines", "images"),
        _BLANK,
    ),
    "sts16": (
        1186,
        "Agirre et al. 2016, SemEval",
        ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
        _BLANK,
    ),
}


def _year(name: str) -> Dataset:
    size, citation, corpora, caveat = _YEARS[name]
    folder = f"{name.upper()}-en-test"
    return Dataset(
        name,
        name.upper().replace("STS", "STS "),
        size,
        citation,
        "see the readme and licence files of the set",
        "FreedomIntelligence/qnn@77f54937",
        (Copy(f"sts/{folder}", StsReader(corpora), f"data/STS/{folder}"),),
        task="sts",
        home="http://ixa2.si.ehu.eus/stswiki/",
        caveat=caveat,
    )


SENTENCES: tuple[Dataset, ...] = (
    *map(_year, _YEARS),
    Dataset(
        "paws-wiki",
        "PAWS-Wiki",
        16_000,
        "Zhang, Baldridge & He 2019, NAACL",
        "free use with acknowledgement to Google LLC (upstream LICENSE)",
        "hoangdzung/simmat@7e55b810",
        (Copy("paraphrase/PAWS-Wiki", read_paraphrases, "data/final"),),
        task=None,
        home="https://github.com/google-research-datasets/paws",
        caveat="dev and test only, 8,000 pairs each, without the upstream header line.",
    ),
)
