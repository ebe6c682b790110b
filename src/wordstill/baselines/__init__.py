"""Baselines: word vectors trained from scratch on the same text, without a teacher."""

from wordstill.baselines.base import Baseline, Training
from wordstill.baselines.training import BASELINES, TrainConfig, read_baselines, train, train_on_corpus

__all__ = ["BASELINES", "Baseline", "TrainConfig", "Training", "read_baselines", "train", "train_on_corpus"]
