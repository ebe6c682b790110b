"""Retrofitting: vectors are adjusted to the links of words in a lexicon."""

from wordstill.postprocess.retrofit.counterfit import CounterFit, CounterFitConfig
from wordstill.postprocess.retrofit.lexicon import Lexicon, read_lexicon
from wordstill.postprocess.retrofit.retrofitting import (
    PRESETS,
    ContextGraph,
    ContextGraphConfig,
    Faruqui,
    FaruquiConfig,
    retrofitter,
)
from wordstill.postprocess.retrofit.wordnet import open_lexicon, read_wordnet

__all__ = [
    "PRESETS",
    "ContextGraph",
    "ContextGraphConfig",
    "CounterFit",
    "CounterFitConfig",
    "Faruqui",
    "FaruquiConfig",
    "Lexicon",
    "open_lexicon",
    "read_lexicon",
    "read_wordnet",
    "retrofitter",
]
