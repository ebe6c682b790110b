"""Tables of word vectors and queries on them; numpy only."""

from wordstill.vectors.table import WordVectors

__all__ = ["WordVectors"]
