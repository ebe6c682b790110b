"""Word meaning in context: training triples, two distillers, their use, baselines and tasks."""

from wordstill.meaning.distiller import DistillerConfig, Distillers
from wordstill.meaning.encoder import MeaningEncoder
from wordstill.meaning.run import train_encoder
from wordstill.meaning.static import static_table
from wordstill.meaning.store import UseStore
from wordstill.meaning.training import PRESETS, TrainConfig, train
from wordstill.meaning.triples import Triple, Triples
from wordstill.meaning.use import Use

__all__ = [
    "PRESETS",
    "DistillerConfig",
    "Distillers",
    "MeaningEncoder",
    "TrainConfig",
    "Triple",
    "Triples",
    "Use",
    "UseStore",
    "static_table",
    "train",
    "train_encoder",
]
