"""Retrofitting: what a lexicon knows of words is worked into their vectors."""

from wordstill.postprocess.retrofit.context_graph import ContextGraphConfig
from wordstill.postprocess.retrofit.counterfit import CounterFit, CounterFitConfig
from wordstill.postprocess.retrofit.faruqui import FaruquiConfig
from wordstill.postprocess.retrofit.lexicon import Lexicon
from wordstill.postprocess.retrofit.readers import read_lexicon
from wordstill.postprocess.retrofit.retrofitting import PRESETS, ContextGraph, Faruqui, retrofitter
from wordstill.postprocess.retrofit.sources import open_lexicon
from wordstill.postprocess.retrofit.wordnet import read_wordnet

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
