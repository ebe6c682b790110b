"""Word meaning in context: training triples, two distillers, baselines and tasks."""

from wordstill.meaning.distiller import DistillerConfig, Distillers
from wordstill.meaning.distiller_training import PRESETS, TrainConfig, train
from wordstill.meaning.encoder import MeaningEncoder, static_table
from wordstill.meaning.make_encoder import train_encoder
from wordstill.meaning.occurrence import Occurrence, OccurrenceStore
from wordstill.meaning.triples import Triple, Triples

__all__ = [
    "PRESETS",
    "DistillerConfig",
    "Distillers",
    "MeaningEncoder",
    "Occurrence",
    "OccurrenceStore",
    "TrainConfig",
    "Triple",
    "Triples",
    "static_table",
    "train",
    "train_encoder",
]
