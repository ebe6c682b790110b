"""The table of word vectors, and what one asks it; numpy only."""

from wordstill.vectors.table import WordVectors

__all__ = ["WordVectors"]
