"""From raw text files to a memory-mapped store, and from the store to a vocabulary."""

from wordstill.corpus.config import PrepareConfig
from wordstill.corpus.preparation import prepare
from wordstill.corpus.store import Corpus, Paragraph, Sentence, Word, is_store
from wordstill.corpus.vocabulary import Vocabulary, VocabularyConfig

__all__ = [
    "Corpus",
    "Paragraph",
    "PrepareConfig",
    "Sentence",
    "Vocabulary",
    "VocabularyConfig",
    "Word",
    "is_store",
    "prepare",
]
