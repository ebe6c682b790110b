"""The table of data sets.

A new set is one row. A set may lie in several files with the same content (``copies``); the first found is
used. The sizes are the published ones; the licences are what the files or the holding repository state.
"""

from __future__ import annotations

from collections.abc import Mapping

from wordstill.evaluate.pairs import PairReader
from wordstill.evaluate.registry import Copy, Dataset, Holder

_TABBED = PairReader()
_SPACED = PairReader(delimiter=None)
_LEMMAS = PairReader(delimiter=None, lemma_suffix=True)
_WORDSIM_CSV = PairReader(delimiter=",", header=1)
_SIMLEX = PairReader(columns=(0, 1, 3), header=1)
_SIMVERB = PairReader(columns=(0, 1, 3))
_GENSIM = PairReader(header=2)

_FARUQUI = "mfaruqui/eval-word-vectors@94b3dd9f"
_WORD2GM = "benathi/word2gm@56bda7d9"
_REPOSITORY_MIT = "not stated (repo: MIT)"
_AGIRRE = "Agirre et al. 2009, NAACL"
_GERZ = "Gerz et al. 2016, EMNLP"
_BRUNI = "Bruni, Tran & Baroni 2014, JAIR"
_CC_BY = "CC BY 2.0 (licence.txt)"

_ROWS = (
    Dataset(
        "rg65",
        "RG-65",
        65,
        "Rubenstein & Goodenough 1965, CACM",
        _REPOSITORY_MIT,
        _FARUQUI,
        (
            Copy(
                "similarity/EN-RG-65.txt",
                "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f",
                _TABBED,
            ),
        ),
    ),
    Dataset(
        "mc30",
        "MC-30",
        30,
        "Miller & Charles 1991",
        _REPOSITORY_MIT,
        _FARUQUI,
        (
            Copy(
                "similarity/EN-MC-30.txt",
                "33ee05911496ff83d95cac351d0746c6f63b9181b605cb7d307f4daa8864511b",
                _TABBED,
            ),
        ),
    ),
    # "money cash" stands twice and "tiger tiger" once in every distribution; all are kept as published.
    Dataset(
        "wordsim353",
        "WordSim-353",
        353,
        "Finkelstein et al. 2002, ACM TOIS",
        _REPOSITORY_MIT,
        _FARUQUI,
        (
            Copy(
                "similarity/EN-WS-353-ALL.txt",
                "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c",
                _TABBED,
            ),
            Copy(
                "similarity/wordsim353/combined.csv",
                "49ff6433ae68abe716fb66433fd870483e289a7a8c74531f59eca847d103fff3",
                _WORDSIM_CSV,
            ),
            Copy(
                "test/test_data/wordsim353.tsv",
                "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
                _GENSIM,
                Holder.GENSIM,
            ),
        ),
    ),
    # The two splits below share the unrelated pairs.
    Dataset(
        "wordsim353-similarity",
        "WordSim-353 similarity",
        203,
        _AGIRRE,
        _REPOSITORY_MIT,
        _FARUQUI,
        (
            Copy(
                "similarity/EN-WS-353-SIM.txt",
                "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107",
                _TABBED,
            ),
        ),
    ),
    Dataset(
        "wordsim353-relatedness",
        "WordSim-353 relatedness",
        252,
        _AGIRRE,
        _REPOSITORY_MIT,
        _FARUQUI,
        (
            Copy(
                "similarity/EN-WS-353-REL.txt",
                "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa",
                _TABBED,
            ),
        ),
    ),
    Dataset(
        "simlex999",
        "SimLex-999",
        999,
        "Hill, Reichart & Korhonen 2015, CL",
        "not stated (README asks for citation)",
        _WORD2GM,
        (
            Copy(
                "similarity/SimLex-999/SimLex-999.txt",
                "ca00ff8515a36cde32d13c2b83def23f5a167b67db93ebfcfb7dae039ba22c0b",
                _SIMLEX,
            ),
            Copy(
                "test/test_data/simlex999.txt",
                "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
                _GENSIM,
                Holder.GENSIM,
            ),
        ),
    ),
    Dataset(
        "simverb3500",
        "SimVerb-3500",
        3500,
        _GERZ,
        "not stated",
        _WORD2GM,
        (
            Copy(
                "similarity/SimVerb-3500/SimVerb-3500.txt",
                "b58f68454cf9354b94ecd8bfd778ff2cc784a25fc7dca02bc695319ad2b4157e",
                _SIMVERB,
            ),
        ),
    ),
    Dataset(
        "simverb3500-dev",
        "SimVerb-3500 dev",
        500,
        _GERZ,
        "not stated",
        _WORD2GM,
        (
            Copy(
                "similarity/SimVerb-3500/SimVerb-500-dev.txt",
                "33f8998ac40478ab1e271cf10d2097c2e5de4d9780c6644ff054a601d892d791",
                _SIMVERB,
            ),
        ),
    ),
    Dataset(
        "simverb3500-test",
        "SimVerb-3500 test",
        3000,
        _GERZ,
        "not stated",
        _WORD2GM,
        (
            Copy(
                "similarity/SimVerb-3500/SimVerb-3000-test.txt",
                "4e689048a940833239733e91a313715a49e9ecb958cd6c98069bbd103f1a066f",
                _SIMVERB,
            ),
        ),
    ),
    Dataset(
        "rareword",
        "Rare Words",
        2034,
        "Luong, Socher & Manning 2013, CoNLL",
        "not stated",
        "fanglanting/skip-gram-pytorch@0a16cd6b",
        (
            Copy(
                "similarity/RW/rw.txt",
                "f38941b02b85cf20e9d857ab4ee06ee0dfcb1c9ce0df6c546f1134fc5e625dae",
                _TABBED,
            ),
        ),
    ),
    Dataset(
        "men",
        "MEN-3000",
        3000,
        _BRUNI,
        _CC_BY,
        _WORD2GM,
        (
            Copy(
                "similarity/MEN/MEN_dataset_natural_form_full",
                "4596e169dd237228ca7701dde33585ca93263506ce7fca9de0f951aaab1aae36",
                _SPACED,
            ),
        ),
    ),
    # The published split exists in lemma form only: "stairs" of the natural form is "stair-n" here.
    Dataset(
        "men-dev",
        "MEN-3000 dev (lemmas)",
        2000,
        _BRUNI,
        _CC_BY,
        _WORD2GM,
        (
            Copy(
                "similarity/MEN/MEN_dataset_lemma_form.dev",
                "d7b1b92001d901dc152fa6ab019f061e6494115141f96215ed0bc88dd98f65c1",
                _LEMMAS,
            ),
        ),
    ),
    Dataset(
        "men-test",
        "MEN-3000 test (lemmas)",
        1000,
        _BRUNI,
        _CC_BY,
        _WORD2GM,
        (
            Copy(
                "similarity/MEN/MEN_dataset_lemma_form.test",
                "8ed8355642271c67f6f4be26ada5192faff54093651d486f0620bbd9ccfeeeda",
                _LEMMAS,
            ),
        ),
    ),
)
DATASETS: Mapping[str, Dataset] = {row.name: row for row in _ROWS}
